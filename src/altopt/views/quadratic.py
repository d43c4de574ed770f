"""D(F) = tr(F' M F) for a symmetric positive semidefinite M: what graph views that are quadratic share."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from altopt.arrays import Array
from altopt.views.view import Curvature, View


class QuadraticForm(View):
    """A graph view whose half gradient is M F. A subclass says `residual`, `curvature` and `half_hessian`."""

    name: ClassVar[str] = "graph"
    quadratic: ClassVar[bool] = True

    def distance(self, F: Array) -> float:
        return float(np.sum(F * self.residual(F)))

    @abstractmethod
    def residual(self, F: Array) -> Array:
        """M F."""

    @abstractmethod
    def curvature(self) -> Curvature:
        """How steep M F can be."""

    @abstractmethod
    def half_hessian(self) -> Any:
        """M as a sparse matrix."""
