"""Chebyshev's three-term acceleration of the Jacobi step: few products, no inner products."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.settings import check_count, check_number
from altopt.solvers.fused import FusedSystem
from altopt.solvers.solver import Solution, Solver, Steps, certain, conclude, require_quadratic
from altopt.views import Curvature, Objective, System

DEFAULT_N_STEPS = 15  # without n_steps and rtol
MAX_STEPS = 3_000  # with rtol alone: enough for feature_weight 1e-4 and rtol 1e-6


@dataclass(frozen=True)
class ChebyshevSteps(Solver):
    """The Chebyshev semi-iteration for H F = rhs, preconditioned by the views' step_scale. The default, with `rtol`.

        F <- F + step_size r(F) / step_scale + momentum (F - F_before),      r(F) = rhs - H F

    The spectrum of diag(step_scale)^-1 H lies in [min(lower / step_scale), max(upper / step_scale)]; for the
    paper's views that is [lambda1 / (1 + lambda1), (2 + lambda1) / (1 + lambda1)].

    Parameters
    ----------
    n_steps : int, optional
        Steps to make, with `rtol` at most. By default 15; with `rtol` as many as theory asks for, up to 3,000.
    rtol : float, optional
        Stop when ||F - F*|| <= rtol ||F*|| is certain: each step measures the residual of the F it starts from.
    storage : {"float16", "float32", "float64"}, optional
        Precision in which F is kept between steps; that of F by default. Where it is too coarse for `rtol`, and
        `n_steps` is not given, the solver goes on in the precision of F, and then in float64.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from altopt.operator import NormalizedAdjacency
    >>> from altopt.views import FeatureView, GraphView
    >>> A_tilde = NormalizedAdjacency(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> objective = Objective([FeatureView(np.eye(2)), GraphView(A_tilde)])
    >>> solution = ChebyshevSteps(n_steps=20, rtol=0.1).solve(objective, np.zeros((2, 2)))
    >>> solution.F.round(3)
    array([[0.654, 0.308],
           [0.308, 0.654]])
    >>> len(solution.steps.coefficients), solution.reason
    (3, 'Reached rtol=0.1.')
    """

    n_steps: int | None = None
    rtol: float | None = None
    storage: str | None = None

    def __post_init__(self) -> None:
        check_count(self, "n_steps", 0, optional=True)
        check_number(self, "rtol", above=0, optional=True)

    @property
    def converges(self) -> bool:
        return self.rtol is not None and self.n_steps is None

    def solve(self, objective: Objective, F: Array) -> Solution:
        require_quadratic(objective, self)
        bounds = Curvature(*(np.asarray(bound) for bound in objective.curvature(F.shape[0])))
        if np.min(bounds.lower) <= 0:
            raise InputError(
                "ChebyshevSteps needs every node to be held by the feature view: use FeatureView with "
                "feature_weight > 0, or another solver."
            )
        system = objective.system(F.shape[0])
        if system is None:
            return self._by_views(objective, F, bounds)
        own = FusedSystem.precision(F)
        finer = [] if self.n_steps is not None else [own, "float64"]
        solution, used = self._fused(system, objective, F, bounds, self.storage or own), self.storage or own
        for storage in finer:
            if solution.converged or np.dtype(storage).itemsize <= np.dtype(used).itemsize:
                continue
            start = solution.F.astype(storage, copy=False)
            further = self._fused(system, objective, start, bounds, storage)
            n_products = solution.n_products + further.n_products
            solution, used = replace(further, F=further.F.astype(F.dtype), n_products=n_products), storage
        return solution

    def _fused(
        self, system: System, objective: Objective, F: Array, bounds: Curvature, storage: str | None
    ) -> Solution:
        scale = np.asarray(bounds.step_scale)
        fused = FusedSystem(system, objective, F, scale, storage)
        X, before = fused.backend.to_layout(F), fused.backend.empty()
        n_products, taken, reached = 0, [], self.rtol is None
        for step_size, momentum in coefficients(bounds, self.max_steps(bounds)):
            residual = fused.step(X, before, gain=step_size, keep=1.0 + momentum, beta=-momentum)
            n_products += 1
            if self.rtol is not None and fused.close_enough(residual, X, self.rtol):
                reached = True
                break
            taken.append((step_size, momentum))
            X, before = before, X
        steps = None if self.converges else Steps.of(scale, taken)
        return fused.conclude(X, before, n_products, self._reason(n_products, reached), reached, steps)

    def _by_views(self, objective: Objective, F: Array, bounds: Curvature) -> Solution:
        scale = np.asarray(bounds.step_scale)
        inverse, floor = 1.0 / scale[:, None], float(np.min(bounds.lower))
        change, n_products, taken, reached = np.zeros_like(F), 0, [], self.rtol is None
        for step_size, momentum in coefficients(bounds, self.max_steps(bounds)):
            residual = objective.residual(F)
            n_products += 1
            size = np.linalg.norm(F)
            if self.rtol is not None and certain(float(np.linalg.norm(residual)), floor, size, self.rtol):
                reached = True
                break
            change = momentum * change - step_size * (residual * inverse)
            F = F + change
            taken.append((step_size, momentum))
        steps = None if self.converges else Steps.of(scale, taken)
        return conclude(objective, F, n_products, self._reason(n_products, reached), reached, steps)

    def max_steps(self, bounds: Curvature) -> int:
        """How many steps to take at most."""
        if self.n_steps is not None:
            return self.n_steps
        if self.rtol is None:
            return DEFAULT_N_STEPS
        # from ||r|| <= ||rhs|| + ||H F||, which is a few times high / low of what may be left
        low, high = spectrum(bounds)
        return min(3 + steps_to_shrink(bounds, self.rtol * low / high / 10), MAX_STEPS)

    def _reason(self, n_steps: int, reached: bool) -> str:
        if self.rtol is None:
            return f"Took n_steps={n_steps} Chebyshev steps."
        if reached:
            return f"Reached rtol={self.rtol:g}."
        return f"Stopped after {n_steps} steps before rtol={self.rtol:g}. Raise n_steps or feature_weight."


def spectrum(bounds: Curvature) -> tuple[float, float]:
    """Where the eigenvalues of diag(step_scale)^-1 H lie."""
    return float(np.min(np.asarray(bounds.lower) / bounds.step_scale)), float(
        np.max(np.asarray(bounds.upper) / bounds.step_scale)
    )


def steps_to_shrink(bounds: Curvature, factor: float) -> int:
    """Steps after which the residual is at most this part of what it was, whatever it was.

    After k steps, weighted by step_scale, it has shrunk to 2 / (q^k + q^-k) of what it was.
    """
    low, high = spectrum(bounds)
    root = np.sqrt(high / low)
    q = (root + 1) / max(root - 1, 1e-12)
    uneven = float(np.sqrt(np.max(bounds.step_scale) / np.min(bounds.step_scale)))
    return int(min(np.ceil(max(np.log(2 * uneven / factor) / np.log(q), 0.0)), 1e9))


def coefficients(bounds: Curvature, n_steps: int) -> Iterator[tuple[float, float]]:
    """(step_size, momentum) of each step."""
    low, high = spectrum(bounds)
    centre, radius = (high + low) / 2, (high - low) / 2
    # rho_k = T_k-1 / T_k at centre / radius; radius 0 (no edges at all) makes every rho 0 and one step exact
    rho = radius / centre
    for number in range(n_steps):
        if number == 0:
            yield 1.0 / centre, 0.0
            continue
        rho_next = radius / (2 * centre - radius * rho)
        yield (2 * rho_next / radius if radius > 0 else 1 / centre), rho_next * rho
        rho = rho_next
