"""The feature matrix X (dense, sparse or memory-mapped) as a linear operator that works on blocks of rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, allocate, row_blocks
from altopt.defaults import DEFAULTS
from altopt.errors import InputError


class FeatureMatrix:
    """X (n x d), never copied whole: products read it a block of rows at a time.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        May be memory-mapped.
    standardise : bool, optional
        Whether the matrix is (X - mean) / std, column by column. None standardises a dense X that is mostly non-zero:
        measurements, each in its own unit. A mostly-zero X is counts or indicators, where zero means absent.
    root : bool, optional
        Whether the matrix is the square root of each entry, which dampens high counts. None takes roots of counts
        that are not standardised: no entry negative, some neither 0 nor 1.

    Attributes
    ----------
    n_rows, n_columns : int
    sparse : bool
    root : bool
        As decided.
    mean, std : array of shape (d,) or None
        Of each column; None where X is not standardised.

    Examples
    --------
    >>> counts = FeatureMatrix(np.array([[4.0, 0.0, 0.0], [0.0, 9.0, 0.0]]))
    >>> counts.root, counts.mean is None
    (True, True)
    >>> counts.times(np.ones((3, 1)))
    array([[2.],
           [3.]], dtype=float32)
    """

    def __init__(self, X: Any, standardise: bool | None = None, root: bool | None = None) -> None:
        self.X = X
        self.n_rows, self.n_columns = int(X.shape[0]), int(X.shape[1])
        self.sparse = bool(sp.issparse(X))
        if standardise is None:
            n_dense = DEFAULTS.dense_share * self.n_rows * self.n_columns
            standardise = not self.sparse and self._n_nonzero() > n_dense
        if standardise and self.sparse:
            raise InputError(
                "A sparse X cannot be standardised without filling it. Pass X.toarray() if it fits."
            )
        self.root = not standardise and self._is_counts() if root is None else root
        if self.root and self.sparse:  # indices are shared with the user's matrix
            self.X = signed_sqrt(X)
        self.mean: Array | None = None
        self.std: Array | None = None
        if standardise:
            self.mean, self.std = self._moments()

    def _n_nonzero(self) -> int:
        return sum(int(np.count_nonzero(self.X[rows])) for rows in row_blocks(self.n_rows))

    def blocks(self) -> Iterator[Array]:
        """Blocks of rows of a dense X, before standardising."""
        for rows in row_blocks(self.n_rows):
            block = np.asarray(self.X[rows])
            yield signed_sqrt(block) if self.root else block

    def _is_counts(self) -> bool:
        """Whether no entry is negative, and some is neither 0 nor 1."""
        blocks = (
            [self.X.data] if self.sparse else (np.asarray(self.X[rows]) for rows in row_blocks(self.n_rows))
        )
        indicators = True
        for block in blocks:
            if block.size and block.min() < 0:
                return False
            indicators = indicators and bool(np.all((block == 0) | (block == 1)))
        return not indicators

    def _moments(self) -> tuple[Array, Array]:
        mean = sum(np.sum(block, axis=0, dtype=np.float64) for block in self.blocks()) / self.n_rows
        square = sum(np.sum((block - mean) ** 2, axis=0) for block in self.blocks()) / self.n_rows
        std = np.sqrt(square)
        return np.asarray(mean), np.where(std > 1e-12 * (1 + np.abs(mean)), std, 1.0)

    def times(self, W: Array) -> Array:
        """X W as float32 (n x k)."""
        return project(self.X, W, self.mean, self.std, self.root and not self.sparse)

    def transpose_times(self, Q: Array) -> Array:
        """X' Q as float32 (d x k)."""
        Q = np.ascontiguousarray(Q, dtype=np.float32)
        if self.sparse:
            total = np.asarray(self.X.T.astype(np.float32) @ Q)
        else:
            total = np.zeros((self.n_columns, Q.shape[1]), dtype=np.float32)
            for rows, block in zip(row_blocks(self.n_rows), self.blocks()):
                total += block.astype(np.float32, copy=False).T @ Q[rows]
        if self.mean is not None and self.std is not None:
            total = (total - np.outer(self.mean, Q.sum(axis=0, dtype=np.float64))) / self.std[:, None]
        return total.astype(np.float32, copy=False)

    def toarray(self) -> Array:
        """The whole matrix as float32 (n x d), standardised or rooted as decided."""
        out = allocate((self.n_rows, self.n_columns), np.float32)
        for rows in row_blocks(self.n_rows):
            block = self.X[rows]
            block = block.toarray() if self.sparse else np.asarray(block)
            block = signed_sqrt(block) if self.root and not self.sparse else block
            if self.mean is None or self.std is None:
                out[rows] = block
            else:  # subtract in X's own precision: next to a large mean float32 would lose the differences
                np.subtract(block, self.mean.astype(block.dtype), out=out[rows], casting="same_kind")
                out[rows] /= self.std.astype(np.float32)
        return out


def signed_sqrt(X: Any) -> Any:
    """sign(x) sqrt(|x|) of each entry, in float32; sparse where X is."""
    values = np.asarray(X.data if sp.issparse(X) else X, dtype=np.float32)
    roots = np.copysign(np.sqrt(np.abs(values)), values)
    return sp.csr_array((roots, X.indices, X.indptr), shape=X.shape) if sp.issparse(X) else roots


def empty_rows(X: Any) -> Array:
    """Mask of the nodes whose features are all zero or missing."""
    if sp.issparse(X):
        return np.asarray(np.diff(sp.csr_array(X).indptr) == 0)
    blocks = (np.asarray(X[rows]) for rows in row_blocks(X.shape[0]))
    # false for NaN, too
    return np.concatenate([~np.any(np.abs(block) > 0, axis=1) for block in blocks])


def has_missing(X: Any) -> bool:
    """Whether X contains NaN."""
    blocks = [X.data] if sp.issparse(X) else (np.asarray(X[rows]) for rows in row_blocks(X.shape[0]))
    # a sum needs no copy; entries are tested only in blocks whose sum is NaN
    return any(bool(np.isnan(np.sum(block, dtype=np.float64)) and np.isnan(block).any()) for block in blocks)


def column_means(X: Any) -> Array:
    """The mean of each column's present values; 0 for a column of NaN."""
    present = ~np.isnan(X)
    total = np.where(present, X, 0.0).sum(axis=0, dtype=np.float64)
    return np.asarray(total / np.maximum(present.sum(axis=0), 1))


def impute(X: Any, fill: Array | None) -> Any:
    """X with NaN replaced by `fill`, one number a column (None: 0); X itself where nothing is missing."""
    if not has_missing(X):
        return X
    return np.where(np.isnan(X), 0.0 if fill is None else fill, X).astype(X.dtype)


def project(X: Any, W: Array, mean: Array | None, std: Array | None, root: bool = False) -> Array:
    """((X - mean) / std) W in float32, a block of rows at a time; with `root`, of signed_sqrt(X)."""
    W = np.asarray(W, dtype=np.float64)
    shift = None
    if mean is not None and std is not None:
        W = W / std[:, None]
        shift = (mean @ W).astype(np.float32)
    W = W.astype(np.float32)
    out = allocate((X.shape[0], W.shape[1]), np.float32)
    for rows in row_blocks(X.shape[0]):
        block = X[rows]
        block = block.astype(np.float32) if sp.issparse(block) else np.asarray(block, dtype=np.float32)
        block = signed_sqrt(block) if root else block
        out[rows] = block @ W
        if shift is not None:
            out[rows] -= shift
    return out
