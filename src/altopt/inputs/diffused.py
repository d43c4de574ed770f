"""The features X diffused over the graph, and otherwise as they are."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.inputs.inputs import ChangedNodes, Inputs, InputSource, NewNodes
from altopt.inputs.local_diffusion import diffused_again, diffused_from, settle_isolated
from altopt.inputs.memory import InputMemory, SourceShape
from altopt.inputs.raw import PreparedRaw
from altopt.io.array_io import finite, from_arrays
from altopt.operator import diffusion
from altopt.operator.feature_matrix import column_means, has_missing, impute
from altopt.operator.scaling import unit_sum
from altopt.settings import check_choice


@dataclass(frozen=True)
class PreparedDiffused(PreparedRaw):
    scale_rows: bool
    fill: Array | None = None  # what stands for a missing value, where the fit had such

    def rows(self, Z: Any) -> Any:
        return unit_sum(Z) if self.scale_rows else Z

    def coordinates(self, X: Any) -> Any:
        return impute(X, self.fill).astype(np.float32)

    def extend(self, new: NewNodes) -> Any:
        return diffused_from(self.Z, self.coordinates(new.X), new)

    def renewed(self, changed: ChangedNodes) -> Any:
        return diffused_again(self.Z, changed)

    def state(self) -> dict[str, Array]:
        return super().state() | ({} if self.fill is None else {"fill": self.fill})


@dataclass(frozen=True)
class DiffusedInputs(Inputs):
    """The diffused features X', all d columns of them.

    `n_steps` steps, from X' = X, of

        X' <- (1 - restart) A_tilde X' + restart X

    with `restart` and `n_steps` those of AltOpt. A node without neighbours keeps its features.

    Parameters
    ----------
    scale_rows : bool, default False
        Divide each row of X' by its sum of absolute values.

    Examples
    --------
    >>> import numpy as np
    >>> from altopt import Graph
    >>> from altopt.inputs import DiffusedInputs, InputSource
    >>> from altopt.operator import NormalizedAdjacency
    >>> graph = Graph([(0, 1)], n_nodes=3)
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    >>> source = InputSource(graph, NormalizedAdjacency(graph.adjacency), X, restart=0.5, n_steps=50, seed=0)
    >>> DiffusedInputs().prepare(source).Z.round(2)
    array([[0.67, 0.33],
           [0.33, 0.67],
           [2.  , 2.  ]], dtype=float32)
    """

    scale_rows: bool = False

    def __post_init__(self) -> None:
        check_choice(self, "scale_rows", (True, False))

    def prepare(self, source: InputSource) -> PreparedDiffused:
        A_tilde, restart = source.A_tilde, source.restart
        fill = column_means(source.X) if has_missing(source.X) else None
        X = impute(source.X, fill)
        if restart == 1.0:
            Z = X.astype(np.float32)
        else:
            dense = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float32)
            diffused = diffusion.steps(A_tilde, dense, restart, source.n_steps)
            Z = settle_isolated(A_tilde.isolated, diffused, restart)
        return PreparedDiffused(Z, self.scale_rows, fill)

    def restore(self, state: dict[str, Array]) -> PreparedDiffused:
        Z = from_arrays(state, "Z")
        fill = finite(state, "fill", (Z.shape[1],)) if "fill" in state else None
        return PreparedDiffused(Z, self.scale_rows, fill)

    def memory(self, shape: SourceShape) -> InputMemory:
        if not shape.diffuses:
            return InputMemory(shape.x_bytes)
        rows = shape.block(shape.n_features)
        dense_copy = rows if shape.sparse else 0.0
        return InputMemory(rows, preparing=dense_copy + shape.diffusion(shape.n_features))
