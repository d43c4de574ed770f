"""Reductions over the neighbours of each node, from rows of edge weights."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.inputs.inputs import ChangedNodes, NewNodes
from altopt.operator.diffusion import Direction


def edges_along(nodes: NewNodes | ChangedNodes, direction: Direction) -> Any:
    """Rows of weights of the edges of these nodes in a direction."""
    if direction == "out":
        return nodes.out
    return nodes.into if direction == "in" else sp.csr_array(nodes.out.maximum(nodes.into))


def least_and_largest(A: Any, X: Array) -> tuple[Array, Array]:
    """Of the rows of X that each row of A has an entry for, column by column; zeros where it has none.

    >>> A = sp.csr_array([[0.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    >>> least, largest = least_and_largest(A, np.array([[1.0], [2.0], [5.0]]))
    >>> least.ravel().tolist(), largest.ravel().tolist()
    ([2.0, 0.0, 1.0], [5.0, 0.0, 1.0])
    """
    least, largest = (np.zeros((A.shape[0], X.shape[1]), dtype=X.dtype) for _ in range(2))
    full = np.flatnonzero(np.diff(A.indptr))
    if len(full):
        starts = A.indptr[full]
        for column in range(X.shape[1]):
            values = X[A.indices, column]
            least[full, column] = np.minimum.reduceat(values, starts)
            largest[full, column] = np.maximum.reduceat(values, starts)
    return least, largest
