"""Which kernel serves: the native one where it was built and fits, else scipy's."""

import os
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.threads import kernel_threads

_native: Any = None
with suppress(ImportError):  # installed without a compiler
    _native = import_module("altopt.kernels._native")


def description() -> str:
    """Which kernels serve, for people."""
    if _native is None:
        return "no native kernels were built; scipy serves"
    if forced_off():
        return "native kernels switched off by ALTOPT_KERNELS=scipy"
    return f"native kernels for {_native.level()}"


def forced_off() -> bool:
    return os.environ.get("ALTOPT_KERNELS") == "scipy"


def product(matrix: Any, X: Array) -> Array:
    """A X for a CSR matrix and a dense block (or vector) of the same floating type."""
    fits = (
        _native is not None
        and X.ndim == 2
        and X.dtype == matrix.data.dtype
        and X.dtype in (np.float32, np.float64)
        and matrix.indices.dtype == matrix.indptr.dtype == np.int32
        and not forced_off()
    )
    if not fits:
        return np.asarray(matrix @ X)
    if X.shape[0] != matrix.shape[1]:
        raise ValueError(f"cannot multiply a matrix of shape {matrix.shape} by a block of shape {X.shape}")
    out = np.empty((matrix.shape[0], X.shape[1]), dtype=X.dtype)
    rows = np.ascontiguousarray(X)
    _native.product(matrix.indptr, matrix.indices, matrix.data, rows, out, kernel_threads())
    return out
