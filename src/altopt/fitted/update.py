"""New labels, edges and nodes taken in without a refit: the residual they cause is pushed until it is small again.

A change makes r = rhs - H F non-zero at a few nodes. Pushing it on (see kernels/push.py) moves F only where that
matters, until ||r_k|| <= tolerance sqrt(d_k) on every node; then

    ||F_k - F*_k|| <= sqrt(d_k) max_j ||r_j|| / sqrt(d_j) / lambda1

F* being the solution from scratch for the encoder output that is used. What is left is kept, and goes on with the
next update.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from altopt.arrays import Array, one_hot
from altopt.errors import InputError
from altopt.fitted import resolve
from altopt.fitted.explain import position
from altopt.fitted.neighbourhood import around, directed_now, edges_of, require, ties_of, weighted
from altopt.fitted.request import Change, Changes, Known, read_changes, stacked
from altopt.fitted.system import LiveSystem, Row, live_system
from altopt.graph.knn import Neighbours
from altopt.graph.validation import UNKNOWN
from altopt.inputs import ChangedNodes, NewNodes
from altopt.operator.feature_matrix import empty_rows
from altopt.operator.kernels.push import Push, push

FINE, COARSE = 1e-9, 1e-4  # tolerances on small graphs and large ones
SMALL = 20_000  # nodes up to which following a change to its end costs nothing


def update(
    model: Any,
    labels: Any,
    edges: Any,
    nodes: Any,
    features: Any,
    refresh: bool,
    tolerance: float | None,
    store: bool,
) -> Change:
    """Take in what is new; with store=False only say what it would do."""
    if tolerance is not None and not tolerance > 0:
        raise InputError(f"tolerance must be above 0, but is {tolerance!r}.")
    if features is not None:
        require(model.inputs_, model.inputs_.grows, "with_rows", "Adding nodes")
    if refresh:
        require(model.inputs_, model.inputs_.renews, "renewed", "refresh=True")
    live = live_system(model)
    if live is None:
        return resolve.update(model, labels, edges, nodes, features, refresh, store)
    known = Known(live.n_nodes, live.ids is None, lambda node: position(live, node))
    asked = read_changes(model, known, labels, edges, nodes, features)
    if edges is None and asked.names and model.neighbours_ is not None:
        asked = replace(asked, **resolve.nearest(model, live.n_nodes, asked.X))
    left = live.left_by_fit(model.scores_, model.encoder_output_)
    work = Work(model, live, asked, store)
    try:
        work.prepare(refresh)
        change = work.push(tolerance or (FINE if live.n_nodes <= SMALL else COARSE), left)
        if store:
            work.store(change)
            return change
    except BaseException:
        work.undo()
        raise
    work.undo()
    return change


class Work:
    """One update on its way: the system changed with a way back, the model's own arrays untouched until `store`."""

    def __init__(self, model: Any, live: LiveSystem, asked: Changes, store: bool) -> None:
        self.model, self.live, self.asked = model, live, asked
        self.way_back: list[Any] = []
        self.F, self.P, self.inputs = model.scores_, model.encoder_output_, model.inputs_
        self.push_: Push = push(live.n_classes)
        if store:
            self.push_.draw_on(live.carried)
        self.drew, self.began = store, False
        self.n_before = live.n_nodes
        self.directed: Any = None  # the directed adjacency now, where there is one and inputs are made
        self.renewed: tuple[Array, Any, Array] | None = None  # nodes, their X' and their P
        self.reached: Array | None = None

    def undo(self) -> None:
        """The system as it was; what was taken over of former residuals is measured again when needed."""
        for step in reversed(self.way_back):
            step()
        if self.began:
            self.live.carried, self.live.left, self.live.largest = push(self.live.n_classes), None, 0.0

    # the residual that the change causes

    def prepare(self, refresh: bool) -> None:
        live, asked = self.live, self.asked
        if asked.names:
            self.way_back.append(live.grow(asked.names))
        rows = self.changed_rows()
        self.began = self.drew
        before = {c: (columns.copy(), weights.copy()) for c in rows for columns, weights in [live.row(c)]}
        old_scale = {c: live.scale[c] for c in rows}
        near = np.empty(0, dtype=np.int64)
        if refresh and asked.edges:
            directed = self.model._graph.directed_adjacency is not None
            near = around(live, rows, asked.directions if directed else [], self.n_before)
        ties_before = ties_of(live, near)
        for c, (columns, weights) in rows.items():
            self.way_back.append(live.replace(c, columns, weights))
        if asked.names or len(near):
            self.directed = directed_now(live, self.model, asked.directions)
        if asked.names:
            self.add_nodes()
        self.add_edges(before, old_scale, -1.0)
        self.add_edges(rows, {c: live.scale[c] for c in rows}, 1.0)
        if len(near):
            self.renew(near, ties_before)
        for node, code in asked.labels.items():
            self.relabel(node, code)

    def changed_rows(self) -> dict[int, Row]:
        """New rows of A for the ends of edges that really change."""
        held: dict[int, dict[int, float]] = {}

        def row(node: int) -> dict[int, float]:
            if node not in held:
                columns, weights = self.live.row(node)
                held[node] = dict(zip(columns.tolist(), weights.tolist()))
            return held[node]

        changed = set()
        for (a, b), weight in self.asked.edges.items():
            now = row(a).get(b, 0.0)
            wanted = (now or self.live.edge_weight) if weight is None else weight
            if wanted == now == 0.0:
                names = [self.live.name(end) for end in (a, b)]
                raise InputError(
                    f"edges removes the edge from {names[0]!r} to {names[1]!r}, but there is no such edge."
                )
            if wanted == now:
                continue
            changed |= {a, b}
            for one, other in ((a, b), (b, a)):
                if wanted:
                    row(one)[other] = wanted
                else:
                    del row(one)[other]
        return {c: sorted_row(held[c]) for c in sorted(changed)}

    def add_edges(self, rows: dict[int, Row], scale: dict[int, float], sign: float) -> None:
        """r += sign * what the edges at the changed nodes carry, each edge once, at their scale then."""
        live, ends = self.live, np.array(list(rows), dtype=np.int64)
        for c, (columns, weights) in rows.items():
            inside = np.isin(columns, ends)
            once = ~(inside & (columns < c))
            columns, weights, inside = columns[once].astype(np.int64), weights[once], inside[once]
            scales = live.scale[columns]
            scales[inside] = [scale[j] for j in columns[inside].tolist()]
            carried = sign * live.coupling * scale[c] * scales * weights
            self.push_.add(columns, carried[:, None] * self.F[c].astype(np.float64))
            apart = columns != c
            taken = carried[apart] @ self.F[columns[apart]].astype(np.float64)
            self.push_.add(np.array([c]), taken[None, :])

    def add_nodes(self) -> None:
        """Features diffused from the neighbours, P from the encoder, and F as if alone: residual zero so far."""
        model, live, n = self.model, self.live, self.n_before
        nodes = np.arange(n, live.n_nodes)
        edges = (ties_of(live, nodes), *edges_of(live, self.directed, nodes))
        Z = self.inputs.extend(NewNodes(self.asked.X, *edges, model.restart_, model.n_diffusion))
        P = model.encoder_.predict(self.inputs.rows(Z)).astype(self.P.dtype)
        loop = live.coupling if live.self_loops else 0.0
        F = live.lambda1 * P / (live.coupling + live.lambda1 - loop)
        self.inputs = self.inputs.with_rows(Z)
        self.P, self.F = np.concatenate([self.P, P]), np.concatenate([self.F, F.astype(self.F.dtype)])

    def relabel(self, node: int, code: int) -> None:
        """The label's pull on its node, now minus before: lambda2 (Y_i - M_ii F_i)."""
        live, c = self.live, self.live.n_classes
        before = int(live.codes[node])
        if before == code:
            return
        self.way_back.append(live.label(node, code))
        Y = one_hot(np.array([code, before]), c, np.float64)
        held = float(code != UNKNOWN) - float(before != UNKNOWN)
        pull = live.lambda2 * (Y[0] - Y[1] - held * self.F[node].astype(np.float64))
        self.push_.add(np.array([node]), pull[None, :])

    # X' and P renewed nearby

    def renew(self, nodes: Array, ties_before: Any) -> None:
        """Encoder inputs of these nodes over the edges as they are now, all others' held; then P, and its pull."""
        model, live = self.model, self.live
        edges = edges_of(live, self.directed, nodes)
        now = (ties_of(live, nodes), ties_before, *edges, model.restart_, model.n_diffusion)
        Z = self.inputs.renewed(ChangedNodes(nodes, *now))
        P = model.encoder_.predict(self.inputs.rows(Z)).astype(self.P.dtype)
        self.push_.add(nodes, live.lambda1 * (P.astype(np.float64) - self.P[nodes]))
        self.renewed = (nodes, Z, P)

    # the push, and what comes of it

    def push(self, tolerance: float, left: float) -> Change:
        live, model = self.live, self.model
        found = self.push_.run(live.rows(), tolerance)
        at = np.flatnonzero(found.moved)
        nodes = found.nodes[at]
        new = np.arange(self.n_before, live.n_nodes)
        also = np.setdiff1d(np.concatenate([new, np.array(list(self.asked.labels), dtype=np.int64)]), nodes)
        exact = self.F[nodes].astype(np.float64) + found.moves[at]
        F = np.concatenate([exact, self.F[also]]).astype(self.F.dtype)
        if self.drew:
            self.push_.shift(live.rows(), nodes, F[: len(nodes)].astype(np.float64) - exact)
        nodes = np.concatenate([nodes, also])
        self.nodes, self.rows = nodes, F
        self.reading = model._reading().read(F)
        codes = np.where(live.codes[nodes] == UNKNOWN, self.reading.label, live.codes[nodes])
        self.labels = model.classes_[codes]
        before = [None if k >= self.n_before else model.transduction_[k] for k in nodes.tolist()]
        places, moved = np.argsort(nodes), []
        for k in places.tolist():
            if before[k] is None or before[k] != self.labels[k]:
                moved.append((live.name(int(nodes[k])), before[k], self.labels[k]))
        ours, others = self.push_.largest(live.scale), live.largest
        # what others left was taken over where this push came; else the two may lie on top of each other
        self.largest = max(ours, others) if self.drew else ours + others
        residual = self.largest + left * live.shrunk()
        self.find_reached()
        return Change(
            moved,
            len(nodes),
            len(found.nodes),
            residual,
            residual / live.lambda1,
            self.drew,
            [live.name(int(k)) for k in nodes],
            self.labels,
            F,
        )

    def find_reached(self) -> None:
        """Who has features or is tied to a label, where some have no features and edges or labels changed."""
        model, live = self.model, self.live
        silent = np.flatnonzero(~model.reached_) if model.featureless_ is None else model.featureless_
        if self.asked.X is not None:
            silent = np.concatenate([silent, self.n_before + np.flatnonzero(empty_rows(self.asked.X))])
        self.silent = silent
        if not len(silent):
            self.reached = np.ones(live.n_nodes, dtype=bool) if self.asked.names else None
            return
        withdrawn = any(code == UNKNOWN for code in self.asked.labels.values())
        if not (withdrawn or self.asked.edges or self.asked.names) and model.reached_.all():
            return
        _, component = connected_components(live.matrix(), directed=False)
        has_label = np.bincount(component, weights=live.codes != UNKNOWN) > 0
        self.reached = np.ones(live.n_nodes, dtype=bool)
        self.reached[silent] = has_label[component[silent]]

    def store(self, change: Change) -> None:
        """Everything into the model; nothing here can be refused any more."""
        model, live, nodes = self.model, self.live, self.nodes
        if self.asked.names:
            grow_model(model, self)
        for name in ("scores_", "confidence_", "transduction_", "labelled_", "encoder_output_"):
            if not getattr(model, name).flags.writeable:
                setattr(model, name, getattr(model, name).copy())
        model.scores_[nodes], model.confidence_[nodes] = self.rows, self.reading.w
        model.transduction_[nodes] = self.labels
        if self.asked.labels:
            places = np.array(list(self.asked.labels), dtype=np.int64)
            model.labelled_[places] = live.codes[places] != UNKNOWN
            model._Y = None
        if self.renewed is not None:
            near, Z, P = self.renewed
            model.encoder_output_[near] = P
            self.inputs = self.inputs.with_rows(Z, near)
        model.inputs_ = self.inputs
        if self.reached is not None:
            model.reached_ = self.reached
        model.featureless_ = self.silent
        live.log += weighted(live, self.asked.directions)
        live.carried.absorb(self.push_)
        live.largest = self.largest


def grow_model(model: Any, work: Work) -> None:
    """Arrays with one row a node, with the new nodes at their end."""
    k = len(work.asked.names)
    model.scores_, model.encoder_output_ = work.F, work.P
    model.confidence_ = np.concatenate([model.confidence_, np.zeros(k)])
    model.labelled_ = np.concatenate([model.labelled_, np.zeros(k, dtype=bool)])
    model.transduction_ = np.concatenate([model.transduction_, np.repeat(model.classes_[:1], k)])
    if model.neighbours_ is not None:
        X = stacked(model.neighbours_.X, work.asked.X)
        model.neighbours_ = Neighbours(X, model.neighbours_.n_neighbors, model.neighbours_.metric)


def sorted_row(held: dict[int, float]) -> Row:
    columns = np.array(sorted(held), dtype=np.int32)
    return columns, np.array([held[j] for j in columns.tolist()], dtype=np.float64)
