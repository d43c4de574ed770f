"""Sections 3.2 and appendices A, C: the update equations, the steps that are safe, and the gradients."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from altopt.arrays import certainty, softmax
from altopt.solvers import ChebyshevSteps, ConjugateGradient, Direct, GradientSteps, JacobiSteps
from altopt.views import (
    CrossEntropyFeatureView,
    CrossEntropyLabelView,
    SoftmaxFeatureView,
    SquaredLaplacianView,
)
from problems import toy

LAMBDAS = [(0.1, 1.0), (0.5, 5.0), (1.0, 10.0)]


@pytest.fixture(params=range(3))
def problem(request):
    return toy(seed=request.param)


def test_the_three_views_make_the_papers_objective(problem):
    """Eq. 3: lambda1 ||P - F||^2 + tr(F' L F) + lambda2 ||F_L - Y_L||^2, in the paper's own matrix form."""
    L = np.eye(30) - problem.A_tilde.as_dense()
    F, labelled = problem.F, problem.labelled
    expected = (
        0.4 * np.linalg.norm(problem.P - F) ** 2
        + np.trace(F.T @ L @ F)
        + 1.5 * np.linalg.norm(F[labelled] - problem.Y[labelled]) ** 2
    )
    assert problem.objective(0.4, 1.5).value(F) == pytest.approx(expected)


def test_smoothness_is_a_sum_over_edges(problem):
    """tr(F' L F) = sum over edges of a_ij ||F_i / sqrt(d_i) - F_j / sqrt(d_j)||^2, plus ||F_i||^2 where d_i = 0."""
    A = problem.adjacency.toarray()
    d = A.sum(axis=1)
    G = problem.F / np.sqrt(np.where(d > 0, d, 1.0))[:, None]
    distances = ((G[:, None, :] - G[None, :, :]) ** 2).sum(axis=2)
    expected = (A * distances).sum() / 2 + (problem.F[d == 0] ** 2).sum()
    (graph,) = [view for view in problem.objective().views if view.name == "graph"]
    assert graph.distance(problem.F) == pytest.approx(expected)


@pytest.mark.parametrize(("lambda1", "lambda2"), LAMBDAS)
def test_one_step_scale_for_all_rows_is_the_papers_update(problem, lambda1, lambda2):
    """Eqs. 4-5; unlabelled rows keep lambda2 F^k_U."""
    kept = np.where(problem.labelled[:, None], problem.Y, problem.F)
    expected = (problem.A_tilde.as_dense() @ problem.F + lambda1 * problem.P + lambda2 * kept) / (
        lambda1 + lambda2 + 1
    )
    step = GradientSteps(n_steps=1).solve(problem.objective(lambda1, lambda2), problem.F)
    assert_allclose(step.F, expected, atol=1e-13)


@pytest.mark.parametrize(("lambda1", "lambda2"), LAMBDAS)
def test_pace_per_row_is_the_released_codes_update(problem, lambda1, lambda2):
    """Each row divided by its own diagonal: 1 + lambda1 (+ lambda2 where labelled)."""
    M = problem.labelled[:, None]
    numerator = problem.A_tilde.as_dense() @ problem.F + lambda1 * problem.P + lambda2 * M * problem.Y
    step = JacobiSteps(n_steps=1).solve(problem.objective(lambda1, lambda2), problem.F)
    assert_allclose(step.F, numerator / (1 + lambda1 + lambda2 * M), atol=1e-13)


@pytest.mark.parametrize(("lambda1", "lambda2"), LAMBDAS)
def test_labelled_and_unlabelled_step_sizes_before_they_are_set_equal(problem, lambda1, lambda2):
    """The display before Eq. 4, with any eta: F - eta * gradient, gradient = 2 * residual."""
    eta = 0.03
    AF = problem.A_tilde.as_dense() @ problem.F
    M = problem.labelled[:, None]
    expected = (
        2 * eta * (AF + lambda1 * problem.P + lambda2 * M * problem.Y)
        + (1 - 2 * eta * (lambda1 + lambda2 * M + 1)) * problem.F
    )
    moved = problem.F - eta * 2 * problem.objective(lambda1, lambda2).residual(problem.F)
    assert_allclose(moved, expected, atol=1e-13)


@pytest.mark.parametrize(("lambda1", "lambda2"), LAMBDAS)
@pytest.mark.parametrize(
    "views",
    [
        {},
        {"graph_view": SquaredLaplacianView},
        {"feature_view": CrossEntropyFeatureView},
        {"feature_view": SoftmaxFeatureView, "label_view": CrossEntropyLabelView},
    ],
    ids=["mse", "H", "ce", "N"],
)
@pytest.mark.parametrize("steps", [GradientSteps, JacobiSteps])
def test_a_step_never_raises_the_objective(problem, lambda1, lambda2, views, steps):
    objective = problem.objective(lambda1, lambda2, **views)
    F, value = problem.F, objective.value(problem.F)
    for _ in range(40):
        F = steps(n_steps=1).solve(objective, F).F
        now = objective.value(F)
        assert now <= value + 1e-9 * abs(value)
        value = now


def test_the_plain_step_can_raise_the_objective_of_H():
    """With lambda1 + lambda2 < 2 the step of Eqs. 4-5 is too long for the squared Laplacian; ours is not."""
    problem = toy(adjacency=bipartite(), n=10, n_labelled=2)
    objective = problem.objective(0.1, 0.1, graph_view=SquaredLaplacianView)
    rough = np.linalg.eigh(problem.A_tilde.as_dense())[1][:, :1] * np.ones((1, 4))  # eigenvalue -1 of A_tilde
    too_far = rough - objective.residual(rough) / (0.1 + 0.1 + 1)
    safe = GradientSteps(n_steps=1).solve(objective, rough).F
    assert objective.value(too_far) > objective.value(rough) > objective.value(safe)
    assert_allclose(safe, rough - objective.residual(rough) / (0.1 + 0.1 + 2), atol=1e-13)


def bipartite():
    import scipy.sparse as sp

    half = np.ones((5, 5))
    return sp.csr_array(np.block([[np.zeros((5, 5)), half], [half, np.zeros((5, 5))]]))


@pytest.mark.parametrize(("lambda1", "lambda2"), LAMBDAS)
def test_cross_entropy_update_of_appendix_A(problem, lambda1, lambda2):
    kept = np.where(problem.labelled[:, None], problem.Y, problem.F)
    AF = problem.A_tilde.as_dense() @ problem.F
    expected = (lambda1 / 2 * np.log(problem.P) + AF + lambda2 * kept) / (1 + lambda2)
    objective = problem.objective(lambda1, lambda2, feature_view=CrossEntropyFeatureView)
    assert_allclose(GradientSteps(n_steps=1).solve(objective, problem.F).F, expected, atol=1e-12)


@pytest.mark.parametrize(("lambda1", "lambda2"), LAMBDAS)
def test_gradient_of_appendix_C(problem, lambda1, lambda2):
    """lambda1 W (S(F) - P) + 2 L F + lambda2 (S(F) - Y), the last on labelled rows only; step 1/(2(l1+l2+1))."""
    w = certainty(softmax(problem.F))
    L = np.eye(30) - problem.A_tilde.as_dense()
    S, M = softmax(problem.F), problem.labelled[:, None]
    gradient = lambda1 * w[:, None] * (S - problem.P) + 2 * L @ problem.F + lambda2 * M * (S - problem.Y)
    objective = problem.objective(
        lambda1,
        lambda2,
        feature_view=lambda P, weight: SoftmaxFeatureView(P, weight, w),
        label_view=CrossEntropyLabelView,
    )
    assert_allclose(2 * objective.residual(problem.F), gradient, atol=1e-12)
    step = GradientSteps(n_steps=1).solve(objective, problem.F)
    assert_allclose(step.F, problem.F - gradient / (2 * (lambda1 + lambda2 + 1)), atol=1e-12)


@pytest.mark.parametrize(("lambda1", "lambda2"), LAMBDAS)
def test_the_spectrum_of_H_is_where_the_method_says(problem, lambda1, lambda2):
    """lambda1 I <= H <= (2 + lambda1 + lambda2) I, with H = (1 + lambda1) I + lambda2 M - A_tilde."""
    H = problem.objective(lambda1, lambda2).half_hessian().toarray()
    A = problem.A_tilde.as_dense()
    assert_allclose(H, (1 + lambda1) * np.eye(30) + lambda2 * np.diag(problem.labelled) - A, atol=1e-14)
    spectrum = np.linalg.eigvalsh(H)
    assert lambda1 - 1e-12 <= spectrum[0]
    assert spectrum[-1] <= 2 + lambda1 + lambda2 + 1e-12


@pytest.mark.parametrize("graph_view", [None, SquaredLaplacianView])
@pytest.mark.parametrize(
    "solver", [GradientSteps(3), JacobiSteps(3), ChebyshevSteps(3), ConjugateGradient(max_steps=3)]
)
def test_the_certified_error_holds_wherever_a_solver_stops(problem, graph_view, solver):
    """||F - F*|| <= ||r|| / lambda1."""
    views = {} if graph_view is None else {"graph_view": graph_view}
    objective = problem.objective(0.2, 3.0, **views)
    truth = Direct().solve(objective, problem.F).F
    solution = solver.solve(objective, problem.F)
    assert np.linalg.norm(solution.F - truth) <= solution.error_bound
    assert solution.error_bound == pytest.approx(solution.residual / 0.2)


def test_cross_entropy_has_no_certificate(problem):
    objective = problem.objective(feature_view=CrossEntropyFeatureView)
    assert GradientSteps(5).solve(objective, problem.F).error_bound is None


def test_conjugate_gradients_stop_as_soon_as_the_tolerance_is_certain(problem):
    objective = problem.objective(0.3, 2.0)
    truth = Direct().solve(objective, problem.F).F
    for rtol in (1e-2, 1e-4, 1e-6):
        solution = ConjugateGradient(rtol=rtol).solve(objective, problem.F)
        assert np.linalg.norm(solution.F - truth) <= rtol * np.linalg.norm(truth)
        assert solution.converged


def test_faster_solvers_need_fewer_products():
    """Method: Chebyshev and CG need a fraction of the paper's steps for the same error."""
    problem = toy(n=200, n_labelled=20, seed=9)
    objective = problem.objective(0.1, 1.0)
    truth = Direct().solve(objective, problem.F).F

    def steps_to(make, target=1e-3):
        for n in range(1, 400):
            error = np.linalg.norm(make(n).solve(objective, np.zeros_like(truth)).F - truth)
            if error <= target * np.linalg.norm(truth):
                return n
        raise AssertionError("did not get there")

    gradient, jacobi = steps_to(GradientSteps), steps_to(JacobiSteps)
    chebyshev = steps_to(ChebyshevSteps)
    conjugate = steps_to(lambda n: ConjugateGradient(rtol=1e-300, max_steps=n))
    assert chebyshev < jacobi < gradient
    assert conjugate < jacobi
