"""The features X, each column by its kind; the graph plays no part."""

from dataclasses import dataclass
from typing import Any

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.inputs.inputs import ChangedNodes, ColumnMap, Inputs, InputSource, NewNodes, PreparedMatrix
from altopt.inputs.memory import InputMemory, SourceShape
from altopt.io.array_io import from_arrays, to_arrays
from altopt.operator.columns import Columns


@dataclass(frozen=True)
class PreparedFeatures(PreparedMatrix):
    Z: Any
    columns: Columns

    def rows(self, Z: Any) -> Any:
        return Z

    def extend(self, new: NewNodes) -> Any:
        return self.columns.transform(new.X)

    def renewed(self, changed: ChangedNodes) -> Any:
        return self.Z[changed.nodes]

    @property
    def n_features(self) -> int:
        return len(self.columns.kind)

    @property
    def column_maps(self) -> list[ColumnMap | int]:
        return [ColumnMap(self.n_features)]

    def state(self) -> dict[str, Array]:
        return to_arrays(self.Z, "Z") | self.columns.state()


@dataclass(frozen=True)
class FeatureInputs(Inputs):
    """The columns of X, each by its kind: roots of counts, measurements standardised. Words stay sparse.

    Examples
    --------
    >>> import numpy as np
    >>> from altopt import Graph
    >>> from altopt.inputs import FeatureInputs, InputSource
    >>> from altopt.operator import NormalizedAdjacency
    >>> graph = Graph([(0, 1), (2, 3)], n_nodes=4)
    >>> X = np.array([[4.0, 0.0], [0.0, 1.0], [0.0, 1.0], [9.0, 0.0]])
    >>> source = InputSource(graph, NormalizedAdjacency(graph.adjacency), X, restart=0.2, n_steps=10, seed=0)
    >>> FeatureInputs().prepare(source).Z.tolist()
    [[2.0, 0.0], [0.0, 1.0], [0.0, 1.0], [3.0, 0.0]]
    """

    def prepare(self, source: InputSource) -> PreparedFeatures:
        return PreparedFeatures(source.columns.transform(source.X), source.columns)

    def restore(self, state: dict[str, Array]) -> PreparedFeatures:
        Z, columns = from_arrays(state, "Z"), Columns.restore(state)
        if Z.ndim != 2 or Z.shape[1] != len(columns.kind) or Z.dtype.kind != "f":
            raise InputError("The stored features are not one number for each node and column.")
        return PreparedFeatures(Z, columns)

    def memory(self, shape: SourceShape) -> InputMemory:
        return InputMemory(shape.x_bytes)
