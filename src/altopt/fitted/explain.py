"""The ledger of a prediction: which labels and whose features gave a node its row of F, in shares that sum to it.

F is linear in the evidence. For a full solve, H F = rhs and with p = G e_i (G = H^-1)

    F_i = sum_j p_j (lambda1 P_j + lambda2 M_jj Y_j)

A p that is pushed only so far, with rho = e_i - H p left, still gives an equation:

    F_i = sum_j p_j rhs_j + rho' F - p' r,      r = rhs - H F, what the solver left

The last two are the tail, which is counted, not hidden. Exact means: for the encoder output P that was used, and for F
before the softmax.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.fitted.explanation import Explanation, Parts
from altopt.fitted.system import LiveSystem, live_system
from altopt.operator import NormalizedAdjacency
from altopt.solvers import ChebyshevSteps, GradientSteps, JacobiSteps
from altopt.solvers.chebyshev import DEFAULT_N_STEPS, coefficients
from altopt.views import Curvature, Objective

FINE, COARSE = (
    1e-11,
    1e-5,
)  # what may be left of e_i - H p at a node, over sqrt(d), on small graphs and large ones
SMALL = 20_000  # nodes up to which a ledger lists all there is


def explain(model: Any, nodes: list[Any], tolerance: float | None) -> list[Explanation]:
    """An Explanation for each node."""
    if tolerance is not None and not tolerance > 0:
        raise InputError(f"tolerance must be above 0, but is {tolerance!r}.")
    live = live_system(model)
    if live is not None:
        places = [position(live, node) for node in nodes]
        fine = FINE if live.n_nodes <= SMALL else COARSE
        return [by_push(model, live, place, tolerance or fine) for place in places]
    places = [model.graph_.position(node) for node in nodes]
    operator = Operator.of(model)
    return [operator.explain(model, place) for place in places]


def position(live: LiveSystem, node: Any) -> int:
    """The row of a node."""
    found: int | None = None
    try:
        if live.ids is not None:
            found = live.ids.get(node)
        elif isinstance(node, (int, np.integer)) and not isinstance(node, bool) and 0 <= node < live.n_nodes:
            found = int(node)
    except TypeError:  # what cannot be hashed is not an id
        found = None
    if found is None:
        raise InputError(
            f"node {node!r} is not in the graph. Give the id of one of its {live.n_nodes:,} nodes."
        )
    return found


def by_push(model: Any, live: LiveSystem, i: int, tolerance: float) -> Explanation:
    """The ledger from the nodes that a local push comes to."""
    found = live.column(i, tolerance)
    at = np.flatnonzero(found.moved)
    nodes, p = found.nodes[at], found.moves[at, 0]
    unsettled = found.residual[:, 0] @ model.scores_[found.nodes].astype(np.float64)
    parts = Parts(
        nodes=nodes,
        weights=p,
        features=live.lambda1 * model.encoder_output_[nodes].astype(np.float64),
        codes=live.codes[nodes],
        label_weight=live.lambda2,
        start=None,
        unsettled=unsettled,
        error=float(np.linalg.norm(found.residual)) / live.lambda1,
        n_reached=len(found.nodes),
    )
    return Explanation(
        i, live.name, *outcome(model, i), parts, model.classes_, carries(live), 1.0 / live.diagonal[i]
    )


def outcome(model: Any, i: int) -> tuple[int, Array]:
    """The class predicted for a node, as its number, and its row of F."""
    label = model.transduction_[i]
    return int(np.flatnonzero(model.classes_ == label)[0]), model.scores_[i].astype(np.float64)


def carries(live: LiveSystem) -> Any:
    """What a neighbour hands on: columns j and a_ij / H_jj of row i."""

    def row(i: int) -> tuple[Array, Array]:
        columns, weights = live.row(i)
        handed = live.coupling * live.scale[i] * live.scale[columns] * weights / live.diagonal[columns]
        return columns, handed

    return row


@dataclass(frozen=True)
class Operator:
    """A quadratic objective as matrices: for the views and solvers that a local push does not serve."""

    H: Any
    features: Array  # minus the feature view's half gradient at F = 0, times its weight
    codes: Array
    label_weight: float
    pace: Array | None  # of a solver that takes a fixed number of steps
    steps: list[tuple[float, float]]  # (ahead, momentum) of each
    floor: float
    diagonal: Array

    @classmethod
    def of(cls, model: Any) -> "Operator":
        A_tilde = NormalizedAdjacency(model.graph_.adjacency, model.self_loops)
        P = model.encoder_output_
        objective: Objective = model._objective(model.graph_, A_tilde, model.Y_, model.labelled_)(P, None)
        odd = [type(view).__name__ for view in objective.views if not view.quadratic]
        if odd:
            raise InputError(
                f"explain needs F to be a weighted sum of evidence, but with {' and '.join(odd)} it is not. "
                "Fit with views that are quadratic in F, such as AltOpt() or AltOpt.paper('mse')."
            )
        views = {view.name: view for view in objective.views}
        codes = np.full(len(P), -1, dtype=np.int32)
        codes[model.labelled_] = model.Y_.argmax(axis=1)
        bounds = objective.curvature(len(P))
        pull = -views["features"].residual(np.zeros_like(P, dtype=np.float64))
        H = sp.csr_array(objective.half_hessian())
        return cls(
            H,
            views["features"].weight * pull,
            codes,
            views["labels"].weight,
            *way_of(model._solvers().last, bounds),
            float(np.min(bounds.lower)),
            np.asarray(H.diagonal()),
        )

    def explain(self, model: Any, i: int) -> Explanation:
        if self.pace is None:
            p, rho = self.solve(i)
            start, unsettled = None, rho @ model.scores_.astype(np.float64)
            error = float(np.linalg.norm(rho)) / self.floor if self.floor > 0 else None
        else:
            p, kept = self.back(i)
            began = getattr(model, "start_", None)
            start = None if began is None else kept[:, None] * began.astype(np.float64)
            unsettled, error = None, 0.0
        nodes = np.flatnonzero(p)
        parts = Parts(
            nodes,
            p[nodes],
            self.features[nodes],
            self.codes[nodes],
            self.label_weight,
            start,
            unsettled,
            error,
            len(nodes),
        )
        return Explanation(
            i, model.graph_.ids.item, *outcome(model, i), parts, model.classes_, self.hands_on(), None
        )

    def solve(self, i: int) -> tuple[Array, Array]:
        """p = G e_i by conjugate gradients, and rho = e_i - H p."""
        e = np.zeros(self.H.shape[0])
        e[i] = 1.0
        inverse = LinearOperator(self.H.shape, matvec=lambda v: v / self.diagonal)
        p, _ = cg(self.H, e, rtol=FINE, maxiter=5000, M=inverse)
        return p, e - self.H @ p

    def back(self, i: int) -> tuple[Array, Array]:
        """The K steps backwards: F_K = phi F_0 + psi S^-1 rhs, and row i of S^-1 psi' and of phi.

        F <- F + ahead S^-1 (rhs - H F) + momentum (F - F_before), as its transpose on e_i.
        """
        e = np.zeros(self.H.shape[0])
        e[i] = 1.0
        kept, kept_before = e, e
        taken = taken_before = np.zeros_like(e)
        for ahead, momentum in self.steps:
            next_kept = kept - ahead * (self.H @ (kept / self.pace)) + momentum * (kept - kept_before)
            next_taken = (
                taken + ahead * (e - self.H @ (taken / self.pace)) + momentum * (taken - taken_before)
            )
            kept, kept_before, taken, taken_before = next_kept, kept, next_taken, taken
        return taken / self.pace, kept

    def hands_on(self) -> Any:
        """A neighbour's share of a step: minus H's entry over the neighbour's own, or over the solver's pace."""

        def row(i: int) -> tuple[Array, Array]:
            entries = slice(self.H.indptr[i], self.H.indptr[i + 1])
            columns = self.H.indices[entries]
            apart = columns != i
            below = (self.diagonal if self.pace is None else self.pace)[columns]
            return columns[apart], np.abs(self.H.data[entries] / below)[apart]

        return row


def way_of(solver: Any, bounds: Curvature) -> tuple[Array | None, list[tuple[float, float]]]:
    """The pace and the steps of a solver that takes a fixed number of them; none of one that solves."""
    pace = np.asarray(bounds.step_scale)
    if solver.converges:
        return None, []
    if isinstance(solver, GradientSteps):
        return np.full_like(pace, pace.max()), [(1.0, 0.0)] * solver.n_steps
    if isinstance(solver, JacobiSteps):
        return pace, [(1.0, 0.0)] * solver.n_steps
    if isinstance(solver, ChebyshevSteps):
        return pace, list(coefficients(bounds, solver.n_steps or DEFAULT_N_STEPS))
    raise InputError(
        f"explain knows the steps of altopt's own solvers, but this model's is {type(solver).__name__}. "
        "Fit with one of altopt.solvers."
    )
