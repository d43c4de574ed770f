"""Fused passes against the views' own half gradients, certificates in every storage, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from altopt import AltOpt
from altopt.errors import InputError
from altopt.operator.kernels import dispatch
from altopt.solvers import ChebyshevSteps, ConjugateGradient, Direct, GradientSteps, JacobiSteps
from altopt.views import (
    CrossEntropyFeatureView,
    FeatureView,
    GraphView,
    LabelView,
    Objective,
    SquaredLaplacianView,
)
from problems import toy, two_communities

SOLVERS = [
    GradientSteps(7),
    JacobiSteps(7),
    ChebyshevSteps(7),
    ChebyshevSteps(rtol=1e-3),
    ConjugateGradient(1e-5),
]
SWITCHES = ["scipy", "torch"] if dispatch.COMPILED is None else ["native", "scipy", "torch"]


def objective(problem, lambda1=0.4, feature_view=FeatureView, graph_view=GraphView):
    labels = LabelView(problem.Y[problem.labelled], problem.labelled, 1.5)
    return Objective((feature_view(problem.P, lambda1), graph_view(problem.A_tilde), labels))


@pytest.mark.parametrize("n_classes", [4, 8])  # of 8 the answer takes the place of a native block
@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_a_fused_solve_is_the_views_own(solver, switch, n_classes, monkeypatch):
    monkeypatch.setenv("ALTOPT_KERNELS", switch)
    problem = toy(n=40, c=n_classes)
    fused = solver.solve(objective(problem), problem.F)
    monkeypatch.setattr(Objective, "system", lambda self, n_nodes: None)
    plain = solver.solve(objective(problem), problem.F)
    assert fused.kernel.startswith(switch)
    assert plain.kernel == "views"
    assert_allclose(fused.F, plain.F, atol=1e-10)
    assert_allclose(fused.residual, plain.residual, rtol=1e-6, atol=1e-9)
    assert_allclose(fused.error_bound, plain.error_bound, rtol=1e-6, atol=1e-9)
    assert (fused.n_products, fused.converged) == (plain.n_products, plain.converged)


def test_steps_on_the_cross_entropy_view_are_fused_too():
    problem = toy(n=40)
    views = objective(problem, feature_view=CrossEntropyFeatureView)
    fused = GradientSteps(6).solve(views, problem.F)
    F = problem.F
    for _ in range(6):
        F = F - views.residual(F) / views.curvature(40).step_scale.max()
    assert fused.kernel != "views"
    assert_allclose(fused.F, F, atol=1e-10)


def test_a_view_without_a_pull_is_solved_by_its_residual():
    problem = toy(n=40)
    assert (
        ConjugateGradient().solve(objective(problem, graph_view=SquaredLaplacianView), problem.F).kernel
        == "views"
    )


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_the_roughness_a_solver_comes_by_is_the_graph_views_distance(solver):
    problem = toy(n=40)
    views = objective(problem)
    solution = solver.solve(views, problem.F)
    assert solution.roughness == pytest.approx(GraphView(problem.A_tilde).distance(solution.F), rel=1e-9)
    parts = views.parts(solution.F, solution.roughness)
    assert parts == pytest.approx(views.parts(solution.F))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rtol", [1e-2, 1e-5, 1e-9])
@pytest.mark.parametrize("form", [ChebyshevSteps, ConjugateGradient])
def test_a_certificate_holds_in_every_precision(form, rtol, dtype):
    """float32 cannot hold 1e-9: then the solve goes on in float64, and the answer is rounded at the end."""
    problem = toy(n=60)
    views = objective(problem)
    truth = np.linalg.solve(views.half_hessian().toarray(), -views.residual(np.zeros_like(problem.F)))
    solution = form(rtol=rtol).solve(views, problem.F.astype(dtype))
    assert solution.converged
    assert solution.F.dtype == dtype
    assert np.linalg.norm(solution.F - truth) <= max(2 * rtol, 2 * np.finfo(dtype).eps) * np.linalg.norm(
        truth
    )


@pytest.mark.parametrize("solver", [GradientSteps, JacobiSteps, ChebyshevSteps])
def test_half_the_bytes_give_nearly_the_same(solver):
    problem = toy(n=60)
    views = objective(problem)
    half, double = (solver(n_steps=15, storage=s).solve(views, problem.F) for s in ("float16", "float64"))
    assert "float16" in half.kernel
    assert half.F.dtype == problem.F.dtype
    assert np.linalg.norm(half.F - double.F) < 3e-3 * np.linalg.norm(double.F)


@pytest.mark.parametrize("graph_view", [GraphView, SquaredLaplacianView])  # fused, and by the views
@pytest.mark.parametrize(
    ("solver", "fewest", "most"),
    [
        (GradientSteps(3), 3, 3),
        (JacobiSteps(0), 0, 0),
        (ChebyshevSteps(), 15, 15),
        (ChebyshevSteps(n_steps=7), 7, 7),
        (ChebyshevSteps(n_steps=40, rtol=0.05), 1, 20),
        (ChebyshevSteps(n_steps=2, rtol=1e-9), 2, 2),
    ],
    ids=repr,
)
def test_a_solution_carries_the_steps_that_were_made(solver, fewest, most, graph_view):
    problem = toy(n=40)
    views = objective(problem, graph_view=graph_view)
    solution = solver.solve(views, problem.F)
    assert not solver.converges
    assert fewest <= len(solution.steps.coefficients) <= most
    assert_allclose(solution.steps.replay(views, problem.F), solution.F, atol=1e-10)
    stopped_early = len(solution.steps.coefficients) < most
    # one product for each step, one for the step that is measured and dropped, one for the residual at the end
    assert solution.n_products == len(solution.steps.coefficients) + stopped_early + 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("solver", [ChebyshevSteps(rtol=1e-9), ConjugateGradient(1e-9), Direct()], ids=repr)
def test_a_solver_that_converges_carries_no_steps(solver, dtype):
    problem = toy(n=40)
    assert solver.converges
    assert solver.solve(objective(problem), problem.F.astype(dtype)).steps is None


@pytest.mark.parametrize("rtol", [1e-2, 1e-5])
def test_where_half_precision_is_too_coarse_the_solver_goes_on_in_that_of_F(rtol):
    problem = toy(n=60)
    views = objective(problem)
    exact = Direct().solve(views, problem.F).F
    solution = ChebyshevSteps(rtol=rtol, storage="float16").solve(views, problem.F.astype(np.float32))
    assert solution.converged
    assert solution.F.dtype == np.float32
    assert ("float16" in solution.kernel) == (rtol == 1e-2)
    assert np.linalg.norm(solution.F - exact) <= rtol * np.linalg.norm(exact)


def test_a_storage_nobody_knows_is_refused():
    problem = toy()
    with pytest.raises(
        InputError, match="storage must be one of float16, float32, float64 or None, but is 'int8'"
    ):
        ChebyshevSteps(storage="int8").solve(objective(problem), problem.F)


@pytest.mark.parametrize("value", ["chebyshev", ChebyshevSteps])
def test_what_is_no_solver_is_refused(value):
    X, y, _, A = two_communities()
    with pytest.raises(InputError, match="solver must be an instance of a subclass of altopt.solvers.Solver"):
        AltOpt(solver=value).fit(X, y, graph=A)


def test_an_ill_conditioned_system_ends_after_a_cap_and_says_so():
    problem = toy(n=40)
    views = Objective([FeatureView(problem.P, 1e-12), GraphView(problem.A_tilde)])
    solution = ChebyshevSteps(rtol=1e-12).solve(views, problem.F)
    assert not solution.converged
    assert solution.n_products <= 3001
    assert solution.reason.startswith("Stopped after 3000 steps before rtol=1e-12.")
    assert solution.error_bound == pytest.approx(solution.residual / 1e-12)


def test_a_missed_tolerance_stands_in_the_outcome_of_a_fit():
    X, y, _, A = two_communities()
    model = AltOpt(solver=ConjugateGradient(rtol=1e-6, max_steps=1), cross_fit=False).fit(X, y, graph=A)
    assert model.outcome_.endswith(
        "F: Stopped at max_steps=1 before rtol=1e-06. Raise max_steps or feature_weight."
    )


@pytest.mark.parametrize("rtol", [0, -1.0, np.nan, np.inf, True, "fine"])
@pytest.mark.parametrize("solver", [ChebyshevSteps, ConjugateGradient])
def test_a_tolerance_that_is_none_is_refused(solver, rtol):
    with pytest.raises(InputError, match="rtol must be a number above 0"):
        solver(rtol=rtol)


@pytest.mark.parametrize("n_steps", [-1, 2.5, True, "ten"])
@pytest.mark.parametrize("solver", [ChebyshevSteps, JacobiSteps, GradientSteps])
def test_steps_that_are_no_count_are_refused(solver, n_steps):
    with pytest.raises(InputError, match="n_steps must be a whole number from 0 on"):
        solver(n_steps=n_steps)
