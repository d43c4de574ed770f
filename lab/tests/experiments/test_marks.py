"""What other code made is marked wherever its figure stands: in tables, charts and verdicts."""

import pytest

from altopt_lab.equal.in_turns import PARTS, InTurns
from altopt_lab.experiments.claims import verdicts
from altopt_lab.experiments.protocols import Cell
from altopt_lab.experiments.robustness import FlippedLabels, RandomEdges
from altopt_lab.experiments.run import Run
from altopt_lab.experiments.tables import PAPER_TABLES
from altopt_lab.experiments.tables.paper_table import RecordIndex
from altopt_lab.experiments.tables.studies import TOPS, SurestNodes
from altopt_lab.experiments.timed import Cost, EpochTime, LayerMemory
from altopt_lab.provenance import code
from altopt_lab.table import as_table

CORA = Cell("Cora", "20")
PARTS_TIMED = {who: {"wall": 1.0, "cpu": 1.0, "runs": 3} for who in (*PARTS, "MLP")}


def runs(*changes):
    made = []
    for change in changes:
        run = Run("ALT-OPT", change[0], 0, 0, change[1])
        made.append((run, {**run.identity(), "test_accuracy": 0.8, "seconds_to_best": 1.0, "best_round": 3}))
    return made


COSTS = [
    (Cost(method, "arxiv"), {"setup_cpu": 1.0, "epoch_cpu": 1.0, "update_cpu": 1.0, "peak_gb": 1.0})
    for method in ("MLP", "ALT-OPT")
]
TABLES = {
    "ablation": runs((CORA, ()), (CORA, (("n_pseudo", 0),))),
    "sensitivity": runs((Cell("Photo", "20"), (("feature_weight", 0.1),))),
    "top-k": [(SurestNodes(CORA, 0), {"right": {"ALT-OPT": [0.9] * len(TOPS), "LP": [0.8] * len(TOPS)}})],
    "epoch-time": [(EpochTime("MLP", CORA), {"milliseconds": 3.0})],
    "efficiency": COSTS,
    "complexity": [COSTS[0], *COSTS[1:]],
    "best-epochs": runs((CORA, (("n_rounds", "full"),))),
    "layer-memory": [(LayerMemory("APPNP", "arxiv", 10), {"peak_gb": 1.0})],
    "in-turns": [(InTurns("arxiv"), {"times": PARTS_TIMED})],
    "promises": [
        (FlippedLabels("Cora", 0), {"found": 0.5}),
        (RandomEdges("Cora", 0), {"scores": {"AltOpt()": 0.6, "MLP": 0.5}}),
    ],
}


def shown(name, made, fit_code=None):
    lines = [
        {
            "key": work.key,
            "epochs_timed": 5,
            "depends_on": work.depends_on,
            "fit_code": fit_code or work.fit_code,
        }
        | line
        for work, line in made
    ]
    index = RecordIndex(lines, code())
    tables = [as_table(one) for one in PAPER_TABLES[name].show(index)]
    return [cell for table in tables for row in table.rows for cell in row], index


@pytest.mark.parametrize("name", TABLES)
def test_figures_by_other_code_are_marked_and_others_are_not(name):
    fresh, _ = shown(name, TABLES[name])
    stale, _ = shown(name, TABLES[name], "of other code")
    assert not any("†" in cell for cell in fresh)
    assert any("†" in cell for cell in stale)
    assert [cell.replace("†", "") for cell in stale] == fresh


def test_verdicts_by_other_code_are_marked():
    memory = [(LayerMemory("APPNP", "arxiv", K), {"peak_gb": 1.0}) for K in (10, 30)]
    for fit_code, n_marked in ((None, 0), ("of other code", 1)):
        _, index = shown("layer-memory", memory, fit_code)
        marked = [verdict for verdict in verdicts(index) if "†" in verdict.evidence]
        assert len(marked) == n_marked
