"""Every table and figure of the paper by name, the most informative first."""

from altopt.experiments.artefacts.artefact import Artefact
from altopt.experiments.artefacts.choice import CHOICE
from altopt.experiments.artefacts.costs import BEST_EPOCHS, COMPLEXITY, EFFICIENCY, EPOCH_TIME, LAYER_MEMORY
from altopt.experiments.artefacts.others import HETEROPHILY, INDUCTIVE_TABLE, NORMALISED
from altopt.experiments.artefacts.own_labels import OWN_LABELS
from altopt.experiments.artefacts.peers import PEERS
from altopt.experiments.artefacts.statistics import STATISTICS
from altopt.experiments.artefacts.studies import ABLATION, LAYER_TABLE, SENSITIVITY, TOP_K
from altopt.experiments.artefacts.transductive import TRANSDUCTIVE

ARTEFACTS: dict[str, Artefact] = {
    artefact.name: artefact
    for artefact in (
        TRANSDUCTIVE,
        PEERS,
        OWN_LABELS,
        ABLATION,
        TOP_K,
        LAYER_TABLE,
        BEST_EPOCHS,
        EPOCH_TIME,
        EFFICIENCY,
        COMPLEXITY,
        LAYER_MEMORY,
        HETEROPHILY,
        CHOICE,
        INDUCTIVE_TABLE,
        NORMALISED,
        SENSITIVITY,
        STATISTICS,
    )
}
