"""A_tilde against the dense D^-1/2 A D^-1/2, as scipy's LinearOperator, and its decision on the order of nodes."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.linalg import aslinearoperator, cg, eigsh

from altopt.arrays import inverse_sqrt
from altopt.operator import ordering
from problems import toy


@pytest.fixture
def A_tilde():
    return toy(seed=0, weighted=True).A_tilde


def test_it_is_the_dense_normalised_adjacency(A_tilde):
    A = A_tilde.adjacency.toarray()
    scale = inverse_sqrt(A.sum(axis=1))
    dense = scale[:, None] * A * scale
    assert_allclose(A_tilde.as_dense(), dense, atol=1e-15)
    assert_array_equal(A_tilde.as_dense(), A_tilde.as_dense().T)
    assert A_tilde.isolated.any()
    assert not A_tilde.as_dense()[A_tilde.isolated].any()


def test_scipys_conjugate_gradients_take_it(A_tilde):
    n = A_tilde.n_nodes
    b = np.random.default_rng(0).normal(size=n)
    H = aslinearoperator(sp.eye_array(n)) - 0.8 * A_tilde.as_linear_operator()
    x, failed = cg(H, b, rtol=1e-12)
    assert not failed
    assert_allclose(x, np.linalg.solve(np.eye(n) - 0.8 * A_tilde.as_dense(), b), atol=1e-9)


def test_a_linear_operator_is_symmetric_with_spectrum_within_one(A_tilde):
    operator = A_tilde.as_linear_operator()
    block = np.random.default_rng(1).normal(size=(A_tilde.n_nodes, 3))
    assert_allclose(operator @ block, A_tilde.as_dense() @ block, atol=1e-12)
    assert_allclose(operator.T @ block, operator @ block)
    largest = eigsh(operator, k=1, which="LM", return_eigenvectors=False)
    assert abs(largest[0]) == pytest.approx(1.0)


@pytest.mark.parametrize("first", [4, 8])
def test_the_first_block_beyond_the_caches_decides_the_order_for_all(first, monkeypatch):
    asked = []

    def order_for(adjacency, row_bytes):
        asked.append(row_bytes)
        return np.arange(adjacency.shape[0])[::-1]

    monkeypatch.setattr("altopt.operator.operator.order_for", order_for)
    monkeypatch.setattr(ordering, "CACHE_BYTES", 30 * 3)
    A_tilde = toy(seed=0).A_tilde
    assert A_tilde.layout_for(2).order is None  # fits in the caches: nothing is decided yet
    assert asked == []
    ordered = A_tilde.layout_for(first)
    assert ordered.order is not None
    assert A_tilde.layout_for(2) is A_tilde.layout_for(16) is ordered
    assert asked == [first]
