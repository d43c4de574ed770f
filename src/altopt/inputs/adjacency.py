"""A node's row of the adjacency as its encoder input, as in LINKX."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.defaults import DEFAULTS
from altopt.graph import Graph
from altopt.graph.magnitudes import LARGEST, SMALLEST
from altopt.inputs.directions import leading_directions
from altopt.inputs.inputs import ChangedNodes, Inputs, InputSource, NewNodes, PreparedMatrix
from altopt.inputs.memory import ENTRY, INDEX, InputMemory, SourceShape, sketch_bytes, stored_bytes
from altopt.io.array_io import finite, from_arrays, to_arrays
from altopt.operator.diffusion import Direction
from altopt.operator.feature_matrix import FeatureMatrix, impute
from altopt.operator.scaling import row_norms, row_stochastic, unit_rows
from altopt.settings import check_choice, check_count


@dataclass(frozen=True)
class PreparedAdjacency(PreparedMatrix):
    Z: Any  # unit rows: sparse n x n, or n x k in the leading directions V
    V: Array | None
    direction: Direction

    def rows(self, Z: Any) -> Any:
        return Z

    def extend(self, new: NewNodes) -> Any:
        """A new node's ties to the nodes of the fit; those to later nodes have no column."""
        return self._unit_rows(new)

    def renewed(self, changed: ChangedNodes) -> Any:
        return self._unit_rows(changed)

    def _unit_rows(self, nodes: NewNodes | ChangedNodes) -> Any:
        A = {"out": nodes.out, "in": nodes.into, "both": nodes.out.maximum(nodes.into)}[self.direction]
        n = self.Z.shape[1] if self.V is None else len(self.V)
        R = unit_rows(in_float32(A[:, :n]))
        return R if self.V is None else np.asarray(R @ self.V)

    @property
    def nbytes(self) -> float:
        return stored_bytes(self.Z) + (0.0 if self.V is None else stored_bytes(self.V))

    def state(self) -> dict[str, Array]:
        return to_arrays(self.Z, "Z") | ({} if self.V is None else {"V": self.V})


@dataclass(frozen=True)
class AdjacencyInputs(Inputs):
    """A node's row of the adjacency at unit length, as LINKX reads it: shared neighbours make nodes alike.

    z_i = a_i / ||a_i||, so that the product of two rows is the cosine of their neighbourhoods. Rows stay sparse, with
    n columns; with `n_components` they are projected on the leading right singular vectors of all rows. A node
    without such edges has a zero row.

    Parameters
    ----------
    direction : {"both", "out", "in"}, default "both"
        The edges that count: all, those that lead from the node, or those that lead to it. The latter two need a
        directed graph.
    n_components : int or None, default None
        Columns to keep; None keeps all n.
    n_power : int, default 2
        Power iterations of the randomised range finder.

    Examples
    --------
    >>> import numpy as np
    >>> from altopt import Graph
    >>> from altopt.inputs import AdjacencyInputs, InputSource
    >>> from altopt.operator import NormalizedAdjacency
    >>> graph = Graph([(0, 1), (1, 2)], n_nodes=3)
    >>> source = InputSource(graph, NormalizedAdjacency(graph.adjacency), np.eye(3), restart=0.2, n_steps=10, seed=0)
    >>> AdjacencyInputs().prepare(source).Z.toarray().round(2)
    array([[0.  , 1.  , 0.  ],
           [0.71, 0.  , 0.71],
           [0.  , 1.  , 0.  ]], dtype=float32)
    """

    direction: Direction = "both"
    n_components: int | None = None
    n_power: int = DEFAULTS.n_power

    def __post_init__(self) -> None:
        check_choice(self, "direction", ("both", "out", "in"))
        check_count(self, "n_components", optional=True)
        check_count(self, "n_power", 0)

    def prepare(self, source: InputSource) -> PreparedAdjacency:
        graph = source.graph
        A = graph.adjacency_along(self.direction, f"direction={self.direction!r}")
        R = unit_rows(in_float32(A))
        if self.n_components is None:
            return PreparedAdjacency(R, None, self.direction)
        rank = min(self.n_components, graph.n_nodes)
        start = start_from(graph, source.X, min(rank + 10, graph.n_nodes), source.seed)
        V = leading_directions(
            FeatureMatrix(R), lambda block: block, rank, self.n_power, source.seed, start=start
        )
        return PreparedAdjacency(np.asarray(R @ V), V, self.direction)

    def restore(self, state: dict[str, Array]) -> PreparedAdjacency:
        Z = from_arrays(state, "Z")
        V = finite(state, "V", (None, Z.shape[1])) if "V" in state else None
        return PreparedAdjacency(Z, V, self.direction)

    def memory(self, shape: SourceShape) -> InputMemory:
        one_way = shape.n_edges if shape.n_directed is None else shape.n_directed
        n_entries = 2 * shape.n_edges if self.direction == "both" else one_way
        sparse = float(ENTRY * n_entries + INDEX * (shape.n_nodes + 1))
        if self.n_components is None:
            return InputMemory(sparse)
        rank = min(self.n_components, shape.n_nodes)
        return InputMemory(shape.block(rank), shape.block(rank), sparse + sketch_bytes(shape, rank, 4))


def in_float32(A: Any) -> Any:
    """A in float32; where its weights are too large or too small to be squared there, each row divided by its sum."""
    A = sp.csr_array(A)
    in_range = not A.nnz or (A.data.min() >= SMALLEST and A.data.max() <= LARGEST)
    return sp.csr_array(A if in_range else row_stochastic(A), dtype=np.float32)


def start_from(graph: Graph, X: Any, width: int, seed: int) -> Array:
    """Pseudo-random numbers (n x width) that depend on the node, not on its position, so that renumbering is harmless.

    Cosines of random linear functions of a node's features and log degree.
    """
    rng = np.random.default_rng(seed)
    X = impute(X, None).astype(np.float32)
    directions = rng.standard_normal((X.shape[1], width)).astype(np.float32)
    by_degree, shift = rng.standard_normal(width), rng.uniform(0, 2 * np.pi, width)
    size = float(np.sqrt(np.mean(row_norms(X) ** 2))) or 1.0
    wave = DEFAULTS.start_frequency * np.asarray(X @ directions) / size
    wave += np.outer(np.log1p(graph.degrees), by_degree) + shift
    return np.cos(wave).astype(np.float32)
