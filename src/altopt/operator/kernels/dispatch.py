"""Which kernel serves: the native one where it was built and fits, else scipy's; torch's on request."""

import os
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from altopt.arrays import Array, allocate, certainty, shares, softmax
from altopt.errors import InputError, require_extra
from altopt.operator.kernels import reference
from altopt.operator.kernels.backend import Stage
from altopt.operator.kernels.native import NativeStage
from altopt.operator.kernels.scipy import PlainStage
from altopt.threads import kernel_threads

if TYPE_CHECKING:
    from altopt.operator import NormalizedAdjacency


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
        return import_module("altopt.operator.kernels._native")
    except ImportError:  # installed without a compiler
        return None


_native = find_native()


def asked() -> str:
    """What ALTOPT_KERNELS asks for: "native" (the default), "scipy", "torch" or "torch:<device>"."""
    wish = os.environ.get("ALTOPT_KERNELS") or "native"
    if wish not in ("native", "scipy") and wish.partition(":")[0] != "torch":
        raise InputError(
            f"ALTOPT_KERNELS is {wish!r}. Set it to native, scipy, torch or torch:<device>, or leave it unset."
        )
    return wish


def serving() -> Any:
    """The native module where it serves, else None."""
    return _native if asked() == "native" else None


def release_free_memory() -> None:
    """Hand what the heap keeps of freed memory back to the system, between phases that hold different things."""
    if _native is not None:
        _native.give_back()


def description() -> str:
    """Which kernels serve, for people."""
    if asked() != "native":
        return f"native kernels switched off by ALTOPT_KERNELS={asked()}"
    if _native is None:
        return "no native kernels were built; scipy serves"
    return f"native kernels for {_native.level()}"


def stage(
    A_tilde: "NormalizedAdjacency", width: int, dtype: Any = np.float32, *, ordered: bool | None = None
) -> Stage:
    """Where blocks of `width` columns are worked on with A_tilde, stored as `dtype`; ordered=None: where it pays."""
    row_bytes = width * np.dtype(dtype).itemsize
    layout = A_tilde.layout_for(row_bytes) if ordered is None else A_tilde.layout(ordered)
    if asked().startswith("torch"):
        require_extra("torch", "torch", f"ALTOPT_KERNELS={asked()}")
        from altopt.operator.kernels.torch import TorchStage

        return TorchStage(layout, width, dtype, asked().partition(":")[2] or "cpu")
    native = serving()
    return PlainStage(layout, width, dtype) if native is None else NativeStage(native, layout, width, dtype)


class Softened(NamedTuple):
    """Rows turned into distributions."""

    S: Array  # empty where it was not kept
    w: Array  # certainty of each row
    label: Array  # column of each row's largest entry


def soften(F: Array, temperature: float, *, of_shares: bool, keep: bool = True) -> Softened:
    """S = softmax(F / temperature) by rows, of F's shares if asked, in one pass; with keep=False S is not kept."""
    native = serving()
    if native is None or F.dtype not in (np.float32, np.float64):
        S = softmax(shares(F) if of_shares else F, temperature)
        return Softened(S, certainty(S), S.argmax(axis=1).astype(np.int32))
    F = np.ascontiguousarray(F)
    kept = allocate(F.shape, F.dtype) if keep else None
    w, label = np.empty(len(F)), np.empty(len(F), dtype=np.int32)
    threads = (
        kernel_threads() if F.size > 100_000 else 1
    )  # a few rows are done before other threads have woken up
    native.soften(F, kept, w, label, temperature, of_shares, threads)
    return Softened(np.empty((0, F.shape[1])) if kept is None else kept, w, label)


def cross_entropy(x: Array, targets: Array) -> tuple[float, Array]:
    """The cross entropy of soft targets at logits x, and its slope, which may be x itself overwritten."""
    native = serving()
    if native is None:
        return reference.cross_entropy(x, targets)
    return float(native.cross_entropy(x, targets, kernel_threads())), x


def softmax_regression(X: Any, W: Array, b: Array, targets: Array) -> tuple[float, Array, Array]:
    """The cross entropy of soft targets at logits X W' + b (W: one row a class), and its slopes in W and b, in float64.

    X is read once where the native kernel serves: rows as wide as they are for LinearEncoder, few classes. Else
    there are two products with X.
    """
    native = serving()
    if native is not None and fits_in_one_pass(X, len(W)):
        slope_W, slope_b = np.empty(W.shape), np.empty(b.shape)
        W, b = W.astype(np.float32), b.astype(np.float32)
        threads = kernel_threads() if X.size > 100_000 else 1
        return float(native.regression(X, W, b, targets, slope_W, slope_b, threads)), slope_W, slope_b
    logits = np.asarray(X @ W.T.astype(X.dtype), dtype=np.float32)
    logits += b.astype(np.float32)
    value, slope = cross_entropy(logits, targets)
    slope_W = np.asarray(X.T @ slope.astype(X.dtype, copy=False), dtype=np.float64).T
    return value, slope_W, slope.sum(axis=0, dtype=np.float64)


def fits_in_one_pass(X: Any, n_classes: int) -> bool:
    """Whether X is a dense block that a pass over short rows of sums beats two products of a BLAS on."""
    dense = isinstance(X, np.ndarray) and X.dtype == np.float32 and X.flags.c_contiguous
    return dense and X.shape[1] >= 16 * n_classes


def surest_per_class(w: Array, label: Array, candidates: Array, n_classes: int, most: int) -> Array:
    """The `most` candidates of highest w for each label, as sorted node numbers; ties go to the lower number."""
    native = serving()
    if native is None:
        return reference.surest_per_class(w, label, candidates, most)
    out = np.empty(min(len(w), n_classes * most), dtype=np.int64)
    label = np.ascontiguousarray(label, dtype=np.int32)
    n = native.surest_per_class(
        np.ascontiguousarray(w, dtype=np.float64),
        label,
        np.ascontiguousarray(candidates),
        n_classes,
        most,
        out,
    )
    return out[:n]


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
    native = serving()
    fits = (
        native is not None
        and X.ndim == 2
        and X.dtype in (np.float32, np.float64)
        and all(block.dtype == matrix.data.dtype for block in blocks)
        and matrix.shape[1] <= np.iinfo(np.int32).max
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
    native.step(
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
