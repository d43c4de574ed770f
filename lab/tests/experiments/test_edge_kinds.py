"""Several kinds of edges: the kinds are what they are said to be, and a row compares fits of the same split."""

import numpy as np

from altopt_lab.experiments.edge_kinds import COMPARED, GENERATED, REAL, generated, page


def agreeing(kind, y):
    """The share of edges whose ends are of one class."""
    edges = kind.tocoo()
    return float(np.mean(y[edges.row] == y[edges.col]))


def test_generated_kinds_are_what_they_are_said_to_be():
    problem = generated(0)
    shares = {name: agreeing(kind, problem.y) for name, kind in problem.kinds.items()}
    assert shares["a"] > 0.6
    assert shares["b"] > 0.6
    assert shares["opposed"] < 0.15
    assert abs(shares["random"] - 0.25) < 0.05


def test_a_row_compares_fits_of_the_same_split():
    def record(kinds, seed, accuracy, **weights):
        same = {"dataset": "Cora", "plan": "usual", "cpu_seconds": 1.0}
        return same | {"kinds": kinds, "split_seed": seed, "accuracy": accuracy, "edge_weights": weights}

    text = page(
        [
            record(["whole"], 900, 0.80),
            record(["whole"], 901, 0.70),
            record(["whole", "random"], 900, 0.81, whole=0.96, random=0.04),
            record(["whole", "random"], 901, 0.71, whole=1.0, random=0.0),
        ]
    )
    row = next(line for line in text.splitlines() if line.startswith("| whole and random"))
    assert "+1.00 ± 0.00 to whole" in row
    assert "random 0.02" in row
    assert "| 0.04 |" in row


def test_every_data_set_says_what_is_compared():
    assert set(COMPARED) == {*REAL, *GENERATED}
