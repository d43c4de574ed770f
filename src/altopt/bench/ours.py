"""The one place where the benchmarks meet the library's own fast path."""

from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.bench.clock import Unavailable
from altopt.kernels import choose
from altopt.operator import NormalizedAdjacency


def stage(A_tilde: NormalizedAdjacency, width: int, dtype: str, ordered: bool = False) -> Any:
    """Where blocks of `width` columns are stepped: `altopt.kernels.choose.stage`, or `A_tilde.step` without it."""
    prepared = getattr(choose, "stage", None)
    if prepared is not None:
        return prepared(A_tilde, width, dtype=dtype, ordered=ordered)
    if dtype == "float16" or ordered:
        raise Unavailable("not in this build")
    return PlainStage(A_tilde, width, dtype)


class PlainStage:
    """`A_tilde.step` with the face of a stage: natural order, float32 or float64."""

    def __init__(self, A_tilde: NormalizedAdjacency, width: int, dtype: str) -> None:
        self.A_tilde, self.width, self.dtype = A_tilde, width, np.dtype(dtype)
        self.description = f"A_tilde.step, {dtype}; {choose.description()}"

    def enter(self, F: Array) -> Array:
        return np.ascontiguousarray(F, dtype=self.dtype)

    def leave(self, G: Array) -> Array:
        return G

    def blank(self) -> Array:
        return np.empty((self.A_tilde.n_nodes, self.width), dtype=self.dtype)

    def vector(self, value: Array | float) -> Array:
        return np.ascontiguousarray(np.broadcast_to(np.asarray(value, self.dtype), self.A_tilde.n_nodes))

    def step(self, G: Array, out: Array, scale: Array, diagonal: Array, rest: Array) -> None:
        self.A_tilde.step(G, scale, diagonal, rest, out)
