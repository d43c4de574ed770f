"""An update by local push: the residual that a change causes is worked off from node to node.

A change makes r = rhs - H F non-zero at a few nodes. Pushing it (see operator/kernels/push.py) moves F only where that
matters, until ||r_k|| <= tolerance sqrt(d_k) on every node; then

    ||F_k - F*_k|| <= sqrt(d_k) max_j ||r_j|| / sqrt(d_j) / lambda1

F* being the solution from scratch for the encoder output that is used. What is left of r is carried over to the next
update. A push that does not end in reasonable time gives way to a solve from scratch (resolve.py).
"""

from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.fitted.draft import Draft, Solved
from altopt.fitted.edge_kinds import Edges, KindChange, with_arcs
from altopt.fitted.model import FittedModel
from altopt.fitted.new_nodes import changed_nodes_by_kind, new_nodes_by_kind, nodes_near_kinds
from altopt.fitted.request import Request
from altopt.fitted.system import LinearSystem, Row, Undo
from altopt.graph import Graph
from altopt.graph.validation import UNKNOWN
from altopt.inputs import ChangedNodes, NewNodes
from altopt.operator.kernels.push import Push, push

TOLERANCE, TOLERANCE_ON_LARGE_GRAPHS = 1e-9, 1e-4
MIN_TOLERANCE = 1e-12  # rounding up to this is not worth another measurement of the residual
LARGE_GRAPH = 20_000  # nodes up to which following a change to its end costs nothing


class PushGaveUp(Exception):
    """The push has used up its edges, is not finite or would change every row; the caller solves from scratch."""


class PushUpdate:
    """One update on its way: the system is changed with an undo stack, the model's own arrays are not touched."""

    def __init__(
        self, model: FittedModel, system: LinearSystem, request: Request, tolerance: float | None, store: bool
    ) -> None:
        self.model, self.system, self.request, self.store = model, system, request, store
        usual = TOLERANCE if system.n_nodes <= LARGE_GRAPH else TOLERANCE_ON_LARGE_GRAPHS
        self.tolerance = tolerance or usual
        if system.rounding > max(self.tolerance, MIN_TOLERANCE):
            system.forget_residual()
        self.left = system.left_by_fit(model.scores, model.encoder_output)
        self.n_before = system.n_nodes
        self.residual: Push = push(system.n_classes)
        if store:
            self.residual.draw_on(system.carried)
        self.undo_stack: list[Undo] = []
        self.touched_carried = False  # whether residuals of earlier updates were taken over
        self.rows: dict[int, Row] = {}  # new rows of A, and what they were
        self.rows_before: dict[int, Row] = {}
        self.scale_before: dict[int, float] = {}
        self.near = np.empty(0, dtype=np.int64)  # nodes whose encoder inputs are to be renewed
        self.normalized_before: Any = None
        self.of_kinds: KindChange | None = None  # where the graph has kinds
        self.graph_before: Graph | None = None  # where encoder inputs read kinds
        self._graph_now: Graph | None = None

    @property
    def codes(self) -> Array:
        return self.system.codes

    def names(self, positions: Array) -> list[Any]:
        return self.system.names_at(positions)

    def adjacency(self) -> Any:
        return self.system.matrix()

    def isolated(self, nodes: Array) -> Array:
        n_own = int(self.system.self_loops)
        return np.asarray(self.system.end[nodes] - self.system.begin[nodes] <= n_own)

    def undo(self) -> None:
        """The system as it was; what was taken over of earlier residuals is measured again when needed."""
        system = self.system
        for step in reversed(self.undo_stack):
            step()
        if self.touched_carried:
            system.forget_residual()

    # the graph

    def change_graph(self, refresh: bool) -> None:
        system, request = self.system, self.request
        reads_kinds = self.model.candidate.inputs.reads_kinds
        self.graph_before = self.model.graph if reads_kinds else None
        if request.new_ids:
            system.grow(request.new_ids, self.undo_stack)
        edges: Edges = dict(request.edges)
        if system.kinds is not None:
            self.of_kinds = system.kinds.change(request.by_kind, self.no_such_edge)
            edges = dict(self.of_kinds.sums)
        if system.self_loops and any(weight not in (None, 0.0, 1.0) for weight in edges.values()):
            raise PushGaveUp  # the mean edge weight changes, and with it every self-loop
        self.rows = self.changed_rows(edges)
        self.touched_carried = self.store
        for c in self.rows:
            columns, weights = system.row(c)
            self.rows_before[c] = columns.copy(), weights.copy()
            self.scale_before[c] = system.scale[c]
        if refresh and request.edges:
            self.near = self.nodes_around()
        self.normalized_before = system.normalized_rows(self.near)
        for c, (columns, weights) in self.rows.items():
            system.replace(c, columns, weights, self.undo_stack)

    def no_such_edge(self, a: int, b: int) -> InputError:
        return no_such_edge(*self.names(np.array([a, b])))

    def changed_rows(self, edges: Edges) -> dict[int, Row]:
        """New rows of A for the ends of edges that really change."""
        rows: dict[int, dict[int, float]] = {}

        def row(node: int) -> dict[int, float]:
            if node not in rows:
                columns, weights = self.system.row(node)
                rows[node] = dict(zip(columns.tolist(), weights.tolist()))
            return rows[node]

        changed = set()
        for (a, b), weight in edges.items():
            now = row(a).get(b, 0.0)
            wanted = (now or self.system.edge_weight) if weight is None else weight
            if wanted == now == 0.0 and self.of_kinds is None:
                raise self.no_such_edge(a, b)
            if wanted == now:
                continue
            changed |= {a, b}
            for one, other in ((a, b), (b, a)):
                if wanted:
                    row(one)[other] = wanted
                else:
                    del row(one)[other]
        return {c: sorted_row(rows[c]) for c in sorted(changed)}

    def nodes_around(self) -> Array:
        """Known nodes whose row of A_tilde changes, and both ends of edges whose direction alone may be new."""
        near = [np.array(list(self.rows), dtype=np.int64), *(self.system.row(c)[0] for c in self.rows)]
        near += [columns for columns, _ in self.rows.values()]
        if self.model.last_graph.directed_adjacency is not None:
            near += [np.array(pair, dtype=np.int64) for pair in self.request.arcs]
        if self.graph_before is not None:
            near.append(nodes_near_kinds(self.graph_before, self.graph_now(), self.request.by_kind))
        nodes = np.unique(np.concatenate(near)).astype(np.int64)
        return np.asarray(nodes[nodes < self.n_before])

    def directed(self) -> Any:
        """The directed adjacency with all edges so far; None where edges have no direction."""
        A, system = self.model.last_graph.directed_adjacency, self.system
        if A is None:
            return None
        if system.kinds is not None:
            return self.graph_now().directed_adjacency
        return with_arcs(A, system.n_nodes, [*system.log, *system.arcs(self.request.arcs)])

    def graph_now(self) -> Graph:
        """The graph of several kinds with this update's edges."""
        if self._graph_now is None:
            assert self.system.kinds is not None
            self._graph_now = self.system.kinds.graph_now(
                self.system.n_nodes, self.system.names, self.of_kinds
            )
        return self._graph_now

    # encoder inputs

    def new_nodes(self) -> NewNodes:
        system, nodes = self.system, np.arange(self.n_before, self.system.n_nodes)
        edges = (system.normalized_rows(nodes), *system.edges_of(self.directed(), nodes))
        new = NewNodes(self.request.X, *edges, self.model.restart, self.model.n_diffusion)
        return (
            new if self.graph_before is None else new_nodes_by_kind(new, self.graph_now(), system.self_loops)
        )

    def changed_nodes(self) -> ChangedNodes | None:
        if not len(self.near):
            return None
        system, nodes = self.system, self.near
        edges = system.edges_of(self.directed(), nodes)
        rows = (system.normalized_rows(nodes), self.normalized_before, *edges)
        changed = ChangedNodes(nodes, *rows, self.model.restart, self.model.n_diffusion)
        if self.graph_before is None:
            return changed
        return changed_nodes_by_kind(changed, self.graph_before, self.graph_now(), system.self_loops)

    # F

    def find_F(self, draft: Draft) -> Solved:
        system, F = self.system, self.with_new_nodes(draft)
        self.add_edges(F, self.rows_before, self.scale_before, -1.0)
        self.add_edges(F, self.rows, {c: system.scale[c] for c in self.rows}, 1.0)
        if draft.renewed is not None:
            near, _, P = draft.renewed
            self.residual.add(near, system.lambda1 * (P.astype(np.float64) - draft.P[near]))
        for node, code in self.request.labels.items():
            self.relabel(F, node, code)
        self.rounding = system.rounding + system.rounding_of(self.residual.largest(system.scale))
        pushed = self.residual.run(system.rows(), self.tolerance)
        if not pushed.reached:
            raise PushGaveUp
        moved = np.flatnonzero(pushed.moved)
        nodes = pushed.nodes[moved]
        others = self.unmoved(nodes)
        exact = F[nodes].astype(np.float64) + pushed.moves[moved]
        rows = np.concatenate([exact, F[others]]).astype(F.dtype)
        if (
            self.store and F.dtype != np.float64
        ):  # what rounding to F's type changes goes back into the residual
            self.residual.shift(system.rows(), nodes, rows[: len(nodes)].astype(np.float64) - exact)
        own, earlier = self.residual.largest(system.scale), system.largest
        # earlier residuals were taken over where this push came; else the two may add up
        self.largest = max(own, earlier) if self.store else own + earlier
        size = self.largest + self.left * system.growth_of_left + self.rounding
        if not np.isfinite(size):
            raise PushGaveUp
        return Solved(
            np.concatenate([nodes, others]), rows, F, size, size / system.lambda1, len(pushed.nodes)
        )

    def unmoved(self, moved: Array) -> Array:
        """New nodes and nodes whose label was set that are not among these."""
        new = range(self.n_before, self.system.n_nodes)
        named = np.array(sorted({*new, *self.request.labels}), dtype=np.int64)
        return np.asarray(named[~np.isin(named, moved, kind="sort")])

    def with_new_nodes(self, draft: Draft) -> Array:
        """F, with new nodes as if alone: their residual is zero so far."""
        F, system = self.model.scores, self.system
        if not self.request.new_ids:
            return F
        loop = system.coupling if system.self_loops else 0.0
        own = system.lambda1 * draft.P[self.n_before :] / (system.coupling + system.lambda1 - loop)
        return np.concatenate([F, own.astype(F.dtype)])

    def add_edges(self, F: Array, rows: dict[int, Row], scale: dict[int, float], sign: float) -> None:
        """r += sign * what the edges at the changed nodes carry, each edge once, at their scale then."""
        system, ends = self.system, np.array(list(rows), dtype=np.int64)
        for c, (columns, weights) in rows.items():
            inside = np.isin(columns, ends)
            once = ~(inside & (columns < c))
            columns, weights, inside = columns[once].astype(np.int64), weights[once], inside[once]
            scales = system.scale[columns]
            scales[inside] = [scale[j] for j in columns[inside].tolist()]
            carried = sign * system.coupling * scale[c] * scales * weights
            self.residual.add(columns, carried[:, None] * F[c].astype(np.float64))
            proper = columns != c
            received = carried[proper] @ F[columns[proper]].astype(np.float64)
            self.residual.add(np.array([c]), received[None, :])

    def relabel(self, F: Array, node: int, code: int) -> None:
        """The label's pull on its node, now minus before: lambda2 (Y_i - M_ii F_i)."""
        system = self.system
        before = int(system.codes[node])
        if before == code:
            return
        system.label(node, code, self.undo_stack)
        pull = -(float(code != UNKNOWN) - float(before != UNKNOWN)) * F[node].astype(np.float64)
        if code != UNKNOWN:
            pull[code] += 1.0
        if before != UNKNOWN:
            pull[before] -= 1.0
        self.residual.add(np.array([node]), (system.lambda2 * pull)[None, :])

    def commit(self, draft: Draft) -> None:
        system, n_logged = self.system, len(self.system.log)
        self.undo_stack.append(lambda: system.log.__delitem__(slice(n_logged, None)))
        if system.kinds is None or self.of_kinds is None:
            system.log += system.arcs(self.request.arcs)
        else:
            system.kinds.keep(self.of_kinds, self.undo_stack)
        system.carried.absorb(self.residual)
        system.largest, system.rounding = self.largest, self.rounding

    def tidy(self) -> None:
        if self.system.is_long():
            self.model.last_graph = self.model.graph  # the log leads to the same graph from here too
            self.system.lay_out_again(self.model.last_graph)


def no_such_edge(source: Any, target: Any) -> InputError:
    return InputError(f"edges removes the edge from {source!r} to {target!r}, but there is no such edge.")


def sorted_row(weights: dict[int, float]) -> Row:
    columns = np.array(sorted(weights), dtype=np.int32)
    return columns, np.array([weights[j] for j in columns.tolist()], dtype=np.float64)
