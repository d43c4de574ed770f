"""The laws of views: each broken one is named."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

from altopt.checks import check_feature_view, check_graph_view, check_label_view, check_view
from altopt.errors import InputError
from altopt.views import (
    CrossEntropyLabelView,
    Curvature,
    FeatureView,
    GraphView,
    LabelView,
    NoGraphView,
    Pull,
    RobustLabels,
    SoftmaxFeatureView,
    ViewSettings,
)
from problems import toy

# that every view of the package passes is in laws.py


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
    def coupling(self):
        return None

    def residual(self, F):
        return super().residual(F) + np.arange(len(F))[:, None] * F

    def curvature(self):
        return Curvature(lower=0.0, upper=99.0, step_scale=99.0)

    def half_hessian(self):
        return super().half_hessian() + sp.diags_array(np.arange(self.A_tilde.n_nodes, dtype=float))


class WrongCoupling(NoGraphView):
    def coupling(self):
        return self.A_tilde


class Bent(Sound):
    """Consistent, but not quadratic though it says so."""

    def residual(self, F):
        return super().residual(F) + np.arctan(F) / 9

    def distance(self, F):
        laplacian = float(np.sum(F * super().residual(F)))
        return laplacian + 2 / 9 * float(np.sum(F * np.arctan(F) - np.log1p(F**2) / 2))

    def curvature(self):
        return Curvature(lower=0.0, upper=2.2, step_scale=1.2)


class Nameless(Sound):
    name = "edges"


class Labels(Sound):
    name = "labels"


class NotFinite(Sound):
    def residual(self, F):
        return np.full_like(F, np.inf)


class NotZero(Sound):
    zero = True


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
        (WrongCoupling, r"WrongCoupling: half_hessian is not I - coupling\(\)"),
        (Bent, "Bent: half_hessian is not residual's derivative"),
        (Nameless, "Nameless: name must be features, graph or labels"),
        (Labels, "Labels: name is 'labels', but the view is used as 'graph'"),
        (NotFinite, "NotFinite: residual is not finite"),
        (NotZero, "NotZero: zero is True, but distance or residual is not 0"),
        (Dense, "Dense: half_hessian is not a scipy sparse matrix"),
    ],
)
def test_a_wrong_view_is_told_what_is_wrong(view, complaint):
    with pytest.raises(InputError, match=complaint):
        check_graph_view(view)


def test_what_is_no_view_at_all_is_told_so():
    with pytest.raises(InputError, match="object: it is not a subclass of altopt.views.View"):
        check_view(object(), toy().F)


class WrongPull(FeatureView):
    def pull(self):
        return Pull(None, 2 * self.P)


class WrongSquare(FeatureView):
    """Half the square: consistent in itself, but not ||F - P||^2."""

    def distance(self, F):
        return super().distance(F) / 2

    def residual(self, F):
        return super().residual(F) / 2

    def curvature(self):
        return Curvature(lower=0.5, upper=0.5, step_scale=0.5)

    def pull(self):
        return Pull(None, self.P / 2)

    def half_hessian(self):
        return super().half_hessian() / 2


class NoPull(FeatureView):
    def pull(self):
        return None


class PullsFromAfar(SoftmaxFeatureView):
    def pull(self):
        return Pull(None, self.P)


class Affine(FeatureView):
    """A quadratic view only near the F at which it is looked at."""

    def residual(self, F):
        return super().residual(F) + (np.abs(F) < 1e-3)


class Tight(SoftmaxFeatureView):
    """Right in each column by itself, wrong across columns: the softmax ties them."""

    def curvature(self):
        return Curvature(lower=0.0, upper=0.13 * self.w, step_scale=1.0)


@pytest.mark.parametrize(
    ("view", "complaint"),
    [
        (WrongPull, r"WrongPull: pull\(\) is not minus residual at F = 0"),
        (WrongSquare, r"WrongSquare: squared is True, but distance is not \|\|F - T\|\|\^2"),
        (NoPull, r"NoPull: a squared view needs a pull\(\)"),
        (PullsFromAfar, r"PullsFromAfar: a view with a pull\(\) must be quadratic"),
        (Affine, "Affine: quadratic is True, but residual is not affine in F"),
        (Tight, r"Tight: half the Hessian passes diag\(upper\)"),
    ],
)
def test_a_wrong_feature_view_is_told_what_is_wrong(view, complaint):
    with pytest.raises(InputError, match=complaint):
        check_feature_view(view)


class OffDiagonal(LabelView):
    def curvature(self):
        return Curvature(lower=0.0, upper=1.0, step_scale=1.0)


def test_a_wrong_label_view_is_told_what_is_wrong():
    with pytest.raises(InputError, match=r"must have half_hessian = diag\(lower\)"):
        check_label_view(OffDiagonal)


class Overclaiming(RobustLabels):
    quadratic = True


class Careless(ViewSettings):
    """Settings of a squared view that do not say so."""

    def view(self, P, weight):
        return FeatureView(P, weight)


def test_settings_announce_the_view_they_make():
    with pytest.raises(
        InputError, match="Overclaiming: quadratic is True, but that of the view it makes is False"
    ):
        check_label_view(Overclaiming())
    with pytest.raises(InputError, match="Careless: squared is False, but that of the view it makes is True"):
        check_feature_view(Careless())


def test_a_view_that_does_not_say_whether_it_is_quadratic_is_told_so():
    class Silent(CrossEntropyLabelView):
        @property
        def quadratic(self):
            raise AttributeError

    with pytest.raises(InputError, match="Silent: the class attribute quadratic is missing"):
        check_view(Silent(np.eye(2), np.array([True, True])), np.zeros((2, 2)))
