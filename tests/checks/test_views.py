"""The checks for views of one's own: they pass what is right, and name what is wrong."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

from altopt.checks import check_graph_view, check_view
from altopt.views import Curvature, GraphView, HighPassView, SharedNeighbours, TwoHopView
from problems import toy


@pytest.mark.parametrize("choice", [GraphView, TwoHopView, HighPassView, SharedNeighbours("in")])
def test_a_right_view_passes(choice):
    check_graph_view(choice)


@dataclass(frozen=True)
class Sound(GraphView):
    """Right; each of those below breaks one promise."""


class WrongSlope(Sound):
    def distance(self, F):
        return 2 * super().distance(F)


class TooBold(Sound):
    def curvature(self):
        return Curvature(lower=0.0, upper=1.5, step_scale=1.0)


class TooSure(Sound):
    def curvature(self):
        return Curvature(lower=0.1, upper=2.0, step_scale=1.0)


class TooFast(Sound):
    def curvature(self):
        return Curvature(lower=0.0, upper=2.0, step_scale=0.5)


class WrongHessian(Sound):
    def half_hessian(self):
        return 2 * super().half_hessian()


class Meddler(Sound):
    def residual(self, F):
        F *= 1.0001
        return super().residual(F)


class ByPlace(Sound):
    def residual(self, F):
        return super().residual(F) + np.arange(len(F))[:, None] * F

    def curvature(self):
        return Curvature(lower=0.0, upper=99.0, step_scale=99.0)

    def half_hessian(self):
        return super().half_hessian() + sp.diags_array(np.arange(self.A_tilde.n_nodes, dtype=float))


class Dense(Sound):
    def half_hessian(self):
        return super().half_hessian().toarray()


@pytest.mark.parametrize(
    ("view", "complaint"),
    [
        (WrongSlope, "WrongSlope: residual is not half the gradient"),
        (TooBold, "TooBold: half the Hessian passes diag\\(upper\\)"),
        (TooSure, "TooSure: half the Hessian falls below diag\\(lower\\)"),
        (TooFast, "TooFast: step_scale is below upper / 2"),
        (WrongHessian, "WrongHessian: half_hessian is not residual's derivative"),
        (Meddler, "Meddler: residual writes to F"),
        (ByPlace, "ByPlace: residual changes with the numbering"),
        (Dense, "Dense: half_hessian is not a scipy sparse matrix"),
    ],
)
def test_a_wrong_view_is_told_what_is_wrong(view, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_graph_view(view)


def test_what_is_no_view_at_all_is_told_so():
    with pytest.raises(AssertionError, match="some member of altopt.views.View is missing"):
        check_view(object(), toy().F)
