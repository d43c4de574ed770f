"""A fixed number of descent steps: the paper's (one divisor for all rows) and Jacobi's (each row its own)."""

from dataclasses import dataclass

import numpy as np

from altopt.arrays import Array
from altopt.settings import check_count
from altopt.solvers.fused import FusedSystem
from altopt.solvers.solver import Solution, Solver, Steps, conclude
from altopt.views import Objective


@dataclass(frozen=True)
class GradientSteps(Solver):
    """The paper's update (Eqs. 4-5): F <- F - residual(F) / max(step_scale), `n_steps` times.

    Dividing the half gradient by lambda1 + lambda2 + 1 is the step eta = 1 / (2 (lambda1 + lambda2 + 1)) on
    the gradient. It never raises the objective, but it is slow.

    Parameters
    ----------
    n_steps : int
    storage : {"float16", "float32", "float64"}, optional
        Precision in which F is kept between steps; that of F by default.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from altopt.operator import NormalizedAdjacency
    >>> from altopt.views import FeatureView, GraphView
    >>> A_tilde = NormalizedAdjacency(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> objective = Objective([FeatureView(np.eye(2)), GraphView(A_tilde)])
    >>> GradientSteps(n_steps=1).solve(objective, np.zeros((2, 2))).F
    array([[0.5, 0. ],
           [0. , 0.5]])
    """

    n_steps: int = 10
    storage: str | None = None

    def __post_init__(self) -> None:
        check_count(self, "n_steps", 0)

    @property
    def converges(self) -> bool:
        return False

    def solve(self, objective: Objective, F: Array) -> Solution:
        scale = np.asarray(objective.curvature(F.shape[0]).step_scale)
        reason = f"Took n_steps={self.n_steps} steps of one size."
        return descend(objective, F, np.full_like(scale, scale.max()), self.n_steps, self.storage, reason)


@dataclass(frozen=True)
class JacobiSteps(Solver):
    """F <- F - residual(F) / step_scale, each row by its own, `n_steps` times.

    About twice as fast as GradientSteps, towards the same minimum.

    Parameters
    ----------
    n_steps : int
    storage : {"float16", "float32", "float64"}, optional
        Precision in which F is kept between steps; that of F by default.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from altopt.operator import NormalizedAdjacency
    >>> from altopt.views import FeatureView, GraphView
    >>> A_tilde = NormalizedAdjacency(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> objective = Objective([FeatureView(np.eye(2)), GraphView(A_tilde)])
    >>> JacobiSteps(n_steps=2).solve(objective, np.zeros((2, 2))).F
    array([[0.5 , 0.25],
           [0.25, 0.5 ]])
    """

    n_steps: int = 10
    storage: str | None = None

    def __post_init__(self) -> None:
        check_count(self, "n_steps", 0)

    @property
    def converges(self) -> bool:
        return False

    def solve(self, objective: Objective, F: Array) -> Solution:
        scale = np.asarray(objective.curvature(F.shape[0]).step_scale)
        reason = f"Took n_steps={self.n_steps} steps, each row by its own size."
        return descend(objective, F, scale, self.n_steps, self.storage, reason)


def descend(
    objective: Objective, F: Array, scale: Array, n_steps: int, storage: str | None, reason: str
) -> Solution:
    """F <- F - residual(F) / scale: one fused pass a step where the views allow it."""
    steps = Steps.of(scale, [(1.0, 0.0)] * n_steps)
    system = objective.system(F.shape[0])
    if system is None:
        return conclude(objective, steps.replay(objective, F), n_steps, reason, steps=steps)
    fused = FusedSystem(system, objective, F, scale, storage)
    X, out = fused.backend.to_layout(F), fused.backend.empty()
    for _ in range(n_steps):
        fused.step(X, out, gain=1.0, keep=1.0)
        X, out = out, X
    return fused.conclude(X, out, n_steps, reason, steps=steps)
