"""A linear system whose steps are fused passes: F stays in blocks of a backend from the first step to the last."""

from functools import cached_property
from typing import Any

import numpy as np

from altopt.arrays import Array, allocate
from altopt.errors import InputError
from altopt.solvers.solver import Solution, Steps, certain
from altopt.views import Objective, System

STORAGES = ("float16", "float32", "float64")


class FusedSystem:
    """H F = rhs on a backend. A step moves along r / scale with r = rhs - H F.

    Parameters
    ----------
    system : System
    objective : Objective
        The one that the system is of: its curvature gives the bound on the error.
    F : array of shape (n_nodes, n_classes)
        Where the solver starts: the shape and the precision of the answer.
    scale : array of shape (n_nodes,)
    storage : {"float16", "float32", "float64"} or None
        Precision of the blocks; that of F where None.
    """

    def __init__(
        self, system: System, objective: Objective, F: Array, scale: Array, storage: str | None
    ) -> None:
        if storage is not None and storage not in STORAGES:
            raise InputError(f"storage must be one of {', '.join(STORAGES)} or None, but is {storage!r}.")
        self.system, self.scale, self.shape = system, scale, F.shape
        self.dtype = np.dtype(self.precision(F))
        self.backend = system.A_tilde.backend(F.shape[1], storage or self.dtype)
        self.floor = float(np.min(objective.curvature(F.shape[0]).lower))
        self.coupling = self.backend.vector(system.coupling / scale)
        self.diagonal = self.backend.vector(-system.diagonal / scale)
        self.rest = system.rhs_block(self.backend, 1.0 / scale)
        self.norm = self.backend.vector(scale**2)

    @staticmethod
    def precision(F: Array) -> str:
        """In which an answer that starts from F is given."""
        return F.dtype.name if F.dtype in (np.float32, np.float64) else "float64"

    def step(self, X: Any, out: Any, gain: float, keep: float, beta: float = 0.0) -> float:
        """out <- gain r(X) / scale + keep X + beta out; ||r(X)||."""
        square = self.backend.step(
            X, out, self.coupling, self.diagonal, self.rest, gain=gain, keep=keep, beta=beta, norm=self.norm
        )
        return float(np.sqrt(square))

    @cached_property
    def _size_of_rhs(self) -> float:
        return float(np.sqrt(self.backend.dots(self.rest, self.rest, self.norm).sum()))

    def close_enough(self, residual: float, X: Any, rtol: float) -> bool:
        """Whether ||F - F*|| <= rtol ||F*|| is certain (without a bound: whether ||r|| <= rtol ||rhs||)."""
        if self.floor <= 0:
            return residual <= rtol * self._size_of_rhs
        # ||F*|| <= ||rhs|| / floor: most answers are no, and need no pass over F
        if residual > rtol * self._size_of_rhs:
            return False
        return certain(residual, self.floor, np.sqrt(self.backend.dots(X, X).sum()), rtol)

    def conclude(
        self,
        X: Any,
        spare: Any,
        n_products: int,
        reason: str,
        converged: bool = True,
        steps: Steps | None = None,
    ) -> Solution:
        """The Solution at X, its residual measured again; `spare` is used up."""
        residual = self.step(X, spare, gain=1.0, keep=0.0)
        roughness = self._roughness(X, spare)
        del self.rest  # frees memory for F, which is written over `spare` where that fits
        fits = isinstance(spare, np.ndarray) and spare.shape == self.shape and spare.dtype == self.dtype
        return Solution(
            self.backend.from_layout(X, spare if fits else allocate(self.shape, self.dtype)),
            n_products + 1,
            residual,
            residual / self.floor if self.floor > 0 else None,
            converged,
            reason,
            roughness,
            self.backend.description,
            steps,
        )

    def _roughness(self, X: Any, moved: Any) -> float:
        """tr(F' L~ F), from moved = (rhs - H F) / scale and H = diag(diagonal - coupling) + coupling L~."""
        scale = self.backend.vector(self.scale)
        own = self.backend.vector(self.system.diagonal - self.system.coupling)
        of_H = self.backend.dots(X, self.rest, scale).sum() - self.backend.dots(X, moved, scale).sum()
        return float((of_H - self.backend.dots(X, X, own).sum()) / self.system.coupling)
