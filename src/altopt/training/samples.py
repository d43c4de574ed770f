"""Samples of nodes: drawn from their list in an order that follows from what nodes are like, not from their numbers."""

import numpy as np

from altopt.arrays import Array


def sample_of(wanted: Array, limit: int, seed: int, order: Array | None = None) -> Array:
    """The nodes of a mask, or a seeded sample of `limit` of them, rising.

    `order` holds all nodes. Two numberings of the nodes with the same order in it give the same sample.

    >>> wanted, order = np.arange(9) % 3 > 0, np.array([8, 7, 6, 5, 4, 3, 2, 1, 0])
    >>> sample_of(wanted, 6, 0, order).tolist()
    [1, 2, 4, 5, 7, 8]
    >>> renumbered = sample_of(wanted[order], 2, 0, np.arange(9))
    >>> sample_of(wanted, 2, 0, order).tolist() == sorted(order[renumbered].tolist())
    True
    """
    nodes = np.flatnonzero(wanted)
    if len(nodes) <= limit:
        return nodes
    if order is not None:
        nodes = order[wanted[order]]
    return np.sort(np.random.default_rng(seed).choice(nodes, limit, replace=False))


def in_order(nodes: Array, order: Array) -> Array:
    """These nodes as they come in an order of all.

    >>> in_order(np.array([0, 2]), np.array([3, 2, 1, 0])).tolist()
    [2, 0]
    """
    wanted = np.zeros(len(order), bool)
    wanted[nodes] = True
    return np.asarray(order[wanted[order]]).astype(np.int64)


def shuffled(nodes: Array, seed: int) -> Array:
    """These nodes in an order drawn from theirs."""
    return np.random.default_rng(seed).permutation(nodes)


def evenly(n_nodes: int, limit: int, order: Array | None = None) -> Array:
    """All nodes, or `limit` of them at equal distances in their order.

    >>> evenly(9, 3).tolist(), evenly(3, 9).tolist()
    ([0, 4, 8], [0, 1, 2])
    """
    if n_nodes <= limit:
        return np.arange(n_nodes)
    at = np.linspace(0, n_nodes - 1, limit).astype(np.int64)
    return at if order is None else order[at]
