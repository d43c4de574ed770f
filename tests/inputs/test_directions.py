"""The range finder on blocks of deficient rank, and coordinates too large for float16."""

import numpy as np

from altopt import Graph
from altopt.inputs import InputSource, ReducedInputs, directions
from altopt.operator import NormalizedAdjacency


def test_a_gram_matrix_that_float32_leaves_indefinite_is_no_crash(monkeypatch):
    B = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    monkeypatch.setattr(directions, "gram_of", lambda B, dtype: np.diag([1.0, 1.0, 1.0, -0.5]))
    Q = directions.levelled_out(B)
    assert np.allclose(Q.T @ Q, np.eye(4), atol=1e-5)
    assert Q.dtype == np.float32


def test_coordinates_too_large_for_float16_are_shrunk_with_their_projection():
    graph = Graph([(0, 1), (1, 2), (3, 4)], n_nodes=5)
    X = 1e9 * np.random.default_rng(0).normal(size=(5, 2))
    source = InputSource(graph, NormalizedAdjacency(graph.adjacency), X, restart=1.0, n_steps=0, seed=0)
    wide, narrow = (
        ReducedInputs(by_kind=False, storage=storage).prepare(source) for storage in ("float32", "float16")
    )
    assert np.allclose(narrow.rows(narrow.Z.astype(np.float32)), wide.rows(wide.Z), atol=2e-3)
    assert np.allclose(narrow.coordinates(X), narrow.Z, rtol=1e-3)


def test_a_direction_has_the_same_sign_whatever_the_order_of_rows():
    X = np.random.default_rng(0).normal(size=(40, 6)) * np.arange(1, 7)
    V = directions.principal_directions(X.T @ X, 4)
    turned = directions.principal_directions((X[::-1] * -1.0).T @ (X[::-1] * -1.0), 4)
    assert np.allclose(V, turned, atol=1e-5)
    assert (np.take_along_axis(V, np.abs(V).argmax(axis=0)[None], axis=0) > 0).all()
    B = X.astype(np.float32)
    assert np.allclose(directions.leading_first(B), directions.leading_first(-B), atol=1e-5)
