"""The laws of solvers: what a solver of your own must meet, checked in one call that says what is wrong."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from altopt.arrays import Array
from altopt.checks.require import require
from altopt.checks.toy import ToyProblem, toy_problem
from altopt.errors import InputError
from altopt.solvers import Solution, Solver, Steps
from altopt.threads import threads_for
from altopt.views import CrossEntropyLabelView, Objective, SoftmaxFeatureView, SquaredLaplacianView

NEAR = 0.1  # relative error of F below which it counts as solved, whatever the solver's own tolerance


class Case(NamedTuple):
    """A problem, and how its objective is made."""

    name: str
    problem: ToyProblem
    objective_of: Callable[[ToyProblem], Objective]


def check_solver(solver: Solver, rtol: float = 1e-6) -> None:
    """Check that a solver keeps the contract of `altopt.solvers.Solver`, on small random problems.

    - F given is left as it was, and the same start gives the same bits.
    - The objective is not raised, and the solution stays where it is.
    - `residual` and `error_bound` are true, the latter against the dense solution.
    - A solver that `converges` is near the dense solution where it says `converged`, and carries no `steps`. Any
      other carries the `steps` it made: replayed from the start they give F.
    - Renumbering the nodes renumbers F.
    - Views that are not quadratic are solved under the same laws, or refused with InputError.

    Parameters
    ----------
    solver : Solver
    rtol : float
        How far F may be from what it is compared with, relative to its norm. Raise it for a solver that keeps F in
        less than double precision.

    Raises
    ------
    InputError
        With one sentence that says which law is broken, and on which problem.

    Examples
    --------
    >>> from altopt.checks import check_solver
    >>> from altopt.solvers import ChebyshevSteps
    >>> check_solver(ChebyshevSteps(n_steps=5))
    """
    require(isinstance(solver, Solver), solver, "it is not a subclass of altopt.solvers.Solver")
    with threads_for(0, with_torch=False):  # on problems this small a second thread only waits
        for case in quadratic_cases():
            check_error(solver, case, check_solve(solver, case, rtol), rtol)
        case = case_not_quadratic()
        try:
            solver.solve(case.objective_of(case.problem), case.problem.F)
        except InputError:
            return
        check_solve(solver, case, rtol)


def quadratic_cases() -> list[Case]:
    plain = ToyProblem.objective
    return [
        Case("the Laplacian", toy_problem(), plain),
        Case("the squared Laplacian", toy_problem(seed=1), partial(plain, graph_view=SquaredLaplacianView)),
        Case("no edges", toy_problem(density=0.0), plain),
        Case("several components", toy_problem(density=0.06, seed=2), plain),
        Case("label weight 0", toy_problem(seed=3), partial(plain, label_weight=0.0)),
        Case("large label weight", toy_problem(seed=4), partial(plain, label_weight=10.0)),
    ]


def case_not_quadratic() -> Case:
    objective_of = partial(
        ToyProblem.objective, feature_view=SoftmaxFeatureView, label_view=CrossEntropyLabelView
    )
    return Case("views that are not quadratic", toy_problem(seed=5), objective_of)


def check_solve(solver: Solver, case: Case, rtol: float) -> Solution:
    """The laws that need no truth to compare with; the Solution."""
    name, problem, objective_of = case
    objective, F = objective_of(problem), problem.F
    start = F.copy()
    solution = solver.solve(objective, F)
    require((start == F).all(), solver, f"solve writes to the F it is given ({name})")
    finite = solution.F.shape == F.shape and np.isfinite(solution.F).all()
    require(finite, solver, f"F is not finite, n x c ({name})")
    require(solution.reason.endswith("."), solver, f"reason is not a sentence ({name})")
    again = solver.solve(objective_of(problem), F)
    same = np.array_equal(again.F, solution.F)
    require(same, solver, f"the same start gives another F ({name})")
    before, after = objective.value(F), objective.value(solution.F)
    raised = after > before + rtol * abs(before)
    require(not raised, solver, f"the objective rises from {before:.6g} to {after:.6g} ({name})")
    residual = float(np.linalg.norm(objective.residual(solution.F)))
    size = float(np.linalg.norm(objective.residual(np.zeros_like(F)))) + 1.0
    stated = solution.residual
    close = abs(residual - stated) <= rtol * max(residual, size)
    require(close, solver, f"residual is stated as {stated:.6g}, but is {residual:.6g} ({name})")
    check_steps(solver, objective, F, solution, rtol, name)
    order = np.random.default_rng(0).permutation(len(F))
    shuffled = problem.renumbered(order)
    renumbered = solver.solve(objective_of(shuffled), shuffled.F).F
    same = is_close(renumbered, solution.F[order], rtol)
    require(same, solver, f"renumbering the nodes changes F ({name})")
    return solution


def check_steps(
    solver: Solver, objective: Objective, F: Array, solution: Solution, rtol: float, name: str
) -> None:
    steps = solution.steps
    if solver.converges:
        require(steps is None, solver, f"it converges, and yet Solution.steps is given ({name})")
        return
    require(isinstance(steps, Steps), solver, f"it does not converge, and Solution.steps is missing ({name})")
    if steps is not None:
        fits = steps.scale.shape == (len(F),) and steps.coefficients.shape[1:] == (2,)
        require(fits, solver, f"Solution.steps is not n scales and k x 2 coefficients ({name})")
        same = is_close(steps.replay(objective, F), solution.F, rtol)
        require(same, solver, f"Solution.steps, replayed from the start, do not give F ({name})")


def check_error(solver: Solver, case: Case, solution: Solution, rtol: float) -> None:
    """The laws of quadratic views, against the dense solution."""
    objective = case.objective_of(case.problem)
    zero = np.zeros_like(case.problem.F)
    truth = np.linalg.solve(objective.half_hessian().toarray(), -objective.residual(zero))
    size = float(np.linalg.norm(truth))
    error = float(np.linalg.norm(solution.F - truth))
    bound = np.inf if solution.error_bound is None else solution.error_bound
    complaint = f"error_bound is {bound:.6g}, but the error is {error:.6g} ({case.name})"
    require(error <= bound + rtol * size, solver, complaint)
    if solver.converges and solution.converged:
        complaint = f"it says converged, but F is off by {error / size:.1%} ({case.name})"
        require(error <= NEAR * size, solver, complaint)
    stayed = is_close(solver.solve(objective, truth).F, truth, rtol)
    require(stayed, solver, f"started at the solution, it moves away ({case.name})")


def is_close(F: Array, expected: Array, rtol: float) -> bool:
    return bool(np.linalg.norm(F - expected) <= rtol * (1.0 + np.linalg.norm(expected)))
