"""D_X: F should agree with what the features alone say, the encoder's output P."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, row_blocks, softmax
from altopt.views.view import Curvature, Pull, View

TINY = 1e-12  # log P is taken no lower than log(TINY)


@dataclass(frozen=True)
class FeatureView(View):
    """D_X = ||P - F||^2."""

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
    """D_X = CE(P, F) = -sum F log P (the paper's appendix A): linear in F, so it pulls but never holds.

    On a component that has edges but no label the objective has no minimum: take a fixed number of steps.
    """

    name: ClassVar[str] = "features"
    quadratic: ClassVar[bool] = True

    P: Array
    weight: float = 1.0

    def _log_P(self) -> Array:
        return np.log(np.maximum(self.P, TINY))

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
    """D_X = -sum_i w_i sum_j P_ij log S(F)_ij with S the softmax of a row (ALT-OPT-N, appendix C).

    `w` are confidence weights in [0, 1], frozen while F moves; None means 1 for every node.
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
    """-sum_j targets_ij log S(F)_ij per row, without overflow."""
    top = F.max(axis=1, keepdims=True)
    log_total = top[:, 0] + np.log(np.sum(np.exp(F - top), axis=1))
    return np.asarray(targets.sum(axis=1) * log_total - np.sum(targets * F, axis=1))
