"""The features X as they are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.inputs.inputs import ChangedNodes, Inputs, InputSource, NewNodes, PreparedMatrix
from altopt.io.array_io import from_arrays, to_arrays


@dataclass(frozen=True)
class PreparedRaw(PreparedMatrix):
    Z: Any

    def rows(self, Z: Any) -> Any:
        return Z

    def coordinates(self, X: Any) -> Any:
        return X.astype(np.float32)

    def extend(self, new: NewNodes) -> Any:
        return self.coordinates(new.X)

    def renewed(self, changed: ChangedNodes) -> Any:
        return self.Z[changed.nodes]

    def state(self) -> dict[str, Array]:
        return to_arrays(self.Z, "Z")


@dataclass(frozen=True)
class RawInputs(Inputs):
    """X itself, no edge looked at; sparse X stays sparse, and what is missing (NaN) stays missing."""

    keeps_missing = True

    def prepare(self, source: InputSource) -> PreparedRaw:
        return PreparedRaw(source.X.astype(np.float32))

    def restore(self, state: dict[str, Array]) -> PreparedRaw:
        return PreparedRaw(from_arrays(state, "Z"))

    def width(self, n_nodes: int, n_features: int, n_edges: int) -> float:
        return n_features
