"""No graph view: F rests on features and labels alone."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.operator import NormalizedAdjacency
from altopt.views.quadratic import QuadraticForm
from altopt.views.view import Curvature


@dataclass(frozen=True)
class NoGraphView(QuadraticForm):
    """D_A = 0.

    What it is for: graphs whose edges say nothing about labels beyond what the encoder reads.

    Parameters
    ----------
    A_tilde : NormalizedAdjacency
    weight : float

    Examples
    --------
    >>> A_tilde = NormalizedAdjacency(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> NoGraphView(A_tilde).distance(np.array([[1.0], [-1.0]]))
    0.0
    """

    zero: ClassVar[bool] = True

    A_tilde: NormalizedAdjacency
    weight: float = 1.0

    def residual(self, F: Array) -> Array:
        return np.zeros_like(F)

    def curvature(self) -> Curvature:
        return Curvature(lower=0.0, upper=0.0, step_scale=0.0)

    def half_hessian(self) -> Any:
        return sp.csr_array(self.A_tilde.shape)
