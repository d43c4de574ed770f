"""Columns as a record: the same for later rows, stored and restored, damaged ones refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from altopt.errors import InputError
from altopt.operator.columns import Columns, tamed
from altopt.operator.kinds import columns_of

RNG = np.random.default_rng(0)
X = np.column_stack(
    [
        RNG.normal(size=60),
        np.full(60, 2.0),
        RNG.random(60) < 0.4,
        RNG.poisson(1.0, 60),
        RNG.lognormal(9, 2, 60),
    ]
)


def test_later_rows_are_read_as_those_of_the_fit():
    columns = columns_of(X)
    assert_array_equal(columns.transform(X[7:9]), columns.transform(X)[7:9])
    assert_array_equal(columns.transform(sp.csr_array(X[7:9])).shape, (2, 5))


def test_an_indicator_of_later_rows_has_no_third_value():
    columns = columns_of(X)
    later = np.array([[0.0, 2.0, 1e9, 0.0, 1.0], [0.0, 2.0, 1.0, 0.0, 1.0]])
    read = columns.transform(later)
    assert read[0, 2] == read[1, 2]


def test_a_sparse_X_that_stays_mostly_empty_stays_sparse():
    words = sp.random_array((60, 40), density=0.05, rng=RNG, format="csr")
    beside = sp.csr_array(sp.hstack([words, sp.csr_array(X[:, :1])], format="csr"))
    columns = columns_of(beside)
    read = columns.transform(beside)
    assert sp.issparse(read)
    assert read.dtype == np.float32
    assert read.nnz <= words.nnz + 60
    assert_allclose(read.toarray(), columns.transform(beside.toarray()), atol=1e-6)
    assert not sp.issparse(columns_of(X).transform(sp.csr_array(X)))


def test_taming_is_linear_near_zero_and_logarithmic_beyond():
    z = np.array([-1e6, -2.0, 0.0, 2.0, 3.0, 4.0, 1e6, 1e300])
    out = tamed(z.copy())
    assert_array_equal(out[1:5], z[1:5])
    assert (np.diff(out) > 0).all()
    assert out[-1] < 1000


def test_columns_are_stored_and_restored():
    columns = columns_of(X)
    restored = Columns.restore(columns.state())
    assert restored.kinds == columns.kinds
    assert_array_equal(restored.transform(X), columns.transform(X))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kind", np.full(5, 9, np.uint8)),
        ("kind", np.zeros(5, np.int64)),
        ("kind", np.zeros((5, 1), np.uint8)),
        ("numbers", np.zeros((5, 5))),  # a scale of 0
        ("numbers", np.ones((5, 4))),
        ("numbers", np.ones((5, 5), np.float32)),
        ("numbers", -np.ones((5, 5))),
        ("numbers", np.full((5, 5), np.nan)),
        ("numbers", None),
    ],
)
def test_damaged_columns_are_refused(name, value):
    state = columns_of(X).state()
    del state[f"columns.{name}"]
    if value is not None:
        state[f"columns.{name}"] = value
    with pytest.raises(InputError, match="column"):
        Columns.restore(state)
