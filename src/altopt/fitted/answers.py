"""What a fitted model can be asked and told: reasons, doubts, changes, what to label next."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from altopt.arrays import Array, one_hot
from altopt.errors import InputError
from altopt.fitted import explain, explanation, request, suggest, system, update
from altopt.graph import Graph
from altopt.selection.leave_one_out import OUTDATED, LeaveOneOut


class Answers:
    """The side of AltOpt that comes after the fit; each question has a module of its own."""

    classes_: Array
    labelled_: Array
    scores_: Array
    _leave_one_out: LeaveOneOut | str = "is there after fit."  # or why there is none
    _live: system.LiveSystem | None = None
    _graph: Graph
    _Y: Array | None

    def suspicious_labels(self) -> list[tuple[Any, Any, Any, float]]:
        """(node, given, suggested, margin) of all labelled nodes, the most suspicious first.

        The margin is the given class's share of F, with the node's own label taken out, minus the largest other: far
        below zero, the rest of the evidence outvotes the label. `explain` says who does.
        """
        check_is_fitted(self)
        if isinstance(self._leave_one_out, str):
            raise InputError(f"suspicious_labels {self._leave_one_out}")
        return self._leave_one_out.suspicious()

    @property
    def leave_one_out_(self) -> LeaveOneOut:
        """The labelled nodes as the fit judged them without their own label; an update makes an end of it."""
        if isinstance(self._leave_one_out, str):
            raise AttributeError(f"leave_one_out_ {self._leave_one_out}")
        return self._leave_one_out

    @property
    def graph_(self) -> Graph:
        """The graph, with all that updates changed in it."""
        if self._live is not None:
            self._graph = self._live.graph(self._graph)
        return self._graph

    @graph_.setter
    def graph_(self, graph: Graph) -> None:
        self._graph, self._live = graph, None

    @property
    def Y_(self) -> Array:
        """One-hot rows, one for each labelled node."""
        if self._Y is None:
            assert self._live is not None  # which alone puts it off
            codes = self._live.codes[self.labelled_]
            self._Y = one_hot(codes, len(self.classes_), self.scores_.dtype)
        return self._Y

    @Y_.setter
    def Y_(self, Y: Array) -> None:
        self._Y = Y

    def explain(self, node: Any, *, tolerance: float | None = None) -> explanation.Explanation:
        """The ledger of a node's prediction: which labels and whose features gave it its row of F.

        The shares sum to that row of `scores_`; exact for the encoder output that was used and for F before the
        softmax. Evidence is followed until less than `tolerance` sqrt(degree) of the node's weight is left anywhere;
        what lies beyond is one entry with node None. The default follows all of it up to 20,000 nodes, and stops at
        1e-5 on larger graphs, where a ledger has very many entries.
        """
        return self.explain_many([node], tolerance=tolerance)[0]

    def explain_many(self, nodes: Any, *, tolerance: float | None = None) -> list[explanation.Explanation]:
        """An explanation for each of several nodes."""
        check_is_fitted(self)
        return explain.explain(self, list(nodes), tolerance)

    def update(
        self,
        labels: Any = None,
        edges: Any = None,
        nodes: Any = None,
        features: Any = None,
        refresh: bool = False,
        *,
        tolerance: float | None = None,
    ) -> request.Change:
        """Take in new labels, edges and nodes without a refit; says whose labels moved.

        labels : {node: label}, or a table with node and label; -1 or None withdraws a label.
        edges : (source, target) or (source, target, weight), or a table of them; weight 0 removes an edge.
        nodes, features : ids of new nodes and a row of features for each.
        refresh : renew the diffused features and the encoder's output where edges changed. The encoder itself
            stays as it is in any case; without refresh so does what it said of the known nodes.
        tolerance : F is pushed on until ||r_k|| <= tolerance sqrt(degree) on every node, r = rhs - H F; the
            result's `error_bound` certifies the distance to a solution from scratch. Default: 1e-9 up to
            20,000 nodes, 1e-4 on larger graphs.

        Wrong input is refused as a whole, and the model stays as it was. `scores_` and its kin change in place.
        `temperature_`, `choice_` and `graph_help_` stay what the fit found; `leave_one_out_`, which speaks of single
        labels, is there again after a fit.
        """
        check_is_fitted(self)
        change = update.update(self, labels, edges, nodes, features, refresh, tolerance, store=True)
        if change.n_changed and not isinstance(self._leave_one_out, str):
            self._leave_one_out = OUTDATED
        return change

    def what_if(self, labels: Any, *, tolerance: float | None = None) -> request.Change:
        """What `update` would do with these labels; nothing is stored."""
        check_is_fitted(self)
        return update.update(self, labels, None, None, None, False, tolerance, store=False)

    def suggest(self, n: int = 10, *, among: Any = None) -> list[tuple[Any, float]]:
        """Which unlabelled nodes are worth labelling next: [(node, expected gain)], best first.

        The gain is the number of wrong labels that a node's label is expected to put right, given those before it;
        picks are spread over the graph. `among` names the nodes that can be asked for; None: any. Both what is
        picked from and what it is judged by are seeded samples on large graphs (see altopt.fitted.suggest).
        """
        check_is_fitted(self)
        return suggest.suggest(self, n, among)
