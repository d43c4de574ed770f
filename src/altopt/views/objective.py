"""The objective: the weighted sum of the views, and the linear system it is where all of them are quadratic."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from altopt.arrays import SMALL_BLOCK_ROWS, Array, row_blocks
from altopt.operator import NormalizedAdjacency
from altopt.operator.kernels.backend import Backend
from altopt.views.view import Curvature, Pull, View


@dataclass(frozen=True)
class System:
    """H F = rhs with H = diag(diagonal) - coupling A_tilde: the form in which one pass over the graph makes one step.

    Parameters
    ----------
    A_tilde : NormalizedAdjacency
    coupling : float
        The weight of the graph view.
    diagonal : array of shape (n_nodes,)
    pulls : sequence of (weight, Pull)
        rhs is their weighted sum.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from altopt.views import FeatureView, GraphView, Objective
    >>> A_tilde = NormalizedAdjacency(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> Objective([FeatureView(np.eye(2), 0.5), GraphView(A_tilde)]).system(n_nodes=2).diagonal
    array([1.5, 1.5])
    """

    A_tilde: NormalizedAdjacency
    coupling: float
    diagonal: Array
    pulls: Sequence[tuple[float, Pull]]

    def rhs_block(self, backend: Backend, factor: Array | float = 1.0) -> Any:
        """factor rhs as a block of the backend; `factor`: one number, or one for each node."""
        factor = np.broadcast_to(factor, len(self.diagonal))
        # a pull on all nodes makes the block, the others are added to it
        (weight, first), *rest = sorted(self.pulls, key=lambda pull: pull[1].nodes is not None)
        rhs = backend.to_layout(first.rows, weight * factor)
        for weight, pull in rest:
            nodes = np.arange(len(factor)) if pull.nodes is None else pull.nodes
            for rows in row_blocks(len(nodes), SMALL_BLOCK_ROWS):
                block = nodes[rows]
                backend.add_rows(rhs, block, (weight * factor[block])[:, None] * pull.rows[rows])
        return rhs


@dataclass(frozen=True)
class Objective:
    """The sum of the views: lambda1 D_X(P, F) + D_A(F) + lambda2 D_Y(Y_L, F_L).

    Parameters
    ----------
    views : sequence of View

    Attributes
    ----------
    quadratic : bool
        Whether all views are: then the minimiser solves H F = rhs.

    Examples
    --------
    Two joined nodes, the encoder sure of opposite classes:

    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from altopt.views import FeatureView, GraphView
    >>> A_tilde = NormalizedAdjacency(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> objective = Objective([FeatureView(np.eye(2), weight=0.5), GraphView(A_tilde)])
    >>> objective.parts(np.eye(2))
    {'features': 0.0, 'graph': 2.0}
    >>> objective.value(np.full((2, 2), 0.5))
    0.5
    """

    views: Sequence[View]

    @property
    def quadratic(self) -> bool:
        return all(view.quadratic for view in self.views)

    def coupled_by(self, A_tilde: NormalizedAdjacency) -> bool:
        """Whether a view couples neighbours by I - A_tilde, and not by another matrix of its own."""
        return any(view.coupling() is A_tilde for view in self.views)

    def parts(self, F: Array, roughness: float | None = None) -> dict[str, float]:
        """The weighted distance of each view, by name; `roughness` is tr(F' L~ F) where it is known."""
        return {
            view.name: view.weight
            * (view.distance(F) if roughness is None or view.coupling() is None else roughness)
            for view in self.views
        }

    def value(self, F: Array) -> float:
        return sum(self.parts(F).values())

    def residual(self, F: Array) -> Array:
        """Half the gradient: zero exactly at the minimiser; for quadratic views H F - rhs."""
        first, *rest = self.views
        total = first.weight * first.residual(F)
        for view in rest:
            total += view.weight * view.residual(F)
        return total

    def curvature(self, n_nodes: int) -> Curvature:
        """The sum of the views' bounds, one number per node."""
        bounds = [(view.weight, view.curvature()) for view in self.views]
        lower, upper, step_scale = (
            np.sum([weight * np.broadcast_to(bound[k], n_nodes) for weight, bound in bounds], axis=0)
            for k in range(3)
        )
        return Curvature(lower, upper, step_scale)

    def system(self, n_nodes: int) -> System | None:
        """H F = rhs in the form of a fused step, where the views allow it; None otherwise.

        Exactly one view must have a `coupling()`. The others must be quadratic and have a `pull()`, one of them on
        all nodes.
        """
        couplings = [
            (view.weight, A_tilde) for view in self.views if (A_tilde := view.coupling()) is not None
        ]
        others = [view for view in self.views if view.coupling() is None]
        if len(couplings) != 1 or not all(view.quadratic for view in others):
            return None
        pulls = [(view.weight, pull) for view in others if (pull := view.pull()) is not None]
        if len(pulls) < len(others) or not any(pull.nodes is None for _, pull in pulls):
            return None
        [(weight, A_tilde)] = couplings
        diagonal = np.full(n_nodes, weight)
        for view in others:
            diagonal += view.weight * np.asarray(view.curvature().lower)
        return System(A_tilde, weight, diagonal, pulls)

    def half_hessian(self) -> Any:
        """H as a sparse matrix; quadratic views only."""
        return sum(view.weight * view.half_hessian() for view in self.views)
