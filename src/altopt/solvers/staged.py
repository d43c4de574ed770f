"""A linear system in the form made for speed: F stays in a stage's blocks from the first step to the last."""

from functools import cached_property
from typing import Any

import numpy as np

from altopt.arrays import Array, allocate
from altopt.errors import InputError
from altopt.solvers.solver import Solution, Steps, certain
from altopt.views import Objective, System

STORAGES = ("float16", "float32", "float64")


class Staged:
    """H F = rhs on a stage. A step moves along r / scale with r = rhs - H F."""

    def __init__(
        self, system: System, objective: Objective, F: Array, scale: Array, storage: str | None
    ) -> None:
        if storage is not None and storage not in STORAGES:
            raise InputError(f"storage must be one of {', '.join(STORAGES)} or None, but is {storage!r}.")
        self.system, self.scale, self.shape = system, scale, F.shape
        self.dtype = F.dtype if F.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        self.stage = system.A_tilde.backend(F.shape[1], storage or self.dtype)
        self.floor = float(np.min(objective.curvature(F.shape[0]).lower))
        self.coupling = self.stage.vector(system.coupling / scale)
        self.diagonal = self.stage.vector(-system.diagonal / scale)
        self.rest = system.enter_rhs(self.stage, 1.0 / scale)
        self.norm = self.stage.vector(scale**2)

    def step(self, X: Any, out: Any, gain: float, keep: float, beta: float = 0.0) -> float:
        """out <- gain r(X) / scale + keep X + beta out; ||r(X)||."""
        square = self.stage.step(
            X, out, self.coupling, self.diagonal, self.rest, gain=gain, keep=keep, beta=beta, norm=self.norm
        )
        return float(np.sqrt(square))

    @cached_property
    def _size_of_rhs(self) -> float:
        return float(np.sqrt(self.stage.dots(self.rest, self.rest, self.norm).sum()))

    def close_enough(self, residual: float, X: Any, rtol: float) -> bool:
        """Whether ||F - F*|| <= rtol ||F*|| is certain (without a bound: whether ||r|| <= rtol ||rhs||)."""
        if self.floor <= 0:
            return residual <= rtol * self._size_of_rhs
        # ||F*|| <= ||rhs|| / floor: most answers are no, and need no pass over F
        if residual > rtol * self._size_of_rhs:
            return False
        return certain(residual, self.floor, np.sqrt(self.stage.dots(X, X).sum()), rtol)

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
        del self.rest  # room for the answer, which takes the place of what is used up where it fits
        fits = isinstance(spare, np.ndarray) and spare.shape == self.shape and spare.dtype == self.dtype
        return Solution(
            self.stage.from_layout(X, spare if fits else allocate(self.shape, self.dtype)),
            n_products + 1,
            residual,
            residual / self.floor if self.floor > 0 else None,
            converged,
            reason,
            roughness,
            self.stage.description,
            steps,
        )

    def _roughness(self, X: Any, moved: Any) -> float:
        """tr(F' L~ F), from moved = (rhs - H F) / scale and H = diag(diagonal - coupling) + coupling L~."""
        scale = self.stage.vector(self.scale)
        own = self.stage.vector(self.system.diagonal - self.system.coupling)
        of_H = self.stage.dots(X, self.rest, scale).sum() - self.stage.dots(X, moved, scale).sum()
        return float((of_H - self.stage.dots(X, X, own).sum()) / self.system.coupling)
