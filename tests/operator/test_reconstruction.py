"""Reconstruction weights: those of locally linear embedding, none negative."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from altopt import Graph, InputError
from altopt.datasets import communities
from altopt.operator.reconstruction import MAX_NEIGHBOURS, composing_weights, reconstruction_graph


def test_weights_minimise_the_error_on_the_simplex():
    rng = np.random.default_rng(0)
    for _ in range(5):
        D = rng.normal(size=(6, 4)) + rng.normal(size=4)
        G, ridge = D @ D.T, 1e-2
        w = composing_weights(G, ridge)
        assert (w >= 0).all()
        assert w.sum() == pytest.approx(1.0)
        H = G / (np.trace(G) / 6) + ridge * np.eye(6)
        best = minimize(
            lambda v, H=H: v @ H @ v,
            np.full(6, 1 / 6),
            bounds=[(0, 1)] * 6,
            constraints={"type": "eq", "fun": lambda v: v.sum() - 1},
            options={"ftol": 1e-12},
        )
        assert w @ H @ w <= best.fun * (1 + 1e-3)


def test_a_node_between_others_is_made_of_them():
    X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0], [0.5, 2.0]])
    W = reconstruction_graph(X, [(3, 0), (3, 1), (3, 2)], ridge=1e-9).directed_adjacency.toarray()
    assert_allclose(W[3] @ X, X[3], atol=1e-3)
    assert_allclose(W[3, :3], [0.25, 0.25, 0.5], atol=1e-3)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_rows_sum_to_one_and_nodes_without_neighbours_have_none(make):
    data = communities(n_nodes=80, n_classes=2, seed=0)
    A = data.graph.adjacency.toarray()
    A[5] = A[:, 5] = 0
    graph = reconstruction_graph(make(data.X), A)
    sums = graph.directed_adjacency.sum(axis=1)
    assert_allclose(sums, (A.sum(axis=1) > 0).astype(float))
    assert sums[5] == 0
    assert ((graph.directed_adjacency.toarray() > 0) <= (A > 0)).all(), "no edge that was not there"


def test_without_a_graph_the_nearest_compose():
    X = np.array([[0.0], [1.0], [2.0], [50.0], [51.0], [52.0]])
    W = reconstruction_graph(X, n_neighbors=2).directed_adjacency.toarray()
    assert not W[:3, 3:].any()


def test_of_many_neighbours_the_nearest_are_taken():
    n = MAX_NEIGHBOURS + 20
    X = np.arange(n, dtype=float)[:, None]
    W = reconstruction_graph(X, [(0, k) for k in range(1, n)]).directed_adjacency.toarray()
    assert not W[0, MAX_NEIGHBOURS + 1 :].any()


def test_odd_calls():
    with pytest.raises(InputError, match="ridge must be above 0"):
        reconstruction_graph(np.eye(3), [(0, 1)], ridge=0.0)
    same = reconstruction_graph(np.ones((3, 2)), [(0, 1), (0, 2)]).directed_adjacency.toarray()
    assert same[0].tolist() == [0.0, 0.5, 0.5], "nodes that are all alike weigh alike"
    assert reconstruction_graph(np.eye(3), Graph(sp.csr_array((3, 3)))).n_edges == 0
