"""D_X: F should agree with the encoder's output P, which knows the features alone."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, row_blocks, softmax
from altopt.views.view import Curvature, Pull, View

MIN_PROBABILITY = 1e-12  # log P is taken no lower than the log of this


@dataclass(frozen=True)
class FeatureView(View):
    """D_X = ||F - P||^2. The default.

    Parameters
    ----------
    P : array of shape (n_nodes, n_classes)
        The encoder's output.
    weight : float
        lambda1.

    Examples
    --------
    >>> view = FeatureView(P=np.array([[0.75, 0.25]]))
    >>> view.distance(np.array([[1.0, 0.0]]))
    0.125
    >>> view.residual(np.array([[1.0, 0.0]]))
    array([[ 0.25, -0.25]])
    """

    name: ClassVar[str] = "features"
    quadratic: ClassVar[bool] = True
    squared: ClassVar[bool] = True

    P: Array
    weight: float = 1.0

    def distance(self, F: Array) -> float:
        return float(
            sum(np.sum((F[rows] - self.P[rows]) ** 2, dtype=np.float64) for rows in row_blocks(len(F)))
        )

    def residual(self, F: Array) -> Array:
        return F - self.P

    def pull(self) -> Pull:
        return Pull(None, self.P)

    def curvature(self) -> Curvature:
        return Curvature(lower=1.0, upper=1.0, step_scale=1.0)

    def half_hessian(self) -> Any:
        return sp.eye_array(self.P.shape[0], format="csr")


@dataclass(frozen=True)
class CrossEntropyFeatureView(View):
    """D_X = -sum F log P (appendix A of the paper): linear in F, so its half Hessian is 0.

    On a component that has edges but no label the objective has no minimum: take a fixed number of steps.

    Parameters
    ----------
    P : array of shape (n_nodes, n_classes)
    weight : float
        lambda1.

    Examples
    --------
    >>> view = CrossEntropyFeatureView(P=np.array([[1.0, np.exp(-2.0)]]))
    >>> view.distance(np.array([[0.5, 0.5]]))
    1.0
    >>> view.pull().rows
    array([[ 0., -1.]])
    """

    name: ClassVar[str] = "features"
    quadratic: ClassVar[bool] = True

    P: Array
    weight: float = 1.0

    def _log_P(self) -> Array:
        return np.log(np.maximum(self.P, MIN_PROBABILITY))

    def distance(self, F: Array) -> float:
        return float(-np.sum(F * self._log_P()))

    def residual(self, F: Array) -> Array:
        return -0.5 * self._log_P()

    def pull(self) -> Pull:
        return Pull(None, 0.5 * self._log_P())

    def curvature(self) -> Curvature:
        return Curvature(lower=0.0, upper=0.0, step_scale=0.0)

    def half_hessian(self) -> Any:
        n = self.P.shape[0]
        return sp.csr_array((n, n))


@dataclass(frozen=True)
class SoftmaxFeatureView(View):
    """D_X = -sum_i w_i sum_j P_ij log softmax(F)_ij (ALT-OPT-N, appendix C of the paper).

    Parameters
    ----------
    P : array of shape (n_nodes, n_classes)
    weight : float
        lambda1.
    w : array of shape (n_nodes,), optional
        Confidence weights in [0, 1], constant while F is updated. 1 for every node by default.

    Examples
    --------
    >>> view = SoftmaxFeatureView(P=np.array([[1.0, 0.0]]), w=np.array([0.5]))
    >>> view.residual(np.array([[2.0, 2.0]]))
    array([[-0.125,  0.125]])
    """

    name: ClassVar[str] = "features"
    quadratic: ClassVar[bool] = False
    needs_confidence: ClassVar[bool] = True

    P: Array
    weight: float = 1.0
    w: Array | None = None

    def _w(self) -> Array:
        return np.ones(self.P.shape[0]) if self.w is None else self.w

    def distance(self, F: Array) -> float:
        return float(np.sum(self._w() * cross_entropy(self.P, F)))

    def residual(self, F: Array) -> Array:
        return np.asarray(
            0.5 * self._w()[:, None] * (softmax(F) * self.P.sum(axis=1, keepdims=True) - self.P)
        )

    def curvature(self) -> Curvature:
        # the Hessian of log-sum-exp is at most 1/2; the paper divides by 1 per unit of weight
        return Curvature(lower=0.0, upper=0.25 * self._w(), step_scale=1.0)


def cross_entropy(targets: Array, F: Array) -> Array:
    """-sum_j targets_ij log softmax(F)_ij per row, without overflow."""
    top = F.max(axis=1, keepdims=True)
    log_total = top[:, 0] + np.log(np.sum(np.exp(F - top), axis=1))
    return np.asarray(targets.sum(axis=1) * log_total - np.sum(targets * F, axis=1))
