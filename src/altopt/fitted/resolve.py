"""An update by a new solve on all nodes, for models that a local push does not serve."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, one_hot
from altopt.errors import InputError
from altopt.fitted.draft import Draft, Solved
from altopt.fitted.edge_kinds import OfKind, with_arcs
from altopt.fitted.model import FittedModel
from altopt.fitted.new_nodes import changed_nodes, new_nodes
from altopt.fitted.push import no_such_edge
from altopt.fitted.request import Request
from altopt.fitted.system import joined
from altopt.graph import Graph
from altopt.graph.validation import UNKNOWN
from altopt.inputs import ChangedNodes, NewNodes
from altopt.views import Objective


class ResolveUpdate:
    """The last update of F made again, on the graph and labels as they are now.

    A solver that does not converge makes its steps again from where its last update started, new labels put in there.
    """

    def __init__(self, model: FittedModel, request: Request) -> None:
        if not (model.candidate.feature_view.quadratic and model.candidate.label_view.quadratic):
            odd = [type(view).__name__ for view in model.objective().views if not view.quadratic]
            raise InputError(
                f"update needs views that are quadratic in F, but {' and '.join(odd)} is not. "
                "Fit again with the new data."
            )
        self.model, self.request = model, request
        self.before = self.graph = model.graph
        new = np.full(len(request.new_ids), UNKNOWN, dtype=model.codes.dtype)
        self.codes: Array = np.concatenate([model.codes, new])
        self.codes[list(request.labels)] = list(request.labels.values())

    def change_graph(self, refresh: bool) -> None:
        self.graph = with_changes(self.before, self.request)
        self.A_tilde = self.model.normalized(self.graph)

    def new_nodes(self) -> NewNodes:
        diffusion = self.model.restart, self.model.n_diffusion
        return new_nodes(self.graph, self.A_tilde, self.request.X, *diffusion)

    def changed_nodes(self) -> ChangedNodes | None:
        diffusion = self.model.restart, self.model.n_diffusion
        return changed_nodes(self.before, self.graph, self.A_tilde, *diffusion)

    def find_F(self, draft: Draft) -> Solved:
        model, P, n = self.model, draft.P, draft.n_before
        if draft.renewed is not None:
            near, _, rows = draft.renewed
            P = P.copy()
            P[near] = rows
        start = np.zeros_like(P)
        start[:n] = model.scores if model.start is None else model.start
        places = np.array(list(self.request.labels), dtype=np.int64)
        if model.start is not None:
            start[places] = one_hot(self.codes[places], P.shape[1], P.dtype)
        objective = model.objective_on(self.graph, self.A_tilde, self.codes, P)
        solution = model.solver.solve(objective, start)
        F = solution.F.astype(model.scores.dtype, copy=False)
        self.start, self.steps = None if model.start is None else start, solution.steps
        changed = np.flatnonzero(np.any(F[:n] != model.scores, axis=1))
        nodes = np.unique(np.concatenate([changed, places, np.arange(n, len(F))]))
        bound = solution.error_bound
        if bound is None or not bound < 1.0:
            bound = self.bound_by_rows(objective, F, bound)
        return Solved(nodes, F[nodes], F, solution.residual, bound, len(F))

    def bound_by_rows(self, objective: Objective, F: Array, bound: float | None) -> float | None:
        """A bound on ||F - F*|| that weights far apart do not spoil: each row of r over its own lower bound of H.

        H D^1/2 1 >= diag(lower) D^1/2 1, so ||F_k - F*_k|| <= sqrt(d_k) max_j ||r_j|| / (lower_j sqrt(d_j)).
        """
        lower = np.asarray(objective.curvature(len(F)).lower)
        if not objective.coupled_by(self.A_tilde) or not np.all(lower > 0):
            return bound if bound is not None and np.isfinite(bound) else None
        d = np.where(self.A_tilde.degrees > 0, self.A_tilde.degrees, 1.0)
        rows = np.linalg.norm(objective.residual(F.astype(np.float64)) / lower[:, None], axis=1)
        by_rows = float(np.sqrt(d.sum()) * np.max(rows / np.sqrt(d)))
        bounds = [value for value in (bound, by_rows) if value is not None and np.isfinite(value)]
        return min(bounds, default=None)

    def adjacency(self) -> Any:
        return self.graph.adjacency

    def isolated(self, nodes: Array) -> Array:
        return np.asarray(np.diff(self.graph.adjacency.indptr)[nodes] == 0)

    def names(self, positions: Array) -> list[Any]:
        names: list[Any] = self.graph.ids[positions].tolist()
        return names

    def commit(self, draft: Draft) -> None:
        self.model.replace_graph(self.graph)
        self.model.start, self.model.steps = self.start, self.steps

    def undo(self) -> None:
        """Nothing was changed."""

    def tidy(self) -> None:
        """Nothing is kept between updates."""


def with_changes(graph: Graph, request: Request) -> Graph:
    """The graph with edges set, removed and added, and new nodes at its end."""
    if graph.kinds:
        kinds = {}
        for kind, own in graph.kinds.items():
            asked = request.by_kind.get(kind, OfKind({}, []))
            kinds[kind] = with_changes(own, replace(request, edges=asked.edges, arcs=asked.arcs, by_kind={}))
        return graph.with_kinds(kinds)
    n = graph.n_nodes + len(request.new_ids)
    A = sp.lil_array(graph.adjacency.astype(np.float64))
    A.resize((n, n))
    default = float(graph.adjacency.data.mean()) if graph.adjacency.nnz else 1.0
    for (a, b), weight in request.edges.items():
        now = float(A[a, b])
        if weight == 0.0 and now == 0.0:
            raise no_such_edge(*(name(graph, request, end) for end in (a, b)))
        A[a, b] = A[b, a] = (now or default) if weight is None else weight
    adjacency = sp.csr_array(A)
    adjacency.eliminate_zeros()
    directed = graph.directed_adjacency
    if directed is not None:
        arcs = [(source, target, float(A[source, target])) for source, target in request.arcs]
        directed = with_arcs(directed, n, arcs)
    ids = None if graph.positional else joined(graph.ids, request.new_ids)
    return graph.with_edges(adjacency, directed, ids)


def name(graph: Graph, request: Request, position: int) -> Any:
    return graph.ids.item(position) if position < graph.n_nodes else request.new_ids[position - graph.n_nodes]
