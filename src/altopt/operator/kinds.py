"""Finding the kind of each column of X from its numbers alone: dense, sparse or memory-mapped, never filled in."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, row_blocks
from altopt.defaults import DEFAULTS
from altopt.operator.columns import CONSTANT, COUNT, ENTRIES, INDICATOR, MEASUREMENT, Columns, tamed
from altopt.threads import in_threads

GATHERED = 2**23  # numbers of whole columns held together by a thread
PROBES = 64  # random directions that the size of a direction is estimated from
NORMAL_QUARTILES = 1.349  # standard deviations between the quartiles of a normal distribution
MAX_COMPARED = 1000  # columns up to which all are compared with each other
TINY = 1e-300  # where a variance is 0
ROUNDING = 1e-12  # differences that are no larger, relative to the numbers, are none


def columns_of(X: Any) -> Columns:
    """Each column of X by its kind. NaN is missing and does not count.

    - A constant has one value and is dropped.
    - An indicator has two, read as absent and present.
    - A count is 0 where something is absent: in at least `zero_share` of the rows where no number is negative (in one,
      where most columns are such), else in most rows; and it is about as large as other such columns are. Its root is
      read, so that zeros stay zero.
    - All else is a measurement: centred, scaled by its quartiles, large deviations tamed.

    Beside counts and indicators a measurement has the variance of one direction that they fill. Where measurements are
    more than these directions, every column weighs by what it shares with the others (`weighed`).
    """
    found = Numbers.of(X)
    constant = found.high - found.low <= ROUNDING * np.maximum(np.abs(found.high), np.abs(found.low))
    two_valued = found.two_valued & ~constant
    absent = ~constant & (
        (found.zero_share >= 0.5)
        | (found.touches_zero & ((found.zero_share >= DEFAULTS.zero_share) | two_valued))
    )
    typical = float(np.median(found.size[absent])) if absent.any() else 1.0
    if 2 * absent.sum() > (~constant).sum():
        absent |= ~constant & found.touches_zero
    ratio = found.size / typical
    alike = absent & (ratio <= DEFAULTS.peer_ratio) & (ratio >= 1 / DEFAULTS.peer_ratio)
    kind = np.select([constant, two_valued, alike], [CONSTANT, INDICATOR, COUNT], MEASUREMENT).astype(
        np.uint8
    )

    centre = np.where(two_valued & ~found.touches_zero, found.low, 0.0)
    scale = np.where(two_valued, np.maximum(found.high - found.low, 0.0), 1.0)
    factor = np.select([constant, two_valued], [0.0, np.sqrt(np.where(alike, found.size, typical))], 1.0)
    nothing = np.zeros(len(kind))
    columns = Columns(kind, centre, scale, nothing, factor, nothing)
    columns = with_means(columns, X) if found.missing else columns
    measured = np.flatnonzero(kind == MEASUREMENT)
    if not len(measured):
        return columns
    variance, n_directions = 1.0, 0.0
    if (factor * (kind != MEASUREMENT)).any():
        variance, n_directions = directions_filled(columns, X)
    columns = with_measurements(columns, X, measured, variance)
    columns = with_means(columns, X) if found.missing else columns
    return weighed(columns, X) if len(measured) > n_directions else columns


@dataclass(frozen=True)
class Numbers:
    """What tells the kind of a column: extremes, zeros, the mean size of what is not 0, whether it has two values."""

    n_rows: int
    low: Array
    high: Array
    n_present: Array
    n_zero: Array
    size: Array
    two_valued: Array

    @property
    def missing(self) -> bool:
        return bool((self.n_present < self.n_rows).any())

    @property
    def zero_share(self) -> Array:
        return self.n_zero / np.maximum(self.n_present, 1)

    @property
    def touches_zero(self) -> Array:
        """Whether 0 is the least or the largest number."""
        return np.asarray((self.low == 0) | (self.high == 0))

    @classmethod
    def of(cls, X: Any) -> "Numbers":
        n, d = X.shape
        low, high, total = np.full(d, np.inf), np.full(d, -np.inf), np.zeros(d)
        n_present, n_nonzero = np.full(d, n), np.zeros(d, np.int64)
        for values, columns in entries(X):
            if sp.issparse(X):
                there, first, sorted_values = by_column(values, columns, d)
                low[there] = np.minimum(low[there], np.minimum.reduceat(sorted_values, first))
                high[there] = np.maximum(high[there], np.maximum.reduceat(sorted_values, first))
                total += np.bincount(columns, np.abs(values), d)
                n_nonzero += np.bincount(columns[values != 0], minlength=d)
                continue
            np.fmin(low, np.fmin.reduce(values, axis=0), out=low)
            np.fmax(high, np.fmax.reduce(values, axis=0), out=high)
            size = np.sum(np.abs(values), axis=0, dtype=np.float64)
            n_nonzero += np.count_nonzero(values, axis=0)
            if np.isnan(size).any():
                gaps = np.isnan(values).sum(axis=0)
                size = np.nansum(np.abs(values), axis=0, dtype=np.float64)
                n_present, n_nonzero = n_present - gaps, n_nonzero - gaps
            total += size
        n_zero = n_present - n_nonzero
        low, high = (
            np.where(n_zero > 0, np.minimum(low, 0), low),
            np.where(n_zero > 0, np.maximum(high, 0), high),
        )
        low, high = np.where(n_present > 0, low, 0.0), np.where(n_present > 0, high, 0.0)
        size = total / np.maximum(n_nonzero, 1)
        return cls(n, low, high, n_present, n_zero, size, two_valued(X, low, high, n_zero))


def entries(X: Any) -> Iterator[tuple[Array, Any]]:
    """Parts of the numbers of X, and their columns: blocks of rows, or stored entries of a sparse X."""
    if sp.issparse(X):
        for part in row_blocks(X.nnz, ENTRIES):
            yield X.data[part], X.indices[part]
    else:
        for rows in row_blocks(X.shape[0]):
            yield np.asarray(X[rows]), slice(None)


def by_column(values: Array, columns: Array, n_columns: int) -> tuple[Array, Array, Array]:
    """The columns that have entries, where each one's entries begin, and the entries, sorted by their column."""
    once = sp.csr_array((values, columns, np.array([0, len(values)])), shape=(1, n_columns)).tocsc()
    there = np.flatnonzero(np.diff(once.indptr))
    return there, once.indptr[there], once.data


def two_valued(X: Any, low: Array, high: Array, n_zero: Array) -> Array:
    """Whether a column has no number between its extremes."""
    found: Array = (n_zero == 0) | (low == 0) | (high == 0)
    for values, columns in entries(X):
        between = (values > low[columns]) & (values < high[columns]) & (values != 0)
        if sp.issparse(X):
            found[columns[between]] = False
        else:
            found &= ~between.any(axis=0)
    return found


def with_measurements(columns: Columns, X: Any, measured: Array, variance: float) -> Columns:
    """The columns with centre, scale and factor of those that are measurements, for this variance."""
    found = {name: getattr(columns, name).copy() for name in ("centre", "scale", "shift", "factor")}
    few = row_blocks(len(measured), max(1, GATHERED // X.shape[0]))
    for each in in_threads(lambda some: measurements(X, measured[some]), few):
        for column, numbers in each.items():
            for name, value in numbers.items():
                found[name][column] = value
    found["factor"][measured] *= np.sqrt(variance)
    return replace(columns, **found)


def measurements(X: Any, wanted: Array) -> dict[int, dict[str, float]]:
    """How to read some columns, by column."""
    part: Any = X[:, wanted]
    part = part.tocsc() if sp.issparse(part) else np.asarray(part)
    found = {}
    for k, column in enumerate(wanted.tolist()):
        if sp.issparse(part):
            values = part.data[part.indptr[k] : part.indptr[k + 1]].astype(np.float64)
            n_present = X.shape[0]
        else:
            values = part[:, k].astype(np.float64)
            values = values[~np.isnan(values)]
            n_present = len(values)
        values = values[values != 0]
        found[column] = measurement(values, n_present - len(values))
    return found


def measurement(values: Array, n_zero: int) -> dict[str, float]:
    """How to read a measurement, from its numbers that are not 0 and how many are.

    Mean 0 and variance 1, deviations in units of the standard deviation that a normal distribution with these
    quartiles has. Where most numbers are the same one, it is read as absent and all others by their difference from
    it, typically 1: as an indicator. There zeros stay zero.
    """
    n, mostly_zero = n_zero + len(values), n_zero >= len(values)
    values = values if mostly_zero else np.concatenate([values, np.zeros(n_zero)])
    centre = scale = 0.0
    if not mostly_zero:
        quarters = [n // 4, n // 2, (3 * n) // 4]
        low, centre, high = np.partition(values, quarters)[quarters].tolist()
        scale = (high - low) / NORMAL_QUARTILES
    others = np.abs(values[values != centre] - centre)
    mostly_one = 2 * len(others) <= n
    if mostly_one or not scale > 0:
        scale = float(np.median(others))
    z = tamed((values - centre) / scale)
    shift = 0.0 if mostly_zero else float(z.mean())
    deviation = float(np.sqrt(np.sum((z - shift) ** 2) / n))
    return {
        "centre": centre,
        "scale": scale,
        "shift": shift,
        "factor": 1.0 / (max(deviation, 1.0) if mostly_one else deviation),
    }


def directions_filled(columns: Columns, X: Any) -> tuple[float, float]:
    """The variance of a direction that counts and indicators fill, and how many they fill.

    With C their covariance tr(C^2) / tr(C), the eigenvalue that their variance meets on average, and tr(C)^2 / tr(C^2).
    """
    n, d = X.shape
    others = replace(columns, factor=np.where(columns.kind == MEASUREMENT, 0.0, columns.factor))
    probes = np.eye(d) if d <= PROBES else np.random.default_rng(0).standard_normal((d, PROBES))
    probes = probes.astype(np.float32)
    mean, square, product = np.zeros(d), np.zeros(d), np.zeros(probes.shape)
    for rows in row_blocks(n):
        block = others.transform(X[rows])
        mean += np.asarray(block.sum(axis=0, dtype=np.float64)) / n
        square += np.asarray((block * block).sum(axis=0, dtype=np.float64)) / n
        product += block.T @ (block @ probes) / n
    product -= np.outer(mean, mean @ probes)
    trace, norms = float(np.sum(square - mean**2)), np.sum(product**2, axis=0)
    variance = float(norms.sum() if d <= PROBES else norms.mean()) / trace
    return variance, trace / variance


def weighed(columns: Columns, X: Any) -> Columns:
    """The columns, each weighed by what it shares with the others: one that nothing confirms counts for little.

    With r its correlations with the d - 1 others, s = sum r^2 beyond what n rows of unrelated columns show, and never
    less than the standard deviation of that: s = max(sum r^2 - (d - 1) / n, 0) + sqrt(2 (d - 1)) / n. The variance is
    multiplied by s^2 / (s^2 + m^2), m being `shared_share` of the mean s, and then all by one number so that these
    factors are 1 on average. Where the columns share alike, or nothing, they stay alike.
    """
    varied = np.flatnonzero(columns.factor)
    d, n = len(varied), X.shape[0]
    if not 2 <= d <= MAX_COMPARED:
        return columns

    def moments(rows: slice) -> tuple[Array, Array]:
        block = columns.dense(X[rows])[:, varied].astype(np.float64)
        return block.sum(axis=0) / n, block.T @ block / n

    mean, C = np.zeros(d), np.zeros((d, d))
    for first, second in in_threads(moments, row_blocks(n)):
        mean += first
        C += second
    C -= np.outer(mean, mean)
    variance = np.diag(C)
    squares = C**2 / np.maximum(np.outer(variance, variance), TINY)
    chance = max(d - 1, 1) / n
    shared = np.maximum(squares.sum(axis=1) - 1.0 - chance, 0.0) + np.sqrt(2 * chance / n)
    little = DEFAULTS.shared_share * shared.mean()
    weight = shared**2 / (shared**2 + little**2)
    by = np.ones(len(columns.kind))
    by[varied] = np.sqrt(weight / weight.mean())
    return replace(columns, factor=columns.factor * by, fill=columns.fill * by)


def with_means(columns: Columns, X: Any) -> Columns:
    """The columns with the mean of what is read, missing values left out, in their place; 0 where all are missing."""
    bare = replace(columns, fill=np.full(X.shape[1], np.nan))
    total, n_present = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for values, _ in entries(X):
        read = bare.read(values)
        total += np.nansum(read, axis=0, dtype=np.float64)
        n_present += len(read) - np.isnan(read).sum(axis=0)
    return replace(columns, fill=total / np.maximum(n_present, 1))
