"""D_Y for labels some of which are wrong: a label far from everything else stops pulling harder."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.views.view import Curvature, View, ViewSettings


@dataclass(frozen=True)
class HuberLabelView(View):
    """D_Y = sum_{i in L} h(||F_i - Y_i||), h(r) = r^2 up to `reach`, from there on straight: 2 reach r - reach^2.

    What it is for: noisy labels. A label that features and neighbours agree with pulls as in LabelView; one
    that they contradict pulls with the force of `reach` at most, and can be outvoted. Two labels are
    sqrt(2) apart. Convex; half the Hessian lies between 0 and 1.
    """

    name: ClassVar[str] = "labels"
    quadratic: ClassVar[bool] = False

    Y: Array  # one row for each labelled node
    labelled: Array  # bool, one per node
    weight: float = 1.0
    reach: float = 0.5

    def distance(self, F: Array) -> float:
        r = np.linalg.norm(F[self.labelled] - self.Y, axis=1)
        return float(np.sum(np.where(r <= self.reach, r**2, 2 * self.reach * r - self.reach**2)))

    def residual(self, F: Array) -> Array:
        off = F[self.labelled] - self.Y
        r = np.linalg.norm(off, axis=1, keepdims=True)
        out = np.zeros_like(F)
        out[self.labelled] = off * np.minimum(1.0, self.reach / np.maximum(r, 1e-300))
        return out

    def curvature(self) -> Curvature:
        M = self.labelled.astype(float)
        return Curvature(lower=0.0, upper=M, step_scale=M)


@dataclass(frozen=True)
class RobustLabels(ViewSettings):
    """HuberLabelView with a reach of one's own: AltOpt(label_view=RobustLabels(0.3))."""

    reach: float = 0.5
    quadratic: ClassVar[bool] = False

    def view(self, Y: Array, labelled: Array, weight: float) -> HuberLabelView:
        if not self.reach > 0:
            raise InputError(f"reach must be above 0, but is {self.reach!r}.")
        return HuberLabelView(Y, labelled, weight, self.reach)
