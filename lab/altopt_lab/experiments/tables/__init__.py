"""Every table and figure of the paper by name, the most informative first."""

from altopt_lab.experiments.tables.apart import APART
from altopt_lab.experiments.tables.choice import CHOICE
from altopt_lab.experiments.tables.costs import BEST_EPOCHS, COMPLEXITY, EFFICIENCY, EPOCH_TIME, LAYER_MEMORY
from altopt_lab.experiments.tables.equal_effort import EQUAL
from altopt_lab.experiments.tables.options import OPTIONS_TABLE
from altopt_lab.experiments.tables.others import HETEROPHILY, INDUCTIVE_TABLE, NORMALISED
from altopt_lab.experiments.tables.own_labels import OWN_LABELS
from altopt_lab.experiments.tables.paper_table import PaperTable
from altopt_lab.experiments.tables.peers import PEERS
from altopt_lab.experiments.tables.promises import PROMISES
from altopt_lab.experiments.tables.statistics import STATISTICS
from altopt_lab.experiments.tables.studies import ABLATION, LAYER_TABLE, SENSITIVITY, TOP_K
from altopt_lab.experiments.tables.transductive import TRANSDUCTIVE
from altopt_lab.experiments.tables.turns import TURNS

PAPER_TABLES: dict[str, PaperTable] = {
    paper_table.name: paper_table
    for paper_table in (
        TRANSDUCTIVE,
        EQUAL,
        PEERS,
        OWN_LABELS,
        APART,
        ABLATION,
        TOP_K,
        LAYER_TABLE,
        BEST_EPOCHS,
        EPOCH_TIME,
        TURNS,
        EFFICIENCY,
        COMPLEXITY,
        LAYER_MEMORY,
        HETEROPHILY,
        CHOICE,
        INDUCTIVE_TABLE,
        NORMALISED,
        PROMISES,
        OPTIONS_TABLE,
        SENSITIVITY,
        STATISTICS,
    )
}
