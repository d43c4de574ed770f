"""The least and the largest value of each feature among the neighbours of a node."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.inputs.inputs import ChangedNodes, Inputs, InputSource, NewNodes, PreparedMatrix
from altopt.inputs.memory import NUMBER, InputMemory, SourceShape
from altopt.inputs.neighbours import edges_along, least_and_largest
from altopt.io.array_io import rows_of
from altopt.operator.columns import Columns
from altopt.operator.diffusion import Direction
from altopt.settings import check_choice


@dataclass(frozen=True)
class PreparedExtremes(PreparedMatrix):
    Z: Array  # the features, their least and their largest values among neighbours
    columns: Columns
    direction: Direction

    def rows(self, Z: Array) -> Array:
        return np.asarray(Z[:, Z.shape[1] // 3 :])

    def extend(self, new: NewNodes) -> Array:
        own = as_dense(self.columns.transform(new.X))
        known = self.Z[:, : own.shape[1]]
        return self._of(new, np.concatenate([known, own]), own)

    def renewed(self, changed: ChangedNodes) -> Array:
        known = self.Z[:, : self.Z.shape[1] // 3]
        return self._of(changed, known, known[changed.nodes])

    def _of(self, nodes: NewNodes | ChangedNodes, X: Array, own: Array) -> Array:
        return np.concatenate([own, *least_and_largest(edges_along(nodes, self.direction), X)], axis=1)

    @property
    def n_features(self) -> int:
        return len(self.columns.kind)

    def state(self) -> dict[str, Array]:
        return {"Z": self.Z} | self.columns.state()


@dataclass(frozen=True)
class ExtremeInputs(Inputs):
    """The least and the largest value of each column of X among a node's neighbours; zeros where it has none.

    Made for few columns. Columns are read by their kind, as in HopInputs.

    Parameters
    ----------
    direction : {"both", "out", "in"}, default "both"
        The edges that count.

    Examples
    --------
    >>> from altopt import Graph
    >>> from altopt.inputs import ExtremeInputs, InputSource
    >>> from altopt.operator import NormalizedAdjacency
    >>> graph = Graph([(0, 1), (1, 2)], n_nodes=3)
    >>> A_tilde = NormalizedAdjacency(graph.adjacency)
    >>> source = InputSource(graph, A_tilde, np.array([[0.0], [0.0], [1.0]]), restart=0.2, n_steps=10, seed=0)
    >>> prepared = ExtremeInputs().prepare(source)
    >>> prepared.rows(prepared.Z).tolist()
    [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """

    direction: Direction = "both"

    def __post_init__(self) -> None:
        check_choice(self, "direction", ("both", "out", "in"))

    def prepare(self, source: InputSource) -> PreparedExtremes:
        A = source.graph.adjacency_along(self.direction, f"direction={self.direction!r}")
        own = as_dense(source.columns.transform(source.X))
        Z = np.concatenate([own, *least_and_largest(A, own)], axis=1)
        return PreparedExtremes(Z, source.columns, self.direction)

    def restore(self, state: dict[str, Array]) -> PreparedExtremes:
        columns = Columns.restore(state)
        return PreparedExtremes(rows_of(state, "Z", 3 * len(columns.kind)), columns, self.direction)

    def memory(self, shape: SourceShape) -> InputMemory:
        d = shape.n_features
        return InputMemory(3 * shape.block(d), 0.0, shape.block(d) + float(2 * NUMBER * shape.n_edges))


def as_dense(X: Any) -> Array:
    return np.asarray(X.toarray() if sp.issparse(X) else X)
