"""What the encoder reads: the diffused features X', plain or reduced to their leading directions."""

from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from altopt import diffusion
from altopt.arrays import Array, row_blocks
from altopt.features import Features, project
from altopt.operator import NormalizedAdjacency

EAGER = 5_000_000  # numbers in X' up to which the encoder's inputs are made at once


@runtime_checkable
class Prepared(Protocol):
    """Encoder inputs of the fitted nodes, and the way to make those of nodes that come later."""

    @property
    def Z(self) -> Any:
        """X' in the encoder's coordinates, before rows are scaled; one row per node."""

    def rows(self, Z: Any) -> Any:
        """Z as the encoder reads it."""

    def coordinates(self, X: Any) -> Any:
        """New nodes' own features in the coordinates of Z, before any diffusion."""

    def state(self) -> dict[str, Array]:
        """What must be stored to rebuild this, as named arrays."""


@runtime_checkable
class Inputs(Protocol):
    """A way to turn the graph and X into encoder inputs."""

    def prepare(
        self, A_tilde: NormalizedAdjacency, X: Any, restart: float, n_steps: int, seed: int
    ) -> Prepared: ...

    def restore(self, state: dict[str, Array]) -> Prepared: ...


@dataclass(frozen=True)
class PreparedPlain:
    Z: Any
    scale_rows: bool

    def rows(self, Z: Any) -> Any:
        return unit_sum(Z) if self.scale_rows else Z

    def coordinates(self, X: Any) -> Any:
        return X.astype(np.float32)

    def state(self) -> dict[str, Array]:
        return {"Z": np.ascontiguousarray(self.Z.toarray() if sp.issparse(self.Z) else self.Z)}


@dataclass(frozen=True)
class PlainInputs:
    """X' = LP(X, restart) as it is, d columns; with `scale_rows` each row of X' is divided by its sum of |.|."""

    scale_rows: bool = False

    def prepare(
        self, A_tilde: NormalizedAdjacency, X: Any, restart: float, n_steps: int, seed: int
    ) -> PreparedPlain:
        if restart == 1.0:
            Z = X.astype(np.float32)
        else:
            dense = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float32)
            Z = settle_isolated(A_tilde.isolated, diffusion.steps(A_tilde, dense, restart, n_steps), restart)
        return PreparedPlain(Z, self.scale_rows)

    def restore(self, state: dict[str, Array]) -> PreparedPlain:
        return PreparedPlain(state["Z"], self.scale_rows)


@dataclass(frozen=True)
class PreparedReduced:
    Z: Array
    V: Array  # d x k, orthonormal columns
    column_mean: Array | None  # of X, when its columns were standardised
    column_std: Array | None
    centre: Array  # of the scaled rows
    norm: float  # mean length of the rows of Z
    size: float  # 1 / root mean squared length of the centred rows
    row_exponent: float

    def rows(self, Z: Array) -> Array:
        return (level(Z, self.norm, self.row_exponent) - self.centre) * np.float32(self.size)

    def coordinates(self, X: Any) -> Array:
        return project(X, self.V, self.column_mean, self.column_std)

    def state(self) -> dict[str, Array]:
        arrays = {"Z": self.Z, "V": self.V, "centre": self.centre}
        arrays["scalars"] = np.array([self.norm, self.size], dtype=np.float64)
        if self.column_mean is not None and self.column_std is not None:
            arrays |= {"column_mean": self.column_mean, "column_std": self.column_std}
        return arrays


@dataclass(frozen=True)
class ReducedInputs:
    """The leading `n_components` directions of X', rows levelled, centred, at mean squared length 1.

    X' (n x d) is never formed: a randomised range finder multiplies by it and by its transpose only. Rows are
    divided by (length / mean length)^row_exponent: 0 keeps lengths, 1 makes them equal. `storage` "float16" halves
    the memory that X' takes.
    """

    n_components: int = 256
    row_exponent: float = 0.5
    standardise: bool | None = None
    n_power: int = 2
    storage: Literal["float32", "float16"] = "float32"

    def _centre_and_size(self, Z: Array, norm: float) -> tuple[Array, float]:
        """Mean of the levelled rows, and the root of their mean squared distance from it; in blocks."""
        total, square = np.zeros(Z.shape[1]), 0.0
        for rows in row_blocks(len(Z)):
            levelled = level(Z[rows], norm, self.row_exponent)
            total += levelled.sum(axis=0, dtype=np.float64)
        centre = total / len(Z)
        for rows in row_blocks(len(Z)):
            levelled = level(Z[rows], norm, self.row_exponent)
            square += float(np.sum((levelled - centre.astype(np.float32)) ** 2, dtype=np.float64))
        return centre.astype(np.float32), float(np.sqrt(square / len(Z)))

    def prepare(
        self, A_tilde: NormalizedAdjacency, X: Any, restart: float, n_steps: int, seed: int
    ) -> PreparedReduced:
        features = Features(X, self.standardise)

        def spread(block: Array) -> Array:
            """p(A_tilde) block, in its place: the diffusion is symmetric, so it serves X' and its transpose."""
            diffused = diffusion.steps(A_tilde, block, restart, n_steps, out=block)
            return settle_isolated(A_tilde.isolated, diffused, restart)

        rank = min(self.n_components, features.n_rows)
        if features.n_columns <= rank:
            V = np.eye(features.n_columns, dtype=np.float32)
            Z = spread(features.standardised())
        else:
            V = leading_directions(features, spread, rank, self.n_power, seed)
            Z = spread(features.times(V))
        norm = float(np.mean(lengths(Z))) or 1.0
        centre, size = self._centre_and_size(Z, norm)
        return PreparedReduced(
            Z.astype(self.storage, copy=False),
            V,
            features.mean,
            features.std,
            centre,
            norm,
            1.0 / size if size > 0 else 1.0,
            self.row_exponent,
        )

    def rescale(self, prepared: PreparedReduced) -> PreparedReduced:
        """The same directions with their rows levelled as these settings say."""
        centre, size = self._centre_and_size(prepared.Z, prepared.norm)
        scale = 1.0 / size if size > 0 else 1.0
        return replace(prepared, centre=centre, size=scale, row_exponent=self.row_exponent)

    def restore(self, state: dict[str, Array]) -> PreparedReduced:
        norm, size = state["scalars"].tolist()
        return PreparedReduced(
            state["Z"],
            state["V"],
            state.get("column_mean"),
            state.get("column_std"),
            state["centre"],
            norm,
            size,
            self.row_exponent,
        )


def leading_directions(features: Features, spread: Any, rank: int, n_power: int, seed: int) -> Array:
    """V (d x rank): the leading right singular directions of X' = p(A_tilde) X, by randomised subspace iteration.

    Halko, Martinsson and Tropp's range finder with `n_power` rounds of re-orthonormalised power iteration.
    """
    rng = np.random.default_rng(seed)
    width = min(rank + 10, features.n_rows, features.n_columns)
    V = rng.standard_normal((features.n_columns, width)).astype(np.float32)
    for _ in range(n_power + 1):
        Q = levelled_out(spread(features.times(V)))
        B = features.transpose_times(spread(Q))  # X'' Q: d x width
        V = levelled_out(B)
    return np.ascontiguousarray(leading_first(B)[:, :rank])


def gram_of(B: Array, dtype: Any) -> Array:
    """B'B, from products in `dtype`, summed over blocks in float64."""
    blocks = (B[rows].astype(dtype, copy=False) for rows in row_blocks(len(B)))
    return np.asarray(sum((block.T @ block).astype(np.float64) for block in blocks))


def levelled_out(B: Array) -> Array:
    """B R^-1, R'R = B'B + a little: columns about orthonormal, so that the next product does not lose the weak ones.

    All products: much faster than a QR of a tall B, and exact orthonormality is not needed in between.
    """
    gram = gram_of(B, np.float32)
    size = float(np.trace(gram))
    if size <= 0:
        return B
    gram[np.diag_indices_from(gram)] += 1e-7 * size
    R = np.linalg.cholesky(gram).T
    return np.asarray(B @ solve_triangular(R, np.eye(len(R)), check_finite=False).astype(np.float32))


def leading_first(B: Array) -> Array:
    """Left singular vectors of B, the largest singular value first; zeros where B has no further direction."""
    squares, V = np.linalg.eigh(gram_of(B, np.float64))
    values, V = np.sqrt(np.maximum(squares[::-1], 0.0)), V[:, ::-1]
    there = values > 1e-6 * max(values[0], 1e-30)
    return np.asarray(B @ (V * np.where(there, 1.0 / np.where(there, values, 1.0), 0.0)).astype(np.float32))


def settle_isolated(isolated: Array, Z: Array, restart: float) -> Array:
    """A node without neighbours keeps its own features: undo the `restart` that diffusion scales them by."""
    if 0.0 < restart < 1.0 and isolated.any():
        Z[isolated] /= restart
    return Z


def lengths(Z: Array) -> Array:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", Z, Z, dtype=np.float32)))


class LazyRows:
    """The encoder's inputs made when they are asked for: a block of rows at a time, never all at once."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self.shape = (prepared.Z.shape[0], prepared.rows(prepared.Z[:1]).shape[1])
        self.dtype = np.dtype(np.float32)

    def __getitem__(self, rows: Any) -> Any:
        return self._prepared.rows(self._prepared.Z[rows])


def encoder_rows(prepared: Prepared) -> Any:
    """The encoder's inputs of all nodes: an array while that is small, else made block by block."""
    Z = prepared.Z
    return prepared.rows(Z) if sp.issparse(Z) or Z.size <= EAGER else LazyRows(prepared)


def level(Z: Array, norm: float, exponent: float) -> Array:
    """Rows divided by (length / norm)^exponent; a zero row stays zero."""
    ratio = lengths(Z) / np.float32(norm)
    return np.asarray(Z / np.where(ratio > 0, ratio, 1.0)[:, None] ** np.float32(exponent), dtype=np.float32)


def unit_sum(Z: Any) -> Any:
    """Rows divided by the sum of their absolute values; a zero row stays zero."""
    total = np.asarray(abs(Z).sum(axis=1)).ravel()
    scale = 1.0 / np.where(total > 0, total, 1.0)
    return (
        sp.diags_array(scale.astype(np.float32)) @ Z if sp.issparse(Z) else Z * scale[:, None].astype(Z.dtype)
    )
