"""The backend without compiled kernels: scipy's product and numpy's arithmetic; the slow twin of the compiled one."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.operator.layout import Layout


class ScipyBackend:
    """Blocks are arrays of shape (n_nodes, width); float16 is for storage alone, sums are float32.

    Parameters
    ----------
    layout : Layout
    width : int
        Columns of F.
    dtype : float16, float32 or float64
        In which blocks are stored.
    """

    def __init__(self, layout: Layout, width: int, dtype: Any) -> None:
        self.layout, self.width, self.dtype = layout, width, np.dtype(dtype)
        self.compute_dtype = np.dtype(np.float64 if self.dtype == np.float64 else np.float32)
        n = layout.n_nodes
        weights = np.ones(len(layout.indices)) if layout.weights is None else layout.weights
        parts = (weights.astype(self.compute_dtype), layout.indices, layout.indptr)
        self._A = sp.csr_array(parts, shape=(n, n))
        self._degrees = layout.degrees.astype(self.compute_dtype)[:, None]
        self._root = np.sqrt(layout.degrees)[:, None]
        self._order = slice(None) if layout.order is None else layout.order

    @property
    def description(self) -> str:
        return f"scipy {self.dtype.name}"

    def empty(self) -> Array:
        return np.empty((self.layout.n_nodes, self.width), dtype=self.dtype)

    def vector(self, values: Array | float) -> Array:
        return self.layout.vector(values, self.compute_dtype)

    def to_layout(
        self, F: Array, factor: Array | float = 1.0, first: int = 0, out: Array | None = None
    ) -> Array:
        out = self.empty() if out is None else out
        scale = self.layout.vector(factor)[:, None] / self._root
        out[:] = scale * F[:, first : first + self.width][self._order]
        return out

    def from_layout(self, block: Array, out: Array, first: int = 0) -> Array:
        out[self._order, first : first + self.width] = block * self._root
        return out

    def add_rows(self, block: Array, nodes: Array, rows: Array) -> None:
        at = self.layout.rows(nodes)
        block[at] += (rows / self._root[at]).astype(self.dtype)

    def step(
        self,
        X: Array,
        out: Array,
        scale: Array,
        diagonal: Array | None = None,
        rest: Array | None = None,
        *,
        gain: float = 1.0,
        keep: float = 0.0,
        beta: float = 0.0,
        norm: Array | None = None,
    ) -> float:
        wide = X.astype(self.compute_dtype, copy=False)
        inner = np.asarray(self._A @ wide)
        inner *= scale[:, None] / self._degrees
        if diagonal is not None:
            inner += diagonal[:, None] * wide
        if rest is not None:
            inner += rest
        total = (
            0.0 if norm is None else float(np.einsum("ij,ij,i->", inner, inner, norm * self._degrees[:, 0]))
        )
        inner *= self.compute_dtype.type(gain)
        if keep:
            inner += self.compute_dtype.type(keep) * wide
        if beta:
            inner += self.compute_dtype.type(beta) * out.astype(self.compute_dtype, copy=False)
        out[...] = inner
        return total

    def dots(self, A: Array, B: Array, weights: Array | None = None) -> Array:
        each = self._degrees[:, 0] if weights is None else weights * self._degrees[:, 0]
        return np.asarray(np.einsum("ij,ij,i->j", A, B, each, dtype=self.compute_dtype), dtype=np.float64)

    def advance(
        self, F: Array, R: Array, D: Array, HD: Array, alpha: Array, scale: Array
    ) -> tuple[Array, float]:
        alpha = alpha.astype(self.compute_dtype)
        F += alpha * D
        R -= alpha * HD
        rz = np.einsum("ij,ij,i->j", R, R, scale * self._degrees[:, 0])
        return np.asarray(rz, dtype=np.float64), float(self.dots(R, R).sum())

    def search_direction(self, D: Array, R: Array, scale: Array, beta: Array) -> None:
        D *= beta.astype(self.compute_dtype)
        D += scale[:, None] * R
