"""Labels held back: exact for F, honest for the encoder, and what follows from it."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from altopt import AltOpt, InputError, crossfit
from altopt.alternate import Schedule, Solvers
from altopt.arrays import certainty
from altopt.calibration import USUAL, Tempered, calibration_error, matched_temperature
from altopt.choice import Choice, choose
from altopt.crossfit import with_own_label as own_label
from altopt.datasets import communities
from altopt.encoders import LinearEncoder
from altopt.graph import Graph
from altopt.inputs import BlockInputs, ReducedInputs
from altopt.judging import Judge
from altopt.leave_one_out import (
    accuracy_with_interval,
    class_weights,
    effective_number,
    first_terms,
    sampled,
    without_own_label,
)
from altopt.material import Material
from altopt.operator import NormalizedAdjacency
from altopt.plans import Plan, other_weights, rivals, usual_inputs
from altopt.selection import EveryoneWeighted
from altopt.solvers import ChebyshevSteps, Direct
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
    return Material(
        graph, NormalizedAdjacency(graph.adjacency), made.X, y, CLASSES, np.dtype(float), 0.1, 10, 0
    )


def plan_of(view=GraphView, lambda1=0.7, lambda2=1.5):
    return Plan("usual", ReducedInputs(16), LinearEncoder(), lambda1, lambda2, graph_view=view)


@pytest.mark.parametrize("view", [GraphView, SquaredLaplacianView, NoGraphView])
def test_a_label_taken_out_is_a_solve_without_it(data, view):
    material, plan = material_of(data), plan_of(view)
    nodes = np.flatnonzero(material.labelled)
    P = np.random.default_rng(0).dirichlet(np.ones(CLASSES), N)
    F = Direct().solve(material.problem(plan).objective(P, np.ones(N)), P).F
    g = crossfit.influence(material, plan, nodes, np.ones(len(nodes), dtype=bool))
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
    exact = crossfit.influence(material, plan, nodes, every)
    near = first_terms(material.problem(plan).objective(np.zeros((N, CLASSES)), None), nodes, N)
    assert_allclose(near, exact, rtol=0.03)
    assert np.all(near <= exact + 1e-12)  # walks that are left out only add
    some = every.copy()
    some[::3] = False
    mixed = crossfit.influence(material, plan, nodes, some)
    assert_allclose(mixed[some], exact[some])
    assert_array_equal(mixed[~some], near[~some])


def test_what_is_said_of_a_node_does_not_depend_on_its_label(data, monkeypatch):
    _, y = data
    fold = np.where(y >= 0, np.arange(N) % 4, -1)
    monkeypatch.setattr(crossfit, "folds_of", lambda codes, seed, n_folds: fold)
    node = np.flatnonzero(y >= 0)[5]
    other = y.copy()
    other[node] = (y[node] + 1) % CLASSES
    solvers, rule = Solvers(ChebyshevSteps(rtol=1e-8), ChebyshevSteps(rtol=1e-10)), EveryoneWeighted()
    found = []
    for given in (y, other):
        material, plan = material_of(data, given), plan_of()
        nodes = np.flatnonzero(material.labelled)
        g = crossfit.influence(material, plan, nodes, np.ones(len(nodes), dtype=bool))
        folds = list(crossfit.cross_fit(material, plan, nodes, solvers, rule, Schedule(20, 2, 20, 0)))
        by_fold = crossfit.together(folds, lambda fold: fold.F)
        own = crossfit.together(folds, partial(own_label, material, plan, judged=nodes, solvers=solvers))
        by_one = without_own_label(own, material.Y(nodes), g, plan.label_weight)
        found.append((by_fold[nodes == node], by_one[nodes == node]))
    assert_allclose(found[0][0], found[1][0], atol=1e-10)
    assert_allclose(found[0][1], found[1][1], atol=1e-8)


def test_other_weights_are_judged_with_the_same_P(data):
    material, plan = material_of(data), plan_of()
    nodes = np.flatnonzero(material.labelled)
    exact = Solvers(Direct(), Direct())
    fold = next(crossfit.cross_fit(material, plan, nodes, exact, EveryoneWeighted(), Schedule(20, 2, 20, 0)))
    again = crossfit.weighed_anew(material, plan, fold, nodes, exact)
    assert_allclose(again.F, fold.F, atol=1e-8)
    for other in other_weights(plan):
        L = np.eye(N) - material.A_tilde.as_dense()
        H = other.feature_weight * np.eye(N) + L + other.label_weight * np.diag(fold.shown.astype(float))
        right = other.feature_weight * fold.P
        right[fold.shown] += other.label_weight * material.Y(fold.shown)
        found = crossfit.weighed_anew(material, other, fold, nodes, exact)
        assert_allclose(found.F, np.linalg.solve(H, right)[nodes[fold.here]], atol=1e-8)
        assert found.P is fold.P


def test_weights_differ_one_at_a_time_and_only_where_the_graph_counts():
    plan = plan_of()
    made = {(other.feature_weight / 0.7, other.label_weight / 1.5) for other in other_weights(plan)}
    assert made == {(0.25, 1.0), (4.0, 1.0), (1.0, 0.25), (1.0, 4.0)}
    assert all(other.weighs == plan.name and other.name != plan.name for other in other_weights(plan))
    assert other_weights(plan_of(NoGraphView)) == []


def test_the_weights_chosen_are_the_weights_fitted(data, monkeypatch):
    made, y = data
    named = AltOpt(feature_weight=2.0, random_state=0).fit(made.X, y, graph=made.graph)
    assert not any("smoother" in entry["plan"] for entry in named.choice_["considered"])
    monkeypatch.setattr("altopt.choice.VERY_CLEAR", 0.0)  # whoever is ahead
    monkeypatch.setattr("altopt.choice.MATTERS", 0.0)
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


def test_a_choice_after_a_choice():
    usual, other = plan_of(), replace(plan_of(), name="other")
    first = choose(usual, [other], np.array([0, 1]), lambda plan: np.eye(2))
    none = Choice(usual, [], "All parts were given.")
    assert first.then(none) is first
    later = choose(usual, other_weights(usual), np.array([0, 1]), lambda plan: np.eye(2))
    both = first.then(later)
    assert both.plan is usual
    assert [entry.plan for entry in both.considered] == [
        "usual",
        "other",
        *(p.name for p in other_weights(usual)),
    ]
    won = first.then(Choice(other, later.considered, "It won."))
    assert won.plan is other
    assert won.reason.endswith("It won.")
    assert won.reason.startswith(first.reason)


@pytest.mark.parametrize(("clearly", "taken"), [(0.0, "other"), (1.2, "other"), (50.0, "usual")])
def test_a_plan_may_have_to_win_more_clearly(clearly, taken):
    rng = np.random.default_rng(0)
    codes = np.arange(200) % 2
    vague = np.eye(2)[codes] + rng.normal(scale=1.0, size=(200, 2))
    scores = {"usual": np.exp(vague), "other": np.exp(vague + 0.3 * np.eye(2)[codes])}
    usual, other = plan_of(), replace(plan_of(), name="other", clearly=clearly)
    assert choose(usual, [other], codes, lambda plan: scores[plan.name]).plan.name == taken


def test_folds_share_out_every_class(data):
    _, y = data
    fold = crossfit.folds_of(y, seed=0)
    assert_array_equal(fold >= 0, y >= 0)
    for k in range(CLASSES):
        counts = np.bincount(fold[y == k], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert_array_equal(fold, crossfit.folds_of(y, seed=0))


def test_a_sample_is_seeded_and_of_the_size_promised():
    assert sampled(np.arange(500), 1000, 0).all()
    mask = sampled(np.arange(5000), 10_000, 0)
    assert mask.sum() == 2000
    assert_array_equal(mask, sampled(np.arange(5000), 10_000, 0))
    assert sampled(np.arange(5000), 2_000_000, 0).sum() == 200


def test_classes_count_by_their_sizes():
    codes, right = np.array([0] * 10 + [1] * 10), np.array([True] * 10 + [False] * 10)
    weights = class_weights(codes, np.array([90.0, 10.0]))
    assert weights.mean() == pytest.approx(1.0)
    accuracy, low, high = accuracy_with_interval(right, weights)
    assert accuracy == pytest.approx(0.9)
    assert 0 < low < accuracy < high < 1
    assert effective_number(weights) < effective_number(np.ones(20)) == 20


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng, p, hits = np.random.default_rng(0), 0.8, 0
    for _ in range(400):
        _, low, high = accuracy_with_interval(rng.random(60) < p, np.ones(60))
        hits += low <= p <= high
    assert 0.92 <= hits / 400 <= 0.98


def test_matched_confidence_is_the_accuracy_given_enough_labels():
    F = np.random.default_rng(0).dirichlet(np.ones(4), 500)
    T = matched_temperature(F, 0.7, 1e6)
    assert Tempered(T).soften(F).max(axis=1).mean() == pytest.approx(0.7, abs=0.01)
    assert matched_temperature(F, 0.7, 1e-6) == pytest.approx(USUAL, rel=0.02)


@pytest.mark.parametrize("T", [0.1, 1.0, 1.5, 10.0])
def test_a_tempered_reading_is_a_power_of_shares_and_keeps_their_order(T):
    rng = np.random.default_rng(1)
    F = rng.dirichlet(np.full(5, 0.3), 300) * rng.uniform(0.1, 3, (300, 1))
    F[0], F[1] = 0.0, [-1.0, 0.5, 0.5, 0.0, 0.0]
    S = Tempered(T).soften(F)
    assert_allclose(S.sum(axis=1), 1.0)
    assert_allclose(S[0], 0.2)
    assert_allclose(S[1], [0, 0.5, 0.5, 0, 0], atol=1e-12)
    power = F[2:] ** (1 / T)
    assert_allclose(S[2:], power / power.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-300)
    reading = Tempered(T).read(F)
    assert_allclose(reading.w, certainty(S))
    assert np.array_equal(reading.label[2:], F[2:].argmax(axis=1))


def test_reading_in_blocks_is_reading_at_once(monkeypatch):
    F = np.random.default_rng(2).dirichlet(np.ones(3), 100)
    whole = Tempered(1.5).read(F)
    monkeypatch.setattr("altopt.calibration.NUMBERS", 21)
    blocks = Tempered(1.5).read(F)
    assert np.array_equal(whole.w, blocks.w)
    assert np.array_equal(whole.label, blocks.label)


def test_calibration_error_tells_sure_from_right():
    S = np.tile([0.8, 0.2], (10, 1))
    assert calibration_error(S, np.array([0] * 8 + [1] * 2)) == pytest.approx(0.0)
    assert calibration_error(S, np.zeros(10, dtype=int)) == pytest.approx(0.2)


def scores_right_with(share, codes, seed):
    rng = np.random.default_rng(seed)
    said = np.where(rng.random(len(codes)) < share, codes, (codes + 1) % CLASSES)
    return np.eye(CLASSES)[said] + 0.1


def test_a_rival_must_win_clearly():
    usual, other = plan_of(), plan_of(lambda1=9.0)
    codes = np.arange(300) % CLASSES
    good, bad = scores_right_with(0.9, codes, 0), scores_right_with(0.5, codes, 1)
    won = choose(usual, [other], codes, lambda plan: good if plan is other else bad)
    assert won.plan is other
    assert "lower error" in won.reason
    kept = choose(usual, [other], codes, lambda plan: bad if plan is other else good)
    assert kept.plan is usual
    assert [entry.plan for entry in kept.considered] == ["usual", "usual"]
    assert kept.considered[1].behind > 0
    level = choose(usual, [other], codes, lambda plan: good)
    assert level.plan is usual
    hardly = choose(
        usual, [other], codes, lambda plan: good + (1e-4 * np.eye(CLASSES)[codes] if plan is other else 0)
    )
    assert hardly.plan is usual


def test_a_plan_that_follows_another_is_looked_at_where_that_leads():
    usual, first = plan_of(), replace(plan_of(lambda1=9.0), name="first")
    second = replace(first, name="second", follows=("first",))
    codes = np.arange(300) % CLASSES
    good, bad = scores_right_with(0.9, codes, 0), scores_right_with(0.5, codes, 1)
    led = choose(usual, [first, second], codes, lambda plan: bad if plan is usual else good)
    assert [entry.plan for entry in led.considered] == ["usual", "first", "second"]
    trailed = choose(usual, [first, second], codes, lambda plan: good if plan is usual else bad)
    assert [entry.plan for entry in trailed.considered] == ["usual", "first"]


@pytest.mark.parametrize(("n_labels", "there"), [(150, False), (300, True), (20_000, False)])
def test_a_forest_needs_labels_and_a_lead_of_ties(data, n_labels, there):
    found = {plan.name: plan for plan in rivals(plan_of(), data[0].graph, n_labels)}
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


def test_a_graph_that_does_harm_is_left_aside():
    made = communities(600, 3, mean_degree=8, signal=0.3, seed=0)
    rng = np.random.default_rng(0)
    A = sp.random_array((600, 600), density=0.02, rng=rng)
    y = np.where(np.arange(600) % 4 == 0, made.y, -1)
    with pytest.warns(UserWarning, match="The graph does not help here"):
        model = AltOpt(random_state=0).fit(made.X, y, graph=sp.csr_array(A + A.T))
    assert model.choice_["plan"] == "features alone"
    assert model.graph_help_.gain < 0
    alone = AltOpt(random_state=0, cross_fit=False, inputs=model.plan_.inputs, graph_view=NoGraphView)
    hidden = y < 0
    right = [
        np.mean(m.transduction_[hidden] == made.y[hidden])
        for m in (model, alone.fit(made.X, y, graph=sp.csr_array(A + A.T)))
    ]
    assert right[0] >= right[1] - 0.01


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


@pytest.mark.parametrize(
    ("n_nodes", "n_features", "kind", "storage"),
    [
        (2708, 1433, BlockInputs, None),
        (169_343, 128, ReducedInputs, "float32"),
        (2_449_029, 100, ReducedInputs, "float16"),
    ],
)
def test_what_the_encoder_reads_by_default_fits_the_size(n_nodes, n_features, kind, storage):
    inputs = usual_inputs(n_nodes, n_features)
    assert isinstance(inputs, kind)
    assert getattr(inputs, "storage", None) == storage


def test_few_labels_read_few_directions():
    def widths(n_labels):
        return [part.n_components for part in usual_inputs(2708, 1433, n_labels).parts]

    assert widths(None) == widths(64) == widths(5000) == [128, 256]
    assert widths(1) == widths(8) == [16, 32]
    assert widths(15) == [32, 64]
    assert [sum(widths(n)) for n in range(1, 70)] == sorted(sum(widths(n)) for n in range(1, 70))


def test_a_fit_reads_as_many_directions_as_its_labels_can_tell_apart(data):
    made, y = data
    few = y.copy()
    few[np.flatnonzero(y != -1)[20:]] = -1
    model = AltOpt(cross_fit=False, random_state=0).fit(made.X, few, graph=made.graph)
    assert model.plan_.inputs == usual_inputs(*made.X.shape, int((few != -1).sum()))


def test_what_is_kept_and_what_is_worked_out_at_once_say_the_same(data, monkeypatch):
    made, y = data
    settings = {"feature_weight": 2.0, "label_weight": 2.0, "random_state": 0}
    kept = AltOpt(**settings).fit(made.X, y, graph=made.graph)
    monkeypatch.setattr("altopt.judging.KEPT", 1)
    at_once = AltOpt(**settings).fit(made.X, y, graph=made.graph)
    assert at_once.choice_ == kept.choice_
    assert_array_equal(at_once.leave_one_out_.scores, kept.leave_one_out_.scores)
    left_open = AltOpt(random_state=0).fit(made.X, y, graph=made.graph)
    assert not any("smoother" in entry["plan"] for entry in left_open.choice_["considered"])


def test_large_graphs_hold_labels_back_before_the_fit(data, monkeypatch):
    made, y = data
    whole = AltOpt(random_state=0, n_rounds=0).fit(made.X, y, graph=made.graph)
    order = []
    before, after = Judge.by_fold, AltOpt._alternate
    monkeypatch.setattr("altopt.judging.LARGE", 1)
    monkeypatch.setattr("altopt.judging.KEPT", 1)
    monkeypatch.setattr(Judge, "by_fold", lambda self, plan: order.append("held") or before(self, plan))
    monkeypatch.setattr(AltOpt, "_alternate", lambda self, *rest: order.append("fit") or after(self, *rest))
    large = AltOpt(random_state=0, n_rounds=0).fit(made.X, y, graph=made.graph)
    assert order[:2] == ["held", "fit"]
    assert large.choice_["considered"] == []
    assert abs(large.leave_one_out_.accuracy - whole.leave_one_out_.accuracy) < 0.1
