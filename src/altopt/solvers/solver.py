"""What a solver for F must do, and the solution it hands back."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.views import Objective


@dataclass(frozen=True)
class Steps:
    """The steps that a solver made, from the first to the last:

    F <- F - step_size * residual(F) / scale + momentum * (F - F_before)
    """

    scale: Array  # one number per node
    coefficients: Array  # k x 2: step_size and momentum of each step; the momentum of the first is 0

    @classmethod
    def of(cls, scale: Array, coefficients: Iterable[tuple[float, float]]) -> "Steps":
        return cls(scale, np.array(list(coefficients), dtype=np.float64).reshape(-1, 2))

    def replay(self, objective: Objective, F: Array) -> Array:
        """F after the steps, by the views' own half gradients: the slow twin of a solver that makes steps."""
        change = np.zeros_like(F)
        for step_size, momentum in self.coefficients.tolist():
            change = momentum * change - step_size * (objective.residual(F) / self.scale[:, None])
            F = F + change
        return F


@dataclass(frozen=True)
class Solution:
    """An F, how good it is, and why the solver stopped."""

    F: Array
    n_products: int  # evaluations of the half gradient, each one product with A_tilde (two for its square)
    residual: float  # ||half gradient at F||, the Frobenius norm
    error_bound: float | None  # ||F - F*|| is at most this; None where no bound is known
    converged: bool
    reason: str
    roughness: float | None = None  # tr(F' L~ F), where the solver came by it
    kernel: str = "views"  # which kernel made the steps; "views": the views' own half gradients
    steps: Steps | None = None  # what was done, by a solver that makes a given number of steps


class Solver(ABC):
    """Moves F towards the minimiser of an objective."""

    @property
    @abstractmethod
    def converges(self) -> bool:
        """Whether it goes on until F is the solution to a tolerance. If not, F depends on where it started."""

    @abstractmethod
    def solve(self, objective: Objective, F: Array) -> Solution:
        """Start at F; F itself is left as it was."""


def certify(objective: Objective, residual: float, lower: Array) -> float | None:
    """||F - F*|| <= ||r|| / min(lower), where half the Hessian is at least diag(lower) > 0 everywhere."""
    floor = float(lower.min())
    return residual / floor if objective.quadratic and floor > 0 else None


def certain(residual: float, floor: float, size: Any, rtol: float) -> bool:
    """Whether ||F - F*|| <= rtol ||F*|| is certain for an F of norm `size`: ||F*|| >= size - residual / floor."""
    return residual / floor * (1 + rtol) <= rtol * float(size)


def conclude(
    objective: Objective,
    F: Array,
    n_products: int,
    reason: str,
    converged: bool = True,
    steps: Steps | None = None,
) -> Solution:
    """The Solution at F, its residual measured again."""
    residual = float(np.linalg.norm(objective.residual(F)))
    bound = certify(objective, residual, np.asarray(objective.curvature(F.shape[0]).lower))
    return Solution(F, n_products + 1, residual, bound, converged, reason, steps=steps)


def require_quadratic(objective: Objective, solver: object) -> None:
    """Linear solvers work on quadratic views only; say so."""
    odd = [type(view).__name__ for view in objective.views if not view.quadratic]
    if odd:
        raise InputError(
            f"{type(solver).__name__} needs quadratic views, but {' and '.join(odd)} is not. "
            "Use GradientSteps or JacobiSteps."
        )


def require_minimum(objective: Objective, n_nodes: int, H: Any | None = None) -> None:
    """Refuse an objective that is unbounded below: a whole component on which nothing holds F."""
    held = np.asarray(objective.curvature(n_nodes).lower) > 0
    if held.all():
        return
    H = objective.half_hessian() if H is None else H
    _, component = connected_components(H, directed=False)
    # a node alone in its component is held by its own diagonal: its row of A_tilde is zero
    alone = np.bincount(component) == 1
    loose = ~alone & (np.bincount(component, weights=held) == 0)
    if loose.any():
        raise InputError(
            f"The objective has no minimum: {int(loose.sum()):,} connected component(s) carry no label and the "
            "feature view does not hold F there. Use FeatureView, or a fixed number of steps (GradientSteps)."
        )
