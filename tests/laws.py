"""The laws every view, solver and encoder meets: one line in a table, and all of them apply."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import altopt.solvers
import altopt.views
from altopt import AltOpt, InputError
from altopt.checks import (
    check_encoder,
    check_feature_view,
    check_graph_view,
    check_inputs,
    check_label_view,
    check_solver,
)
from altopt.encoders import Encoder, Learner
from altopt.inputs import RawInputs
from altopt.solvers import ChebyshevSteps, ConjugateGradient, Direct, GradientSteps, JacobiSteps, Solver
from altopt.views import (
    Contrast,
    ContrastiveView,
    CrossEntropyFeatureView,
    CrossEntropyLabelView,
    FeatureView,
    GraphView,
    HighPassView,
    HuberLabelView,
    LabelView,
    LocallyLinearView,
    NoGraphView,
    RandomWalks,
    Reconstruction,
    RobustLabels,
    SharedNeighbours,
    SoftmaxFeatureView,
    SpectralFilter,
    SquaredLaplacianView,
    TwoHopView,
    View,
    ViewSettings,
)
from landmark_view import LandmarkView
from own_view import Triangles
from parts import ENCODERS, INPUTS
from problems import toy, two_communities

FEATURE_VIEWS = [FeatureView, CrossEntropyFeatureView, SoftmaxFeatureView, LandmarkView]

GRAPH_VIEWS = [
    GraphView,
    SquaredLaplacianView,
    SpectralFilter((0.1, 0.5, 0.0, 0.2)),
    SpectralFilter((0.0, 1.0), (1.0, 4.0)),
    HighPassView,
    TwoHopView,
    SharedNeighbours("out"),
    LocallyLinearView,
    Reconstruction(),
    RandomWalks(n_components=8, n_neighbors=4),
    ContrastiveView,
    Contrast(3.0),
    NoGraphView,
]
MORE_GRAPH_VIEWS = [
    SpectralFilter((0.1, 0.5, 0.0, 2.0)),
    SpectralFilter((0.0, 1.0, 0.2), (1.0, 4.0)),
    SharedNeighbours("in"),
    SharedNeighbours("both"),
    Triangles(0.5),
    RandomWalks(window=3, p=0.5, q=2.0, n_components=8, n_neighbors=4),
    Contrast(0.5),
]

LABEL_VIEWS = [LabelView, CrossEntropyLabelView, HuberLabelView, RobustLabels(0.9)]

SOLVERS = {
    "gradient": GradientSteps(n_steps=600),
    "Jacobi": JacobiSteps(n_steps=400),
    "Chebyshev": ChebyshevSteps(n_steps=120),
    "Chebyshev, to a tolerance": ChebyshevSteps(rtol=1e-9),
    "conjugate gradients": ConjugateGradient(rtol=1e-9),
    "direct": Direct(),
}
EXACT_TO = 1e-7

SHORT_SOLVERS = [
    GradientSteps(),
    JacobiSteps(n_steps=7),
    ChebyshevSteps(),
    ChebyshevSteps(n_steps=40, rtol=0.05),
    ChebyshevSteps(rtol=1e-9),
    ConjugateGradient(),
    Direct(),
]


def name_of(part):
    return part.__name__ if isinstance(part, type) else repr(part)


def is_concrete(part, *contracts):
    return isinstance(part, type) and issubclass(part, contracts) and not inspect.isabstract(part)


@pytest.fixture(params=SOLVERS)
def solver(request):
    return SOLVERS[request.param]


@pytest.fixture(params=ENCODERS)
def encoder(request):
    return ENCODERS[request.param]


# views


@pytest.mark.parametrize("choice", FEATURE_VIEWS, ids=name_of)
def test_a_feature_view_keeps_the_laws(choice):
    check_feature_view(choice)


@pytest.mark.parametrize("choice", GRAPH_VIEWS + MORE_GRAPH_VIEWS, ids=name_of)
def test_a_graph_view_keeps_the_laws(choice):
    check_graph_view(choice)


@pytest.mark.parametrize("choice", LABEL_VIEWS, ids=name_of)
def test_a_label_view_keeps_the_laws(choice):
    check_label_view(choice)


def test_every_view_of_the_package_is_held_to_the_laws():
    held = {name_of(choice).partition("(")[0] for choice in FEATURE_VIEWS + GRAPH_VIEWS + LABEL_VIEWS}
    offered = {name for name, part in vars(altopt.views).items() if is_concrete(part, View, ViewSettings)}
    assert offered <= held


@pytest.mark.parametrize("view", [SoftmaxFeatureView, CrossEntropyLabelView, HuberLabelView])
def test_a_view_that_is_not_quadratic_has_no_half_hessian(view):
    with pytest.raises(TypeError, match=f"{view.__name__} is not quadratic: half its Hessian changes with F"):
        view(np.eye(2), np.array([True, True])).half_hessian()


# solvers


@pytest.mark.parametrize("solver", SHORT_SOLVERS, ids=repr)
def test_a_solver_keeps_the_laws(solver):
    check_solver(solver)


def test_every_solver_of_the_package_is_held_to_the_laws():
    held = {type(solver).__name__ for solver in SHORT_SOLVERS}
    assert {name for name, part in vars(altopt.solvers).items() if is_concrete(part, Solver)} == held


def dense_solution(objective, shape):
    H = objective.half_hessian().toarray()
    return np.linalg.solve(H, -objective.residual(np.zeros(shape)))


@pytest.mark.parametrize("graph_view", GRAPH_VIEWS)
@pytest.mark.parametrize(("lambda1", "lambda2"), [(0.4, 1.5), (1.0, 10.0), (0.3, 0.0)])
def test_solver_agrees_with_the_dense_solution(solver, graph_view, lambda1, lambda2):
    problem = toy(seed=3)
    objective = problem.objective(lambda1, lambda2, graph_view=graph_view)
    solution = solver.solve(objective, problem.F)
    truth = dense_solution(objective, problem.F.shape)
    assert_allclose(solution.F, truth, atol=EXACT_TO)
    assert solution.residual == pytest.approx(np.linalg.norm(objective.residual(solution.F)))
    assert np.linalg.norm(solution.F - truth) <= solution.error_bound + 1e-12
    assert solution.reason.endswith(".")


def test_solver_works_without_edges_and_on_disconnected_components(solver):
    nothing = sp.csr_array((12, 12))
    problem = toy(n=12, n_labelled=4, adjacency=nothing)
    F = solver.solve(problem.objective(0.4, 1.5), problem.F).F
    M = problem.labelled[:, None]
    # F_i = (lambda1 P_i + lambda2 Y_i) / (1 + lambda1 + lambda2 M_ii)
    assert_allclose(F, (0.4 * problem.P + 1.5 * problem.Y) / (1.4 + 1.5 * M), atol=1e-9)

    pair = sp.block_diag([toy(seed=1).adjacency, toy(seed=2).adjacency], format="csr")
    both = toy(n=60, n_labelled=12, adjacency=sp.csr_array(pair))
    objective = both.objective()
    assert_allclose(solver.solve(objective, both.F).F, dense_solution(objective, both.F.shape), atol=EXACT_TO)


@pytest.mark.parametrize("name", ["Chebyshev", "conjugate gradients", "direct"])
def test_linear_solvers_refuse_views_that_are_not_quadratic(name):
    problem = toy()
    objective = problem.objective(feature_view=SoftmaxFeatureView, label_view=CrossEntropyLabelView)
    with pytest.raises(
        InputError, match="needs quadratic views, but SoftmaxFeatureView and CrossEntropyLabelView"
    ):
        SOLVERS[name].solve(objective, problem.F)


@pytest.mark.parametrize("name", ["conjugate gradients", "direct"])
def test_a_component_that_nothing_holds_is_refused(name):
    pair = sp.csr_array(sp.block_diag([toy(seed=1, isolated=False).adjacency] * 2, format="csr"))
    problem = toy(n=60, n_labelled=8, adjacency=pair)
    problem.labelled[:30] = False
    problem.Y[:30] = 0.0
    objective = problem.objective(feature_view=CrossEntropyFeatureView)
    with pytest.raises(InputError, match="no minimum"):
        SOLVERS[name].solve(objective, problem.F)


def test_chebyshev_says_what_it_needs():
    problem = toy()
    with pytest.raises(InputError, match="feature_weight > 0"):
        ChebyshevSteps().solve(problem.objective(feature_view=CrossEntropyFeatureView), problem.F)


def test_conjugate_gradients_say_when_they_run_out_of_steps():
    problem = toy()
    solution = ConjugateGradient(rtol=1e-12, max_steps=2).solve(problem.objective(), problem.F)
    assert not solution.converged
    assert "Raise max_steps" in solution.reason


# encoders and inputs


def test_encoder_keeps_the_contract(encoder):
    check_encoder(encoder)  # the laws as the package ships them


@pytest.mark.parametrize("name", INPUTS)
def test_inputs_keep_the_contract(name):
    check_inputs(INPUTS[name])


# every encoder and solver inside the estimator


class ConstantEncoder(Encoder, Learner):
    """Always answers 1 / c."""

    def begin(self, n_inputs, n_classes, seed):
        self.n_classes = n_classes
        return self

    def train(self, X, targets, weights, n_epochs):
        return 0.0

    def predict(self, X):
        return np.full((X.shape[0], self.n_classes), 1.0 / self.n_classes)

    def state(self):
        return {}

    def restore(self, state):
        pass


def accuracy_without_edges(encoder):
    """Classes differ in the features alone, so only the encoder can tell them apart; and the scores of the fit."""
    rng = np.random.default_rng(0)
    truth = np.arange(120) % 3
    X = rng.normal(size=(120, 8)) + 3.0 * np.eye(3, 8)[truth]
    y = np.where(np.arange(120) < 45, truth, -1)
    model = AltOpt(encoder=encoder, n_rounds=2, random_state=0).fit(X, y, graph=sp.csr_array((120, 120)))
    return np.mean(model.transduction_[45:] == truth[45:]), model.scores_


def test_estimator_works_with_every_encoder(encoder):
    accuracy, scores = accuracy_without_edges(encoder)
    assert accuracy > 0.85
    assert_array_equal(accuracy_without_edges(encoder)[1], scores)


def test_an_estimator_without_edges_needs_its_encoder():
    assert accuracy_without_edges(ConstantEncoder())[0] < 0.5


def test_estimator_works_with_every_solver(solver):
    scores = scores_with(solver)
    assert_allclose(scores, scores_with(Direct()), atol=1e-5)
    if not solver.converges:  # the comparison tells a solver from one that stops too soon
        assert np.abs(scores_with(replace(solver, n_steps=1)) - scores).max() > 1e-2


def scores_with(solver):
    X, y, _, A = two_communities()
    return AltOpt(solver=solver, n_rounds=2, random_state=0).fit(X, y, graph=A).scores_


def fitted_on_paths(solver, length=12):
    """Two paths, labelled at one end, and an encoder that says nothing: only a solver carries labels along them."""
    n = 2 * length
    truth = np.repeat([0, 1], length)
    y = np.full(n, -1)
    y[[0, length]] = 0, 1
    edges = [(k, k + 1) for k in range(n - 1) if k != length - 1]
    settings = {
        "encoder": ConstantEncoder(),
        "inputs": RawInputs(),
        "feature_weight": 0.05,
        "cross_fit": False,
    }
    model = AltOpt(solver=solver, random_state=0, **settings).fit(np.ones((n, 1)), y, graph=edges)
    return model, truth


def test_every_solver_carries_labels_along_paths(solver):
    model, truth = fitted_on_paths(solver)
    assert_array_equal(model.transduction_, truth)
    assert_allclose(model.scores_, fitted_on_paths(Direct())[0].scores_, atol=1e-6)


def test_an_encoder_that_says_nothing_needs_a_solver():
    model, truth = fitted_on_paths(GradientSteps(n_steps=1), length=20)
    assert np.mean(model.scores_.argmax(axis=1) == truth) < 0.75


def test_renumbering_nodes_renumbers_the_answer():
    X, y, _, A = two_communities()
    order = np.random.default_rng(3).permutation(len(y))
    model = AltOpt(random_state=0).fit(X, y, graph=A)
    shuffled = AltOpt(random_state=0).fit(X[order], y[order], graph=sp.csr_array(A[order][:, order]))
    assert_allclose(shuffled.scores_, model.scores_[order], atol=1e-3)
    assert_array_equal(shuffled.transduction_, model.transduction_[order])
