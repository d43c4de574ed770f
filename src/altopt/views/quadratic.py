"""D(F) = tr(F' M F) for a symmetric positive semidefinite M: the base of quadratic graph views."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from altopt.arrays import Array
from altopt.views.view import Curvature, View


class QuadraticForm(View):
    """D_A = tr(F' M F), so that the residual is M F. Subclass it with `residual`, `curvature` and `half_hessian`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import scipy.sparse as sp
    >>> from altopt.operator import NormalizedAdjacency
    >>> @dataclass(frozen=True)
    ... class Shrinking(QuadraticForm):  # M = I: F should be small
    ...     A_tilde: NormalizedAdjacency
    ...
    ...     def residual(self, F):
    ...         return F.copy()
    ...
    ...     def curvature(self):
    ...         return Curvature(lower=1.0, upper=1.0, step_scale=1.0)
    ...
    ...     def half_hessian(self):
    ...         return sp.eye_array(self.A_tilde.n_nodes, format="csr")
    >>> from altopt.checks import check_graph_view
    >>> check_graph_view(Shrinking)
    """

    name: ClassVar[str] = "graph"
    quadratic: ClassVar[bool] = True

    def distance(self, F: Array) -> float:
        return float(np.sum(F * self.residual(F)))

    @abstractmethod
    def residual(self, F: Array) -> Array:
        """M F."""

    @abstractmethod
    def curvature(self) -> Curvature:
        """Bounds on M."""

    @abstractmethod
    def half_hessian(self) -> Any:
        """M as a sparse matrix."""
