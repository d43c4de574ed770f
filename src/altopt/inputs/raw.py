"""The features X as they are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.inputs.inputs import ChangedNodes, ColumnMap, Inputs, InputSource, NewNodes, PreparedMatrix
from altopt.inputs.memory import InputMemory, SourceShape
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

    @property
    def n_features(self) -> int:
        return int(self.Z.shape[1])

    @property
    def column_maps(self) -> list[ColumnMap | int]:
        return [ColumnMap(self.n_features)]

    def state(self) -> dict[str, Array]:
        return to_arrays(self.Z, "Z")


@dataclass(frozen=True)
class RawInputs(Inputs):
    """X itself; the graph is not used. Sparse X stays sparse, and NaN stays NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from altopt import Graph
    >>> from altopt.inputs import InputSource, RawInputs
    >>> from altopt.operator import NormalizedAdjacency
    >>> graph = Graph([(0, 1)], n_nodes=2)
    >>> X = np.array([[1.0, np.nan], [0.0, 2.0]])
    >>> source = InputSource(graph, NormalizedAdjacency(graph.adjacency), X, restart=0.2, n_steps=10, seed=0)
    >>> RawInputs().prepare(source).Z
    array([[ 1., nan],
           [ 0.,  2.]], dtype=float32)
    """

    keeps_missing = True

    def prepare(self, source: InputSource) -> PreparedRaw:
        return PreparedRaw(source.X.astype(np.float32))

    def restore(self, state: dict[str, Array]) -> PreparedRaw:
        return PreparedRaw(from_arrays(state, "Z"))

    def memory(self, shape: SourceShape) -> InputMemory:
        return InputMemory(shape.x_bytes)
