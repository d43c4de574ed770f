"""D_Y for noisy labels: the pull of a label that everything else contradicts is limited."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.views.view import Curvature, View, ViewSettings

SMALLEST_NORM = 1e-300  # against a division by zero


@dataclass(frozen=True)
class HuberLabelView(View):
    """D_Y = sum_{i in L} h(||F_i - Y_i||), with h(r) = r^2 for r <= reach and 2 reach r - reach^2 beyond.

    What it is for: noisy labels. A label that features and neighbours agree with pulls as in LabelView; one that they
    contradict pulls with a force of `reach` at most, and can be outvoted. Convex; half the Hessian lies between 0
    and 1.

    Parameters
    ----------
    Y : array of shape (n_labelled, n_classes)
    labelled : array of bool, shape (n_nodes,)
    weight : float
        lambda2.
    reach : float
        The distance from the label up to which it is squared. Two labels are sqrt(2) apart.

    Examples
    --------
    >>> view = HuberLabelView(Y=np.array([[1.0, 0.0]]), labelled=np.array([True]), reach=0.5)
    >>> view.residual(np.array([[0.7, 0.4]]))  # 0.5 away: as in LabelView
    array([[-0.3,  0.4]])
    >>> view.residual(np.array([[-2.0, 4.0]]))  # 5 away: the same force
    array([[-0.3,  0.4]])
    """

    name: ClassVar[str] = "labels"
    quadratic: ClassVar[bool] = False

    Y: Array
    labelled: Array
    weight: float = 1.0
    reach: float = 0.5

    def distance(self, F: Array) -> float:
        r = np.linalg.norm(F[self.labelled] - self.Y, axis=1)
        return float(np.sum(np.where(r <= self.reach, r**2, 2 * self.reach * r - self.reach**2)))

    def residual(self, F: Array) -> Array:
        difference = F[self.labelled] - self.Y
        r = np.linalg.norm(difference, axis=1, keepdims=True)
        out = np.zeros_like(F)
        out[self.labelled] = difference * np.minimum(1.0, self.reach / np.maximum(r, SMALLEST_NORM))
        return out

    def curvature(self) -> Curvature:
        M = self.labelled.astype(float)
        return Curvature(lower=0.0, upper=M, step_scale=M)


@dataclass(frozen=True)
class RobustLabels(ViewSettings):
    """Settings of HuberLabelView: `AltOpt(label_view=RobustLabels(0.3))`.

    Parameters
    ----------
    reach : float
        The distance from a label up to which its pull grows; above 0.

    Examples
    --------
    >>> RobustLabels(0.3).view(np.array([[1.0, 0.0]]), np.array([True]), 2.0).reach
    0.3
    """

    reach: float = 0.5
    quadratic: ClassVar[bool] = False

    def view(self, Y: Array, labelled: Array, weight: float) -> HuberLabelView:
        if not self.reach > 0:
            raise InputError(f"reach must be above 0, but is {self.reach!r}.")
        return HuberLabelView(Y, labelled, weight, self.reach)
