"""Random walks: expected counts are the closed form, drawn walks tend to them, p and q turn them."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from altopt import InputError
from altopt.operator import walks
from altopt.operator.walks import (
    counted_cooccurrence,
    drawn_walks,
    edge_transitions,
    embedding_of,
    expected_cooccurrence,
)


def path_and_triangle():
    """Nodes 0-1-2 in a triangle, 3 hanging on 2; weighted."""
    A = np.zeros((4, 4))
    for i, j, w in ((0, 1, 1.0), (1, 2, 2.0), (0, 2, 1.0), (2, 3, 3.0)):
        A[i, j] = A[j, i] = w
    return sp.csr_array(A)


def test_expected_counts_are_deepwalks_closed_form():
    A = path_and_triangle()
    D = A.sum(axis=1)
    P = A.toarray() / D[:, None]
    C = np.diag(D) @ (P + P @ P + P @ P @ P)
    assert_allclose(expected_cooccurrence(A, 3).toarray(), C + C.T)


def test_a_second_order_walk_with_p_and_q_one_is_of_first_order(monkeypatch):
    A = path_and_triangle()
    first = expected_cooccurrence(A, 4).toarray()
    nearly = expected_cooccurrence(A, 4, p=1.0 + 1e-12).toarray()  # takes the other way
    assert_allclose(nearly, first, rtol=1e-9)


def test_the_bias_of_a_step():
    """From 0 to 2: back to 0 by 1/p, to 1, a neighbour of 0, by 1, to 3 by 1/q; times the weights 1, 2, 3."""
    A, p, q = path_and_triangle(), 0.5, 4.0
    edges = list(zip(*A.tocoo().coords))
    T = edge_transitions(A, p, q).toarray()
    row = {edges[k]: value for k, value in enumerate(T[edges.index((0, 2))]) if value}
    total = 1 / p + 2 + 3 / q
    assert row == pytest.approx({(2, 0): 1 / p / total, (2, 1): 2 / total, (2, 3): 3 / q / total})


@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (0.25, 2.0), (4.0, 0.5)])
def test_drawn_walks_tend_to_what_is_expected(p, q):
    """Walks from the end of an edge drawn by weight: the third node by the transitions of edges."""
    A = path_and_triangle()
    W = drawn_walks(A, 20_000, 3, p, q, seed=0)
    assert (A.toarray()[W[:, :-1], W[:, 1:]] > 0).all(), "every step is an edge"
    T, edges = edge_transitions(A, p, q).toarray(), list(zip(*A.tocoo().coords))
    for begin in ((0, 2), (1, 2), (3, 2)):
        third = W[(W[:, 0] == begin[0]) & (W[:, 1] == begin[1]), 2]
        share = np.bincount(third, minlength=4) / len(third)
        expected = np.zeros(4)
        for k, value in enumerate(T[edges.index(begin)]):
            expected[edges[k][1]] += value
        assert_allclose(share, expected, atol=0.02)
    assert (drawn_walks(A, 3, 5, p, q, seed=1) == drawn_walks(A, 3, 5, p, q, seed=1)).all()


def test_counts_are_of_pairs_within_the_window():
    A = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    C = counted_cooccurrence(A, window=1, n_walks=1, length=3, p=1.0, q=1.0, seed=0).toarray()
    assert C.tolist() == [[0.0, 4.0], [4.0, 0.0]]  # two walks of two steps, forth and back


def test_walks_that_would_not_fit_are_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr(walks, "MAX_PAIRS_OF_EDGES", 3)
    with pytest.raises(InputError, match="Set n_walks to count walks that are drawn"):
        expected_cooccurrence(path_and_triangle(), 2, p=2.0)


def test_the_embedding_factorises_positive_mutual_information(monkeypatch):
    rng = np.random.default_rng(0)
    A = rng.random((30, 30)) < 0.2
    A = np.triu(A, 1) | np.triu(A, 1).T
    C = expected_cooccurrence(sp.csr_array(A.astype(float)), 2)
    dense = C.toarray()
    sums = dense.sum(axis=1)
    M = np.log(np.maximum(dense * sums.sum() / np.maximum(np.outer(sums, sums), 1e-300), 1.0))
    U, S, _ = np.linalg.svd(M)
    E = embedding_of(C, 5)
    assert_allclose(E @ E.T, (U[:, :5] * S[:5]) @ U[:, :5].T, atol=1e-9)
    monkeypatch.setattr(walks, "DENSE_BELOW", 0)
    other = embedding_of(C, 5)
    assert_allclose(other @ other.T, E @ E.T, atol=1e-6)
