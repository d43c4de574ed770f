"""Kernels that put the nodes of a graph in another order: finding communities, and renumbering the adjacency."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from altopt.arrays import Array
from altopt.operator.kernels.dispatch import native

N_LEVELS, N_SWEEPS = 2, 3  # communities, and regions of communities; more levels or sweeps find little more


def community_order(adjacency: Any) -> Array:
    """An order of the nodes, community by community; reverse Cuthill-McKee without the compiled kernels."""
    compiled = native()
    if compiled is None:
        matrix = sp.csr_matrix(adjacency)
        return np.asarray(reverse_cuthill_mckee(matrix, symmetric_mode=True), dtype=np.int32)
    order = np.empty(adjacency.shape[0], dtype=np.int32)
    indptr, indices = adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int32, copy=False)
    compiled.community_order(indptr, indices, N_LEVELS, N_SWEEPS, order)
    return order


def renumber(
    indptr: Array, indices: Array, weights: Array | None, order: Array
) -> tuple[Array, Array, Array | None]:
    """A symmetric CSR matrix with rows and columns in `order` (int32), columns sorted; `weights` None: all are 1."""
    position = inverse_permutation(order)
    new_indptr = np.concatenate([[0], np.cumsum(np.diff(indptr)[order])])
    compiled = native()
    if compiled is None:
        rows, columns = np.repeat(position, np.diff(indptr)), position[indices]
        by_row = np.lexsort((columns, rows))
        return new_indptr, columns[by_row], None if weights is None else weights[by_row]
    new_indices = np.empty_like(indices)
    new_weights = None if weights is None else np.empty_like(weights)
    compiled.renumber(indptr, indices, weights, order, position, new_indptr, new_indices, new_weights)
    return new_indptr, new_indices, new_weights


def inverse_permutation(order: Array) -> Array:
    """The position of each node in an order.

    >>> inverse_permutation(np.array([2, 0, 1]))
    array([1, 2, 0])
    """
    position = np.empty_like(order)
    position[order] = np.arange(len(order), dtype=order.dtype)
    return position
