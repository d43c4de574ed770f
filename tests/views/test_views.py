"""Graph and label views beside their dense definitions, and inside the estimator: fit, later nodes, on disk."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from altopt import AltOpt, Graph, InputError
from altopt.encoders import LinearEncoder
from altopt.operator import NormalizedAdjacency
from altopt.views import (
    CrossEntropyLabelView,
    FeatureView,
    GraphView,
    HighPassView,
    HuberLabelView,
    LabelView,
    LocallyLinearView,
    NoGraphView,
    Objective,
    QuadraticForm,
    RobustLabels,
    SharedNeighbours,
    SpectralFilter,
    SquaredLaplacianView,
    TwoHopView,
    ViewSettings,
)
from problems import toy, two_communities

CHOICES = {
    "Laplacian": {"graph_view": GraphView},
    "squared": {"graph_view": SquaredLaplacianView},
    "filter": {"graph_view": SpectralFilter((0.0, 0.5, 0.5))},
    "rational": {"graph_view": SpectralFilter((0.0, 1.0), (1.0, 3.0))},
    "high-pass": {"graph_view": HighPassView, "feature_weight": 5.0},
    "two hops": {"graph_view": TwoHopView},
    "shared out": {"graph_view": SharedNeighbours("out")},
    "shared in": {"graph_view": SharedNeighbours("in")},
    "locally linear": {"graph_view": LocallyLinearView},
    "none": {"graph_view": NoGraphView},
    "robust": {"label_view": HuberLabelView},
    "robust, with settings": {"label_view": RobustLabels(0.3)},
    "cross-entropy labels": {"label_view": CrossEntropyLabelView},
}


def directed_communities():
    """Two communities whose edges go one way."""
    X, y, truth, A = two_communities()
    ahead = np.random.default_rng(2).permutation(120)
    return X, y, truth, Graph(sp.csr_array(A.toarray() * (ahead[:, None] < ahead)), directed=True)


@pytest.mark.parametrize("name", CHOICES)
def test_a_view_fits_predicts_later_nodes_and_is_stored(name, tmp_path):
    X, y, truth, graph = directed_communities()
    model = AltOpt(**CHOICES[name], n_rounds=2, random_state=0).fit(X, y, graph=graph)
    assert np.mean(model.transduction_ == truth) > 0.8
    edges = [(0, 1), (0, 3), (1, 5)]
    P = model.predict_proba(X[1:3], edges=edges)
    model.save(tmp_path / "m")
    again = AltOpt.load(tmp_path / "m")
    assert again.graph_view == model.graph_view
    assert again.label_view == model.label_view
    assert_array_equal(again.predict_proba(X[1:3], edges=edges), P)


def eigen(problem):
    L = np.eye(30) - problem.A_tilde.as_dense()
    values, U = np.linalg.eigh(L)
    return np.clip(values, 0, 2), U


@pytest.mark.parametrize(
    ("choice", "r"),
    [
        (SpectralFilter((0.0, 1.0)), lambda v: v),
        (SpectralFilter((0.3, 0.0, 2.0, 1.0)), lambda v: 0.3 + 2 * v**2 + v**3),
        (SpectralFilter((0.7,)), lambda v: 0.7 + 0 * v),
        (SpectralFilter((0.0, 2.0), (4.0,)), lambda v: v / 2),
        (SpectralFilter((0.0, 1.0), (1.0, 20.0)), lambda v: v / (1 + 20 * v)),
        (SpectralFilter((1.0, 0.0, 0.1), (0.5, 0.0, 3.0)), lambda v: (1 + 0.1 * v**2) / (0.5 + 3 * v**2)),
        (HighPassView, lambda v: 2 - v),
        (TwoHopView, lambda v: v * (2 - v)),
        (SquaredLaplacianView, lambda v: v**2),
    ],
)
def test_filters_act_on_frequencies_as_they_say(choice, r):
    problem = toy()
    values, U = eigen(problem)
    view = (
        choice(problem.A_tilde) if isinstance(choice, type) else choice.view(problem.graph, problem.A_tilde)
    )
    assert_allclose(view.residual(problem.F), (U * r(values)) @ (U.T @ problem.F), atol=1e-8)
    assert view.distance(problem.F) == pytest.approx(np.sum((U.T @ problem.F) ** 2 * r(values)[:, None]))


def test_the_squared_laplacian_is_no_filter_that_keeps_both_ends():
    """What it charges rises all the way; two hops charge nothing at either end."""
    frequencies = np.linspace(0, 2, 21)
    assert (np.diff(frequencies**2) > 0).all()
    path = NormalizedAdjacency(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    opposed = np.array([[1.0], [-1.0]])
    assert SquaredLaplacianView(path).distance(opposed) == pytest.approx(4 * np.sum(opposed**2))
    assert TwoHopView(path).distance(opposed) == pytest.approx(0.0)


def test_shared_neighbours_tie_nodes_that_point_at_the_same():
    graph = Graph(np.array([[0, 1, 3], [2, 2, 4]]), directed=True)  # 0 and 1 point at 2, 3 points at 4
    F = np.array([[1.0], [-1.0], [0.0], [0.0], [0.0]])
    A_tilde = NormalizedAdjacency(graph.adjacency)
    apart = SharedNeighbours("out").view(graph, A_tilde).distance(F)
    together = SharedNeighbours("out").view(graph, A_tilde).distance(np.abs(F))
    assert apart == pytest.approx(2.0)
    assert together == pytest.approx(0.0)
    with pytest.raises(InputError, match="needs a directed graph"):
        SharedNeighbours("out").view(Graph(np.array([[0], [1]])), A_tilde)


def test_without_direction_shared_neighbours_are_two_hops():
    problem = toy()
    shared = SharedNeighbours("both").view(problem.graph, problem.A_tilde)
    assert_allclose(shared.residual(problem.F), TwoHopView(problem.A_tilde).residual(problem.F), atol=1e-12)


def test_locally_linear_is_the_distance_from_the_neighbours_mean():
    problem = toy(isolated=False)
    A = problem.adjacency.toarray()
    mean = A / np.maximum(A.sum(axis=1, keepdims=True), 1e-12) @ problem.F
    view = LocallyLinearView(problem.A_tilde)
    assert view.distance(problem.F) == pytest.approx(np.sum((problem.F - mean) ** 2))


def test_without_a_graph_view_F_is_features_and_labels():
    X, y, _, graph = directed_communities()
    model = AltOpt(graph_view=NoGraphView, n_rounds=0, random_state=0).fit(X, y, graph=graph)
    M = (y >= 0)[:, None]
    Y = np.eye(2)[np.maximum(y, 0)] * M
    lambda1, lambda2 = model.plan_.feature_weight, model.plan_.label_weight
    expected = (lambda1 * model.encoder_output_ + lambda2 * Y) / (lambda1 + lambda2 * M)
    assert_allclose(model.scores_, expected, atol=1e-5)


def test_later_nodes_of_a_built_graph_are_found_by_the_view_too():
    X, y, _, _ = two_communities()
    model = AltOpt(graph_view=NoGraphView, n_rounds=0, random_state=0).fit(X, y)
    new = np.random.default_rng(1).normal(size=(4, 8))
    rows, known = model.neighbours_.edges_of(new)
    expected = model.predict_proba(new, edges=np.stack([rows, known], axis=1))
    assert_allclose(model.predict_proba(new), expected, atol=1e-9)
    alone = AltOpt(random_state=0).fit(X, y)
    assert_allclose(alone.predict_proba(new)[:1], alone.predict_proba(new[:1]), atol=1e-6)


def test_robust_labels_are_the_squared_ones_nearby_and_outvoted_far_away():
    problem = toy()
    near = np.where(problem.labelled[:, None], problem.Y + 0.1, problem.F)
    given = (problem.Y[problem.labelled], problem.labelled, 1.0)
    assert HuberLabelView(*given).distance(near) == pytest.approx(LabelView(*given).distance(near))
    far = problem.Y * -9.0
    assert np.linalg.norm(HuberLabelView(*given).residual(far), axis=1).max() == pytest.approx(0.5)
    X, y, _truth, A = two_communities(labels_per_class=12)
    wrong = np.flatnonzero(y >= 0)[:2]
    y[wrong] = 1 - y[wrong]
    settings = {"label_weight": 5.0, "feature_weight": 1.0, "n_rounds": 2, "random_state": 0}
    settings["encoder"] = LinearEncoder(C=10.0)  # not so free that it learns wrong labels by heart
    trusting = AltOpt(**settings).fit(X, y, graph=A)
    wary = AltOpt(label_view=RobustLabels(0.2), **settings).fit(X, y, graph=A)
    believed = [model.scores_[wrong, y[wrong]].mean() for model in (trusting, wary)]
    assert believed[1] < believed[0]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (SpectralFilter((0.0, -1.0)), "coefficients of 0 or more"),
        (SpectralFilter(()), "coefficients of 0 or more"),
        (SpectralFilter((1.0,), (0.0, 1.0)), "first above 0"),
        (SpectralFilter((0.0, 1.0), (1e-9, 1.0)), "changes too fast"),
    ],
)
def test_what_is_no_filter_is_refused(choice, message):
    problem = toy()
    with pytest.raises(InputError, match=message):
        choice.view(problem.graph, problem.A_tilde)
    with pytest.raises(InputError, match="reach must be above 0"):
        RobustLabels(0.0).view(problem.Y, problem.labelled, 1.0)


@dataclass(frozen=True)
class TwoHopGraph(ViewSettings):
    """The Laplacian of another graph than the one that was given: nodes that share a neighbour."""

    def view(self, graph, A_tilde):
        return GraphView(NormalizedAdjacency((graph.adjacency @ graph.adjacency).tocsr()))


def test_a_laplacian_of_another_graph_is_updated_by_its_own_system():
    """It couples nodes, but not by the edges that a local push would follow."""
    X, y, _, A = two_communities()
    model = AltOpt(graph_view=TwoHopGraph(), n_rounds=0, random_state=0).fit(X, y, graph=A)
    node = int(np.flatnonzero(y < 0)[0])
    model.update(labels={node: 1})
    labelled = model.labelled_
    view = LabelView(model.Y_, labelled, model.plan_.label_weight)
    views = (
        FeatureView(model.encoder_output_, model.plan_.feature_weight),
        TwoHopGraph().view(model.graph_, None),
        view,
    )
    assert labelled[node]
    assert np.linalg.norm(Objective(views).residual(model.scores_)) < 1e-4


@dataclass(frozen=True)
class OnesOwnView(QuadraticForm):
    A_tilde: NormalizedAdjacency
    weight: float = 1.0

    residual, curvature, half_hessian = GraphView.residual, GraphView.curvature, GraphView.half_hessian


def test_a_view_of_ones_own_is_stored_and_handed_over_at_loading(tmp_path):
    X, y, _, A = two_communities()
    AltOpt(graph_view=OnesOwnView, random_state=0).fit(X, y, graph=A).save(tmp_path / "m")
    with pytest.raises(
        InputError, match=r"graph_view is .*OnesOwnView.*AltOpt.load\(path, parts=\[OnesOwnView\]\)"
    ):
        AltOpt.load(tmp_path / "m")
    assert AltOpt.load(tmp_path / "m", parts=[OnesOwnView]).graph_view is OnesOwnView


@pytest.mark.parametrize("setting", ["feature_view", "graph_view", "label_view"])
@pytest.mark.parametrize("value", ["two-hop", object, lambda *given: None])
def test_what_is_no_view_is_refused(setting, value):
    X, y, _, A = two_communities()
    with pytest.raises(
        InputError, match=f"{setting} must be a subclass of altopt.views.View or an instance of"
    ):
        AltOpt(**{setting: value}).fit(X, y, graph=A)
