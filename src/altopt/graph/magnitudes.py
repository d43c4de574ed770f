"""Features too large or too small for float32: brought into its range by powers of two, kept for later nodes."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, row_blocks
from altopt.errors import InputError

LARGEST = 2.0**50  # columns up to this size can be squared and summed in float32
SMALLEST = 2.0**-50  # and those from this on
NEGLIGIBLE = 2.0**-100  # rounding errors beside ordinary columns are larger, and stay as small as they are
MOST_LATER = 2.0**60  # of a number among later nodes


def column_exponents(X: Any) -> Array | None:
    """The power of two to divide each column of X by; None for the ordinary X, which is left alone.

    One power for all columns, so that the typical one has size about 1 and ratios stay; a column that is out of range
    even so has its own. The size of a column is its largest number.

    >>> column_exponents(np.array([[3e200, 1e199], [2e200, 0.0]]))
    array([662, 662], dtype=int32)
    >>> column_exponents(np.array([[3e200, 1.0], [2e200, 0.0]])).tolist()
    [666, 0]
    """
    if sp.issparse(X) and _ordinary(np.abs(X.data)):
        return None
    sizes = column_sizes(X)
    present = np.sort(sizes[sizes > 0])
    if not len(present):
        return None
    typical = present[(len(present) - 1) // 2]
    common = 0 if SMALLEST <= typical <= LARGEST else int(np.frexp(typical)[1])
    with np.errstate(over="ignore"):
        shifted = np.ldexp(sizes, -common)
    own = (sizes > 0) & ((shifted < NEGLIGIBLE) | (shifted > LARGEST))
    exponents = np.where(own, np.frexp(sizes)[1], common).astype(np.int32)
    return exponents if exponents.any() else None


def _ordinary(sizes: Array) -> bool:
    return not len(sizes) or bool(sizes.min() >= SMALLEST and sizes.max() <= LARGEST)


def column_sizes(X: Any) -> Array:
    """The largest absolute value of each column; NaN does not count."""
    if sp.issparse(X):
        return np.asarray(abs(X).max(axis=0).toarray(), dtype=np.float64).ravel()
    sizes = np.zeros(X.shape[1])
    for rows in row_blocks(X.shape[0]):
        block = np.asarray(X[rows])
        for extreme in (np.fmax.reduce(block, axis=0), -np.fmin.reduce(block, axis=0)):
            np.fmax(sizes, extreme, out=sizes)
    return sizes


def scaled(X: Any, exponents: Array | None) -> Any:
    """X with each column divided by its power of two, which is exact; X itself where there is none."""
    if exponents is None:
        return X
    if isinstance(X, np.memmap):
        column = int(np.argmax(exponents != 0))
        raise InputError(
            f"X is mapped from a file, and its column {column} holds numbers too large or too small for float32. "
            "Scale the columns in the file, or pass np.array(X)."
        )
    with np.errstate(over="ignore"):
        if sp.issparse(X):
            values = np.ldexp(X.data, -exponents[X.indices])
            return sp.csr_array((values, X.indices, X.indptr), shape=X.shape)
        return np.ldexp(X, -exponents)


def warn_of_lost(X: Any) -> None:
    """Warn of columns most of whose numbers are nothing beside their largest one: only that one tells nodes apart."""
    sizes = column_sizes(X)
    with np.errstate(invalid="ignore"):
        if sp.issparse(X):
            small = (np.abs(X.data) < SMALLEST * sizes[X.indices]) & (X.data != 0)
            lost = np.bincount(X.indices, weights=small, minlength=X.shape[1])
            present = np.bincount(X.indices, weights=X.data != 0, minlength=X.shape[1])
        else:
            lost = ((np.abs(X) < SMALLEST * sizes) & (X != 0)).sum(axis=0)
            present = (X != 0).sum(axis=0)
    columns = np.flatnonzero(2 * lost > present)
    if len(columns):
        warnings.warn(
            f"{len(columns):,} of {X.shape[1]:,} columns of X, column {columns[0]} the first, hold numbers more than "
            "1e15 times apart, so that most of them count as 0. Take logarithms, or scale the rows.",
            UserWarning,
            stacklevel=3,
        )


def scaled_later(X: Any, exponents: Array | None) -> Any:
    """The rows of later nodes, scaled as those of the fit; numbers that are too large beside them are refused."""
    later = scaled(X, exponents)
    entries = later.tocoo() if sp.issparse(later) else None
    beyond = np.abs(later if entries is None else entries.data) > MOST_LATER
    if beyond.any():
        at = np.argwhere(beyond)[0]
        row, column = (
            int(k) for k in (at if entries is None else (place[at[0]] for place in entries.coords))
        )
        raise InputError(
            f"X has {X[row, column]:g} in row {row}, column {column}, too large beside the numbers of the fit. "
            "Correct it, or fit again with such numbers."
        )
    return later
