"""A fixed number of descent steps: the paper's (one pace for all rows) and Jacobi's (each row its own)."""

from dataclasses import dataclass

import numpy as np

from altopt.arrays import Array
from altopt.solvers.solver import Solution, conclude
from altopt.views.view import Objective


@dataclass(frozen=True)
class GradientSteps:
    """The paper's update (Eqs. 4-5): F <- F - residual(F) / max(pace), `n_steps` times.

    Dividing the half gradient by lambda1 + lambda2 + 1 is the step eta = 1 / (2 (lambda1 + lambda2 + 1)) on
    the gradient. It never raises the objective, but it is slow.
    """

    n_steps: int = 10

    def solve(self, objective: Objective, F: Array) -> Solution:
        pace = float(np.max(objective.curvature(F.shape[0]).pace))
        for _ in range(self.n_steps):
            F = F - objective.residual(F) / pace
        return conclude(objective, F, self.n_steps, f"Took n_steps={self.n_steps} steps of one pace.")


@dataclass(frozen=True)
class JacobiSteps:
    """F <- F - residual(F) / pace, each row by its own pace, `n_steps` times: twice as fast, same minimum."""

    n_steps: int = 10

    def solve(self, objective: Objective, F: Array) -> Solution:
        pace = np.asarray(objective.curvature(F.shape[0]).pace)[:, None]
        for _ in range(self.n_steps):
            F = F - objective.residual(F) / pace
        return conclude(
            objective, F, self.n_steps, f"Took n_steps={self.n_steps} steps, each row at its pace."
        )
