"""How a graph is stored while many steps are taken on it: in which order, and scaled so that edges need no values."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.operator.kernels.reorder import inverse_permutation, renumber


@dataclass(frozen=True)
class Layout:
    """The adjacency A in the order of the layout, for blocks G = D^-1/2 F.

    D^-1/2 A_tilde F = D^-1 A G: in these coordinates an unweighted graph needs no values, only who is tied to whom.
    Row k of a block belongs to node order[k]; a node without edges has the degree 1 here, so that nothing is
    divided by zero, and its row of A is empty all the same.
    """

    indptr: Array  # int64
    indices: Array  # int32
    weights: Array | None  # float64; None where every edge weighs one
    degrees: Array  # float64, in the order of the layout
    order: Array | None  # int32; None keeps the nodes as they came

    @property
    def n_nodes(self) -> int:
        return len(self.degrees)

    def vector(self, values: Array | float, dtype: Any = np.float64) -> Array:
        """One number for each node, in the order of the layout."""
        values = np.broadcast_to(np.asarray(values, dtype=dtype), self.n_nodes)
        return np.ascontiguousarray(values if self.order is None else values[self.order])

    def rows(self, nodes: Array) -> Array:
        """The rows of nodes."""
        return nodes if self.order is None else inverse_permutation(self.order)[nodes]


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
    return bool(np.all(adjacency.data == 1))
