"""The ledger of a prediction: which labels and whose features gave a node its row of F, in shares that sum to it.

F is linear in the evidence. For a full solve, H F = rhs and with p = G e_i (G = H^-1)

    F_i = sum_j p_j (lambda1 P_j + lambda2 M_jj Y_j)

A p that is pushed only so far, with rho = e_i - H p left, still gives an equation:

    F_i = sum_j p_j rhs_j + rho' F - p' r,      r = rhs - H F, what the solver left

The last two are the tail, which is counted, not hidden. A solver that does not converge makes K steps; F is linear in
the evidence all the same, and the steps that were really made are replayed backwards. Exact means: for the encoder
output P that was used, and for F before the softmax.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.fitted.by_column import ColumnShares, column_shares
from altopt.fitted.explanation import Explanation, Parts
from altopt.fitted.model import FittedModel
from altopt.fitted.request import check_tolerance
from altopt.fitted.system import LinearSystem
from altopt.solvers import Steps

# what may be left of e_i - H p at a node, over sqrt(d)
TOLERANCE, TOLERANCE_ON_LARGE_GRAPHS = 1e-11, 1e-5
LARGE_GRAPH = 20_000  # nodes up to which a ledger lists all evidence
MAX_CG_STEPS = 5000

Shares = Callable[[int], tuple[Array, Array]]  # from a node to its neighbours and what each hands on


def explain(
    model: FittedModel, nodes: list[Any], tolerance: float | None, names: list[Any]
) -> list[Explanation]:
    """An Explanation for each node; `names` are those of the columns of X."""
    check_tolerance(tolerance)
    with model.lock:
        system = model.system()
        positions = [model.position(node) for node in nodes]
        if system is not None:
            usual = TOLERANCE if system.n_nodes <= LARGE_GRAPH else TOLERANCE_ON_LARGE_GRAPHS
            return [by_push(model, system, i, tolerance or usual, names) for i in positions]
        matrices = Matrices.of(model)
        return [matrices.explain(model, i, names) for i in positions]


def by_push(
    model: FittedModel, system: LinearSystem, i: int, tolerance: float, names: list[Any]
) -> Explanation:
    """The ledger from the nodes that a local push reaches."""
    pushed = system.column(i, tolerance)
    moved = np.flatnonzero(pushed.moved)
    nodes, p = pushed.nodes[moved], pushed.moves[moved, 0]
    parts = Parts(
        nodes=nodes,
        weights=p,
        features=system.lambda1 * model.encoder_output[nodes].astype(np.float64),
        codes=system.codes[nodes],
        label_weight=system.lambda2,
        start=None,
        beyond=pushed.residual[:, 0] @ model.scores[pushed.nodes].astype(np.float64),
        error=float(np.linalg.norm(pushed.residual)) / system.lambda1,
        n_reached=len(pushed.nodes),
    )
    shares, own = neighbour_shares(system), 1.0 / system.diagonal[i]
    return explanation(model, i, system.name, parts, shares, own, names)


def explanation(
    model: FittedModel,
    i: int,
    name: Callable[[int], Any],
    parts: Parts,
    shares: Shares,
    own_share: float | None,
    names: list[Any],
) -> Explanation:
    def of_columns(nodes: Array, weights: Array, code: int) -> ColumnShares:
        """Of evidence lambda1 p_j P_j; none where X was not given."""
        if not names:
            return ColumnShares.none()
        with model.lock:
            inputs, amounts = model.inputs, model.candidate.feature_weight * weights
            return column_shares(inputs, model.encoder, nodes, amounts, code, len(names), model.seed)

    return Explanation(
        place=i,
        name=name,
        code=int(model.labels[i]),
        evidence=model.scores[i].astype(np.float64),
        parts=parts,
        classes=model.classes,
        neighbour_shares=shares,
        own_share=own_share,
        column_shares=of_columns,
        column_names=names,
        kinds_between=kinds_between(model),
    )


def kinds_between(model: FittedModel) -> Callable[[int, int], list[str]] | None:
    """Which kinds of edges tie two positions and have a weight; None where the graph has no kinds."""
    log = model.kind_log()
    if log is None:
        return None
    used = [name for name, factor in log.graph.edge_factors.items() if factor > 0]
    return lambda a, b: [name for name in used if log.weight(name, min(a, b), max(a, b))]


def neighbour_shares(system: LinearSystem) -> Shares:
    """What a neighbour hands on: columns j and a_ij / H_jj of row i."""

    def row(i: int) -> tuple[Array, Array]:
        columns, weights = system.row(i)
        scale = system.scale[i] * system.scale[columns]
        return columns, system.coupling * scale * weights / system.diagonal[columns]

    return row


@dataclass(frozen=True)
class Matrices:
    """A quadratic objective as matrices: for the views and solvers that a local push does not serve."""

    H: Any
    features: Array  # minus the feature view's half gradient at F = 0, times its weight
    codes: Array
    label_weight: float
    steps: Steps | None  # of a solver that does not converge
    floor: float  # H >= floor I
    diagonal: Array
    ids: Array

    @classmethod
    def of(cls, model: FittedModel) -> "Matrices":
        objective, P = model.objective(), model.encoder_output
        odd = [type(view).__name__ for view in objective.views if not view.quadratic]
        if odd:
            raise InputError(
                f"explain needs F to be a weighted sum of evidence, but with {' and '.join(odd)} it is not. "
                "Fit with views that are quadratic in F, such as AltOpt() or AltOpt.paper('mse')."
            )
        if not model.solver.converges and model.steps is None:
            raise InputError(
                f"explain replays the steps of the solver, but {type(model.solver).__name__} does not report them. "
                "Let its Solution carry `steps`, or fit with one of altopt.solvers."
            )
        views = {view.name: view for view in objective.views}
        pull = -views["features"].residual(np.zeros_like(P, dtype=np.float64))
        H = sp.csr_array(objective.half_hessian())
        return cls(
            H=H,
            features=views["features"].weight * pull,
            codes=model.codes,
            label_weight=views["labels"].weight,
            steps=model.steps,
            floor=float(np.min(objective.curvature(len(P)).lower)),
            diagonal=np.asarray(H.diagonal()),
            ids=model.graph.ids,
        )

    def explain(self, model: FittedModel, i: int, names: list[Any]) -> Explanation:
        start, beyond, error = None, None, None
        if self.steps is None:
            p, rho = self.solve(i)
            beyond = rho @ model.scores.astype(np.float64)
            error = float(np.linalg.norm(rho)) / self.floor if self.floor > 0 else None
        else:
            p, kept = self.replay(i, self.steps)
            start = None if model.start is None else kept[:, None] * model.start.astype(np.float64)
        nodes = np.flatnonzero(p)
        parts = Parts(
            nodes=nodes,
            weights=p[nodes],
            features=self.features[nodes],
            codes=self.codes[nodes],
            label_weight=self.label_weight,
            start=start,
            beyond=beyond,
            error=error,
            n_reached=len(nodes),
        )
        return explanation(model, i, self.ids.item, parts, self.neighbour_shares(), None, names)

    def solve(self, i: int) -> tuple[Array, Array]:
        """p = G e_i by conjugate gradients, and rho = e_i - H p."""
        e = np.zeros(self.H.shape[0])
        e[i] = 1.0
        inverse = LinearOperator(self.H.shape, matvec=lambda v: v / self.diagonal)
        p, _ = cg(self.H, e, rtol=TOLERANCE, maxiter=MAX_CG_STEPS, M=inverse)
        return p, e - self.H @ p

    def replay(self, i: int, steps: Steps) -> tuple[Array, Array]:
        """The steps backwards: F_K = phi F_0 + psi S^-1 rhs, and row i of S^-1 psi' and of phi, S = diag(scale).

        F <- F + step_size S^-1 (rhs - H F) + momentum (F - F_before), as its transpose on e_i.
        """
        e = np.zeros(self.H.shape[0])
        e[i] = 1.0
        kept, kept_before = e, e
        taken = taken_before = np.zeros_like(e)
        for step_size, momentum in steps.coefficients:
            next_kept = kept - step_size * (self.H @ (kept / steps.scale)) + momentum * (kept - kept_before)
            step = e - self.H @ (taken / steps.scale)
            next_taken = taken + step_size * step + momentum * (taken - taken_before)
            kept, kept_before, taken, taken_before = next_kept, kept, next_taken, taken
        return taken / steps.scale, kept

    def neighbour_shares(self) -> Shares:
        """A neighbour's share of a step: minus H's entry over the neighbour's own, or over the solver's scale."""
        below = self.diagonal if self.steps is None else self.steps.scale

        def row(i: int) -> tuple[Array, Array]:
            entries = slice(self.H.indptr[i], self.H.indptr[i + 1])
            columns = self.H.indices[entries]
            proper = columns != i
            return columns[proper], np.abs(self.H.data[entries] / below[columns])[proper]

        return row
