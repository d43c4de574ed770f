"""Accuracy, the figure that all experiments are compared by."""

import numpy as np

from altopt.arrays import Array


def accuracy(labels: Array, y: Array, nodes: Array | None = None) -> float:
    """The share of right labels, among all nodes or among `nodes` (positions or a mask).

    >>> accuracy(np.array([0, 1, 1]), np.array([0, 1, 2]), np.array([1, 2]))
    0.5
    """
    nodes = np.arange(len(y)) if nodes is None else nodes
    return float(np.mean(labels[nodes] == y[nodes]))
