"""Labels held back: exact for F, honest for the encoder, and what follows from it."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from altopt import AltOpt, InputError
from altopt.datasets import communities
from altopt.encoders import LinearEncoder
from altopt.graph import Graph
from altopt.inputs import ReducedInputs
from altopt.operator import NormalizedAdjacency
from altopt.selection import cross_fit
from altopt.selection.candidates import Candidate, alternatives, default_inputs, reweighted
from altopt.selection.cross_fit import scores_with_all_labels as own_label
from altopt.selection.evaluation import Evaluator
from altopt.selection.fit_data import FitData
from altopt.selection.leave_one_out import (
    accuracy_with_interval,
    effective_sample_size,
    exact_sample,
    neumann_diagonal,
    without_own_label,
)
from altopt.solvers import ChebyshevSteps, Direct
from altopt.training.alternate import Schedule, Solvers
from altopt.training.class_priors import class_weights
from altopt.training.pseudo_labels import ClassBalanced
from altopt.views import GraphView, NoGraphView, SquaredLaplacianView

N, CLASSES = 240, 3


@pytest.fixture(scope="module")
def data():
    made = communities(N, CLASSES, mean_degree=6, signal=0.2, seed=1)
    y = np.full(N, -1)
    for k in range(CLASSES):
        y[np.flatnonzero(made.y == k)[:8]] = k
    return made, y


def material_of(data, y=None):
    made, given = data
    y = given if y is None else y
    graph = made.graph if isinstance(made.graph, Graph) else Graph(made.graph)
    return FitData(
        graph, NormalizedAdjacency(graph.adjacency), made.X, y, CLASSES, np.dtype(float), 0.1, 10, 0
    )


def plan_of(view=GraphView, lambda1=0.7, lambda2=1.5):
    return Candidate("usual", ReducedInputs(16), LinearEncoder(), lambda1, lambda2, graph_view=view)


@pytest.mark.parametrize("view", [GraphView, SquaredLaplacianView, NoGraphView])
def test_a_label_taken_out_is_a_solve_without_it(data, view):
    material, plan = material_of(data), plan_of(view)
    nodes = np.flatnonzero(material.labelled)
    P = np.random.default_rng(0).dirichlet(np.ones(CLASSES), N)
    F = Direct().solve(material.problem(plan).objective(P, np.ones(N)), P).F
    g = cross_fit.inverse_diagonal(material, plan, nodes, np.ones(len(nodes), dtype=bool))
    found = without_own_label(F[nodes], material.Y(nodes), g, plan.label_weight)
    for row, node in enumerate(nodes):
        others = material.labelled.copy()
        others[node] = False
        refit = Direct().solve(material.problem(plan, others).objective(P, np.ones(N)), P).F
        assert_allclose(found[row], refit[node], atol=1e-6)


def test_first_terms_come_near_the_own_influence(data):
    material, plan = material_of(data), plan_of(lambda1=2.0, lambda2=2.0)
    nodes = np.flatnonzero(material.labelled)
    every = np.ones(len(nodes), dtype=bool)
    exact = cross_fit.inverse_diagonal(material, plan, nodes, every)
    near = neumann_diagonal(material.problem(plan).objective(np.zeros((N, CLASSES)), None), nodes, N)
    assert_allclose(near, exact, rtol=0.03)
    assert np.all(near <= exact + 1e-12)  # walks that are left out only add
    some = every.copy()
    some[::3] = False
    mixed = cross_fit.inverse_diagonal(material, plan, nodes, some)
    assert_allclose(mixed[some], exact[some])
    assert_array_equal(mixed[~some], near[~some])


def test_what_is_said_of_a_node_does_not_depend_on_its_label(data, monkeypatch):
    _, y = data
    fold = np.where(y >= 0, np.arange(N) % 4, -1)
    monkeypatch.setattr(cross_fit, "stratified_folds", lambda codes, seed, n_folds: fold)
    node = np.flatnonzero(y >= 0)[5]
    other = y.copy()
    other[node] = (y[node] + 1) % CLASSES
    solvers, rule = Solvers(ChebyshevSteps(rtol=1e-8), ChebyshevSteps(rtol=1e-10)), ClassBalanced()
    found = []
    for given in (y, other):
        material, plan = material_of(data, given), plan_of()
        nodes = np.flatnonzero(material.labelled)
        g = cross_fit.inverse_diagonal(material, plan, nodes, np.ones(len(nodes), dtype=bool))
        folds = list(cross_fit.cross_fit(material, plan, nodes, solvers, rule, Schedule(20, 2, 20, 0)))
        by_fold = cross_fit.assemble_folds(folds, lambda fold: fold.F)
        own = cross_fit.assemble_folds(
            folds, partial(own_label, material, plan, judged=nodes, solvers=solvers)
        )
        by_one = without_own_label(own, material.Y(nodes), g, plan.label_weight)
        found.append((by_fold[nodes == node], by_one[nodes == node]))
    assert_allclose(found[0][0], found[1][0], atol=1e-10)
    assert_allclose(found[0][1], found[1][1], atol=1e-8)


def test_other_weights_are_judged_with_the_same_P(data):
    material, plan = material_of(data), plan_of()
    nodes = np.flatnonzero(material.labelled)
    exact = Solvers(Direct(), Direct())
    fold = next(cross_fit.cross_fit(material, plan, nodes, exact, ClassBalanced(), Schedule(20, 2, 20, 0)))
    again = cross_fit.resolve_with_weights(material, plan, fold, nodes, exact)
    assert_allclose(again.F, fold.F, atol=1e-8)
    for other in reweighted(plan):
        L = np.eye(N) - material.A_tilde.as_dense()
        H = other.feature_weight * np.eye(N) + L + other.label_weight * np.diag(fold.shown.astype(float))
        right = other.feature_weight * fold.P
        right[fold.shown] += other.label_weight * material.Y(fold.shown)
        found = cross_fit.resolve_with_weights(material, other, fold, nodes, exact)
        assert_allclose(found.F, np.linalg.solve(H, right)[nodes[fold.here]], atol=1e-8)
        assert found.P is fold.P


def test_the_weights_chosen_are_the_weights_fitted(data, monkeypatch):
    made, y = data
    named = AltOpt(feature_weight=2.0, random_state=0).fit(made.X, y, graph=made.graph)
    assert not any("smoother" in entry["plan"] for entry in named.choice_["considered"])
    monkeypatch.setattr("altopt.selection.compare.VERY_CLEAR", 0.0)  # whoever is ahead
    monkeypatch.setattr("altopt.selection.compare.MATTERS", 0.0)
    model = AltOpt(random_state=0).fit(made.X, y, graph=made.graph)
    ahead = min(model.choice_["considered"], key=lambda entry: entry["error"])
    assert model.choice_["plan"] == model.plan_.name == ahead["plan"]
    assert model.plan_.weighs, "no plan with other weights is ahead on this graph: choose another seed"
    assert (model.plan_.feature_weight, model.plan_.label_weight) != (2.0, 2.0)
    A_tilde = NormalizedAdjacency(model.graph_.adjacency).as_dense()
    lambda1, lambda2 = model.plan_.feature_weight, model.plan_.label_weight
    H = (1 + lambda1) * np.eye(N) - A_tilde + lambda2 * np.diag(model.labelled_.astype(float))
    right = lambda1 * model.encoder_output_
    right[model.labelled_] += lambda2 * model.Y_
    assert_allclose(model.scores_, np.linalg.solve(H, right), atol=1e-4)
    assert np.isfinite(model.leave_one_out_.accuracy)


def test_folds_share_out_every_class(data):
    _, y = data
    fold = cross_fit.stratified_folds(y, seed=0)
    assert_array_equal(fold >= 0, y >= 0)
    for k in range(CLASSES):
        counts = np.bincount(fold[y == k], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert_array_equal(fold, cross_fit.stratified_folds(y, seed=0))


def test_a_sample_is_seeded_and_of_the_size_promised():
    assert exact_sample(np.arange(500), 1000, 0).all()
    mask = exact_sample(np.arange(5000), 10_000, 0)
    assert mask.sum() == 2000
    assert_array_equal(mask, exact_sample(np.arange(5000), 10_000, 0))
    assert exact_sample(np.arange(5000), 2_000_000, 0).sum() == 200


def test_classes_count_by_their_sizes():
    codes, right = np.array([0] * 10 + [1] * 10), np.array([True] * 10 + [False] * 10)
    weights = class_weights(codes, np.array([90.0, 10.0]))
    assert weights.mean() == pytest.approx(1.0)
    accuracy, low, high = accuracy_with_interval(right, weights)
    assert accuracy == pytest.approx(0.9)
    assert 0 < low < accuracy < high < 1
    assert effective_sample_size(weights) < effective_sample_size(np.ones(20)) == 20


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng, p, hits = np.random.default_rng(0), 0.8, 0
    for _ in range(400):
        _, low, high = accuracy_with_interval(rng.random(60) < p, np.ones(60))
        hits += low <= p <= high
    assert 0.92 <= hits / 400 <= 0.98


@pytest.mark.parametrize(("n_labels", "there"), [(150, False), (300, True), (20_000, False)])
def test_a_forest_needs_labels_and_a_lead_of_ties(data, n_labels, there):
    found = {plan.name: plan for plan in alternatives(plan_of(), data[0].graph, n_labels)}
    assert ("forest" in found) == there
    if there:
        assert set(found["forest"].follows) == {"ties", "ties and surroundings"}


# as users meet it


def test_leave_one_out_of_a_fit(data):
    made, y = data
    model = AltOpt(random_state=0).fit(made.X, y, graph=made.graph)
    found = model.leave_one_out_
    assert_array_equal(np.sort(found.nodes), np.flatnonzero(y >= 0))
    assert_array_equal(found.given, y[found.nodes])
    assert_array_equal(found.predictions == found.given, found.margin > 0)
    assert found.interval[0] <= found.accuracy <= found.interval[1]
    truth = np.mean(model.transduction_[y < 0] == made.y[y < 0])
    assert found.interval[0] - 0.05 <= truth <= found.interval[1] + 0.05
    assert model.choice_["plan"] in {entry["plan"] for entry in model.choice_["considered"]}
    assert model.graph_help_.gain > 0
    assert set(model.graph_help_.per_class) == set(range(CLASSES))


def test_flipped_labels_come_first(data):
    made, y = data
    rng = np.random.default_rng(0)
    flipped = rng.choice(np.flatnonzero(y >= 0), 4, replace=False)
    wrong = y.copy()
    wrong[flipped] = (wrong[flipped] + 1) % CLASSES
    model = AltOpt(random_state=0).fit(made.X, wrong, graph=made.graph)
    ranked = model.suspicious_labels()
    assert len(ranked) == np.sum(y >= 0)
    assert [row[3] for row in ranked] == sorted(row[3] for row in ranked)
    node, given, suggested, margin = ranked[0]
    assert given == wrong[node]
    assert margin < 0
    assert suggested != given
    assert len({row[0] for row in ranked[:6]} & set(flipped.tolist())) >= 3


def test_without_cross_fitting_nothing_is_said(data):
    made, y = data
    model = AltOpt(random_state=0, cross_fit=False).fit(made.X, y, graph=made.graph)
    assert not hasattr(model, "leave_one_out_")
    assert model.temperature_ is None
    with pytest.raises(InputError, match="cross_fit=True"):
        model.suspicious_labels()


def test_one_label_per_class_cannot_be_held_back(data):
    made, y = data
    first = np.array([np.flatnonzero(y == k)[0] for k in range(CLASSES)])
    few = np.full(N, -1)
    few[first] = y[first]
    model = AltOpt(random_state=0).fit(made.X, few, graph=made.graph)
    assert np.isnan(model.leave_one_out_.accuracy)
    assert model.leave_one_out_.interval == (0.0, 1.0)
    assert model.temperature_ is None
    assert "none can be held back" in model.choice_["reason"]


def test_a_fit_reads_as_many_directions_as_its_labels_can_tell_apart(data):
    made, y = data
    few = y.copy()
    few[np.flatnonzero(y != -1)[20:]] = -1
    model = AltOpt(cross_fit=False, random_state=0).fit(made.X, few, graph=made.graph)
    assert model.plan_.inputs == default_inputs(*made.X.shape, int((few != -1).sum()))


def test_what_is_kept_and_what_is_worked_out_at_once_say_the_same(data, monkeypatch):
    made, y = data
    settings = {"feature_weight": 2.0, "label_weight": 2.0, "random_state": 0}
    kept = AltOpt(**settings).fit(made.X, y, graph=made.graph)
    monkeypatch.setattr("altopt.selection.evaluation.KEPT", 1)
    at_once = AltOpt(**settings).fit(made.X, y, graph=made.graph)
    assert at_once.choice_ == kept.choice_
    assert_array_equal(at_once.leave_one_out_.scores, kept.leave_one_out_.scores)
    left_open = AltOpt(random_state=0).fit(made.X, y, graph=made.graph)
    assert not any("smoother" in entry["plan"] for entry in left_open.choice_["considered"])


def test_large_graphs_hold_labels_back_before_the_fit(data, monkeypatch):
    made, y = data
    whole = AltOpt(random_state=0, n_rounds=0).fit(made.X, y, graph=made.graph)
    order = []
    before, after = Evaluator.by_fold, AltOpt._alternate
    monkeypatch.setattr("altopt.selection.evaluation.LARGE", 1)
    monkeypatch.setattr("altopt.selection.evaluation.KEPT", 1)
    monkeypatch.setattr(Evaluator, "by_fold", lambda self, plan: order.append("held") or before(self, plan))
    monkeypatch.setattr(AltOpt, "_alternate", lambda self, *rest: order.append("fit") or after(self, *rest))
    large = AltOpt(random_state=0, n_rounds=0).fit(made.X, y, graph=made.graph)
    assert order[:2] == ["held", "fit"]
    assert large.choice_["considered"] == []
    assert abs(large.leave_one_out_.accuracy - whole.leave_one_out_.accuracy) < 0.1
