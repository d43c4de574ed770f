"""The fused product scale A X + diagonal X + rest of a CSR matrix with a dense block."""

from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.operator.kernels.dispatch import native
from altopt.threads import kernel_threads


def step(
    matrix: Any,
    X: Array,
    scale: Array | float = 1.0,
    diagonal: Array | float | None = None,
    rest: Array | None = None,
    out: Array | None = None,
) -> Array:
    """scale A X + diagonal X + rest, in one pass where the compiled kernel fits.

    Parameters
    ----------
    matrix : CSR matrix of shape (m, n)
        A.
    X : array of shape (n, k) or (n,)
        Of the same floating type as A.
    scale, diagonal : float or array of shape (m,)
        One number, or one for each row.
    rest : array of shape (m, k), optional
    out : array of shape (m, k), optional
        Receives the result.
    """
    blocks = [X] if rest is None else [X, rest]
    compiled = native()
    fits = (
        compiled is not None
        and X.ndim == 2
        and X.dtype in (np.float32, np.float64)
        and all(block.dtype == matrix.data.dtype for block in blocks)
        and matrix.shape[1] <= np.iinfo(np.int32).max
    )
    if not fits:
        product = scipy_step(matrix, X, scale, diagonal, rest)
        if out is None:
            return product
        out[...] = product
        return out
    if X.shape[0] != matrix.shape[1]:
        raise ValueError(f"cannot multiply a matrix of shape {matrix.shape} by a block of shape {X.shape}")
    n = matrix.shape[0]
    out = np.empty((n, X.shape[1]), dtype=X.dtype) if out is None else out
    compiled.step(
        matrix.indptr.astype(np.int64, copy=False),
        matrix.indices.astype(np.int32, copy=False),
        matrix.data,
        np.ascontiguousarray(X),
        out,
        per_row(scale, n, X.dtype),
        None if diagonal is None else per_row(diagonal, n, X.dtype),
        None if rest is None else np.ascontiguousarray(rest),
        1.0,
        0.0,
        0.0,
        None,
        kernel_threads(),
    )
    return out


def scipy_step(
    matrix: Any, X: Array, scale: Array | float, diagonal: Array | float | None, rest: Array | None
) -> Array:
    """The same by scipy and numpy."""

    def times(factor: Array | float, block: Array) -> Array:
        per_row = np.asarray(factor, dtype=block.dtype)
        return np.asarray((per_row[:, None] if per_row.ndim and block.ndim == 2 else per_row) * block)

    out = times(scale, np.asarray(matrix @ X))
    if diagonal is not None:
        out += times(diagonal, X)
    if rest is not None:
        out += rest
    return out


def per_row(value: Array | float, n: int, dtype: Any) -> Array:
    return np.ascontiguousarray(np.broadcast_to(np.asarray(value, dtype=dtype), n))
