"""A sparse factorisation of H: the exact solution, for graphs small enough to factor."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from altopt.arrays import Array
from altopt.solvers.solver import Solution, Solver, conclude, require_minimum, require_quadratic
from altopt.views import Objective


@dataclass(frozen=True)
class Direct(Solver):
    """H F = rhs by a sparse LU factorisation; where F starts does not matter. The reference in tests.

    Examples
    --------
    Two joined nodes, the encoder sure of opposite classes; H = 2 I - A_tilde:

    >>> import scipy.sparse as sp
    >>> from altopt.operator import NormalizedAdjacency
    >>> from altopt.views import FeatureView, GraphView
    >>> A_tilde = NormalizedAdjacency(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> objective = Objective([FeatureView(np.eye(2)), GraphView(A_tilde)])
    >>> Direct().solve(objective, np.zeros((2, 2))).F.round(6)
    array([[0.666667, 0.333333],
           [0.333333, 0.666667]])
    """

    @property
    def converges(self) -> bool:
        return True

    def solve(self, objective: Objective, F: Array) -> Solution:
        require_quadratic(objective, self)
        H = sp.csc_array(objective.half_hessian())
        require_minimum(objective, F.shape[0], H)
        rhs = -objective.residual(np.zeros_like(F, dtype=np.float64))
        return conclude(objective, np.asarray(splu(H).solve(rhs)), 0, "Solved by factorisation.")
