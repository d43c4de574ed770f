"""The diffused features X' reduced to their leading directions, without ever forming X'."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from altopt.arrays import Array
from altopt.inputs.directions import few_columns, gram_of, leading_directions, principal_directions
from altopt.inputs.inputs import ChangedNodes, Inputs, InputSource, NewNodes, PreparedMatrix
from altopt.inputs.local_diffusion import diffused_again, diffused_from, settle_isolated
from altopt.operator import diffusion
from altopt.operator.feature_matrix import Features, column_means, filled, has_missing, project
from altopt.operator.scaling import Scaling


@dataclass(frozen=True)
class Projection:
    """From features to coordinates: ((X - mean) / std) V, of X or its roots where nothing was standardised."""

    V: Array  # d x k, orthonormal columns
    mean: Array | None
    std: Array | None
    fill: Array | None = None  # what stands for a missing value, where the fit had such
    root: bool = False

    @classmethod
    def of(cls, features: Features, V: Array, fill: Array | None) -> "Projection":
        return cls(V, features.mean, features.std, fill, features.root)

    def __call__(self, X: Any) -> Array:
        X = filled(X, self.fill if self.mean is None else self.mean)
        return project(X, self.V, self.mean, self.std, self.root)

    def state(self) -> dict[str, Array]:
        arrays = {"V": self.V}
        if self.mean is not None and self.std is not None:
            arrays |= {"column_mean": self.mean, "column_std": self.std}
        arrays |= {"root": np.array([True])} if self.root else {}
        return arrays | ({} if self.fill is None else {"fill": self.fill})

    @classmethod
    def restore(cls, state: dict[str, Array]) -> "Projection":
        return cls(
            state["V"], state.get("column_mean"), state.get("column_std"), state.get("fill"), "root" in state
        )


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

    def state(self) -> dict[str, Array]:
        return {"Z": self.Z} | self.coordinates.state() | self.scaling.state()


@dataclass(frozen=True)
class ReducedInputs(Inputs):
    """The leading `n_components` directions of X', rows levelled, centred, at mean squared length 1.

    A wide or large X' (n x d) is never formed: a randomised range finder multiplies by it and by its transpose only.
    Rows are divided by (length / mean length)^row_exponent: 0 keeps lengths, 1 makes them equal. `storage` "float16"
    halves the memory that X' takes. Columns of measurements are standardised first, of counts and word weights the
    roots are taken; `standardise` and `root` say so or not.
    """

    n_components: int = 256
    row_exponent: float = 0.5
    standardise: bool | None = None
    root: bool | None = None
    n_power: int = 2
    storage: Literal["float32", "float16"] = "float32"

    def prepare(self, source: InputSource) -> PreparedReduced:
        A_tilde, restart = source.A_tilde, source.restart
        fill = column_means(source.X) if has_missing(source.X) else None
        features = Features(filled(source.X, fill), self.standardise, self.root)

        def spread(block: Array) -> Array:
            """p(A_tilde) block, in its place: the diffusion is symmetric, so it serves X' and its transpose."""
            diffused = diffusion.steps(A_tilde, block, restart, source.n_steps, out=block)
            return settle_isolated(A_tilde.isolated, diffused, restart)

        rank = min(self.n_components, features.n_rows)
        if features.n_columns <= rank:
            V = np.eye(features.n_columns, dtype=np.float32)
            Z = spread(features.standardised())
        elif few_columns(features.n_rows, features.n_columns):
            whole = spread(features.standardised())
            V = principal_directions(gram_of(whole, np.float32), rank)
            Z = whole @ V
            del whole
        else:
            V = leading_directions(features, spread, rank, self.n_power, source.seed)
            Z = spread(features.times(V))
        scaling = Scaling.of(Z, self.row_exponent)
        coordinates = Projection.of(features, V, fill)
        return PreparedReduced(Z.astype(self.storage, copy=False), coordinates, scaling)

    def rescale(self, prepared: PreparedReduced) -> PreparedReduced:
        """The same directions with their rows levelled as these settings say."""
        return replace(prepared, scaling=Scaling.of(prepared.Z, self.row_exponent))

    def restore(self, state: dict[str, Array]) -> PreparedReduced:
        return PreparedReduced(
            state["Z"], Projection.restore(state), Scaling.restore(state, self.row_exponent)
        )

    def width(self, n_nodes: int, n_features: int, n_edges: int) -> float:
        return min(n_features, self.n_components, n_nodes) * (0.5 if self.storage == "float16" else 1.0)
