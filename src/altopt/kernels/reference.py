"""The kernels as plain loops: the definition of right, for tests."""

from typing import Any

import numpy as np

from altopt.arrays import Array


def product(matrix: Any, X: Array) -> Array:
    """out_i = sum over the entries (i, j) of a sparse matrix in CSR form of a_ij X_j."""
    out = np.zeros((matrix.shape[0], X.shape[1]), dtype=X.dtype)
    for i in range(matrix.shape[0]):
        for entry in range(matrix.indptr[i], matrix.indptr[i + 1]):
            out[i] += matrix.data[entry] * X[matrix.indices[entry]]
    return out
