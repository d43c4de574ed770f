"""A fixed number of descent steps: the paper's (one pace for all rows) and Jacobi's (each row its own)."""

from dataclasses import dataclass

import numpy as np

from altopt.arrays import Array
from altopt.solvers.solver import Solution, conclude
from altopt.solvers.staged import Staged
from altopt.views.view import Objective


@dataclass(frozen=True)
class GradientSteps:
    """The paper's update (Eqs. 4-5): F <- F - residual(F) / max(pace), `n_steps` times.

    Dividing the half gradient by lambda1 + lambda2 + 1 is the step eta = 1 / (2 (lambda1 + lambda2 + 1)) on
    the gradient. It never raises the objective, but it is slow. `storage` is "float16", "float32" or "float64",
    the form F is kept in between steps; None is F's own.
    """

    n_steps: int = 10
    storage: str | None = None

    def solve(self, objective: Objective, F: Array) -> Solution:
        pace = np.asarray(objective.curvature(F.shape[0]).pace)
        reason = f"Took n_steps={self.n_steps} steps of one pace."
        return descend(objective, F, np.full_like(pace, pace.max()), self.n_steps, self.storage, reason)


@dataclass(frozen=True)
class JacobiSteps:
    """F <- F - residual(F) / pace, each row by its own pace, `n_steps` times: twice as fast, same minimum."""

    n_steps: int = 10
    storage: str | None = None

    def solve(self, objective: Objective, F: Array) -> Solution:
        pace = np.asarray(objective.curvature(F.shape[0]).pace)
        reason = f"Took n_steps={self.n_steps} steps, each row at its pace."
        return descend(objective, F, pace, self.n_steps, self.storage, reason)


def descend(
    objective: Objective, F: Array, pace: Array, n_steps: int, storage: str | None, reason: str
) -> Solution:
    """F <- F - residual(F) / pace: one fused pass a step where the views allow it."""
    system = objective.system(F.shape[0])
    if system is None:
        for _ in range(n_steps):
            F = F - objective.residual(F) / pace[:, None]
        return conclude(objective, F, n_steps, reason)
    staged = Staged(system, objective, F, pace, storage)
    X, out = staged.stage.enter(F), staged.stage.blank()
    for _ in range(n_steps):
        staged.step(X, out, gain=1.0, keep=1.0)
        X, out = out, X
    return staged.conclude(X, out, n_steps, reason)
