"""A contrastive graph view: neighbours are positive pairs and attract, random pairs are negative and repel.

With negatives sampled in proportion to degree, as is usual, their expected term has a closed form: a penalty on one
direction, s = D^1/2 1 / ||D^1/2 1||, in which all nodes agree. No pair is ever sampled.
What it is for: graphs so well connected that with the Laplacian alone one class would spread over all of them.
Run it: python examples/contrastive_view.py
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from altopt import AltOpt
from altopt.checks import check_graph_view
from altopt.datasets import communities
from altopt.operator import NormalizedAdjacency
from altopt.views import Curvature, QuadraticForm, ViewSettings


@dataclass(frozen=True)
class ContrastiveView(QuadraticForm):
    """D_A = tr(F' (I - A_tilde) F) + negatives ||s'F||^2.

    A_tilde s = s: the first part is 0 on s and at most 2 elsewhere, so half the Hessian reaches max(2, negatives).
    """

    A_tilde: NormalizedAdjacency
    negatives: float = 1.0  # weight of negative pairs, relative to positive ones

    @property
    def s(self):
        root = np.sqrt(self.A_tilde.degrees)[:, None]
        return root / max(np.linalg.norm(root), 1e-300)

    def residual(self, F):
        s = self.s.astype(F.dtype)
        return F - self.A_tilde @ F + self.negatives * s * (s.T @ F)

    def curvature(self):
        upper = max(2.0, self.negatives)
        return Curvature(lower=0.0, upper=upper, step_scale=max(upper / 2, 1.0 + self.negatives))

    def half_hessian(self):
        I = sp.eye_array(self.A_tilde.n_nodes, format="csr")  # noqa: E741
        return sp.csr_array(I - self.A_tilde.matrix + self.negatives * sp.csr_array(self.s @ self.s.T))


@dataclass(frozen=True)
class Contrast(ViewSettings):
    """Settings: the weight of negative pairs."""

    negatives: float = 1.0

    def view(self, graph, A_tilde):
        return ContrastiveView(A_tilde, self.negatives)


def main():
    check_graph_view(Contrast(3.0))
    data = communities(n_nodes=1000, n_classes=4, seed=0)
    y = np.full(1000, -1)
    for k in range(4):
        y[np.flatnonzero(data.y == k)[:5]] = k
    for choice in (None, Contrast()):
        model = AltOpt(graph_view=choice, random_state=0).fit(data.X, y, graph=data.graph)
        print(f"{choice or 'the Laplacian'}: {np.mean(model.transduction_ == data.y):.1%} right")


if __name__ == "__main__":
    main()
