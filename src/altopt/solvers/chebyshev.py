"""Chebyshev's three-term acceleration of the Jacobi step: few products, no inner products."""

from dataclasses import dataclass

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.solvers.solver import Solution, conclude, require_quadratic
from altopt.views.view import Objective


@dataclass(frozen=True)
class ChebyshevSteps:
    """`n_steps` of the Chebyshev semi-iteration for H F = rhs, preconditioned by the pace S.

    The spectrum of S^-1 H lies in [min(lower / pace), max(upper / pace)]; for the paper's views that is
    [lambda1 / (1 + lambda1), (2 + lambda1) / (1 + lambda1)].
    """

    n_steps: int = 15

    def solve(self, objective: Objective, F: Array) -> Solution:
        require_quadratic(objective, self)
        lower, upper, pace = (np.asarray(bound) for bound in objective.curvature(F.shape[0]))
        if lower.min() <= 0:
            raise InputError(
                "ChebyshevSteps needs every node to be held by the feature view: use FeatureView with "
                "feature_weight > 0, or another solver."
            )
        low, high = float((lower / pace).min()), float((upper / pace).max())
        centre, radius = (high + low) / 2, (high - low) / 2
        scale = 1.0 / pace[:, None]
        # rho_k = T_k-1 / T_k at centre / radius; radius 0 (no edges at all) makes every rho 0 and one step exact
        rho = radius / centre
        step = -objective.residual(F) * scale / centre
        F = F + step
        for _ in range(self.n_steps - 1):
            rho_next = radius / (2 * centre - radius * rho)
            ahead = 2 * rho_next / radius if radius > 0 else 1 / centre
            step = rho_next * rho * step - ahead * (objective.residual(F) * scale)
            rho = rho_next
            F = F + step
        return conclude(objective, F, self.n_steps, f"Took n_steps={self.n_steps} Chebyshev steps.")
