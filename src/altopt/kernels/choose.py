"""Which kernel serves: the native one where it was built and fits, else scipy's."""

import os
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.threads import kernel_threads


def find_native() -> Any:
    """The compiled module: the installed one, or one built into the folder that ALTOPT_NATIVE names."""
    folder = os.environ.get("ALTOPT_NATIVE")
    if folder is not None:
        spec = PathFinder.find_spec("_native", [folder])
        if spec is None or spec.loader is None:
            raise InputError(f"ALTOPT_NATIVE names {folder}, but there is no _native module in it. Unset it.")
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    try:
        return import_module("altopt.kernels._native")
    except ImportError:  # installed without a compiler
        return None


_native = find_native()


def description() -> str:
    """Which kernels serve, for people."""
    if _native is None:
        return "no native kernels were built; scipy serves"
    if forced_off():
        return "native kernels switched off by ALTOPT_KERNELS=scipy"
    return f"native kernels for {_native.level()}"


def serving() -> Any:
    """The native module where it serves, else None."""
    return None if forced_off() else _native


def forced_off() -> bool:
    return os.environ.get("ALTOPT_KERNELS") == "scipy"


def step(
    matrix: Any,
    X: Array,
    scale: Array | float = 1.0,
    diagonal: Array | float | None = None,
    rest: Array | None = None,
    out: Array | None = None,
) -> Array:
    """scale A X + diagonal X + rest, in one pass where the native kernel fits; into `out`, if given.

    A is a CSR matrix and X a dense block (or vector) of the same floating type; `scale` and `diagonal` are one
    number, or one for each row.
    """
    blocks = [X] if rest is None else [X, rest]
    fits = (
        _native is not None
        and X.ndim == 2
        and X.dtype in (np.float32, np.float64)
        and all(block.dtype == matrix.data.dtype for block in blocks)
        and matrix.indices.dtype == matrix.indptr.dtype == np.int32
        and not forced_off()
    )
    if not fits:
        found = plain_step(matrix, X, scale, diagonal, rest)
        if out is None:
            return found
        out[...] = found
        return out
    if X.shape[0] != matrix.shape[1]:
        raise ValueError(f"cannot multiply a matrix of shape {matrix.shape} by a block of shape {X.shape}")
    n = matrix.shape[0]
    out = np.empty((n, X.shape[1]), dtype=X.dtype) if out is None else out
    _native.step(
        matrix.indptr,
        matrix.indices,
        matrix.data,
        np.ascontiguousarray(X),
        out,
        per_row(scale, n, X.dtype),
        None if diagonal is None else per_row(diagonal, n, X.dtype),
        None if rest is None else np.ascontiguousarray(rest),
        kernel_threads(),
    )
    return out


def plain_step(
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
