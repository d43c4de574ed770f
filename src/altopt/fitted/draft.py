"""An update on its way: what it will write to the model, and what a way to find F must offer."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from altopt.arrays import Array
from altopt.fitted.model import FittedModel, components_of, node_kinds, reached_nodes
from altopt.fitted.request import Change, Request
from altopt.graph.validation import UNKNOWN
from altopt.inputs import ChangedNodes, NewNodes
from altopt.operator.feature_matrix import empty_rows
from altopt.selection.leave_one_out import OUT_OF_DATE


class Solved(NamedTuple):
    """F as an update finds it."""

    nodes: Array  # positions of the rows that changed, of new nodes and of nodes whose label was set
    F: Array  # their rows
    scores: Array  # F of all nodes, without these rows where they can be written in place
    residual: float
    error_bound: float | None
    n_touched: int


class UpdateMethod(Protocol):
    """A way to find F after a change: the steps of an update that differ between push and re-solve."""

    @property
    def codes(self) -> Array:
        """The given class of every node, as it is now."""

    def change_graph(self, refresh: bool) -> None:
        """Edges set, removed and added, nodes added. With `refresh`, remember which rows change."""

    def new_nodes(self) -> NewNodes:
        """The new nodes, with their edges, as encoder inputs take them."""

    def changed_nodes(self) -> ChangedNodes | None:
        """Known nodes whose edges changed, as encoder inputs take them."""

    def find_F(self, draft: "Draft") -> Solved:
        """F for the changed graph and labels, and the draft's P."""

    def adjacency(self) -> Any:
        """A as a matrix, for connected components."""

    def isolated(self, nodes: Array) -> Array:
        """Which of these nodes have no edges now."""

    def names(self, positions: Array) -> list[Any]:
        """The user's ids of positions."""

    def commit(self, draft: "Draft") -> None:
        """Keep the change; the model's arrays are written already."""

    def undo(self) -> None:
        """Everything as it was; may be called again where it was interrupted."""

    def tidy(self) -> None:
        """After an update that was stored: give back what many of them would pile up."""


class Draft:
    """P, encoder inputs and labels after an update; the model stays untouched until `write`."""

    def __init__(self, model: FittedModel, request: Request) -> None:
        self.model, self.request = model, request
        self.n_before = model.n_nodes
        self.P, self.inputs = model.encoder_output, model.inputs
        self.renewed: tuple[Array, Any, Array] | None = None  # nodes, their Z and their P
        self.reached: Array | None = None
        self.isolated: Array | None = None  # both None where nothing of it changed
        self.featureless = model.featureless
        # of the model, for undo: its fields, and rows that were written over
        self.before: dict[str, Any] | None = None
        self.rows_before: list[tuple[Array, Array, Array]] = []
        self.Z_before: Any = None

    @property
    def n_nodes(self) -> int:
        return self.n_before + len(self.request.new_ids)

    def add_nodes(self, new: NewNodes) -> None:
        """Encoder inputs of the new nodes from their features and edges, and P from the encoder."""
        Z = self.inputs.extend(new)
        P = self.model.encoder.predict(self.inputs.rows(Z)).astype(self.P.dtype)
        self.inputs, self.P = self.inputs.with_rows(Z), np.concatenate([self.P, P])

    def renew(self, changed: ChangedNodes) -> None:
        """Encoder inputs of these nodes over the edges as they are now, all others' kept; then their P."""
        Z = self.inputs.renewed(changed)
        P = self.model.encoder.predict(self.inputs.rows(Z)).astype(self.P.dtype)
        self.renewed = changed.nodes, Z, P

    def with_other_kinds(self, solved: Solved, method: UpdateMethod) -> Solved:
        """What an update found, and the rows that are read otherwise though F stayed."""
        model, n = self.model, self.n_before
        self.find_reached(method)
        others = [self.find_isolated(method)]
        if self.reached is not None:
            others.append(np.flatnonzero(self.reached[:n] != model.reached))
        more = np.setdiff1d(np.concatenate(others), solved.nodes)
        if not len(more):
            return solved
        nodes, F = np.concatenate([solved.nodes, more]), np.concatenate([solved.F, solved.scores[more]])
        return solved._replace(nodes=nodes, F=F)

    def find_isolated(self, method: UpdateMethod) -> Array:
        """Which nodes have no edges now; returns the known ones whose last edge went or whose first came."""
        request, n = self.request, self.n_before
        ends = np.unique(np.array([*request.edges], dtype=np.int64).ravel())
        new = np.arange(n, self.n_nodes)
        if not len(ends) and not len(new):
            return ends
        known = ends[ends < n]
        self.isolated = np.concatenate([self.model.isolated, method.isolated(new)])
        self.isolated[known] = method.isolated(known)
        return np.asarray(known[self.isolated[known] != self.model.isolated[known]])

    def compare(self, solved: Solved, method: UpdateMethod, store: bool) -> Change:
        """The difference between the model and the draft."""
        model, nodes = self.model, solved.nodes
        given = method.codes[nodes]
        reached, isolated = (
            now if now is not None else before
            for now, before in ((self.reached, model.reached), (self.isolated, model.isolated))
        )
        kinds = node_kinds(given != UNKNOWN, isolated[nodes], reached[nodes])
        reading = model.readout.read(solved.F, kinds)
        self.confidence = reading.w
        self.labels = np.where(given == UNKNOWN, reading.label, given)
        known = nodes < self.n_before
        before = np.full(len(nodes), UNKNOWN)
        before[known] = model.labels[nodes[known]]
        names, labels = method.names(nodes), model.classes[self.labels]
        order = np.argsort(nodes)
        moved = [
            (names[k], model.classes[before[k]] if known[k] else None, labels[k])
            for k in order[before[order] != self.labels[order]].tolist()
        ]
        return Change(
            moved=moved,
            n_changed=len(nodes),
            n_touched=solved.n_touched,
            residual=solved.residual,
            error_bound=solved.error_bound,
            stored=store,
            nodes=names,
            labels=labels,
            scores=solved.F,
        )

    def find_reached(self, method: UpdateMethod) -> None:
        """Which nodes have features or a labelled node in their component, where edges or labels changed that."""
        model, request = self.model, self.request
        if request.X is not None:
            empty = self.n_before + np.flatnonzero(empty_rows(request.X))
            self.featureless = np.concatenate([self.featureless, empty])
        if not len(self.featureless):
            self.reached = np.ones(self.n_nodes, dtype=bool) if request.new_ids else None
            return
        withdrawn = any(code == UNKNOWN for code in request.labels.values())
        if not (withdrawn or request.edges or request.new_ids) and model.reached.all():
            return
        components = components_of(method.adjacency())
        self.reached = reached_nodes(self.n_nodes, self.featureless, components, method.codes)

    def write(self, solved: Solved, method: UpdateMethod) -> None:
        """Everything into the model; nothing here can be refused any more."""
        model, request, nodes = self.model, self.request, solved.nodes
        self.before = dict(vars(model))
        model.scores = solved.scores
        if request.new_ids:
            model.grow(len(request.new_ids), self.P)
            if model.neighbours is not None:
                model.neighbours = model.neighbours.with_rows(request.X)
        self.replace(nodes, scores=solved.F, confidence=self.confidence, labels=self.labels)
        if request.labels:
            places = np.array(list(request.labels), dtype=np.int64)
            self.replace(places, codes=method.codes[places])
        if self.renewed is not None:
            near, Z, P = self.renewed
            self.replace(near, encoder_output=P)
            self.Z_before = self.inputs.Z[near]
            self.inputs = self.inputs.with_rows(Z, near)
        model.inputs, model.featureless = self.inputs, self.featureless
        if self.reached is not None:
            model.reached = self.reached
        if self.isolated is not None:
            model.isolated = self.isolated
        if len(nodes) and not isinstance(model.leave_one_out, str):
            model.leave_one_out = OUT_OF_DATE

    def replace(self, nodes: Array, **rows: Array) -> None:
        """Rows of the model's arrays, what was there noted first."""
        for name in rows:
            array = self.model.writable(name)
            self.rows_before.append((array, nodes, array[nodes]))
        self.model.replace_rows(nodes, **rows)

    def undo(self) -> None:
        """The model as it was, wherever `write` was interrupted; may be called again where this was."""
        if self.before is None:
            return
        for array, nodes, rows in reversed(self.rows_before):
            array[nodes] = rows
        if self.Z_before is not None and self.renewed is not None:
            self.before["inputs"] = self.before["inputs"].with_rows(self.Z_before, self.renewed[0])
        vars(self.model).update(self.before)
