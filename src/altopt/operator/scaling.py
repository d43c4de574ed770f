"""Scaling of rows: to unit norm, unit sum, damped norms, centred; dense or sparse."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, row_blocks
from altopt.errors import InputError
from altopt.io.array_io import finite

MIN_SUM = 1e-37  # smaller numbers have no inverse in float32


def row_norms(Z: Any) -> Array:
    """Euclidean norm of each row, in float32."""
    if sp.issparse(Z):
        return np.asarray(np.sqrt(Z.multiply(Z).sum(axis=1, dtype=np.float32))).ravel()
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", Z, Z, dtype=np.float32)))


def scale_rows(Z: Any, scale: Array) -> Any:
    """diag(scale) Z."""
    if sp.issparse(Z):
        return sp.csr_array(sp.diags_array(scale.astype(np.float32)) @ Z)
    return np.asarray(Z * scale[:, None].astype(np.float32), dtype=np.float32)


def unit_rows(Z: Any) -> Any:
    """Rows divided by their norm; a zero row stays zero."""
    length = row_norms(Z)
    return scale_rows(Z, 1.0 / np.where(length > 0, length, 1.0))


def unit_sum(Z: Any) -> Any:
    """Rows divided by the sum of their absolute values; a zero row stays zero, and one without an inverse small."""
    total = np.asarray(abs(Z).sum(axis=1)).ravel()
    scale = 1.0 / np.where(total > MIN_SUM, total, 1.0)
    return (
        sp.diags_array(scale.astype(np.float32)) @ Z if sp.issparse(Z) else Z * scale[:, None].astype(Z.dtype)
    )


def row_stochastic(A: Any) -> Any:
    """D^-1 A: a product with it is the mean over each node's neighbours; a zero row stays zero."""
    degrees = np.asarray(A.sum(axis=1)).ravel()
    return sp.csr_array(sp.diags_array(1.0 / np.where(degrees > 0, degrees, 1.0)) @ A)


def damp_norms(Z: Array, norm: float, exponent: float) -> Array:
    """Rows divided by (their norm / norm)^exponent; a zero row stays zero."""
    ratio = row_norms(Z) / np.float32(norm)
    return np.asarray(Z / np.where(ratio > 0, ratio, 1.0)[:, None] ** np.float32(exponent), dtype=np.float32)


@dataclass(frozen=True)
class Scaling:
    """Rows with damped norms, centred, and scaled to mean squared norm 1 over the nodes it was made from.

        Z_i <- size (Z_i (norm / ||Z_i||)^exponent - centre)

    Attributes
    ----------
    centre : array of shape (d,)
        Mean of the damped rows.
    norm : float
        Mean norm of the rows.
    size : float
        1 / root mean squared norm of the centred rows.
    exponent : float
        0 keeps the rows' norms, 1 makes them equal.

    Examples
    --------
    >>> Z = np.array([[1.0, 0.0], [0.0, 3.0]], dtype=np.float32)
    >>> Scaling.of(Z, exponent=1.0).rows(Z)
    array([[ 0.70710677, -0.70710677],
           [-0.70710677,  0.70710677]], dtype=float32)
    """

    centre: Array
    norm: float
    size: float
    exponent: float

    @classmethod
    def of(cls, Z: Any, exponent: float) -> "Scaling":
        """The scaling fitted to rows Z, read a block at a time."""
        norms = [row_norms(Z[rows]) for rows in row_blocks(len(Z))]
        norm = float(np.mean(np.concatenate(norms))) or 1.0

        def damped() -> Iterable[Array]:
            return (damp_norms(Z[rows], norm, exponent) for rows in row_blocks(len(Z)))

        centre, size = centre_and_size(damped, Z.shape)
        return cls(centre, norm, 1.0 / size if size > 0 else 1.0, exponent)

    def rows(self, Z: Array) -> Array:
        """Rows scaled."""
        return (damp_norms(Z, self.norm, self.exponent) - self.centre) * np.float32(self.size)

    def state(self) -> dict[str, Array]:
        return {"centre": self.centre, "scalars": np.array([self.norm, self.size], dtype=np.float64)}

    @classmethod
    def restore(cls, state: dict[str, Array], exponent: float) -> "Scaling":
        norm, size = finite(state, "scalars", (2,)).tolist()
        if norm <= 0 or size <= 0:
            raise InputError("The stored scale of the inputs is not above 0.")
        return cls(finite(state, "centre", (None,)), norm, size, exponent)


def centre_and_size(blocks: Callable[[], Iterable[Array]], shape: tuple[int, ...]) -> tuple[Array, float]:
    """Mean of the rows of all blocks, and their root mean squared distance from it."""
    total, square = np.zeros(shape[1]), 0.0
    for block in blocks():
        total += block.sum(axis=0, dtype=np.float64)
    centre = total / shape[0]
    for block in blocks():
        square += float(np.sum((block - centre.astype(np.float32)) ** 2, dtype=np.float64))
    return centre.astype(np.float32), float(np.sqrt(square / shape[0]))
