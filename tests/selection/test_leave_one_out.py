"""Labels held back: exact for F, honest for the encoder, and what follows from it."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from altopt import AltOpt, InputError
from altopt.datasets import communities
from altopt.defaults import DEFAULTS
from altopt.encoders import LinearEncoder
from altopt.graph import Graph
from altopt.inputs import ReducedInputs
from altopt.operator import NormalizedAdjacency
from altopt.selection.candidates import BOOSTED, Candidate, alternatives, default_inputs, reweighted
from altopt.selection.cross_fit import CrossFitter, assemble_folds
from altopt.selection.evaluation import Evaluator
from altopt.selection.fit_data import FitData
from altopt.selection.folds import stratified_folds
from altopt.selection.leave_one_out import (
    exact_sample,
    log_support,
    margins,
    series_diagonal,
    without_own_label,
)
from altopt.solvers import ChebyshevSteps, Direct
from altopt.training.alternate import Schedule, Solvers
from altopt.training.pseudo_labels import ClassBalanced
from altopt.views import GraphView, NoGraphView, SquaredLaplacianView

N, CLASSES = 240, 3
EXACT = Solvers(Direct(), Direct())
SCHEDULE = Schedule(20, 2, 20, 0)


@pytest.fixture(scope="module")
def data():
    made = communities(N, CLASSES, mean_degree=6, signal=0.2, seed=1)
    y = np.full(N, -1)
    for k in range(CLASSES):
        y[np.flatnonzero(made.y == k)[:8]] = k
    return made, y


def fit_data(data, y=None, defaults=DEFAULTS):
    made, given = data
    y = given if y is None else y
    graph = made.graph if isinstance(made.graph, Graph) else Graph(made.graph)
    return FitData(
        graph=graph,
        A_tilde=NormalizedAdjacency(graph.adjacency),
        X=made.X,
        codes=y,
        n_classes=CLASSES,
        dtype=np.dtype(float),
        restart=0.1,
        n_diffusion=10,
        seed=0,
        defaults=defaults,
    )


def candidate_of(view=GraphView, lambda1=0.7, lambda2=1.5):
    return Candidate("usual", ReducedInputs(16), LinearEncoder(), lambda1, lambda2, graph_view=view)


def fitter_of(data, fold=None, solvers=EXACT):
    fold = stratified_folds(data.codes, 0, n_folds=5) if fold is None else fold
    return CrossFitter(data, np.flatnonzero(data.labelled), fold, solvers, ClassBalanced(), SCHEDULE)


@pytest.mark.parametrize("view", [GraphView, SquaredLaplacianView, NoGraphView])
def test_a_label_taken_out_is_a_solve_without_it(data, view):
    data, candidate = fit_data(data), candidate_of(view)
    fitter = fitter_of(data)
    nodes = fitter.nodes
    P = np.random.default_rng(0).dirichlet(np.ones(CLASSES), N)
    F = Direct().solve(data.problem(candidate).objective(P, np.ones(N)), P).F
    g = fitter.inverse_diagonal(candidate, np.ones(len(nodes), dtype=bool))
    without = without_own_label(F[nodes], data.Y(nodes), g, candidate.label_weight)
    for row, node in enumerate(nodes):
        others = data.labelled.copy()
        others[node] = False
        refit = Direct().solve(data.problem(candidate, others).objective(P, np.ones(N)), P).F
        assert_allclose(without[row], refit[node], atol=1e-6)


@pytest.mark.parametrize("lambda1", [0.1, 2.0, 300.0])
def test_the_series_of_the_inverse_diagonal_knows_its_error(data, lambda1):
    data, candidate = fit_data(data), candidate_of(lambda1=lambda1, lambda2=2.0)
    fitter = fitter_of(data)
    nodes = fitter.nodes
    every = np.ones(len(nodes), dtype=bool)
    objective = data.problem(candidate).objective(np.zeros((N, CLASSES)), None)
    exact = np.diag(np.linalg.inv(objective.half_hessian().toarray()))[nodes]
    g, error = series_diagonal(objective, nodes, N)
    assert np.all(g <= exact * (1 + 1e-12))  # walks that are left out only add
    assert np.all(exact <= g + error / objective.system(N).diagonal[nodes] + 1e-12)
    found = fitter.inverse_diagonal(candidate, every)
    assert_allclose(found, exact, rtol=1e-6 if lambda1 < 300 else 1e-3)
    sample = every.copy()
    sample[::3] = False
    mixed = fitter.inverse_diagonal(candidate, sample)
    assert_allclose(mixed[sample], found[sample], rtol=1e-6)
    assert_array_equal(mixed[~sample], g[~sample])


def test_what_is_said_of_a_node_does_not_depend_on_its_label(data):
    _, y = data
    fold = np.where(y >= 0, np.arange(N) % 4, -1)
    node = np.flatnonzero(y >= 0)[5]
    other = y.copy()
    other[node] = (y[node] + 1) % CLASSES
    solvers = Solvers(ChebyshevSteps(rtol=1e-8), ChebyshevSteps(rtol=1e-10))
    scores = []
    for given in (y, other):
        of_fit, candidate = fit_data(data, given), candidate_of()
        fitter = fitter_of(of_fit, fold, solvers)
        nodes = fitter.nodes
        folds = list(fitter.folds(candidate))
        by_fold = assemble_folds(folds, [fold.F for fold in folds])
        rows = [fitter.scores_with_all_labels(candidate, fold) for fold in folds]
        g = fitter.inverse_diagonal(candidate, np.ones(len(nodes), dtype=bool))
        own = without_own_label(assemble_folds(folds, rows), of_fit.Y(nodes), g, candidate.label_weight)
        scores.append((by_fold[nodes == node], own[nodes == node]))
    assert_allclose(scores[0][0], scores[1][0], atol=1e-10)
    assert_allclose(scores[0][1], scores[1][1], atol=1e-6)


def test_other_weights_are_evaluated_with_the_same_P(data):
    data, candidate = fit_data(data), candidate_of()
    fitter = fitter_of(data)
    fold = fitter.of_fold(candidate, 0)
    assert_allclose(fitter.scores_with_weights(candidate, fold), fold.F, atol=1e-8)
    for other in reweighted(candidate):
        L = np.eye(N) - data.A_tilde.as_dense()
        H = other.feature_weight * np.eye(N) + L + other.label_weight * np.diag(fold.training.astype(float))
        rhs = other.feature_weight * fold.P
        rhs[fold.training] += other.label_weight * data.Y(fold.training)
        F = fitter.scores_with_weights(other, fold)
        assert_allclose(F, np.linalg.solve(H, rhs)[fitter.nodes[fold.held_out]], atol=1e-8)


def test_the_weights_chosen_are_the_weights_fitted(data):
    made, y = data
    named = AltOpt(feature_weight=2.0, random_state=0).fit(made.X, y, graph=made.graph)
    assert not any("smoother" in entry["plan"] for entry in named.choice_["considered"])
    lenient = replace(DEFAULTS, min_z=0.0, usual_lead=0.0)  # the lowest error wins
    model = AltOpt(random_state=0, defaults=lenient).fit(made.X, y, graph=made.graph)
    best = min(model.choice_["considered"], key=lambda entry: entry["error"])
    assert model.choice_["plan"] == model.plan_.name == best["plan"]
    lambda1, lambda2 = model.plan_.feature_weight, model.plan_.label_weight
    assert (lambda1, lambda2) != (2.0, 2.0), "no other weights are best on this graph: choose another seed"
    A_tilde = NormalizedAdjacency(model.graph_.adjacency).as_dense()
    H = (1 + lambda1) * np.eye(N) - A_tilde + lambda2 * np.diag(model.labelled_.astype(float))
    rhs = lambda1 * model.encoder_output_
    rhs[model.labelled_] += lambda2 * model.Y_
    assert_allclose(model.scores_, np.linalg.solve(H, rhs), atol=1e-4)
    assert np.isfinite(model.leave_one_out_.accuracy)


def test_folds_share_out_every_class(data):
    _, y = data
    fold = stratified_folds(y, seed=0, n_folds=5)
    assert_array_equal(fold >= 0, y >= 0)
    for k in range(CLASSES):
        counts = np.bincount(fold[y == k], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert_array_equal(fold, stratified_folds(y, seed=0, n_folds=5))


def test_a_sample_is_seeded_and_of_the_size_promised():
    key = np.random.default_rng(0).normal(size=5000)
    assert exact_sample(key[:500], 1000, 0).all()
    mask = exact_sample(key, 10_000, 0)
    assert mask.sum() == 2000
    assert_array_equal(mask, exact_sample(key, 10_000, 0))
    assert exact_sample(key, 2_000_000, 0).sum() == 200
    assert exact_sample(key, 10_000, 0, replace(DEFAULTS, exact_labels=300)).sum() == 300


@pytest.mark.parametrize(
    ("n_labels", "trees"), [(90, set()), (300, {"forest", BOOSTED}), (2000, {"boosted trees", BOOSTED})]
)
def test_trees_need_labels(data, n_labels, trees):
    candidates = {
        other.name: other for other in alternatives(candidate_of(), fit_data(data).source, n_labels, CLASSES)
    }
    assert {"forest", "boosted trees", BOOSTED} & set(candidates) == trees
    assert [name for name, other in candidates.items() if not other.unsmoothed] == [
        "features alone",
        "graph alone",
        "features and spectral embedding",
        "spectral embedding",
    ]


# as users meet it


def test_leave_one_out_of_a_fit(data):
    made, y = data
    model = AltOpt(random_state=0).fit(made.X, y, graph=made.graph)
    result = model.leave_one_out_
    assert_array_equal(np.sort(result.nodes), np.flatnonzero(y >= 0))
    assert_array_equal(result.given, y[result.nodes])
    assert_array_equal(result.predictions == result.given, result.margin > 0)
    assert result.interval[0] <= result.accuracy <= result.interval[1]
    truth = np.mean(model.transduction_[y < 0] == made.y[y < 0])
    assert result.interval[0] - 0.05 <= truth <= result.interval[1] + 0.05
    assert model.graph_help_.gain > 0
    assert set(model.graph_help_.per_class) == set(range(CLASSES))


def test_leave_one_out_of_a_fit_is_that_of_the_plan_it_chose(data):
    """Recomputed by an Evaluator of its own, for the plan of the model and for another."""
    made, y = data
    model = AltOpt(random_state=0).fit(made.X, y, graph=made.graph)
    of_fit = replace(fit_data(data), restart=model.restart_)
    rule, schedule = ClassBalanced(), Schedule(40, 5, 40, 0, 0.001)
    solvers = Solvers(ChebyshevSteps(rtol=1e-2), ChebyshevSteps(rtol=1e-6))
    evaluator = Evaluator(of_fit, solvers, rule, schedule)
    assert_allclose(evaluator.leave_one_out_scores(model.plan_), model.leave_one_out_.scores, atol=1e-6)
    other = reweighted(model.plan_)[0]
    assert np.abs(evaluator.leave_one_out_scores(other) - model.leave_one_out_.scores).max() > 1e-3


def test_flipped_labels_come_first(data):
    made, y = data
    rng = np.random.default_rng(0)
    flipped = rng.choice(np.flatnonzero(y >= 0), 4, replace=False)
    wrong = y.copy()
    wrong[flipped] = (wrong[flipped] + 1) % CLASSES
    model = AltOpt(random_state=0).fit(made.X, wrong, graph=made.graph)
    ranked = model.suspicious_labels(all=True)
    assert len(ranked) == np.sum(y >= 0)
    outvoted = model.suspicious_labels()
    assert outvoted == [row for row in ranked if row[1] != row[2]]
    assert 0 < len(outvoted) < len(ranked)
    assert [row[3] for row in ranked] == sorted(row[3] for row in ranked)
    node, given, suggested, margin = ranked[0]
    assert given == wrong[node]
    assert margin < 0
    assert suggested != given
    assert len({row[0] for row in ranked[:6]} & set(flipped.tolist())) >= 3


def test_what_is_often_taken_for_another_class_is_less_suspicious_than_what_nothing_speaks_for():
    shares = np.array([[0.40, 0.59, 0.01], [0.40, 0.58, 0.02], [0.01, 0.39, 0.60], [0.0, 1.0, 0.0]])
    codes = np.array([0, 0, 0, 1])
    assert margins(shares, codes).argmin() == 2
    assert log_support(shares, codes)[:3].round(1).tolist() == [0.4, 0.4, -3.2]


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


def test_large_graphs_are_cross_fitted_before_the_fit_on_two_folds(data):
    """The scores are those of a cross-fit of two folds without rounds, made when the candidate is chosen."""
    made, y = data
    small_limits = replace(DEFAULTS, large=1)
    model = AltOpt(random_state=0, n_rounds=0, defaults=small_limits).fit(made.X, y, graph=made.graph)
    assert model.choice_["considered"] == []
    assert "not compared" in model.choice_["reason"]
    assert model.graph_help_ is None

    of_fit = replace(fit_data(data, defaults=small_limits), restart=model.restart_)
    solvers = Solvers(ChebyshevSteps(rtol=1e-2), ChebyshevSteps(rtol=1e-6))
    evaluator = Evaluator(of_fit, solvers, ClassBalanced(), Schedule(40, 5, 40, 0, 0.001))
    assert set(evaluator.fitter.fold[y >= 0]) == {0, 1}
    assert evaluator.fitter.schedule.n_rounds == 0
    choice = evaluator.choose(model.plan_, [candidate_of()], tune_weights=True)
    assert choice.plan is model.plan_
    before = evaluator.cross_fit(model.plan_)  # made by choose
    assert all(len(fold.P) == 0 for fold in before.folds)
    assert evaluator.leave_one_out_scores(model.plan_) is before.leave_one_out
    assert_allclose(before.leave_one_out, model.leave_one_out_.scores, atol=1e-6)


def test_evaluation_fits_each_candidate_once(data):
    of_fit, candidate = fit_data(data), candidate_of()
    evaluator = Evaluator(of_fit, EXACT, ClassBalanced(), SCHEDULE)
    assert evaluator.held_out_scores(candidate) is evaluator.held_out_scores(candidate)
    namesake = replace(candidate, label_weight=9.0)
    assert np.abs(evaluator.held_out_scores(namesake) - evaluator.held_out_scores(candidate)).max() > 1e-3
