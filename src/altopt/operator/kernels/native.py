"""The compiled backend: blocks padded to whole vectors, one pass a step."""

from typing import Any

import numpy as np

from altopt.arrays import Array, allocate
from altopt.operator.kernels.dispatch import COMPILED
from altopt.operator.layout import Layout
from altopt.threads import kernel_threads

ROW_MULTIPLE = 8  # columns are padded to a multiple of this, whole vectors
ALIGNMENT = 64  # bytes of a cache line, at which blocks start


def padded(width: int) -> int:
    """The numbers that a row of `width` columns takes."""
    return -(-max(width, 1) // ROW_MULTIPLE) * ROW_MULTIPLE


class NativeBackend:
    """Blocks are arrays padded to whole vectors; float16 is for storage alone, sums are float32.

    Parameters
    ----------
    layout : Layout
    width : int
        Columns of F.
    dtype : float16, float32 or float64
        In which blocks are stored.
    """

    def __init__(self, layout: Layout, width: int, dtype: Any) -> None:
        self._compiled = COMPILED
        self.layout, self.width, self.dtype = layout, width, np.dtype(dtype)
        self.compute_dtype = np.dtype(np.float64 if self.dtype == np.float64 else np.float32)
        self.padded = padded(width)
        self._degrees = layout.degrees.astype(self.compute_dtype)
        self._per_degree = (1.0 / layout.degrees).astype(self.compute_dtype)
        self._root = np.sqrt(layout.degrees)
        self._weights = (
            None if layout.weights is None else layout.weights.astype(self.compute_dtype, copy=False)
        )

    @property
    def description(self) -> str:
        order = "" if self.layout.order is None else ", ordered"
        return f"native {self._compiled.level()} {self.dtype.name}{order}"

    def empty(self) -> Array:
        return aligned((self.layout.n_nodes, self.padded), self.dtype)

    def vector(self, values: Array | float) -> Array:
        return self.layout.vector(values, self.compute_dtype)

    def to_layout(
        self, F: Array, factor: Array | float = 1.0, first: int = 0, out: Array | None = None
    ) -> Array:
        out = self.empty() if out is None else out
        scale = (self.layout.vector(factor) / self._root).astype(self.compute_dtype)
        F = np.ascontiguousarray(F, dtype=F.dtype if F.dtype in (np.float32, np.float64) else np.float64)
        self._compiled.to_layout(F, first, self.width, bits(out), self.layout.order, scale, kernel_threads())
        return out

    def from_layout(self, block: Array, out: Array, first: int = 0) -> Array:
        scale = self._root.astype(self.compute_dtype)
        self._compiled.from_layout(
            bits(block), out, first, self.width, self.layout.order, scale, kernel_threads()
        )
        return out

    def add_rows(self, block: Array, nodes: Array, rows: Array) -> None:
        at = self.layout.rows(nodes)
        block[at, : self.width] += (rows / self._root[at][:, None]).astype(self.dtype)

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
        return float(
            self._compiled.step(
                self.layout.indptr,
                self.layout.indices,
                self._weights,
                bits(X),
                bits(out),
                scale * self._per_degree,
                diagonal,
                None if rest is None else bits(rest),
                gain,
                keep,
                beta,
                None if norm is None else norm * self._degrees,
                kernel_threads(),
            )
        )

    def dots(self, A: Array, B: Array, weights: Array | None = None) -> Array:
        out = np.empty(self.padded)
        weights = self._degrees if weights is None else weights * self._degrees
        self._compiled.dots(bits(A), bits(B), weights, out, kernel_threads())
        return out

    def advance(
        self, F: Array, R: Array, D: Array, HD: Array, alpha: Array, scale: Array
    ) -> tuple[Array, float]:
        rz = np.empty(self.padded)
        square_norm = self._compiled.advance(
            F,
            R,
            D,
            HD,
            alpha.astype(self.compute_dtype),
            scale * self._degrees,
            self._degrees,
            rz,
            kernel_threads(),
        )
        return rz, float(square_norm)

    def search_direction(self, D: Array, R: Array, scale: Array, beta: Array) -> None:
        self._compiled.search_direction(D, R, scale, beta.astype(self.compute_dtype), kernel_threads())


def aligned(shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
    """An uninitialised array that starts at a cache line."""
    size = shape[0] * shape[1] * dtype.itemsize
    raw = allocate((size + ALIGNMENT,), np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(dtype).reshape(shape)


def bits(block: Array) -> Array:
    """float16 as uint16, the type of the compiled side."""
    return block.view(np.uint16) if block.dtype == np.float16 else block
