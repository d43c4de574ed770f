"""The stage without compiled kernels: scipy's product and numpy's arithmetic, and the native one's slow twin."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.operator.layout import Layout


class PlainStage:
    """Blocks are n x width arrays of the stage's dtype; float16 is storage only, sums are float32."""

    def __init__(self, layout: Layout, width: int, dtype: Any) -> None:
        self.layout, self.width, self.dtype = layout, width, np.dtype(dtype)
        self.computed = np.dtype(np.float64 if self.dtype == np.float64 else np.float32)
        n = layout.n_nodes
        weights = np.ones(len(layout.indices)) if layout.weights is None else layout.weights
        parts = (weights.astype(self.computed), layout.indices, layout.indptr)
        self._A = sp.csr_array(parts, shape=(n, n))
        self._degrees = layout.degrees.astype(self.computed)[:, None]
        self._root = np.sqrt(layout.degrees)[:, None]
        self._order = slice(None) if layout.order is None else layout.order

    @property
    def description(self) -> str:
        return f"scipy {self.dtype.name}"

    def blank(self) -> Array:
        return np.empty((self.layout.n_nodes, self.width), dtype=self.dtype)

    def vector(self, values: Array | float) -> Array:
        return self.layout.vector(values, self.computed)

    def enter(self, F: Array, factor: Array | float = 1.0, first: int = 0, out: Array | None = None) -> Array:
        out = self.blank() if out is None else out
        scale = self.layout.vector(factor)[:, None] / self._root
        out[:] = scale * F[:, first : first + self.width][self._order]
        return out

    def leave(self, G: Array, out: Array, first: int = 0) -> Array:
        out[self._order, first : first + self.width] = G * self._root
        return out

    def add_rows(self, G: Array, nodes: Array, rows: Array) -> None:
        at = self.layout.rows(nodes)
        G[at] += (rows / self._root[at]).astype(self.dtype)

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
        carry: float = 0.0,
        norm: Array | None = None,
    ) -> float:
        wide = X.astype(self.computed, copy=False)
        inner = np.asarray(self._A @ wide)
        inner *= scale[:, None] / self._degrees
        if diagonal is not None:
            inner += diagonal[:, None] * wide
        if rest is not None:
            inner += rest
        total = (
            0.0 if norm is None else float(np.einsum("ij,ij,i->", inner, inner, norm * self._degrees[:, 0]))
        )
        inner *= self.computed.type(gain)
        if keep:
            inner += self.computed.type(keep) * wide
        if carry:
            inner += self.computed.type(carry) * out.astype(self.computed, copy=False)
        out[...] = inner
        return total

    def dots(self, A: Array, B: Array, weights: Array | None = None) -> Array:
        each = self._degrees[:, 0] if weights is None else weights * self._degrees[:, 0]
        return np.asarray(np.einsum("ij,ij,i->j", A, B, each, dtype=self.computed), dtype=np.float64)

    def advance(
        self, F: Array, R: Array, D: Array, HD: Array, alpha: Array, scale: Array
    ) -> tuple[Array, float, float]:
        alpha = alpha.astype(self.computed)
        F += alpha * D
        R -= alpha * HD
        rz = np.einsum("ij,ij,i->j", R, R, scale * self._degrees[:, 0])
        square_R, square_F = (float(self.dots(block, block).sum()) for block in (R, F))
        return np.asarray(rz, dtype=np.float64), square_R, square_F

    def turn(self, D: Array, R: Array, scale: Array, beta: Array) -> None:
        D *= beta.astype(self.computed)
        D += scale[:, None] * R
