"""Sparse matrices: checked; from edge lists, without self-loops, symmetrised, permuted, compacted."""

from typing import Any

import numpy as np
from scipy import sparse

from altopt.arrays import Array
from altopt.errors import InputError

WHOLE = (np.dtype(np.int32), np.dtype(np.int64))


def checked_csr(M: Any, what: str, dtype: Any = None) -> Any:
    """A sparse matrix of any format in CSR form, its indices checked: scipy takes them on trust, and so do kernels.

    `what` names it in a message; None keeps its dtype.

    >>> A = sparse.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> A.indices[0] = 7
    >>> checked_csr(A, "the graph")
    Traceback (most recent call last):
    altopt.errors.InputError: the graph is damaged: it has an entry in column 7 of 2. Make the matrix again.
    """
    if M.ndim != 2:
        raise InputError(f"{what} must be a matrix with rows and columns; its shape is {M.shape}.")
    fault = _fault(M)
    if fault is None:
        try:
            A = sparse.csr_array(M if dtype is None else M.astype(dtype))
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            fault = " ".join(str(error).split())[:200]
        else:
            fault = None if M.format == "csr" else _fault(A)
    if fault is not None:
        raise InputError(f"{what} is damaged: {fault}. Make the matrix again.")
    return A


def csr_of(data: Array, indices: Array, indptr: Array, shape: tuple[int, ...], what: str) -> sparse.csr_array:
    """A CSR matrix of arrays from a file, checked before scipy or a kernel reads them."""
    parts = (data, indices, indptr)
    kinds = data.dtype.kind in "biuf" and all(part.dtype in WHOLE for part in parts[1:])
    if not kinds or any(part.ndim != 1 for part in parts) or len(shape) != 2 or min(shape) < 0:
        raise InputError(f"{what} is no sparse matrix.")
    fault = _index_fault(indptr, indices, len(data), shape, ("row", "column"))
    if fault is None and not len(data) == len(indices) == int(indptr[-1]):
        fault = f"it has {len(data):,} values, {len(indices):,} places and {int(indptr[-1]):,} entries"
    if fault is not None:
        raise InputError(f"{what} is damaged: {fault}.")
    return sparse.csr_array(parts, shape=shape)


def _fault(M: Any) -> str | None:
    """What is wrong with the index arrays of a matrix; None where nothing is, or where the format has none."""
    if M.format in ("csr", "csc", "bsr"):
        return _compressed_fault(M)
    if M.format == "coo":
        places = dict(zip(("row", "column"), M.coords))
        if any(len(place) != len(M.data) for place in places.values()):
            return f"{len(M.data):,} values stand at {len(M.coords[0]):,} places"
        return next(filter(None, map(_outside, places, places.values(), M.shape)), None)
    return None


def _compressed_fault(M: Any) -> str | None:
    height, width = getattr(M, "blocksize", (1, 1))
    shape, names = (M.shape[0] // height, M.shape[1] // width), ("row", "column")
    if M.format == "csc":
        shape, names = shape[::-1], names[::-1]
    if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in (M.indptr, M.indices)):
        return f"its indices are {M.indices.dtype}, not whole numbers"
    return _index_fault(M.indptr, M.indices, len(M.data), shape, names)


def _index_fault(
    indptr: Array, indices: Array, n_values: int, shape: tuple[int, ...], names: tuple[str, str]
) -> str | None:
    n_rows, n_columns = shape
    if len(indptr) != n_rows + 1 or indptr[0] != 0 or bool((indptr[1:] < indptr[:-1]).any()):
        return f"its indptr does not rise from 0 through {n_rows:,} {names[0]}s"
    n_entries, n_stored = int(indptr[-1]), min(len(indices), n_values)
    if n_entries > n_stored:
        return f"its indptr speaks of {n_entries:,} entries and it has {n_stored:,}"
    return _outside(names[1], indices[:n_entries], n_columns)


def _outside(name: str, places: Array, n: int) -> str | None:
    if places.dtype.kind not in "iu":
        return f"its {name} numbers are {places.dtype}, not whole numbers"
    for extreme in (int(places.min()), int(places.max())) if len(places) else ():
        if not 0 <= extreme < n:
            return f"it has an entry in {name} {extreme:,} of {n:,}"
    return None


def edge_matrix(source: Array, target: Array, weight: Array | None, n: int) -> tuple[Any, int, int]:
    """Edges as an n x n matrix, and the number of self-loops and of repeated edges that were dropped.

    An edge counts once per direction, with its largest weight; an edge of weight 0 is left out.

    >>> A, n_loops, n_repeats = edge_matrix(*np.array([[0, 0, 2], [1, 1, 2]]), np.array([1.0, 3.0, 1.0]), 3)
    >>> A.toarray().tolist(), n_loops, n_repeats
    ([[0.0, 3.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], 1, 1)
    """
    keep = np.ones(len(source), bool) if weight is None else weight > 0
    n_kept = int(np.count_nonzero(keep))
    keep &= source != target
    n_loops = n_kept - int(np.count_nonzero(keep))
    if not keep.all():
        source, target, weight = source[keep], target[keep], None if weight is None else weight[keep]
    key = source.astype(np.int64)
    key *= n
    key += target
    if weight is None:
        key.sort()
    else:
        order = np.argsort(key)
        key, weight = key[order], weight[order]
    first = np.ones(len(key), bool)
    first[1:] = key[1:] != key[:-1]
    if weight is None:  # ones, in one byte each until the matrix is compacted
        data: Array = np.ones(np.count_nonzero(first), np.int8)
    else:
        data = np.maximum.reduceat(weight, np.flatnonzero(first)) if len(weight) else weight
    n_duplicates = len(key) - len(data)
    key = key[first] if n_duplicates else key
    indptr = np.searchsorted(key, np.arange(n + 1) * n)
    key %= n
    return sparse.csr_array((data, key, indptr), shape=(n, n)), n_loops, n_duplicates


def without_loops(A: Any) -> tuple[Any, int]:
    """A matrix without explicit zeros and diagonal, and the number of self-loops it had."""
    n_loops = int(np.count_nonzero(A.diagonal()))
    if n_loops or not A.data.all():
        rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        keep = (A.data != 0) & (rows != A.indices)
        indptr = np.concatenate([[0], np.cumsum(keep)])[A.indptr]
        A = sparse.csr_array((A.data[keep], A.indices[keep], indptr), shape=A.shape)
    return A, n_loops


def symmetrised(A: Any) -> tuple[Any, bool]:
    """max(A, A'), in new arrays, and whether A was symmetric already."""
    T = A.T.tocsr()
    pairs = ((A.indptr, T.indptr), (A.indices, T.indices), (A.data, T.data))
    symmetric = A.nnz == T.nnz and all(np.array_equal(a, t) for a, t in pairs)
    return (T if symmetric else A.maximum(T)), symmetric


def permuted(A: Any, to: Array, n: int) -> Any:
    """The n x n matrix with node i of A in row and column to[i]."""
    counts = np.diff(A.indptr)
    if np.all(to[1:] > to[:-1]):
        indptr = np.zeros(n + 1, np.int64)
        indptr[to + 1] = counts
        indices = A.indices if not len(to) or to[-1] == len(to) - 1 else to[A.indices]
        return sparse.csr_array((A.data, indices, np.cumsum(indptr)), shape=(n, n))
    entries = (np.repeat(to, counts), to[A.indices])
    return sparse.coo_array((A.data, entries), shape=(n, n)).tocsr()


def compact_csr(A: Any) -> Any:
    """A with 32-bit indices where they suffice; weights in float64, and all-one weights stored as a single number."""
    index = np.int32 if max(A.nnz, A.shape[0]) <= np.iinfo(np.int32).max else np.int64
    ones = np.all(A.data == 1)
    # a view of a single 1, as long as it must be: a large graph has nothing to keep there
    data = np.broadcast_to(np.float32(1), A.nnz) if ones else A.data.astype(np.float64, copy=False)
    indices, indptr = (part.astype(index, copy=False) for part in (A.indices, A.indptr))
    return sparse.csr_array((data, indices, indptr), shape=A.shape)


def is_weighted(adjacency: Any, directed: Any) -> bool:
    """Whether the weight of an edge differs from 1; `directed` may be None."""
    return bool(np.any((adjacency if directed is None else directed).data != 1))
