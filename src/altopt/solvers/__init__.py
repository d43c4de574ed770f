"""Solvers for F, interchangeable: each moves F towards the minimiser of the views' sum."""

from altopt.solvers.chebyshev import ChebyshevSteps
from altopt.solvers.conjugate import ConjugateGradient
from altopt.solvers.direct import Direct
from altopt.solvers.gradient import GradientSteps, JacobiSteps
from altopt.solvers.solver import Solution, Solver, Steps, as_solver

__all__ = [
    "ChebyshevSteps",
    "ConjugateGradient",
    "Direct",
    "GradientSteps",
    "JacobiSteps",
    "Solution",
    "Solver",
    "Steps",
    "as_solver",
]
