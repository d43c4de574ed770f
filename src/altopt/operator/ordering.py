"""Whether an order of the nodes in which neighbours lie close together, good for caches, pays for a graph."""

from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.operator.kernels.reorder import community_order, inverse_permutation

CACHE_BYTES = 2**24  # a block of this size fits in the caches in any order
NEAR_BYTES = 2**20  # rows closer than this are in one core's cache together
MIN_GAIN = 0.1  # share of the edges whose ends the new order must bring near


def order_for(adjacency: Any, row_bytes: int) -> Array | None:
    """A cache-friendly order for blocks with rows of `row_bytes`, or None where the nodes' own order is as good.

    An order pays where a block exceeds the caches, few edges join nearby rows, and the new order brings the ends of
    at least MIN_GAIN of all edges near.
    """
    window = max(NEAR_BYTES // row_bytes, 1)
    if not exceeds_cache(adjacency.shape[0], row_bytes) or adjacency.nnz == 0:
        return None
    before = near_share(adjacency, None, window)
    if before > 1 - 2 * MIN_GAIN:
        return None
    order = community_order(adjacency)
    return order if near_share(adjacency, order, window) >= before + MIN_GAIN else None


def exceeds_cache(n_rows: int, row_bytes: int) -> bool:
    """Whether a block is larger than the caches."""
    return n_rows * row_bytes > CACHE_BYTES


def graph_bytes(n_nodes: int, n_entries: int, weighted: bool, row_bytes: int) -> float:
    """Bytes of the adjacency, and of its copy in another order where blocks with rows of `row_bytes` may need one."""
    adjacency = n_entries * (
        16.0 if weighted else 4.0
    )  # weighted: a column, and the weight in float64 and float32
    return adjacency * (2 if exceeds_cache(n_nodes, row_bytes) else 1)


def near_share(adjacency: Any, order: Array | None, window: int, n_sampled: int = 200_000) -> float:
    """The share of edges whose ends lie fewer than `window` rows apart; from a sample of the entries."""
    entries = np.linspace(0, adjacency.nnz - 1, min(n_sampled, adjacency.nnz)).astype(np.int64)
    source = np.searchsorted(adjacency.indptr, entries, side="right") - 1
    target = adjacency.indices[entries]
    if order is not None:
        position = inverse_permutation(order.astype(np.int64))
        source, target = position[source], position[target]
    return float(np.mean(np.abs(source - target) < window))
