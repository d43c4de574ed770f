"""Multidimensional scaling on landmarks as a feature view: F keeps the distances that the encoder gives.

The landmarks are the corners e_k of the simplex, one per class; d_ik = ||P_i - e_k|| is the encoder's distance between
node i and class k. F_i pays for being farther from a landmark than that: the one-sided stress of scaling, a convex D.
What it is for: an example of D_X that is neither squared nor a cross entropy. Minimal at F = P, and flatter around it
than ||P - F||^2 where only some distances grow.
Run it: python examples/landmark_view.py
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from altopt import AltOpt
from altopt.checks import check_feature_view
from altopt.datasets import communities
from altopt.views import Curvature, View


@dataclass(frozen=True)
class LandmarkView(View):
    """D_X = 1/2 sum_ik max(||F_i - e_k|| - d_ik, 0)^2.

    Half the Hessian of each of the c terms lies between 0 and 1/2.
    """

    name: ClassVar[str] = "features"
    quadratic: ClassVar[bool] = False

    P: np.ndarray
    weight: float = 1.0

    def _excess(self, F, k):
        """F_i - e_k, its length, and by how much that exceeds d_ik."""
        corner = np.eye(F.shape[1], dtype=F.dtype)[k]
        r = np.linalg.norm(F - corner, axis=1, keepdims=True)
        return F - corner, r, np.maximum(r - np.linalg.norm(self.P - corner, axis=1, keepdims=True), 0.0)

    def distance(self, F):
        return 0.5 * float(sum(np.sum(self._excess(F, k)[2] ** 2) for k in range(F.shape[1])))

    def residual(self, F):
        total = np.zeros_like(F)
        for k in range(F.shape[1]):
            difference, r, excess = self._excess(F, k)
            total += 0.5 * excess * difference / np.maximum(r, 1e-300)
        return total

    def curvature(self):
        c = self.P.shape[1]
        return Curvature(lower=0.0, upper=0.5 * c, step_scale=0.5 * c)


def main():
    check_feature_view(LandmarkView)
    data = communities(n_nodes=1000, n_classes=4, seed=0)
    y = np.full(1000, -1)
    for k in range(4):
        y[np.flatnonzero(data.y == k)[:5]] = k
    for choice in (None, LandmarkView):
        model = AltOpt(feature_view=choice, random_state=0).fit(data.X, y, graph=data.graph)
        name = "the squared distance" if choice is None else choice.__name__
        print(f"{name}: {np.mean(model.transduction_ == data.y):.1%} right")


if __name__ == "__main__":
    main()
