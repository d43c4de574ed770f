"""The laws of solvers: they pass what is right, and name what is wrong."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from altopt.checks import check_solver
from altopt.errors import InputError
from altopt.solvers import (
    ChebyshevSteps,
    ConjugateGradient,
    Direct,
    GradientSteps,
    JacobiSteps,
    Solver,
    Steps,
)


@pytest.mark.parametrize(
    "solver",
    [
        GradientSteps(3),
        JacobiSteps(0),
        ChebyshevSteps(),
        ChebyshevSteps(n_steps=40, rtol=0.05),
        ChebyshevSteps(rtol=1e-2),
        ConjugateGradient(rtol=1e-2),
        ConjugateGradient(rtol=1e-12, max_steps=2),
        Direct(),
    ],
    ids=repr,
)
def test_a_right_solver_passes(solver):
    check_solver(solver)


@pytest.mark.parametrize("storage", ["float16", "float32"])
def test_a_solver_in_less_than_double_precision_passes_at_its_own_tolerance(storage):
    check_solver(ChebyshevSteps(n_steps=6, storage=storage), rtol=1e-2)
    with pytest.raises(InputError, match="ChebyshevSteps: "):
        check_solver(ChebyshevSteps(n_steps=6, storage=storage), rtol=1e-12)


@dataclass(frozen=True)
class Sound(Solver):
    """Right; each of those below breaks one promise."""

    inner: Solver = field(default_factory=lambda: JacobiSteps(4))

    @property
    def converges(self):
        return self.inner.converges

    def solve(self, objective, F):
        return self.changed(self.inner.solve(objective, F), objective, F)

    def changed(self, solution, objective, F):
        return solution


@dataclass(frozen=True)
class SoundConverging(Sound):
    inner: Solver = field(default_factory=lambda: ConjugateGradient(1e-8))


class Boundless(Sound):
    """A solver need not know a bound on its error."""

    def changed(self, solution, objective, F):
        return replace(solution, error_bound=None)


@pytest.mark.parametrize("solver", [Sound(), SoundConverging(), Boundless()])
def test_the_sound_ones_pass(solver):
    check_solver(solver)


class Meddler(Sound):
    def changed(self, solution, objective, F):
        F *= 1.0001
        return solution


class NotFinite(Sound):
    def changed(self, solution, objective, F):
        return replace(solution, F=np.full_like(F, np.nan))


class WrongShape(Sound):
    def changed(self, solution, objective, F):
        return replace(solution, F=solution.F[:, :1])


class Wordless(Sound):
    def changed(self, solution, objective, F):
        return replace(solution, reason="")


class Whimsical(Sound):
    calls = [0]  # noqa: RUF012

    def changed(self, solution, objective, F):
        self.calls[0] += 1
        return replace(solution, F=solution.F + 1e-12 * self.calls[0])


class Uphill(Sound):
    def changed(self, solution, objective, F):
        return replace(solution, F=2 * F - solution.F)


class TooGood(Sound):
    def changed(self, solution, objective, F):
        return replace(solution, residual=0.9 * solution.residual)


class TooSure(Sound):
    def changed(self, solution, objective, F):
        bound = solution.error_bound
        return replace(solution, error_bound=None if bound is None else 0.1 * bound)


class Forgetful(Sound):
    def changed(self, solution, objective, F):
        return replace(solution, steps=None)


class OneStepTooMany(Sound):
    def changed(self, solution, objective, F):
        steps = solution.steps
        return replace(solution, steps=Steps.of(steps.scale, [*steps.coefficients, (1.0, 0.0)]))


class OneScale(Sound):
    def changed(self, solution, objective, F):
        return replace(solution, steps=replace(solution.steps, scale=solution.steps.scale[:1]))


class ByPlace(Sound):
    def changed(self, solution, objective, F):
        """One more step, on the first node only: smaller objective, right residual, wrong after renumbering."""
        scale = solution.steps.scale.copy()
        scale[0] *= 1.5
        steps = replace(solution.steps, scale=scale)
        moved = steps.replay(objective, F)
        residual = float(np.linalg.norm(objective.residual(moved)))
        return replace(solution, F=moved, steps=steps, residual=residual, error_bound=None)


class Talkative(SoundConverging):
    def changed(self, solution, objective, F):
        return replace(solution, steps=Steps.of(np.ones(len(F)), [(1.0, 0.0)]))


class TooSoon(SoundConverging):
    def changed(self, solution, objective, F):
        """Half the way, and yet it says that it converged."""
        halfway = (F + solution.F) / 2
        residual = float(np.linalg.norm(objective.residual(halfway)))
        return replace(solution, F=halfway, residual=residual, error_bound=None)


class Crash(Sound):
    def solve(self, objective, F):
        if not objective.quadratic:
            raise KeyError("half_hessian")
        return super().solve(objective, F)


@pytest.mark.parametrize(
    ("solver", "complaint"),
    [
        (Meddler(), r"Meddler: solve writes to the F it is given \(the Laplacian\)\."),
        (NotFinite(), "NotFinite: F is not finite, n x c"),
        (WrongShape(), "WrongShape: F is not finite, n x c"),
        (Wordless(), "Wordless: reason is not a sentence"),
        (Whimsical(), "Whimsical: the same start gives another F"),
        (Uphill(), "Uphill: the objective rises from"),
        (TooGood(), "TooGood: residual is stated as .*, but is"),
        (TooSure(JacobiSteps(4)), "TooSure: error_bound is .*, but the error is"),
        (TooSure(ChebyshevSteps(2)), "TooSure: error_bound is .*, but the error is"),
        (Forgetful(), "Forgetful: it does not converge, and Solution.steps is missing"),
        (OneStepTooMany(), "OneStepTooMany: Solution.steps, replayed from the start, do not give F"),
        (OneScale(), "OneScale: Solution.steps is not n scales and k x 2 coefficients"),
        (ByPlace(), "ByPlace: renumbering the nodes changes F"),
        (Talkative(), "Talkative: it converges, and yet Solution.steps is given"),
        (TooSoon(), "TooSoon: it says converged, but F is off by"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_wrong_solver_is_told_what_is_wrong(solver, complaint):
    with pytest.raises(InputError, match=complaint):
        check_solver(solver)


def test_a_solver_that_moves_away_from_the_solution_is_told_so():
    class Drifting(SoundConverging):
        def changed(self, solution, objective, F):
            drifted = solution.F * (1 + 1e-4)
            residual = float(np.linalg.norm(objective.residual(drifted)))
            return replace(solution, F=drifted, residual=residual, error_bound=None)

    with pytest.raises(InputError, match="Drifting: started at the solution, it moves away"):
        check_solver(Drifting())


def test_views_that_are_not_quadratic_are_solved_or_refused_with_an_input_error():
    with pytest.raises(KeyError):
        check_solver(Crash())


def test_what_is_no_solver_at_all_is_told_so():
    with pytest.raises(InputError, match="object: it is not a subclass of altopt.solvers.Solver"):
        check_solver(object())
