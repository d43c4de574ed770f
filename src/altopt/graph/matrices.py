"""Adjacency matrices: from edge lists, without self-loops, symmetrised, permuted, compacted."""

from typing import Any

import numpy as np
from scipy import sparse

from altopt.arrays import Array


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
        indices = A.indices if to[-1] == len(to) - 1 else to[A.indices]
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
