"""The leading directions of a wide matrix that is never formed, by products with it and its transpose alone."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from altopt.arrays import Array, row_blocks
from altopt.operator.feature_matrix import FeatureMatrix

Spread = Callable[[Array], Array]
MAX_GRAM_COLUMNS = 1000  # columns of X up to which X' and its second moments are formed
MAX_GRAM_NUMBERS = 12_000_000  # and numbers of X', to bound its memory


def few_columns(n_rows: int, n_columns: int) -> bool:
    """Whether X' is small enough to be made whole, which takes less time than a search for its leading directions."""
    return n_columns <= MAX_GRAM_COLUMNS and n_rows * n_columns <= MAX_GRAM_NUMBERS


def principal_directions(moments: Array, rank: int) -> Array:
    """V (d x rank): the leading eigenvectors of X''X', the largest first; zeros where it has no further direction."""
    squares, V = np.linalg.eigh(moments)
    squares, V = squares[::-1][:rank], V[:, ::-1][:, :rank]
    nonzero = squares > 1e-10 * max(squares[0], 1e-30)
    return np.ascontiguousarray(signed(V) * nonzero, dtype=np.float32)


def leading_directions(
    features: FeatureMatrix,
    spread: Spread,
    rank: int,
    n_power: int,
    seed: int,
    *,
    spread_back: Spread | None = None,
    start: Array | None = None,
    first: Callable[[], Array] | None = None,
) -> Array:
    """V (d x rank): the leading right singular directions of X' = S X, by randomised subspace iteration.

    `spread` multiplies by S, `spread_back` by its transpose (the same, where S is symmetric). Halko, Martinsson
    and Tropp's range finder with `n_power` rounds of power iteration, re-orthonormalised after each, from a random
    `start`; `first` hands over X' start, where it is known already.
    """
    spread_back = spread_back or spread
    if first is None:
        V = random_start(features, rank, seed) if start is None else start
        Y = spread(features.times(V))
    else:
        Y = first()
    for _ in range(n_power):
        V = levelled_out(features.transpose_times(spread_back(Y)))
        del Y  # n x width, as is the next one
        Y = spread(features.times(V))
    Q = levelled_out(Y)
    del Y
    B = features.transpose_times(spread_back(Q))  # d x width
    return np.ascontiguousarray(leading_first(B)[:, :rank])


def random_start(features: FeatureMatrix, rank: int, seed: int) -> Array:
    """A few columns more than wanted: the range finder's margin."""
    width = min(rank + 10, features.n_rows, features.n_columns)
    return np.random.default_rng(seed).standard_normal((features.n_columns, width)).astype(np.float32)


def gram_of(B: Any, dtype: Any) -> Array:
    """B'B, from products in `dtype`, summed over blocks in float64."""
    blocks = (B[rows].astype(dtype, copy=False) for rows in row_blocks(len(B)))
    return np.asarray(sum((block.T @ block).astype(np.float64) for block in blocks))


def levelled_out(B: Array) -> Array:
    """B R^-1, R'R = B'B + a little: columns about orthonormal, so that the next product does not lose the weak ones.

    All products: much faster than a QR of a tall B, and exact orthonormality is not needed in between.
    """
    gram = gram_of(B, np.float32)
    if float(np.trace(gram)) <= 0:
        return B
    try:
        return np.asarray(B @ levelling(gram))
    except np.linalg.LinAlgError:  # rank-deficient beyond what the little makes up for in float32
        return np.asarray(np.linalg.qr(B)[0], dtype=np.float32)


def levelling(gram: Array) -> Array:
    """R^-1 with R'R = gram + a little, for gram = B'B."""
    gram = gram.copy()
    gram[np.diag_indices_from(gram)] += 1e-7 * float(np.trace(gram))
    R = np.linalg.cholesky(gram).T
    return np.asarray(solve_triangular(R, np.eye(len(R)), check_finite=False).astype(np.float32))


def leading_first(B: Array) -> Array:
    """Left singular vectors of B, the largest singular value first; zeros where B has no further direction."""
    squares, V = np.linalg.eigh(gram_of(B, np.float64))
    values, V = np.sqrt(np.maximum(squares[::-1], 0.0)), V[:, ::-1]
    nonzero = values > 1e-6 * max(values[0], 1e-30)
    scaled = V * np.where(nonzero, 1.0 / np.where(nonzero, values, 1.0), 0.0)
    return signed(np.asarray(B @ scaled.astype(np.float32)))


def signed(V: Array) -> Array:
    """Columns with the sign at which their largest entry is positive: either is a direction, and rounding would decide.

    >>> signed(np.array([[0.6, 0.8], [-0.8, 0.6]])).tolist()
    [[-0.6, 0.8], [0.8, 0.6]]
    """
    largest = V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])]
    return np.asarray(V * np.where(largest < 0, -1, 1).astype(V.dtype))
