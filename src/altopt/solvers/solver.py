"""The contract of a solver for F, and the Solution it returns: F, its certificate, and the steps that were made."""

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
    """The steps that a solver made, first to last.

        F <- F - step_size residual(F) / scale + momentum (F - F_before)

    Parameters
    ----------
    scale : array of shape (n_nodes,)
        What the row of each node is divided by.
    coefficients : array of shape (n_steps, 2)
        (step_size, momentum) of each step. The momentum of the first one is 0.

    Examples
    --------
    >>> from altopt.views import FeatureView
    >>> objective = Objective([FeatureView(np.array([[1.0, 0.0]]))])
    >>> steps = Steps.of(np.array([2.0]), [(1.0, 0.0), (1.0, 0.0)])
    >>> steps.replay(objective, np.array([[0.0, 0.0]]))  # each step goes half the way to P
    array([[0.75, 0.  ]])
    """

    scale: Array
    coefficients: Array

    @classmethod
    def of(cls, scale: Array, coefficients: Iterable[tuple[float, float]]) -> "Steps":
        """From any iterable of (step_size, momentum)."""
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
    """F, how good it is, and why the solver stopped.

    Attributes
    ----------
    F : array of shape (n_nodes, n_classes)
    n_products : int
        Evaluations of the half gradient, each one product with A_tilde (two for its square).
    residual : float
        Frobenius norm of the half gradient at F.
    error_bound : float or None
        ||F - F*|| is at most this, F* being the minimiser; None where no bound is known.
    converged : bool
        False where a tolerance was asked for and not reached.
    reason : str
        Why the solver stopped, as a sentence.
    roughness : float or None
        tr(F' L~ F), where the solver has computed it.
    kernel : str
        Which kernel made the steps; "views": the views' own half gradients.
    steps : Steps or None
        The steps that were made; None for a solver that converges.

    Examples
    --------
    >>> from altopt.solvers import JacobiSteps
    >>> from altopt.views import FeatureView
    >>> objective = Objective([FeatureView(np.array([[1.0, 0.0]]))])
    >>> solution = JacobiSteps(n_steps=1).solve(objective, np.zeros((1, 2)))
    >>> solution.F, solution.residual, solution.reason
    (array([[1., 0.]]), 0.0, 'Took n_steps=1 steps, each row by its own size.')
    >>> solution.steps.coefficients
    array([[1., 0.]])
    """

    F: Array
    n_products: int
    residual: float
    error_bound: float | None
    converged: bool
    reason: str
    roughness: float | None = None
    kernel: str = "views"
    steps: Steps | None = None


class Solver(ABC):
    """Moves F towards the minimiser of an objective.

    Subclass it with a frozen dataclass of settings. `altopt.checks.check_solver` holds it to the contract.

    Attributes
    ----------
    converges : bool
        Whether it goes on until F is the solution to a tolerance. If not, it makes a given number of steps, F
        depends on where it started, and `Solution.steps` says what was done.

    Examples
    --------
    >>> import numpy as np
    >>> @dataclass(frozen=True)
    ... class OneStep(Solver):
    ...     converges = False
    ...
    ...     def solve(self, objective, F):
    ...         steps = Steps.of(objective.curvature(len(F)).step_scale, [(1.0, 0.0)])
    ...         return conclude(objective, steps.replay(objective, F), 1, "Took one step.", steps=steps)
    >>> from altopt.checks import check_solver
    >>> check_solver(OneStep())
    """

    @property
    @abstractmethod
    def converges(self) -> bool: ...

    @abstractmethod
    def solve(self, objective: Objective, F: Array) -> Solution:
        """Start at F; F itself is left as it was."""


def as_solver(value: Any) -> Solver:
    """The value itself, if it is an instance of Solver."""
    if not isinstance(value, Solver):
        raise InputError(
            f"solver must be an instance of a subclass of altopt.solvers.Solver, but is {value!r}."
        )
    return value


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


def require_quadratic(objective: Objective, solver: Solver) -> None:
    """Refuse views that a linear solver does not serve."""
    others = [type(view).__name__ for view in objective.views if not view.quadratic]
    if others:
        raise InputError(
            f"{type(solver).__name__} needs quadratic views, but {' and '.join(others)} is not. "
            "Use GradientSteps or JacobiSteps."
        )


def require_minimum(objective: Objective, n_nodes: int, H: Any | None = None) -> None:
    """Refuse an objective that is unbounded below: a whole component where no view has lower > 0."""
    bounded = np.asarray(objective.curvature(n_nodes).lower) > 0
    if bounded.all():
        return
    H = objective.half_hessian() if H is None else H
    _, component = connected_components(H, directed=False)
    # a node alone in its component is bounded by its own diagonal: its row of A_tilde is zero
    alone = np.bincount(component) == 1
    unbounded = ~alone & (np.bincount(component, weights=bounded) == 0)
    if unbounded.any():
        raise InputError(
            f"The objective has no minimum: {int(unbounded.sum()):,} connected component(s) carry no label and the "
            "feature view does not hold F there. Use FeatureView, or a fixed number of steps (GradientSteps)."
        )
