"""The storage of a graph for many steps: the order of its nodes, and a scaling in which edges need no values."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.operator.kernels.reorder import inverse_permutation, renumber


@dataclass(frozen=True)
class Layout:
    """The adjacency A in CSR form, its nodes in an order of their own, for blocks that hold D^-1/2 F.

    As D^-1/2 A_tilde F = D^-1 A (D^-1/2 F), an unweighted graph needs no values in these coordinates. Row k of a
    block belongs to node order[k]. The degree of an isolated node is 1 here, to avoid a division by zero;
    its row of A is empty.

    Attributes
    ----------
    indptr : array of int64
    indices : array of int32
    weights : array of float64 or None
        None where every edge has weight 1.
    degrees : array of float64
        In the layout's order.
    order : array of int32 or None
        None keeps the nodes' own order.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> path = sp.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> layout = lay_out(path, np.array([1.0, 2.0, 1.0]), order=np.array([1, 0, 2]))
    >>> layout.degrees, layout.indices, layout.weights
    (array([2., 1., 1.]), array([1, 2, 0, 0], dtype=int32), None)
    >>> layout.vector(np.array([10.0, 20.0, 30.0])), layout.rows(np.array([0]))
    (array([20., 10., 30.]), array([1], dtype=int32))
    """

    indptr: Array
    indices: Array
    weights: Array | None
    degrees: Array
    order: Array | None

    @property
    def n_nodes(self) -> int:
        return len(self.degrees)

    def vector(self, values: Array | float, dtype: Any = np.float64) -> Array:
        """One number for each node, in the layout's order."""
        values = np.broadcast_to(np.asarray(values, dtype=dtype), self.n_nodes)
        return np.ascontiguousarray(values if self.order is None else values[self.order])

    @cached_property
    def _row_of_node(self) -> Array | None:
        return None if self.order is None else inverse_permutation(self.order)

    def rows(self, nodes: Array) -> Array:
        """The rows of these nodes in a block."""
        return nodes if self._row_of_node is None else self._row_of_node[nodes]


def lay_out(adjacency: Any, degrees: Array, order: Array | None = None) -> Layout:
    """The layout of a symmetric CSR matrix, its nodes in `order`."""
    A = adjacency
    weights = None if unweighted(A) else np.asarray(A.data, dtype=np.float64)
    degrees = np.where(degrees > 0, degrees, 1.0)
    indptr, indices = A.indptr.astype(np.int64, copy=False), A.indices.astype(np.int32, copy=False)
    if order is None:
        return Layout(indptr, indices, weights, degrees, None)
    order = order.astype(np.int32)
    return Layout(*renumber(indptr, indices, weights, order), degrees[order], order)


def unweighted(adjacency: Any) -> bool:
    """Whether every edge has weight 1."""
    return bool(np.all(adjacency.data == 1))
