"""Jacobi-preconditioned conjugate gradients on all columns of F at once, with a certified stop."""

from dataclasses import dataclass

import numpy as np

from altopt.arrays import Array
from altopt.solvers.solver import Solution, certify, conclude, require_minimum, require_quadratic
from altopt.views.view import Objective


@dataclass(frozen=True)
class ConjugateGradient:
    """H F = rhs until ||F - F*|| <= rtol * ||F*|| is certain, or `max_steps`.

    Certain: with r = rhs - H F and H >= lambda1 I, ||F - F*|| <= ||r|| / lambda1 (the squared feature view,
    any positive semidefinite graph view, lambda1 > 0). Without such a bound it stops at
    ||r|| <= rtol * ||rhs|| and Solution.error_bound is None. Each column has its own step lengths; all share
    each product with A_tilde.
    """

    rtol: float = 1e-6
    max_steps: int = 1000

    def solve(self, objective: Objective, F: Array) -> Solution:
        require_quadratic(objective, self)
        require_minimum(objective, F.shape[0])
        lower, _, pace = (np.asarray(bound) for bound in objective.curvature(F.shape[0]))
        scale = 1.0 / pace[:, None]
        multiply = objective.multiplier(F)
        rhs = -objective.residual(np.zeros_like(F))
        F = F.copy()
        n_products = 1
        # five blocks of the size of F, made once: fresh ones would cost more than the arithmetic
        HD = np.empty_like(F)
        R = rhs - multiply(F, HD)
        Z = R * scale
        D = Z.copy()
        rz = column_products(R, Z)
        for _ in range(self.max_steps):
            n_products += 1
            if self._close_enough(objective, R, F, rhs, lower):
                return conclude(objective, F, n_products, f"Reached rtol={self.rtol:g}.")
            multiply(D, HD)
            curvature = column_products(D, HD)
            alpha = np.divide(rz, curvature, out=np.zeros_like(rz), where=curvature > 0)
            HD *= alpha
            R -= HD
            F += np.multiply(D, alpha, out=HD)
            np.multiply(R, scale, out=Z)
            rz_next = column_products(R, Z)
            beta = np.divide(rz_next, rz, out=np.zeros_like(rz), where=rz > 0)
            D *= beta
            D += Z
            rz = rz_next
        return conclude(
            objective,
            F,
            n_products,
            f"Stopped at max_steps={self.max_steps} before rtol={self.rtol:g}. Raise max_steps or feature_weight.",
            converged=False,
        )

    def _close_enough(self, objective: Objective, R: Array, F: Array, rhs: Array, lower: Array) -> bool:
        residual = float(np.linalg.norm(R))
        bound = certify(objective, residual, lower)
        if bound is None:
            return residual <= self.rtol * float(np.linalg.norm(rhs))
        # ||F*|| >= ||F|| - bound, so this leaves ||F - F*|| <= rtol ||F*||
        return bound * (1 + self.rtol) <= self.rtol * float(np.linalg.norm(F))


def column_products(A: Array, B: Array) -> Array:
    """The inner product of each pair of columns, without a block for the products."""
    return np.asarray(np.einsum("ij,ij->j", A, B))
