"""D_A by the graph's Laplacian: F should be smooth along edges."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.operator import NormalizedAdjacency
from altopt.views.quadratic import QuadraticForm
from altopt.views.view import Curvature


@dataclass(frozen=True)
class GraphView(QuadraticForm):
    """D_A = tr(F' (I - A_tilde) F): neighbours should carry the same label. The default.

    Parameters
    ----------
    A_tilde : NormalizedAdjacency
        Symmetric, with its spectrum in [-1, 1].
    weight : float

    Examples
    --------
    Two joined nodes cost nothing where they agree, and 2 ||F||^2 where they are opposed:

    >>> view = GraphView(NormalizedAdjacency(sp.csr_array([[0.0, 1.0], [1.0, 0.0]])))
    >>> view.distance(np.array([[1.0], [1.0]]))
    0.0
    >>> view.distance(np.array([[1.0], [-1.0]]))
    4.0
    """

    A_tilde: NormalizedAdjacency
    weight: float = 1.0

    def residual(self, F: Array) -> Array:
        return self.A_tilde.step(F, scale=-1.0, diagonal=1.0)  # F - A_tilde F

    def curvature(self) -> Curvature:
        return Curvature(lower=0.0, upper=2.0, step_scale=1.0)

    def coupling(self) -> NormalizedAdjacency:
        return self.A_tilde

    def half_hessian(self) -> Any:
        return sp.eye_array(self.A_tilde.n_nodes, format="csr") - self.A_tilde.matrix


@dataclass(frozen=True)
class SquaredLaplacianView(QuadraticForm):
    """D_A = tr(F' (I - A_tilde)^2 F), the graph view of ALT-OPT-H.

    A sharper low-pass filter than GraphView on the whole spectrum [0, 2]; it does not keep both ends. Its
    curvature reaches 4, so its step_scale is 2, twice that of GraphView.

    Parameters
    ----------
    A_tilde : NormalizedAdjacency
    weight : float

    Examples
    --------
    >>> view = SquaredLaplacianView(NormalizedAdjacency(sp.csr_array([[0.0, 1.0], [1.0, 0.0]])))
    >>> view.distance(np.array([[1.0], [-1.0]]))
    8.0
    """

    A_tilde: NormalizedAdjacency
    weight: float = 1.0

    def _laplacian(self, F: Array) -> Array:
        return self.A_tilde.step(F, scale=-1.0, diagonal=1.0)  # F - A_tilde F

    def distance(self, F: Array) -> float:
        return float(np.sum(self._laplacian(F) ** 2))

    def residual(self, F: Array) -> Array:
        return self._laplacian(self._laplacian(F))

    def curvature(self) -> Curvature:
        return Curvature(lower=0.0, upper=4.0, step_scale=2.0)

    def half_hessian(self) -> Any:
        L = sp.eye_array(self.A_tilde.n_nodes, format="csr") - self.A_tilde.matrix
        return L @ L
