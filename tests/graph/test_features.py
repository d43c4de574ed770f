"""X that cannot be read is an InputError, whoever notices it."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from altopt import AltOpt, InputError

X = np.random.default_rng(0).normal(size=(8, 3))
y = [0, 1, 0, 1, -1, -1, -1, -1]
EDGES = [(0, 1), (2, 3), (4, 5)]

WRONG = {
    "a vector": (X[:, 0], "shape is .8,.*Reshape your data"),
    "a cube": (X[None], "shape is .1, 8, 3."),
    "a number": (3.0, "shape is"),
    "no columns": (X[:, :0], "0 feature"),
    "no rows": (X[:0], "0 sample"),
    "complex": (X + 1j, "must hold real numbers, but holds complex128"),
    "sparse complex": (sp.csr_array(X + 1j), "must hold real numbers"),
    "one text for all": ([["a", "b", "c"]] * 8, "no column that tells nodes apart"),
    "ragged": ([[1.0], [1.0, 2.0]] * 4, "X cannot be read"),
    "dictionaries": ([[{}]] * 8, "X cannot be read: float"),
    "beyond float64": (np.full((8, 1), 10**400, dtype=object), "too large"),
    "beyond float64 in long double": (np.full((8, 1), np.longdouble("1e4000")), "X"),
    "NaN": (np.where(X > 1, np.nan, X), "must hold finite numbers, but has NaN in row"),
    "inf": (sp.csr_array(np.where(X > 1, np.inf, X)), "must hold finite numbers, but has inf in row"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_X_is_an_input_error_in_one_line(case):
    given, said = WRONG[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=said) as refused:
            AltOpt(cross_fit=False).fit(given, y, graph=EDGES)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 500


def test_other_columns_than_at_the_fit_are_an_input_error():
    model = AltOpt(cross_fit=False).fit(X, y, graph=EDGES)
    for call in (lambda: model.predict(X[:, :2]), lambda: model.update(features=X[:1, :2])):
        with pytest.raises(InputError, match="X has 2 features, but AltOpt is expecting 3 features"):
            call()


@pytest.mark.parametrize("kind", [np.float16, np.longdouble, np.int64, np.uint64, bool, object])
def test_numbers_of_every_type_are_read(kind):
    model = AltOpt(cross_fit=False, random_state=0).fit((np.abs(X) * 9).astype(kind), y, graph=EDGES)
    assert np.isfinite(model.label_distributions_).all()
