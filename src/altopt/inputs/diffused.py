"""X as it is, or diffused and otherwise as it is."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.graph import Graph
from altopt.inputs.inputs import ChangedNodes, NewNodes, OneZ, diffused_again, diffused_from, settle_isolated
from altopt.io.array_io import from_arrays, to_arrays
from altopt.operator import NormalizedAdjacency, diffusion
from altopt.operator.feature_matrix import column_means, filled, has_missing
from altopt.operator.scaling import unit_sum


@dataclass(frozen=True)
class PreparedRaw(OneZ):
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
class RawInputs:
    """X itself, no edge looked at; sparse X stays sparse, and what is missing (NaN) stays missing."""

    def prepare(
        self, graph: Graph, A_tilde: NormalizedAdjacency, X: Any, restart: float, n_steps: int, seed: int
    ) -> PreparedRaw:
        return PreparedRaw(X.astype(np.float32))

    def restore(self, state: dict[str, Array]) -> PreparedRaw:
        return PreparedRaw(from_arrays(state, "Z"))

    def width(self, n_nodes: int, n_features: int, n_edges: int) -> float:
        return n_features


@dataclass(frozen=True)
class PreparedPlain(PreparedRaw):
    scale_rows: bool
    fill: Array | None = None  # what stands for a missing value, where the fit had such

    def rows(self, Z: Any) -> Any:
        return unit_sum(Z) if self.scale_rows else Z

    def coordinates(self, X: Any) -> Any:
        return filled(X, self.fill).astype(np.float32)

    def extend(self, new: NewNodes) -> Any:
        return diffused_from(self.Z, self.coordinates(new.X), new)

    def renewed(self, changed: ChangedNodes) -> Any:
        return diffused_again(self.Z, changed)

    def state(self) -> dict[str, Array]:
        return super().state() | ({} if self.fill is None else {"fill": self.fill})


@dataclass(frozen=True)
class PlainInputs:
    """X' = LP(X, restart) as it is, d columns; with `scale_rows` each row of X' is divided by its sum of |.|."""

    scale_rows: bool = False

    def prepare(
        self, graph: Graph, A_tilde: NormalizedAdjacency, X: Any, restart: float, n_steps: int, seed: int
    ) -> PreparedPlain:
        fill = column_means(X) if has_missing(X) else None
        X = filled(X, fill)
        if restart == 1.0:
            Z = X.astype(np.float32)
        else:
            dense = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float32)
            Z = settle_isolated(A_tilde.isolated, diffusion.steps(A_tilde, dense, restart, n_steps), restart)
        return PreparedPlain(Z, self.scale_rows, fill)

    def restore(self, state: dict[str, Array]) -> PreparedPlain:
        return PreparedPlain(from_arrays(state, "Z"), self.scale_rows, state.get("fill"))

    def width(self, n_nodes: int, n_features: int, n_edges: int) -> float:
        return n_features
