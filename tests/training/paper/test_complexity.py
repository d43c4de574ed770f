"""The complexity table: ALT-OPT's updates of F cost O(k p m c), counted in multiplications."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

from altopt import AltOpt, Graph
from altopt.encoders import LinearEncoder
from altopt.views import Curvature, QuadraticForm

COUNTED = []


@dataclass(frozen=True)
class CountedView(QuadraticForm):
    """The Laplacian, with the multiplications of each product with A_tilde on a list."""

    A_tilde: object
    weight: float = 1.0

    def residual(self, F):
        COUNTED.append(self.A_tilde.matrix.nnz * F.shape[1])
        return F - self.A_tilde @ F

    def curvature(self):
        return Curvature(lower=0.0, upper=2.0, step_scale=1.0)

    def half_hessian(self):
        return sp.eye_array(self.A_tilde.n_nodes, format="csr") - self.A_tilde.matrix


def multiplications(k=4, p=10, n=300, degree=6, c=3):
    """Of all updates of F in a fit."""
    rng = np.random.default_rng(0)
    A = sp.random_array((n, n), density=degree / n, rng=rng) != 0
    graph = Graph(sp.csr_array(A.maximum(A.T), dtype=float))
    y = np.where(np.arange(n) < 5 * c, np.arange(n) % c, -1)
    model = AltOpt.paper(n_rounds=k, n_steps=p, total_epochs=4 * k, diffusion=False)
    model.set_params(encoder=LinearEncoder(), n_warmup=5, graph_view=CountedView, random_state=0)
    COUNTED.clear()
    model.fit(rng.normal(size=(n, 4)) ** 2, y, graph=graph)
    return sum(COUNTED)


@pytest.mark.parametrize(
    ("what", "once", "twice"),
    [
        ("k", {"k": 4}, {"k": 8}),
        ("p", {"p": 20}, {"p": 40}),
        ("m", {"n": 200, "degree": 6}, {"n": 200, "degree": 12}),
        ("c", {"c": 3}, {"c": 6}),
    ],
)
def test_updates_of_F_grow_with(what, once, twice):
    ratio = multiplications(**twice) / multiplications(**once)
    assert 1.8 < ratio < 2.2, f"twice as large a {what} makes {ratio:.2f} times the work"


def test_epochs_of_the_encoder_multiply_nothing_by_the_graph():
    """The t of O(2 t p m c), which APPNP pays, is not there."""
    few, many = (
        AltOpt.paper(n_rounds=3, n_steps=5, total_epochs=total, diffusion=False) for total in (6, 60)
    )
    rng = np.random.default_rng(1)
    y = np.where(np.arange(60) < 12, np.arange(60) % 3, -1)
    counts = []
    for model in (few, many):
        model.set_params(encoder=LinearEncoder(), n_warmup=5, graph_view=CountedView, random_state=0)
        COUNTED.clear()
        model.fit(rng.normal(size=(60, 4)) ** 2, y, graph=[(k, (k + 1) % 60) for k in range(60)])
        counts.append(sum(COUNTED))
    assert counts[0] == counts[1]
