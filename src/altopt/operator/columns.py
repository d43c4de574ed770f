"""The columns of X, each read by its own kind: constant, indicator, count or measurement."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, allocate, row_blocks
from altopt.defaults import DEFAULTS
from altopt.errors import InputError
from altopt.io.array_io import finite, required
from altopt.threads import each_block

KINDS = ("constant", "indicator", "count", "measurement", "as given")
CONSTANT, INDICATOR, COUNT, MEASUREMENT, AS_GIVEN = range(len(KINDS))
ENTRIES = 2**20  # of a sparse X read together
ARRAYS = ("centre", "scale", "shift", "factor", "fill")


@dataclass(frozen=True)
class Columns:
    """How each of the d columns of X is read, found from the numbers of the fit and the same for later rows.

        count:         factor sign(x) sqrt|x|
        measurement:   factor (tamed((x - centre) / scale) - shift)
        all others:    factor (x - centre) / scale

    A constant has factor 0, an indicator no other numbers than its two. tamed(z) is z up to a few standard deviations,
    and from there on grows as the logarithm.

    Attributes
    ----------
    kind : array of shape (d,) of uint8
        Numbers of `KINDS`.
    centre, scale, shift, factor : array of shape (d,)
    fill : array of shape (d,)
        What stands for a missing value, among the numbers read.

    Examples
    --------
    >>> from altopt.operator.kinds import columns_of
    >>> X = np.array([[7.0, 0.0, 0.0, 1e9], [7.0, 1.0, 4.0, 2e9], [7.0, 0.0, 9.0, 3e9], [7.0, 1.0, 0.0, 4e9]])
    >>> columns = columns_of(X)
    >>> columns.kinds
    ['constant', 'indicator', 'count', 'measurement']
    >>> columns.transform(X[:2])[:, :3]
    array([[0., 0., 0.],
           [0., 1., 2.]], dtype=float32)
    """

    kind: Array
    centre: Array
    scale: Array
    shift: Array
    factor: Array
    fill: Array

    @classmethod
    def as_given(cls, fill: Array) -> "Columns":
        """Columns that stay as they are; `fill` stands for missing values."""
        one, zero = np.ones(len(fill)), np.zeros(len(fill))
        return cls(np.full(len(fill), AS_GIVEN, np.uint8), zero, one, zero, one, np.asarray(fill, np.float64))

    @property
    def kinds(self) -> list[str]:
        """The kind of each column, in words."""
        return [KINDS[kind] for kind in self.kind.tolist()]

    def transform(self, X: Any) -> Any:
        """X as float32, each column by its kind: dense, or CSR where X is sparse and that is the smaller."""
        if not sp.issparse(X):
            return self.dense(X)
        n, at_zero = X.shape[0], self.read(np.zeros((1, len(self.kind))))[0]
        filled = np.flatnonzero(at_zero)
        if 2 * (X.nnz + len(filled) * n) > n * X.shape[1]:
            return self.dense(X)
        entries = sp.csr_array((self._entries(X), X.indices, X.indptr), shape=X.shape)
        if not len(filled):
            return entries
        entries.data[np.isin(entries.indices, filled)] = 0.0
        full = self.only(filled).dense(X[:, filled])
        ends = np.arange(0, full.size + 1, len(filled))
        return sp.csr_array(entries + sp.csr_array((full.ravel(), np.tile(filled, n), ends), shape=X.shape))

    def only(self, columns: Array) -> "Columns":
        """Some of the columns, by number."""
        return Columns(self.kind[columns], *(getattr(self, name)[columns] for name in ARRAYS))

    def dense(self, X: Any) -> Array:
        """X as a dense array, made a block of rows at a time."""
        out = allocate(X.shape, np.float32)

        def fill(rows: slice) -> None:
            self.read(X[rows].toarray() if sp.issparse(X) else np.asarray(X[rows]), out[rows])

        each_block(fill, X.shape[0])
        return out

    def _entries(self, X: Any) -> Array:
        """The stored numbers of a sparse X."""
        out = np.empty(X.nnz, np.float32)
        for part in row_blocks(X.nnz, ENTRIES):
            kind = self.kind[X.indices[part]]
            for one in np.unique(kind):
                here = part.start + np.flatnonzero(kind == one)
                out[here] = self._of_kind(one, X.data[here], X.indices[here])
        return out

    def read(self, block: Array, out: Array | None = None) -> Array:
        """A dense block of rows."""
        out = np.empty(block.shape, np.float32) if out is None else out
        kinds = np.unique(self.kind)
        for one in kinds:
            here: Any = slice(None) if len(kinds) == 1 else np.flatnonzero(self.kind == one)
            out[:, here] = self._of_kind(one, block[:, here], here)
        if np.isnan(out.sum(dtype=np.float64)):
            np.copyto(out, self.fill.astype(np.float32), where=np.isnan(out))
        return out

    def _of_kind(self, kind: int, x: Array, columns: Any) -> Array:
        """Numbers x of columns of one kind; `columns` broadcasts against x."""
        factor = self.factor[columns]
        if kind == COUNT:
            return np.asarray(signed_sqrt(x) * factor.astype(np.float32))
        # in the precision of X: next to a large centre float32 would lose the differences
        z = x - self.centre[columns].astype(x.dtype)
        z /= self.scale[columns].astype(x.dtype)
        if kind == INDICATOR:
            np.clip(z, -1.0, 1.0, out=z)
        if kind == MEASUREMENT:
            z = tamed(z) - self.shift[columns].astype(x.dtype)
        return np.asarray(z * factor.astype(x.dtype))

    def state(self) -> dict[str, Array]:
        numbers = np.stack(
            [getattr(self, name) for name in ARRAYS]
        )  # as one: single ones could be swapped unseen
        return {"columns.kind": self.kind, "columns.numbers": numbers}

    @classmethod
    def restore(cls, state: dict[str, Array]) -> "Columns":
        kind = required(state, "columns.kind")
        if kind.ndim != 1 or kind.dtype != np.uint8 or (kind >= len(KINDS)).any():
            raise InputError("The stored array columns.kind is not one kind a column.")
        numbers = finite(state, "columns.numbers", (len(ARRAYS), *kind.shape))
        values = dict(zip(ARRAYS, numbers))
        if any(array.dtype != np.float64 for array in values.values()):
            raise InputError("The stored columns are not of float64.")
        if (values["scale"] <= 0).any() or (values["factor"] < 0).any():
            raise InputError("The stored scale of a column is not above 0.")
        return cls(kind, **values)


def signed_sqrt(X: Any) -> Any:
    """sign(x) sqrt(|x|) of each entry, in float32; sparse where X is."""
    values = np.asarray(X.data if sp.issparse(X) else X, dtype=np.float32)
    roots = np.copysign(np.sqrt(np.abs(values)), values)
    return sp.csr_array((roots, X.indices, X.indptr), shape=X.shape) if sp.issparse(X) else roots


def tamed(z: Array) -> Array:
    """z up to `tame_from`, and beyond it the logarithm of what is more; z may be overwritten."""
    bound = DEFAULTS.tame_from
    with np.errstate(invalid="ignore"):
        far = np.abs(z) > bound
    if far.any():
        z[far] = np.copysign(bound + np.log1p(np.abs(z[far]) - bound), z[far])
    return z
