"""What a view of F must be able to say, and the objective that adds the views up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from altopt.arrays import Array


class Curvature(NamedTuple):
    """How steeply a view's half gradient can change, per node (or one number for all nodes).

    diag(lower) <= half the Hessian <= diag(upper), and pace >= upper / 2: dividing the half gradient by the
    pace gives a step that never raises the view's distance. For quadratic views pace is, or bounds, the
    diagonal of half the Hessian.
    """

    lower: Array | float
    upper: Array | float
    pace: Array | float


@runtime_checkable
class View(Protocol):
    """One view's say on F: how far F is, where to move, and how far is safe."""

    name: ClassVar[str]  # "features", "graph" or "labels": the part of the objective it is
    quadratic: ClassVar[bool]  # half the Hessian does not depend on F

    @property
    def weight(self) -> float:
        """How much this view counts; the graph's is 1 in the paper."""

    def distance(self, F: Array) -> float:
        """D(F)."""

    def residual(self, F: Array) -> Array:
        """Half the gradient of D at F."""

    def curvature(self) -> Curvature:
        """Bounds on half the Hessian of D."""

    def half_hessian(self) -> Any:
        """Half the Hessian as an n x n sparse matrix, the same for each column of F; quadratic views only."""


@dataclass(frozen=True)
class Objective:
    """lambda1 * D_X(P, F) + D_A(F) + lambda2 * D_Y(Y_L, F_L), for whatever views are put in."""

    views: Sequence[View]

    @property
    def quadratic(self) -> bool:
        return all(view.quadratic for view in self.views)

    def parts(self, F: Array) -> dict[str, float]:
        """Each view's weighted distance, by the view's name."""
        return {view.name: view.weight * view.distance(F) for view in self.views}

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
        """The views' bounds added up, one number per node."""
        each = [(view.weight, view.curvature()) for view in self.views]
        lower, upper, pace = (
            np.sum([w * np.broadcast_to(bound[k], n_nodes) for w, bound in each], axis=0) for k in range(3)
        )
        return Curvature(lower, upper, pace)

    def multiplier(self, F: Array) -> Callable[[Array, Array], Array]:
        """V, out -> H V, for quadratic views and blocks V of the shape of F.

        A view whose curvature bounds meet has half the Hessian diag(lower): those are added up beforehand. Of the
        others, the first may take that diagonal along in one pass, if it has `multiply(V, diagonal, out)`.
        """
        diagonal = np.zeros(F.shape[0])
        others: list[View] = []
        for view in self.views:
            lower, upper, _ = view.curvature()
            if np.array_equal(lower, upper):
                diagonal += view.weight * lower
            else:
                others.append(view)
        one_pass = getattr(others[0], "multiply", None) if others else None
        parts = [(view, view.residual(np.zeros_like(F))) for view in (others[1:] if one_pass else others)]

        def multiply(V: Array, out: Array) -> Array:
            if one_pass is None:
                np.multiply(diagonal[:, None], V, out=out)
            else:
                one_pass(V, diagonal, out)
            for view, at_zero in parts:
                part = view.residual(V)
                part -= at_zero
                part *= view.weight
                out += part
            return out

        return multiply

    def half_hessian(self) -> Any:
        """H as a sparse matrix."""
        return sum(view.weight * view.half_hessian() for view in self.views)
