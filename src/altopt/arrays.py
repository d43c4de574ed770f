"""What an array is here, where large ones live, and the row operations everything shares: softmax and certainty."""

import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

SINGLE_FROM = 2_000_000  # numbers in a block from which float32 serves; smaller ones are float64
LARGE = 2**22  # bytes from which an array has a mapping of its own
BLOCK_ROWS = 32_768  # rows handled at once where a whole n x d copy would be too much
FEW_ROWS = 4_096  # and where copies of them come and go: they leave no holes in the heap


def room(shape: tuple[int, ...], dtype: Any) -> Array:
    """An array with anything in it.

    A large one is mapped by itself, in huge pages where the system has them, so that its memory goes back the moment
    it is let go; a heap keeps holes of that size.
    """
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    if size < LARGE:
        return np.empty(shape, dtype=dtype)
    mapped = mmap.mmap(-1, size)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        mapped.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(mapped, dtype=dtype).reshape(shape)


def row_blocks(n: int, size: int = BLOCK_ROWS) -> list[slice]:
    """Slices that cut 0..n into contiguous blocks of at most `size` rows."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def working_dtype(n_rows: int, n_columns: int) -> np.dtype[Any]:
    """float64 while it costs nothing, float32 where memory and its traffic decide."""
    return np.dtype(np.float64 if n_rows * n_columns < SINGLE_FROM else np.float32)


def row_sums(A: Any) -> Array:
    """The sum of each row of a CSR matrix, in float64."""
    if np.all(A.data == 1):
        return np.asarray(np.diff(A.indptr), dtype=np.float64)
    return np.asarray(A.sum(axis=1, dtype=np.float64)).ravel()


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
