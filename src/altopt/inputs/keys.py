"""A number for each node that follows from what it is like, and not from its place in the order."""

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.graph import Graph
from altopt.operator.feature_matrix import FeatureMatrix

if TYPE_CHECKING:
    from altopt.inputs.inputs import InputSource


def key_of(source: "InputSource") -> Array:
    """From the features and the degree; without features from the surroundings.

    The unit of the edge weights plays no part: degrees are in mean weights.
    """
    weights = source.graph.adjacency.data
    used = weights[weights > 0]  # a kind of edges may weigh nothing
    unit = float(used.mean(dtype=np.float64)) if len(used) else 1.0
    degrees = np.sqrt(2.0) / unit * np.asarray(source.graph.degrees)
    if is_identity(source.X):  # each node's own name says nothing of what it is like
        return by_surroundings(degrees, source.graph)
    return np.asarray(likeness(FeatureMatrix(source.X, source.columns)) + degrees)


def likeness(X: FeatureMatrix) -> Array:
    """A number for each row of X that is nearly never that of another row."""
    return X.along(np.random.default_rng(0).standard_normal(X.n_columns))


def by_surroundings(key: Array, graph: Graph, n_hops: int = 3) -> Array:
    """A number for each node that follows from its own and, by hops, from those of its neighbours.

    >>> path = Graph([(0, 1), (1, 2), (2, 3), (3, 4)])
    >>> key = by_surroundings(np.asarray(path.degrees), path).round(6)
    >>> bool(key[0] == key[4]), bool(key[1] == key[3]), bool(key[1] == key[2])
    (True, True, False)
    """
    for _ in range(n_hops):
        key = key + graph.adjacency @ np.sin(key)
    return np.asarray(key)


def is_identity(X: Any) -> bool:
    """Whether X gives each node its own name and nothing else."""
    n, d = X.shape
    if n != d or not sp.issparse(X) or X.nnz != n:
        return False
    return bool(np.all(X.indices == np.arange(n)) and np.all(X.data == 1))
