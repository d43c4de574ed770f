"""Diffusion against the iteration written out with dense matrices."""

import copy
import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from altopt import Graph, InputError, diffuse
from altopt.operator import NormalizedAdjacency
from altopt.operator.diffusion import KEPT, panels, steps
from problems import toy


def written_out(A, X, restart, n_steps):
    Z = X
    for _ in range(n_steps):
        Z = (1 - restart) * (A @ Z) + restart * X
    return Z


@pytest.mark.parametrize("restart", [0.0, 1e-40, 1e-6, 0.1, 0.9])
@pytest.mark.parametrize("n_steps", [1, 2, 7])
@pytest.mark.parametrize("n_columns", [1, 150, 192])  # one panel, three of three widths, three of one
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_panels_are_diffused_as_the_whole_would_be(restart, n_steps, n_columns, dtype):
    rng = np.random.default_rng(0)
    A = sp.csr_array(np.triu(rng.random((40, 40)) < 0.1, 1).astype(float))
    A_tilde = NormalizedAdjacency(A + A.T)
    X = rng.normal(size=(40, n_columns)).astype(dtype)
    expected = written_out(A_tilde.as_dense(), X.astype(float), restart, n_steps)
    close = 1e-5 if dtype == np.float32 else 1e-12
    Z = steps(A_tilde, X, restart, n_steps)
    assert Z.dtype == dtype
    assert_allclose(Z, expected, atol=close)
    in_place = X.copy()
    assert steps(A_tilde, in_place, restart, n_steps, out=in_place) is in_place
    assert_allclose(in_place, expected, atol=close)


@pytest.mark.parametrize("n_columns", [1, 63, 64, 65, 150, 1433])
def test_panels_cover_every_column_once(n_columns):
    assert len({width for _, width in panels(192)}) == 1
    columns = [first + k for first, width in panels(n_columns) for k in range(width)]
    assert columns == list(range(n_columns))


@pytest.mark.parametrize(
    ("X", "settings", "said"),
    [
        (np.array([[np.nan], [1.0]]), {}, "X must hold finite real numbers"),
        (np.array([[1j], [1.0]]), {}, "X must hold finite real numbers"),
        ([["a"], ["b"]], {}, "X must hold numbers"),
        (np.ones((2, 1)), {"n_steps": 2.5}, "n_steps must be a whole number"),
        (np.ones((2, 1)), {"n_steps": True}, "n_steps must be a whole number"),
        (np.ones((2, 1)), {"restart": np.nan}, "restart must lie between 0 and 1"),
        (np.ones((2, 1)), {"restart": "some"}, "restart must lie between 0 and 1"),
    ],
)
def test_diffuse_refuses_what_it_cannot_use(X, settings, said):
    with pytest.raises(InputError, match=said):
        diffuse([(0, 1)], X, **settings)


def test_diffuse_takes_features_up_to_the_end_of_float64():
    assert np.isfinite(diffuse([(0, 1)], np.array([[1e300], [-1e-300]]))).all()


def test_a_graph_is_prepared_once_and_forgotten_with_it():
    problem = toy()
    X = np.random.default_rng(0).normal(size=(problem.adjacency.shape[0], 3))
    graph = Graph(problem.adjacency)
    first, kept = diffuse(graph, X), KEPT.operator(graph, "both", False)
    assert_array_equal(diffuse(graph, X), first)
    assert KEPT.operator(graph, "both", False) is kept
    with_loops = diffuse(graph, X, self_loops=True)
    assert_array_equal(with_loops, diffuse(problem.adjacency, X, self_loops=True))
    for other in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        assert KEPT.operator(other, "both", False) is not kept
    fewer = problem.adjacency.copy()
    fewer.data[:] = 0.5
    changed = graph.with_edges(fewer, None, None)
    assert_array_equal(diffuse(changed, X), diffuse(fewer, X))
    graph.adjacency = changed.adjacency
    assert_array_equal(diffuse(graph, X), diffuse(fewer, X))
    gone = weakref.ref(KEPT.operator(graph, "both", False))
    del graph
    gc.collect()
    assert gone() is None


def test_threads_may_diffuse_on_one_graph():
    problem = toy()
    X = np.random.default_rng(0).normal(size=(problem.adjacency.shape[0], 3))
    graph, expected = Graph(problem.adjacency), diffuse(problem.adjacency, X)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: diffuse(graph, X), range(40)):
            assert_array_equal(found, expected)
