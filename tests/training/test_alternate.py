"""The loop: what it keeps of the last update, which round it keeps, and which memory it releases."""

import ast
import gc
import weakref
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import altopt.training
from altopt import AltOpt
from altopt.encoders import LinearEncoder
from altopt.io import checkpoint
from altopt.operator import NormalizedAdjacency
from altopt.solvers import ChebyshevSteps, ConjugateGradient, GradientSteps, JacobiSteps
from altopt.training.alternate import Problem, Schedule, Solvers, alternate, warm_up
from altopt.training.pseudo_labels import ClassBalanced, TopPerClass
from altopt.views import FeatureView, GraphView, LabelView, Objective
from problems import two_communities

FIXED = Solvers(GradientSteps(3), JacobiSteps(5))
SCHEDULE = Schedule(5, 3, 5, 0)
CONVERGING = Solvers(ChebyshevSteps(rtol=1e-2), ConjugateGradient(rtol=1e-8))


def problem_of(validation=None):
    X, y, _, A = two_communities(n=150)
    A_tilde = NormalizedAdjacency(A)
    labelled = y >= 0
    Y = np.eye(2)[y[labelled]]

    def objective(P, w):
        return Objective((FeatureView(P, 0.5), GraphView(A_tilde), LabelView(Y, labelled, 2.0)))

    return Problem(
        rows=X,
        Y=Y,
        labelled=labelled,
        dtype=np.dtype(float),
        objective=objective,
        validation=validation,
    )


def run(problem, solvers, rule=None, schedule=SCHEDULE, on_round=lambda state: None):
    learner = LinearEncoder().begin(problem.rows.shape[1], 2, 0)
    state = warm_up(problem, learner, schedule)
    return alternate(problem, state, solvers, rule or TopPerClass(10), schedule, on_round)


def test_the_last_steps_from_the_last_start_give_F():
    problem = problem_of()
    outcome = run(problem, FIXED)
    objective = problem.objective(outcome.P, None)
    assert len(outcome.steps.coefficients) == 5
    assert_allclose(outcome.steps.replay(objective, outcome.start), outcome.F, atol=1e-12)


def test_a_loop_that_stops_early_keeps_the_start_of_its_last_update():
    """The rough F of the last round is where the last solver started, not where the round did."""
    problem = problem_of()
    outcome = run(problem, FIXED, ClassBalanced(), Schedule(5, 50, 5, 0, stop_when_changed_below=1.0))
    assert outcome.reason.startswith("Stopped after 1 rounds")
    objective = problem.objective(outcome.P, None)
    assert len(outcome.steps.coefficients) == 5
    assert_allclose(outcome.steps.replay(objective, outcome.start), outcome.F, atol=1e-12)


def test_a_solver_that_converges_leaves_no_start():
    outcome = run(problem_of(), CONVERGING)
    assert outcome.start is None
    assert outcome.steps is None


def test_the_best_round_keeps_its_own_start_and_steps():
    """Also through a checkpoint. Validation labels are what the first round predicts, so that it is the best."""
    first = []
    run(problem_of(), FIXED, on_round=lambda state: first.append(state.F.argmax(axis=1)))
    problem = problem_of(validation=(np.arange(150), first[0]))

    stored = {}

    def store(state):
        if state.n_done == 2:
            stored.update({name: array.copy() for name, array in checkpoint.to_arrays(state).items()})

    outcome = run(problem, FIXED, on_round=store)
    assert "Kept round 0, the best on the validation labels (100.00%)" in outcome.reason
    assert len(outcome.steps.coefficients) == 3  # the rounds' solver, not the last one's
    learner = LinearEncoder().begin(problem.rows.shape[1], 2, 0)
    state = checkpoint.from_arrays(stored, learner)
    resumed = alternate(problem, state, FIXED, TopPerClass(10), SCHEDULE)
    assert_array_equal(resumed.F, outcome.F)
    assert_array_equal(resumed.start, outcome.start)
    assert_array_equal(resumed.steps.coefficients, outcome.steps.coefficients)
    assert_allclose(
        resumed.steps.replay(problem.objective(resumed.P, None), resumed.start), resumed.F, atol=1e-12
    )


@pytest.mark.parametrize("solvers", [FIXED, CONVERGING], ids=["fixed", "converging"])
@pytest.mark.parametrize("rule", [TopPerClass(10), ClassBalanced()], ids=lambda rule: type(rule).__name__)
def test_while_the_encoder_trains_one_F_and_no_P_is_held(solvers, rule):
    """Each solver's F and each P is watched; what a round no longer needs must be gone when training starts."""
    problem = problem_of()
    references, held = [], []

    def watched(array):
        references.append(weakref.ref(array))
        return array

    class Solver(type(solvers.rounds)):
        def solve(self, objective, F):
            solution = super().solve(objective, F)
            watched(solution.F)
            return solution

    class Learner:
        def __init__(self):
            self.inner = LinearEncoder().begin(problem.rows.shape[1], 2, 0)

        def train(self, X, targets, weights, n_epochs):
            gc.collect()
            held.append(sum(reference() is not None for reference in references))
            return self.inner.train(X, np.asarray(targets), weights, n_epochs)

        def predict(self, X):
            return watched(self.inner.predict(X))

    state = warm_up(problem, Learner(), SCHEDULE)
    solver = Solver(3) if not solvers.rounds.converges else Solver(rtol=1e-2)
    alternate(problem, state, Solvers(solver, solver), rule, SCHEDULE)
    assert held == [0, 1, 1, 1]  # in the warm-up nothing, then F alone


def test_training_imports_nothing_of_the_rooms_after_it():
    folder = Path(altopt.training.__file__).parent
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            assert not (module or "").startswith(("altopt.selection", "altopt.fitted", "altopt.io")), path


def test_a_fit_with_fixed_steps_hands_them_on():
    X, y, _, A = two_communities(n=150)
    model = AltOpt.paper(n_rounds=2, total_epochs=10, n_steps=4, random_state=0).fit(X, y, graph=A)
    assert len(model.fitted_.steps.coefficients) == 4
    assert model.fitted_.start.shape == model.scores_.shape
