"""The kernels as plain loops: the definition of right, for tests."""

from typing import Any

import numpy as np

from altopt.arrays import Array


def step(
    matrix: Any, X: Array, scale: Array, diagonal: Array | None = None, rest: Array | None = None
) -> Array:
    """out_i = scale_i * (sum over a row's entries of a_ij X_j) + diagonal_i X_i + rest_i, for a CSR matrix."""
    out = np.zeros((matrix.shape[0], X.shape[1]), dtype=X.dtype)
    for i in range(matrix.shape[0]):
        for entry in range(matrix.indptr[i], matrix.indptr[i + 1]):
            out[i] += matrix.data[entry] * X[matrix.indices[entry]]
        out[i] *= scale[i]
        if diagonal is not None:
            out[i] += diagonal[i] * X[i]
        if rest is not None:
            out[i] += rest[i]
    return out


def surest_per_class(w: Array, label: Array, candidates: Array, most: int) -> Array:
    """The `most` candidates of highest w for each label, as sorted node numbers; ties go to the lower number."""
    nodes = np.flatnonzero(candidates)
    order = np.lexsort((nodes, -w[nodes], label[nodes]))
    by_class = label[nodes][order]
    rank = np.arange(len(order)) - np.searchsorted(by_class, by_class)
    return np.sort(nodes[order[rank < most]])


def cross_entropy(x: Array, targets: Array) -> tuple[float, Array]:
    """sum_ik T_ik (log sum_l e^x_il - x_ik) for soft targets T, and its slope sum(T_i) softmax(x_i) - T_i."""
    shifted = x - x.max(axis=1, keepdims=True)
    log_total = np.log(np.exp(shifted).sum(axis=1))
    mass = targets.sum(axis=1)
    value = float(mass @ log_total - np.sum(targets * shifted))
    return value, np.exp(shifted - log_total[:, None]) * mass[:, None] - targets
