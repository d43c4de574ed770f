"""The array type, allocation of large arrays, and row operations shared by all modules: one-hot, softmax, certainty."""

import mmap
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FLOAT32_MIN_SIZE = 2_000_000  # entries from which an array is float32; smaller ones are float64
HALF_MIN_SIZE = (
    32_000_000  # entries of F from which rough solves keep it in half precision between their steps
)
MAPPED_MIN_BYTES = 2**22  # from this size on an array is a memory mapping of its own
# Python maps shared memory unless told otherwise, which is a file to Linux: no huge pages
PRIVATE: dict[str, int] = (
    {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
)
BLOCK_ROWS = 32_768  # rows processed at a time where a copy of all n rows would be too large
SMALL_BLOCK_ROWS = 4_096  # for short-lived copies, which then leave no holes in the heap


def allocate(shape: tuple[int, ...], dtype: Any) -> Array:
    """An uninitialised array.

    A large one is a memory mapping of its own, in huge pages where the system has them: its memory returns to the
    system as soon as the array is freed, while the heap would keep holes of that size.
    """
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    if size < MAPPED_MIN_BYTES:
        return np.empty(shape, dtype=dtype)
    mapped = mmap.mmap(-1, size, **PRIVATE)
    if hasattr(mmap, "MADV_HUGEPAGE"):  # Linux alone
        with suppress(OSError):  # a kernel built without huge pages
            mapped.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(mapped, dtype=dtype).reshape(shape)


def row_blocks(n: int, size: int = BLOCK_ROWS) -> list[slice]:
    """Slices that cut 0..n into contiguous blocks of at most `size` rows."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def working_dtype(n_rows: int, n_columns: int) -> np.dtype[Any]:
    """float64 while it costs nothing, float32 where memory and its traffic decide."""
    return np.dtype(np.float64 if n_rows * n_columns < FLOAT32_MIN_SIZE else np.float32)


def rough_storage(n_rows: int, n_columns: int) -> str | None:
    """The storage of F between the steps of a rough solve; None: as F is."""
    return "float16" if n_rows * n_columns >= HALF_MIN_SIZE else None


def row_sums(A: Any) -> Array:
    """The sum of each row of a CSR matrix, in float64."""
    if np.all(A.data == 1):
        return np.asarray(np.diff(A.indptr), dtype=np.float64)
    return np.asarray(A.sum(axis=1, dtype=np.float64)).ravel()


def inverse_sqrt(degrees: Array) -> Array:
    """d^-1/2 of each node's degree; 0 for isolated nodes, so that D^-1/2 A D^-1/2 has zero rows there.

    >>> inverse_sqrt(np.array([4.0, 0.0]))
    array([0.5, 0. ])
    """
    return np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)


def one_hot(codes: Array, n_classes: int, dtype: Any = np.float64) -> Array:
    """A row for each class code, 1 in the column of its class; zeros where the code is -1 (unknown).

    >>> one_hot(np.array([1, -1]), 2)
    array([[0., 1.],
           [0., 0.]])
    """
    rows = np.zeros((len(codes), n_classes), dtype=dtype)
    known = np.flatnonzero(codes >= 0)
    rows[known, codes[known]] = 1
    return rows


def tempered(P: Array, temperature: float) -> Array:
    """Distributions with every entry to the power 1 / temperature, each row divided by its sum.

    >>> tempered(np.array([[0.8, 0.2]]), 0.5).round(3)
    array([[0.941, 0.059]])
    """
    if temperature == 1.0:
        return P
    S = P / P.max(axis=1, keepdims=True)  # small entries may underflow, the largest must not
    S **= 1.0 / temperature
    S /= S.sum(axis=1, keepdims=True)
    return np.asarray(S)


def softmax(F: Array, temperature: float = 1.0) -> Array:
    """exp(F_ij / temperature), each row divided by its sum; finite for every finite F."""
    shifted = (F - F.max(axis=1, keepdims=True)) / temperature
    np.exp(shifted, out=shifted)
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def certainty(S: Array) -> Array:
    """w_i = 1 - H(S_i) / log c for rows that are distributions: 0 says nothing, 1 is certain.

    >>> certainty(np.array([[0.5, 0.5], [1.0, 0.0]]))
    array([0., 1.])
    """
    entropy = -np.sum(np.where(S > 0, S * np.log(np.where(S > 0, S, 1.0)), 0.0), axis=1)
    return np.asarray(np.clip(1.0 - entropy / np.log(S.shape[1]), 0.0, 1.0))


def shares(F: Array) -> Array:
    """F with each row divided by its sum; a row without any mass becomes uniform.

    Row sums of F grow with a node's degree; shares make one temperature mean the same on every node.
    """
    kept = np.maximum(F, 0.0)
    total = kept.sum(axis=1, keepdims=True)
    return np.where(total > 0, kept / np.where(total > 0, total, 1.0), 1.0 / F.shape[1])
