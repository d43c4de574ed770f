"""Jacobi-preconditioned conjugate gradients on all columns of F at once, with a certified stop."""

from dataclasses import dataclass, replace

import numpy as np

from altopt.arrays import Array
from altopt.settings import check_count, check_number
from altopt.solvers.fused import FusedSystem
from altopt.solvers.solver import (
    Solution,
    Solver,
    certain,
    certify,
    conclude,
    require_minimum,
    require_quadratic,
)
from altopt.views import Objective, System


@dataclass(frozen=True)
class ConjugateGradient(Solver):
    """Jacobi-preconditioned conjugate gradients for H F = rhs, until ||F - F*|| <= rtol ||F*|| is certain.

    With r = rhs - H F and H >= lambda1 I, ||F - F*|| <= ||r|| / lambda1 (the squared feature view, any positive
    semidefinite graph view, lambda1 > 0). Without such a bound it stops at ||r|| <= rtol ||rhs|| and
    `Solution.error_bound` is None. Each column has its own step lengths; all share each product with A_tilde. Where
    float32 is too coarse for `rtol`, the solver goes on in float64.

    Parameters
    ----------
    rtol : float
    max_steps : int

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from altopt.operator import NormalizedAdjacency
    >>> from altopt.views import FeatureView, GraphView
    >>> A_tilde = NormalizedAdjacency(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> objective = Objective([FeatureView(np.eye(2)), GraphView(A_tilde)])
    >>> solution = ConjugateGradient(rtol=1e-9).solve(objective, np.zeros((2, 2)))
    >>> solution.F.round(6)
    array([[0.666667, 0.333333],
           [0.333333, 0.666667]])
    >>> solution.converged, solution.reason
    (True, 'Reached rtol=1e-09.')
    """

    rtol: float = 1e-6
    max_steps: int = 1000

    def __post_init__(self) -> None:
        check_number(self, "rtol", above=0)
        check_count(self, "max_steps", 0)

    @property
    def converges(self) -> bool:
        return True

    def solve(self, objective: Objective, F: Array) -> Solution:
        require_quadratic(objective, self)
        require_minimum(objective, F.shape[0])
        system = objective.system(F.shape[0])
        if system is None:
            return self._by_views(objective, F)
        coarse = self._fused(system, objective, F, self.max_steps)
        steps_left = self.max_steps - coarse.n_products
        if coarse.converged or F.dtype == np.float64 or steps_left <= 0:
            return coarse
        fine = self._fused(system, objective, coarse.F.astype(np.float64), steps_left)
        return replace(fine, F=fine.F.astype(F.dtype), n_products=coarse.n_products + fine.n_products)

    def _fused(self, system: System, objective: Objective, F: Array, max_steps: int) -> Solution:
        step_scale = np.asarray(objective.curvature(F.shape[0]).step_scale)
        fused = FusedSystem(system, objective, F, np.ones_like(step_scale), None)
        backend = fused.backend
        scale = backend.vector(1.0 / step_scale)
        coupling, diagonal = backend.vector(-system.coupling), backend.vector(system.diagonal)
        X, R, D, HD = backend.to_layout(F), backend.empty(), backend.empty(), backend.empty()
        residual = fused.step(X, R, gain=1.0, keep=0.0)
        rz, reached = backend.dots(R, R, scale), False
        beta = np.zeros_like(rz)
        D[...] = 0
        n_products = 1
        while n_products <= max_steps:
            reached = fused.close_enough(residual, X, self.rtol)
            if reached:
                break
            backend.search_direction(D, R, scale, beta)
            backend.step(D, HD, coupling, diagonal)
            n_products += 1
            curvature = backend.dots(D, HD)
            alpha = np.divide(rz, curvature, out=np.zeros_like(rz), where=curvature > 0)
            rz_next, square = backend.advance(X, R, D, HD, alpha, scale)
            residual = float(np.sqrt(square))
            beta = np.divide(rz_next, rz, out=np.zeros_like(rz), where=rz > 0)
            rz = rz_next
        # R is updated, not computed; the residual measured again shows what it has lost to rounding
        solution = fused.conclude(X, R, n_products, self._reason(reached), reached)
        if reached and not fused.close_enough(solution.residual, X, 2 * self.rtol):
            return replace(
                solution, converged=False, reason=f"{F.dtype} is too coarse for rtol={self.rtol:g}."
            )
        return solution

    def _by_views(self, objective: Objective, F: Array) -> Solution:
        lower, _, step_scale = (np.asarray(bound) for bound in objective.curvature(F.shape[0]))
        scale = 1.0 / step_scale[:, None]
        rhs = -objective.residual(np.zeros_like(F))
        R = -objective.residual(F)
        Z = R * scale
        D = Z
        rz = column_products(R, Z)
        for n_done in range(self.max_steps):
            if self._close_enough(objective, R, F, rhs, lower):
                return conclude(objective, F, n_done + 1, self._reason(True))
            HD = objective.residual(D) + rhs
            curvature = column_products(D, HD)
            alpha = np.divide(rz, curvature, out=np.zeros_like(rz), where=curvature > 0)
            F = F + alpha * D
            R = R - alpha * HD
            Z = R * scale
            rz_next = column_products(R, Z)
            D = Z + np.divide(rz_next, rz, out=np.zeros_like(rz), where=rz > 0) * D
            rz = rz_next
        return conclude(objective, F, self.max_steps + 1, self._reason(False), converged=False)

    def _reason(self, reached: bool) -> str:
        if reached:
            return f"Reached rtol={self.rtol:g}."
        return f"Stopped at max_steps={self.max_steps} before rtol={self.rtol:g}. Raise max_steps or feature_weight."

    def _close_enough(self, objective: Objective, R: Array, F: Array, rhs: Array, lower: Array) -> bool:
        residual = float(np.linalg.norm(R))
        if certify(objective, residual, lower) is None:
            return residual <= self.rtol * float(np.linalg.norm(rhs))
        return certain(residual, float(lower.min()), np.linalg.norm(F), self.rtol)


def column_products(A: Array, B: Array) -> Array:
    """The inner product of each pair of columns, without a block for the products."""
    return np.asarray(np.einsum("ij,ij->j", A, B))
