"""Which nodes a fit looks at: samples of unlabelled nodes, drawn as the fit in memory draws them, without a mask."""

from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.defaults import DEFAULTS
from altopt.training.samples import sample_of

WATCHED = 1 << 24  # numbers of F, of the nodes whose changes of label are counted


def unlabelled_sample(
    n_nodes: int, labelled: Array, limit: int, seed: int, order: Array | None = None
) -> Array:
    """All unlabelled nodes, or a seeded sample, rising; drawn from `order`, or from their list, which is not made.

    >>> labelled = np.array([1, 4])
    >>> unlabelled_sample(6, labelled, 10, 0).tolist()
    [0, 2, 3, 5]
    >>> rest, drawn = np.array([0, 2, 3, 5]), np.random.default_rng(7).choice(4, 2, replace=False)
    >>> unlabelled_sample(6, labelled, 2, 7).tolist() == sorted(rest[drawn].tolist())
    True
    """
    n_rest = n_nodes - len(labelled)
    if order is not None and n_rest > limit:
        unlabelled = np.ones(n_nodes, bool)
        unlabelled[labelled] = False
        return sample_of(unlabelled, limit, seed, order)
    places = (
        np.arange(n_rest)
        if n_rest <= limit
        else np.sort(np.random.default_rng(seed).choice(n_rest, limit, replace=False))
    )
    # the k-th unlabelled node comes after as many labelled ones as stand before it
    return places + np.searchsorted(labelled - np.arange(len(labelled)), places, side="right")


def watched_nodes(n_nodes: int, n_classes: int) -> Array:
    """The nodes whose changes of label are counted: all, or on large graphs a sample."""
    limit = max(WATCHED // n_classes, DEFAULTS.confidence_sample)
    if n_nodes <= limit:
        return np.arange(n_nodes)
    return np.sort(np.random.default_rng(0).choice(n_nodes, limit, replace=False))


def round_nodes(n_nodes: int, n_classes: int, *samples: Array) -> Array:
    """All nodes that a round looks at: those that are watched, and samples."""
    return np.unique(np.concatenate([watched_nodes(n_nodes, n_classes), *samples]))


def places(all_nodes: Array, nodes: Array) -> Any:
    """Where nodes stand among others, which are rising."""
    return np.searchsorted(all_nodes, nodes)
