"""The diffused features X' reduced to their leading directions, without forming a wide X'."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from altopt.arrays import Array
from altopt.defaults import DEFAULTS
from altopt.inputs.directions import few_columns, gram_of, leading_directions, principal_directions
from altopt.inputs.inputs import (
    ChangedNodes,
    ColumnMap,
    Inputs,
    InputSource,
    NewNodes,
    Prepared,
    PreparedMatrix,
)
from altopt.inputs.local_diffusion import diffused_again, diffused_from, settle_isolated
from altopt.inputs.memory import NUMBER, InputMemory, SourceShape, sketch_bytes, stored_bytes
from altopt.io.array_io import finite, rows_of
from altopt.operator import diffusion
from altopt.operator.columns import Columns
from altopt.operator.feature_matrix import FeatureMatrix, column_means, has_missing
from altopt.operator.scaling import Scaling
from altopt.settings import check_choice, check_count, check_number

LARGEST_FLOAT16 = float(np.finfo(np.float16).max)


@dataclass(frozen=True)
class Projection:
    """From features to coordinates: X V, the columns of X by their kind."""

    V: Array  # d x k, orthonormal columns
    columns: Columns

    def __call__(self, X: Any) -> Array:
        return FeatureMatrix(X, self.columns).times(self.V)

    def state(self) -> dict[str, Array]:
        return {"V": self.V} | self.columns.state()

    @classmethod
    def restore(cls, state: dict[str, Array]) -> "Projection":
        columns = Columns.restore(state)
        return cls(finite(state, "V", (len(columns.kind), None)), columns)


@dataclass(frozen=True)
class PreparedReduced(PreparedMatrix):
    Z: Array
    coordinates: Projection  # of new nodes' own features, before any diffusion
    scaling: Scaling

    def rows(self, Z: Array) -> Array:
        return self.scaling.rows(Z)

    def extend(self, new: NewNodes) -> Array:
        return np.asarray(diffused_from(self.Z, self.coordinates(new.X), new))

    def renewed(self, changed: ChangedNodes) -> Array:
        return np.asarray(diffused_again(self.Z, changed))

    @property
    def n_features(self) -> int:
        return len(self.coordinates.V)

    @property
    def column_maps(self) -> list[ColumnMap | int]:
        return [ColumnMap(self.coordinates.V.shape[1], self.coordinates.V)]

    @property
    def nbytes(self) -> float:
        return stored_bytes(self.Z) + stored_bytes(self.coordinates.V)

    def state(self) -> dict[str, Array]:
        return {"Z": self.Z} | self.coordinates.state() | self.scaling.state()


@dataclass(frozen=True)
class ReducedInputs(Inputs):
    """The diffused features X' projected on their leading right singular vectors: x_i = (X' V)_i, centred and scaled.

    X' is that of DiffusedInputs, V is d x k. A wide or large X' (n x d) is never formed: a randomised range finder
    multiplies by it and its transpose. Rows are scaled to mean squared length 1.

    Parameters
    ----------
    n_components : int, default 256
        Columns k; all d where X has fewer.
    row_exponent : float, default 0.5
        Rows are divided by (length / mean length)^row_exponent: 0 keeps their lengths, 1 makes them equal.
    by_kind : bool, default True
        Read each column of X by its kind: roots of counts, measurements standardised. False: as they are.
    n_power : int, default 2
        Power iterations of the range finder.
    storage : {"float32", "float16"}, default "float32"
        How X' V is kept; float16 takes half the memory.

    Examples
    --------
    >>> import numpy as np
    >>> from altopt import Graph
    >>> from altopt.inputs import InputSource, ReducedInputs
    >>> from altopt.operator import NormalizedAdjacency
    >>> graph = Graph([(0, 1)], n_nodes=3)
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    >>> source = InputSource(graph, NormalizedAdjacency(graph.adjacency), X, restart=0.5, n_steps=50, seed=0)
    >>> prepared = ReducedInputs(by_kind=False).prepare(source)
    >>> prepared.Z.round(2)  # V = I, as X has few columns
    array([[0.67, 0.33],
           [0.33, 0.67],
           [2.  , 2.  ]], dtype=float32)
    >>> prepared.rows(prepared.Z).round(2)
    array([[-0.02, -0.85],
           [-0.85, -0.02],
           [ 0.88,  0.88]], dtype=float32)
    """

    n_components: int = DEFAULTS.diffused_directions * DEFAULTS.hop_components
    row_exponent: float = DEFAULTS.row_exponent
    by_kind: bool = True
    n_power: int = DEFAULTS.n_power
    storage: Literal["float32", "float16"] = "float32"

    def __post_init__(self) -> None:
        check_directions(self)
        check_choice(self, "storage", ("float32", "float16"))

    def prepare(self, source: InputSource) -> PreparedReduced:
        A_tilde, restart = source.A_tilde, source.restart
        features = features_of(source, self.by_kind)

        def spread(block: Array) -> Array:
            """p(A_tilde) block, in its place: the diffusion is symmetric, so it serves X' and its transpose."""
            diffused = diffusion.steps(A_tilde, block, restart, source.n_steps, out=block)
            return settle_isolated(A_tilde.isolated, diffused, restart)

        rank = min(self.n_components, features.n_rows)
        if features.n_columns <= rank:
            V = np.eye(features.n_columns, dtype=np.float32)
            Z = spread(features.toarray())
        elif few_columns(features.n_rows, features.n_columns):
            whole = spread(features.toarray())
            V = principal_directions(gram_of(whole, np.float32), rank)
            Z = whole @ V
            del whole
        else:
            V = leading_directions(features, spread, rank, self.n_power, source.seed)
            Z = spread(features.times(V))
        if self.storage == "float16" and (shrink := excess(Z)) > 1:
            Z, V = Z / shrink, V / shrink
        scaling = Scaling.of(Z, self.row_exponent)
        coordinates = Projection(V, features.columns)
        return PreparedReduced(Z.astype(self.storage, copy=False), coordinates, scaling)

    def unscaled(self) -> "ReducedInputs":
        return replace(self, row_exponent=DEFAULTS.row_exponent)

    def rescale(self, prepared: Prepared) -> Prepared:
        assert isinstance(prepared, PreparedReduced)
        return replace(prepared, scaling=Scaling.of(prepared.Z, self.row_exponent))

    def restore(self, state: dict[str, Array]) -> PreparedReduced:
        coordinates = Projection.restore(state)
        Z = rows_of(state, "Z", coordinates.V.shape[1])
        return PreparedReduced(Z, coordinates, Scaling.restore(state, self.row_exponent))

    def memory(self, shape: SourceShape) -> InputMemory:
        n_features, rank = shape.n_features, shape.rank(self.n_components)
        kept = shape.block(rank)
        if n_features <= rank:
            preparing = 0.0
        elif few_columns(shape.n_nodes, n_features):
            preparing = shape.block(n_features)
        else:
            preparing = sketch_bytes(shape, rank, 4)
        half = self.storage == "float16"
        preparing += shape.diffusion(rank) + (kept if half else 0.0)
        return InputMemory(kept / 2 if half else kept, NUMBER * n_features * rank, preparing)


def features_of(source: InputSource, by_kind: bool) -> FeatureMatrix:
    """X by the kinds of its columns, or as it is; NaN has become a column's mean."""
    given = None if by_kind or not has_missing(source.X) else Columns.as_given(column_means(source.X))
    return FeatureMatrix(source.X, source.columns if by_kind else given)


def excess(Z: Array) -> np.float32:
    """The power of two that brings numbers too large for float16 well into its range; 1 where there are none."""
    largest = max(float(Z.max()), -float(Z.min()))
    return np.float32(1.0 if largest <= LARGEST_FLOAT16 else 2.0 ** np.ceil(np.log2(largest) - 10))


def check_directions(inputs: Any) -> None:
    """The settings that concern leading directions."""
    check_count(inputs, "n_components")
    check_number(inputs, "row_exponent")
    check_choice(inputs, "by_kind", (True, False))
    check_count(inputs, "n_power", 0)
