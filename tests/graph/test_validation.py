"""What AltOpt refuses, each with one clear sentence."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from altopt import AltOpt, InputError
from problems import two_communities


@pytest.fixture(scope="module")
def data():
    return two_communities()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda d: d | {"y": d["y"][:-3]},
            r"y has 117 entries but X has 120 rows. Mark unknown labels with -1",
        ),
        (lambda d: d | {"X": d["X"][:-3], "y": d["y"][:-3]}, r"X has 117 rows but the graph has 120 nodes"),
        (lambda d: d | {"y": np.full(120, -1)}, "y holds no label at all"),
        (lambda d: d | {"y": [None] * 120}, "y holds no label at all"),
        (lambda d: d | {"y": np.where(d["y"] == 1, -1, d["y"])}, "at least two classes, but .* one class"),
        (lambda d: d | {"y": np.where(d["y"] == 1, 0.5, d["y"])}, r"y holds 0.5 in row \d+.*whole numbers"),
        (lambda d: d | {"y": ["a", 3] + [None] * 118}, "y mixes labels of types int, str"),
        (lambda d: d | {"y": np.ones((120, 2))}, r"y must be one label per node \(1-D\), but has shape"),
        (
            lambda d: d | {"X": spoiled(d["X"], np.nan)},
            "X must hold finite numbers, but has NaN in row 4, column 2",
        ),
        (
            lambda d: d | {"X": spoiled(d["X"], np.inf)},
            "X must hold finite numbers, but has inf in row 4, column 2",
        ),
        (
            lambda d: d | {"X": sp.csr_array(spoiled(d["X"], np.nan))},
            "X must hold finite numbers, but has NaN in row 4, column 2",
        ),
        (
            lambda d: d | {"X": [[1, "Ulm"]] * len(d["X"])},
            "X has no column that tells nodes apart .'0': it is 1 in every row; '1': it is 'Ulm' in every row",
        ),
        (lambda d: d | {"graph": spoiled_weight(d["graph"], -1.0)}, "weight -1.0; weights must be finite"),
        (lambda d: d | {"graph": spoiled_weight(d["graph"], np.nan)}, "weight nan; weights must be finite"),
        (lambda d: d | {"graph": sp.csr_array((0, 0))}, "the graph has no nodes"),
        (lambda d: d | {"graph": np.empty((2, 0), dtype=int)}, "the graph has no nodes"),
        (lambda d: d | {"graph": object()}, "scipy"),
        (
            lambda d: d | {"validation": ([110], [5])},
            "validation holds the label 5, which is not among the classes",
        ),
        (lambda d: d | {"validation": ([0], [0])}, "validation names node 0, already labelled in y"),
        (lambda d: d | {"validation": ([110, 111], [0])}, "validation has 2 nodes but 1 labels"),
    ],
)
def test_bad_input_gets_one_clear_sentence(data, change, message):
    X, y, _, A = data
    given = change({"X": X, "y": y, "graph": A})
    with pytest.raises(InputError, match=message) as refusal:
        AltOpt(random_state=0).fit(given.pop("X"), given.pop("y"), **given)
    assert "\n" not in str(refusal.value)


def spoiled(X, value):
    X = X.copy()
    X[4, 2] = value
    return X


def spoiled_weight(A, value):
    A = A.copy()
    A.data[7] = value
    return A


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"restart": 0},
            "restart must be a number from 1e-06 to 1, .* but is 0. 1 means no diffusion.",
        ),
        ({"n_rounds": 2.5}, "n_rounds must be a whole number from 0 to 1,000,000,000 or 'full', but is 2.5"),
        ({"random_state": -1}, "random_state must be a whole number from 0 to 4294967295, .* but is -1"),
        ({"classes": [0, 2]}, "y holds the label 1, which classes= does not list"),
        ({"encoder": StandardScaler()}, "must have predict_proba and a fit that takes sample_weight"),
    ],
)
def test_bad_settings_are_refused(data, settings, message):
    X, y, _, A = data
    with pytest.raises(InputError, match=message):
        AltOpt(**settings).fit(X, y, graph=A)


def test_unknown_variant_is_refused():
    with pytest.raises(InputError, match="variant must be one of mse, ce, H, N, but is 'X'"):
        AltOpt.paper("X")
