"""The feature matrix X (dense, sparse or memory-mapped) as a linear operator that works on blocks of rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, allocate, row_blocks
from altopt.operator.columns import Columns


class FeatureMatrix:
    """X (n x d) with each column by its kind, never copied whole: products read it a block of rows at a time.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        May be memory-mapped.
    columns : Columns, optional
        How each column is read; None takes them as they are.

    Attributes
    ----------
    n_rows, n_columns : int

    Examples
    --------
    >>> from altopt.operator.kinds import columns_of
    >>> X = np.array([[4.0, 0.0, 0.0], [0.0, 9.0, 1.0], [0.0, 4.0, 0.0], [9.0, 0.0, 1.0]])
    >>> FeatureMatrix(X, columns_of(X)).times(np.ones((3, 1)))
    array([[2.],
           [4.],
           [2.],
           [4.]], dtype=float32)
    """

    def __init__(self, X: Any, columns: Columns | None = None) -> None:
        self.n_rows, self.n_columns = int(X.shape[0]), int(X.shape[1])
        self.columns = Columns.as_given(np.zeros(self.n_columns)) if columns is None else columns
        self._is_read = bool(sp.issparse(X))  # what is sparse, at once: it takes no more memory than X
        self._X = self.columns.transform(X) if self._is_read else X

    def _blocks(self) -> Iterator[tuple[slice, Any]]:
        for rows in row_blocks(self.n_rows):
            block = self._X[rows]
            yield rows, block if self._is_read else self.columns.read(np.asarray(block))

    def times(self, W: Array) -> Array:
        """X W as float32 (n x k)."""
        W = np.asarray(W, dtype=np.float32)
        out = allocate((self.n_rows, W.shape[1]), np.float32)
        for rows, block in self._blocks():
            out[rows] = block @ W
        return out

    def along(self, direction: Array) -> Array:
        """X w as float64; a row gives the same bits wherever it stands."""
        w, out = np.asarray(direction, dtype=np.float64), np.empty(self.n_rows)
        for rows, block in self._blocks():
            out[rows] = block @ w if sp.issparse(block) else np.einsum("ij,j->i", block, w)
        return out

    def transpose_times(self, Q: Array) -> Array:
        """X' Q as float32 (d x k)."""
        Q = np.ascontiguousarray(Q, dtype=np.float32)
        if self._is_read:
            return np.asarray(self._X.T @ Q)
        total = np.zeros((self.n_columns, Q.shape[1]), dtype=np.float32)
        for rows, block in self._blocks():
            total += block.T @ Q[rows]
        return total

    def toarray(self) -> Array:
        """The whole matrix as float32 (n x d)."""
        out = allocate((self.n_rows, self.n_columns), np.float32)
        for rows, block in self._blocks():
            if sp.issparse(block):
                block.toarray(out=out[rows])
            else:
                out[rows] = block
        return out


def empty_rows(X: Any) -> Array:
    """Mask of the nodes whose features are all zero or missing."""
    if sp.issparse(X):
        X = sp.csr_array(X)
        entries = sp.csr_array(
            (np.abs(X.data) > 0, X.indices, X.indptr), shape=X.shape
        )  # zeros may be stored
        return np.asarray(entries.sum(axis=1) == 0)
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
