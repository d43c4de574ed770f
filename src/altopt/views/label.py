"""D_Y: on labelled nodes F should agree with the given labels."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, softmax
from altopt.views.feature import cross_entropy
from altopt.views.view import Curvature, Pull, View


@dataclass(frozen=True)
class LabelView(View):
    """D_Y = ||F_L - Y_L||^2 over the labelled nodes L. The default.

    Parameters
    ----------
    Y : array of shape (n_labelled, n_classes)
        The one-hot row of each labelled node.
    labelled : array of bool, shape (n_nodes,)
    weight : float
        lambda2.

    Examples
    --------
    >>> view = LabelView(Y=np.array([[0.0, 1.0]]), labelled=np.array([False, True]))
    >>> view.distance(np.array([[0.5, 0.5], [0.5, 0.5]]))
    0.5
    >>> view.residual(np.array([[0.5, 0.5], [0.5, 0.5]]))
    array([[ 0. ,  0. ],
           [ 0.5, -0.5]])
    """

    name: ClassVar[str] = "labels"
    quadratic: ClassVar[bool] = True
    squared: ClassVar[bool] = True

    Y: Array
    labelled: Array
    weight: float = 1.0

    def distance(self, F: Array) -> float:
        return float(np.sum((F[self.labelled] - self.Y) ** 2))

    def residual(self, F: Array) -> Array:
        out = np.zeros_like(F)
        out[self.labelled] = F[self.labelled] - self.Y
        return out

    def pull(self) -> Pull:
        return Pull(np.flatnonzero(self.labelled), self.Y)

    def curvature(self) -> Curvature:
        M = self.labelled.astype(float)
        return Curvature(lower=M, upper=M, step_scale=M)

    def half_hessian(self) -> Any:
        return sp.diags_array(self.labelled.astype(float), format="csr")


@dataclass(frozen=True)
class CrossEntropyLabelView(View):
    """D_Y = -sum_{i in L} sum_j Y_ij log softmax(F)_ij (ALT-OPT-N, appendix C of the paper).

    Parameters
    ----------
    Y : array of shape (n_labelled, n_classes)
    labelled : array of bool, shape (n_nodes,)
    weight : float
        lambda2.

    Examples
    --------
    >>> view = CrossEntropyLabelView(Y=np.array([[0.0, 1.0]]), labelled=np.array([True]))
    >>> view.residual(np.array([[2.0, 2.0]]))
    array([[ 0.25, -0.25]])
    """

    name: ClassVar[str] = "labels"
    quadratic: ClassVar[bool] = False

    Y: Array
    labelled: Array
    weight: float = 1.0

    def distance(self, F: Array) -> float:
        return float(np.sum(cross_entropy(self.Y, F[self.labelled])))

    def residual(self, F: Array) -> Array:
        out = np.zeros_like(F)
        out[self.labelled] = 0.5 * (softmax(F[self.labelled]) - self.Y)
        return out

    def curvature(self) -> Curvature:
        M = self.labelled.astype(float)
        return Curvature(lower=0.0, upper=0.25 * M, step_scale=M)
