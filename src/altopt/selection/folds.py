"""Which labels are held out together, and seeded samples of labels."""

import numpy as np

from altopt.arrays import Array

SEED_SALT = 5  # so that folds are drawn by other random numbers than the rest of a fit


def stratified_folds(codes: Array, seed: int, n_folds: int, key: Array | None = None) -> Array:
    """A fold for each labelled node, -1 for the others; each class is dealt out evenly.

    Nodes are dealt out in the order of `key`, where that is given: then their numbers play no part.

    >>> folds = stratified_folds(np.array([0, 0, 1, 1, -1]), seed=0, n_folds=2)
    >>> sorted(folds[:2].tolist()), sorted(folds[2:4].tolist()), int(folds[4])
    ([0, 1], [0, 1], -1)
    """
    fold = np.full(len(codes), -1)
    rng = np.random.default_rng([seed, SEED_SALT])
    n_dealt = 0
    for k in range(int(codes.max()) + 1):
        nodes = rng.permutation(in_order(np.flatnonzero(codes == k), key))
        fold[nodes] = (n_dealt + np.arange(len(nodes))) % n_folds
        n_dealt += len(nodes)
    return fold


def in_order(nodes: Array, key: Array | None) -> Array:
    return nodes if key is None else nodes[np.argsort(key[nodes], kind="stable")]


def some_of_each(codes: Array, n: int, seed: int, key: Array | None = None) -> Array:
    """Numbers of about n labels, each class in its share, two at least."""
    rng = np.random.default_rng([seed, len(codes)])
    picked = []
    for k in np.unique(codes):
        own = in_order(np.flatnonzero(codes == k), key)
        picked.append(rng.permutation(own)[: max(2, round(n * len(own) / len(codes)))])
    return np.sort(np.concatenate(picked))
