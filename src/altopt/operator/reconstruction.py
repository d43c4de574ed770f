"""Weights that compose each node's features of its neighbours': the local step of locally linear embedding."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky
from scipy.optimize import nnls

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph import Graph
from altopt.graph.features import read_X
from altopt.operator.feature_matrix import impute
from altopt.operator.knn import Neighbours

MAX_NEIGHBOURS = 50  # of a node with more the nearest are taken: the time of a node grows with their cube
SUM_TO_ONE = 1e3  # how hard weights are held to the sum 1 while they are found


def reconstruction_graph(X: Any, graph: Any = None, n_neighbors: int = 10, ridge: float = 1e-3) -> Graph:
    """The directed graph whose weights w_ij compose the features of node i of its neighbours'.

        minimise ||x_i - sum_j w_ij x_j||^2 + ridge * trace(G_i) / k * ||w_i||^2,      w_ij >= 0,   sum_j w_ij = 1,
        G_i = ((x_i - x_j)'(x_i - x_l))_jl over the k neighbours of i

    Locally linear embedding with weights that are not negative, so that they are weights of a graph.

    Parameters
    ----------
    X : array or sparse array of shape (n_nodes, n_features)
    graph : Graph or what Graph reads, optional
        Neighbours are those of this graph, in either direction; None: the nearest by their features.
    n_neighbors : int, default 10
        Nearest neighbours, where there is no graph.
    ridge : float, default 1e-3
        How far weights are evened out; needed where a node has more neighbours than columns.

    Returns
    -------
    Graph

    Examples
    --------
    >>> import numpy as np
    >>> graph = reconstruction_graph(np.array([[0.0], [1.0], [4.0]]), [(0, 1), (1, 2)], ridge=1e-6)
    >>> graph.directed_adjacency.toarray().round(2).tolist()  # node 1 is three quarters node 0
    [[0.0, 1.0, 0.0], [0.75, 0.0, 0.25], [0.0, 1.0, 0.0]]
    """
    if not ridge > 0:
        raise InputError(f"ridge must be above 0, but is {ridge!r}.")
    X, _ = read_X(X)
    X = impute(X, None)
    known = Neighbours(X, n_neighbors=n_neighbors).graph() if graph is None else Graph(graph)
    known = known.rows_for(X.shape[0])
    A = sp.csr_array(known.adjacency)
    rows, columns, weights = [], [], []
    for node in range(A.shape[0]):
        neighbours = A.indices[A.indptr[node] : A.indptr[node + 1]]
        neighbours = neighbours[neighbours != node]
        if not len(neighbours):
            continue
        differences = dense(X[neighbours]) - dense(X[[node]])
        if len(neighbours) > MAX_NEIGHBOURS:
            near = np.argsort(np.sum(differences**2, axis=1), kind="stable")[:MAX_NEIGHBOURS]
            neighbours, differences = neighbours[near], differences[near]
        w = composing_weights(differences @ differences.T, ridge)
        kept = w > 0
        rows.append(np.full(int(kept.sum()), node))
        columns.append(neighbours[kept])
        weights.append(w[kept])
    if not rows:
        return known
    ends = (np.concatenate(rows), np.concatenate(columns))
    return Graph(sp.csr_array((np.concatenate(weights), ends), shape=A.shape), directed=True)


def composing_weights(G: Array, ridge: float) -> Array:
    """The weights of one node, from products of its differences to its neighbours."""
    k = len(G)
    size = float(np.trace(G)) / k
    if not size > 0:
        return np.full(k, 1.0 / k)
    H = G / size + ridge * np.eye(k)
    w = np.linalg.solve(H, np.ones(k))
    if (w < 0).any():
        held = np.vstack([cholesky(H), np.full((1, k), SUM_TO_ONE)])
        w, _ = nnls(held, np.append(np.zeros(k), SUM_TO_ONE))
    return np.asarray(w / w.sum())


def dense(rows: Any) -> Array:
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)
