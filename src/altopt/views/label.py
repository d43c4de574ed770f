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
    """D_Y = ||F_L - Y_L||^2, over the labelled nodes only."""

    name: ClassVar[str] = "labels"
    quadratic: ClassVar[bool] = True
    squared: ClassVar[bool] = True

    Y: Array  # one row for each labelled node
    labelled: Array  # bool, one per node
    weight: float = 1.0

    def distance(self, F: Array) -> float:
        return float(np.sum((F[self.labelled] - self.Y) ** 2))

    def residual(self, F: Array) -> Array:
        out = np.zeros_like(F)
        out[self.labelled] = F[self.labelled] - self.Y
        return out

    def pull(self) -> Pull:
        nodes = np.flatnonzero(self.labelled)
        return Pull(nodes, self.Y)

    def curvature(self) -> Curvature:
        M = self.labelled.astype(float)
        return Curvature(lower=M, upper=M, step_scale=M)

    def half_hessian(self) -> Any:
        return sp.diags_array(self.labelled.astype(float), format="csr")


@dataclass(frozen=True)
class CrossEntropyLabelView(View):
    """D_Y = -sum_{i in L} sum_j Y_ij log S(F)_ij with S the softmax of a row (ALT-OPT-N, appendix C)."""

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
