"""A small directed graph with features, and encoder inputs made from it, for the tests of inputs."""

import numpy as np
import scipy.sparse as sp

from altopt import Graph
from altopt.fitted.new_nodes import new_nodes
from altopt.inputs import InputSource
from altopt.operator import NormalizedAdjacency

N, D = 60, 40


def directed(seed=0, n=N, density=0.06):
    """A one-way graph with a clear spectrum; the last node has no edges, the one before only gives."""
    rng = np.random.default_rng(seed)
    A = (rng.random((n, n)) < density * np.linspace(0.3, 2.0, n)).astype(float)
    np.fill_diagonal(A, 0.0)
    A[-1] = A[:, -1] = A[:, -2] = 0.0
    return sp.csr_array(A)


def features(seed=1, n=N, d=D):
    """Sparse counts in a few topics, so that leading directions stand out."""
    rng = np.random.default_rng(seed)
    topics = rng.random((6, d)) * np.linspace(2.0, 0.3, 6)[:, None]
    X = np.round(rng.gamma(0.5, size=(n, 6)) @ topics * (rng.random((n, d)) < 0.3))
    return sp.csr_array(X)


def prepared(kind, A=None, X=None, seed=0, restart=0.2):
    graph = Graph(directed() if A is None else A, directed=True)
    X = features() if X is None else X
    return kind.prepare(source_of(graph, X, restart, seed))


def source_of(graph, X, restart=0.2, seed=0):
    """With the labels of two thirds of the nodes, for inputs that read them."""
    codes = np.where(np.arange(graph.n_nodes) % 3, np.arange(graph.n_nodes) % 2, -1)
    return InputSource(graph, NormalizedAdjacency(graph.adjacency), X, restart, 10, seed, codes, 2)


def dense(rows):
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


def newcomers(n_new=3, restart=0.2):
    """Nodes N, N + 1 (tied to nodes and each other) and N + 2, which has no edge."""
    graph = Graph(directed(), directed=True)
    source, target = np.array([N, N, N + 1, 4]), np.array([3, 5, N, N + 1])
    ends = (source, target, np.ones(4))
    larger = graph.grown(n_new, *ends)
    return new_nodes(larger, NormalizedAdjacency(larger.adjacency), features(seed=9)[:n_new], restart, 10)


def as_if_wide(monkeypatch):
    """Directions are found by the range finder, as for an X with many columns."""
    for module in ("reduced", "hops"):
        monkeypatch.setattr(f"altopt.inputs.{module}.few_columns", lambda n_rows, n_columns: False)
