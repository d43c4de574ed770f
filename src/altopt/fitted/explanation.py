"""What an explanation holds: the evidence for a node's row of F, per class, and how to read it."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.fitted.by_column import OTHERS, ColumnShares
from altopt.fitted.ledger import as_html, in_words

OTHER_COLUMNS = "all other columns"
MAX_VISITED = 100_000  # nodes looked at for the strongest path


@dataclass(frozen=True)
class Parts:
    """F_i = sum over nodes of weight * (features + label_weight * one-hot of code) + share of the start + tail."""

    nodes: Array  # positions
    weights: Array  # p: how much a unit of evidence at each node counts
    features: Array  # rows of lambda1 P
    codes: Array  # class of each one's label, -1 where it has none
    label_weight: float
    start: Array | None  # n x c: what K steps kept of each node's F where they began
    beyond: Array | None  # rho' F: evidence further away than the ledger was followed
    error: (
        float | None
    )  # bound on the error of the weights; None: not known beforehand, `remainder` measures it
    n_reached: int


@dataclass(frozen=True)
class Contrast:
    """Why one class and not another: what each piece of evidence gave the one more than the other."""

    prediction: Any
    other: Any
    margin: float  # the difference of the two scores; the amounts sum to it
    from_labels: list[tuple[Any, Any, float]]
    from_features: list[tuple[Any, float]]

    def record(self, most: int = 10) -> dict[str, Any]:
        """In plain values, the `most` largest entries of each list, for JSON."""
        return {
            "other": plain(self.other),
            "margin": self.margin,
            "from_labels": [[plain(n), plain(c), amount] for n, c, amount in self.from_labels[:most]],
            "from_features": [[plain(n), amount] for n, amount in self.from_features[:most]],
        }


@dataclass(frozen=True, repr=False)
class Explanation:
    """The ledger of one node's prediction; amounts in the predicted class's column of F, largest first.

    F_i = sum_j G_ij (lambda1 P_j + lambda2 M_jj Y_j) with G = H^-1: the amounts sum to `total`, which is `scores_`
    there. An entry with node None is the tail: evidence further away than the ledger was followed, what the solver's
    tolerance left, and for a solver that does not converge what its steps kept of the F they started from
    (`from_start` says whose). Exact for the encoder output that was used, and for F before the softmax.

    Attributes
    ----------
    node, prediction : the node's id and its label
    total : float
        The score of the predicted class.
    evidence : ndarray (n_classes,)
        The node's row of `scores_`.
    from_labels : list of (node, class, amount)
    from_features : list of (node, amount)
    from_start : list of (node, amount)
    label_evidence, feature_evidence, tail : ndarray (n_classes,)
        Their sums for every class; together they are `evidence`.
    error_bound : float or None
        Bound on the error of the listed weights.
    columns : list of (column, amount)
        Columns of X by name or number, what each gave the predicted class through the features of the nodes that are
        listed first; with a last entry (None, ...) for what is not theirs they sum to the feature evidence.
    columns_how : str
        How these amounts were found.
    path : (list of nodes, float or None)
        The single path that carried most of another node's evidence, and how much.
    path_kinds : list of list of str
        The kinds of the edges along that path, one entry an edge; empty where the graph has no kinds.

    Examples
    --------
    >>> from altopt import AltOpt
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1]])
    >>> model = AltOpt(random_state=0).fit(X, ["a", None, "b", None], graph=[(0, 1), (2, 3)])
    >>> why = model.explain(1)
    >>> why.prediction, [(node, label) for node, label, amount in why.from_labels]
    ('a', [(0, 'a')])
    >>> amounts = [amount for _, _, amount in why.from_labels] + [amount for _, amount in why.from_features]
    >>> bool(np.isclose(sum(amounts), why.total))
    True
    """

    place: int = field(repr=False)
    name: Callable[[int], Any] = field(repr=False)
    code: int = field(repr=False)
    evidence: Array  # (n_classes,): the row of scores_
    parts: Parts = field(repr=False)
    classes: Array = field(repr=False)
    neighbour_shares: Callable[[int], tuple[Array, Array]] = field(repr=False)
    own_share: float | None = field(repr=False)  # 1 / H_ii; None where walks do not add up to G
    column_shares: Callable[[Array, Array, int], ColumnShares] = field(repr=False)
    column_names: list[Any] = field(repr=False)  # of each column of X; equal names are counted together
    kinds_between: Callable[[int, int], list[str]] | None = field(default=None, repr=False)

    @property
    def node(self) -> Any:
        return self.name(self.place)

    @property
    def prediction(self) -> Any:
        return self.classes[self.code]

    @property
    def total(self) -> float:
        return float(self.evidence[self.code])

    @cached_property
    def label_evidence(self) -> Array:
        """(n_classes,): what all labels gave."""
        known = self.parts.codes >= 0
        amounts = self.parts.label_weight * self.parts.weights[known]
        return np.bincount(self.parts.codes[known], amounts, minlength=len(self.classes))

    @cached_property
    def feature_evidence(self) -> Array:
        """(n_classes,): what all features gave."""
        return np.asarray(self.parts.weights @ self.parts.features)

    @cached_property
    def tail(self) -> Array:
        """(n_classes,): what is in no node's name."""
        return np.asarray(self.evidence - self.label_evidence - self.feature_evidence)

    @property
    def remainder(self) -> Array:
        """(n_classes,): the part of the tail that is nobody's: what the solver's tolerance left of the equation."""
        known = self.parts.beyond if self.parts.start is None else self.parts.start.sum(axis=0)
        return self.tail if known is None else np.asarray(self.tail - known)

    @property
    def error_bound(self) -> float | None:
        """Bound on the error of the listed weights; None where none is known.

        Where the solver's steps are replayed it is measured: by how much the replayed sum differs from `scores_`.
        """
        if self.parts.error is None and self.parts.start is not None:
            return float(np.max(np.abs(self.remainder)))
        return self.parts.error

    @cached_property
    def from_labels(self) -> list[tuple[Any, Any, float]]:
        """(node, class, amount) of each label for the predicted class."""
        return self._labels(np.eye(len(self.classes))[self.code])

    @cached_property
    def from_features(self) -> list[tuple[Any, float]]:
        """(node, amount) of each node's features for the predicted class; the tail, if any, last."""
        return self._features(np.eye(len(self.classes))[self.code])

    @cached_property
    def from_start(self) -> list[tuple[Any, float]]:
        """(node, amount): the tail of a model of K steps, by the nodes whose F the steps began with."""
        if self.parts.start is None:
            return []
        amounts = self.parts.start[:, self.code]
        return [(self.name(int(j)), float(amounts[j])) for j in order(amounts) if amounts[j]]

    @cached_property
    def _shares(self) -> ColumnShares:
        return self.column_shares(self.parts.nodes, self.parts.weights, self.code)

    @cached_property
    def columns(self) -> list[tuple[Any, float]]:
        """(column of X, amount) for the predicted class; what is not the columns', last."""
        total: dict[Any, float] = {}
        for k, amount in zip(self._shares.columns.tolist(), self._shares.amounts.tolist()):
            name = OTHER_COLUMNS if k == OTHERS else self.column_names[k]
            total[name] = total.get(name, 0.0) + amount
        listed: list[tuple[Any, float]] = sorted(
            ((name, amount) for name, amount in total.items() if amount), key=lambda entry: -abs(entry[1])
        )
        rest = float(self.feature_evidence[self.code]) - sum(amount for _, amount in listed)
        return [*listed, (None, rest)]

    @property
    def columns_how(self) -> str:
        return self._shares.how

    @property
    def given(self) -> bool:
        """Whether the node's label was given, whatever the evidence says."""
        own = self.parts.codes[self.parts.nodes == self.place]
        return bool(len(own)) and bool(own[0] >= 0)

    @property
    def outvoted_by(self) -> Any:
        """The class that the evidence is for, where that is not the node's label; else None."""
        strongest = int(np.argmax(self.evidence))
        return None if self.evidence[strongest] <= self.evidence[self.code] else self.classes[strongest]

    def __repr__(self) -> str:
        given = ", as given" if self.given else ""
        node, label = plain(self.node), plain(self.prediction)
        return f"Explanation(node={node!r}, prediction={label!r}{given}, total={self.total:.4f})"

    def __str__(self) -> str:
        return "\n".join(in_words(self))

    def _repr_html_(self) -> str:
        return as_html(self)

    def against(self, other: Any) -> Contrast:
        """Why the prediction and not `other`."""
        code = np.flatnonzero(self.classes == other)
        if not len(code):
            listed = ", ".join(repr(c) for c in self.classes.tolist()[:10])
            raise InputError(f"{other!r} is not among the classes. Name one of {listed}.")
        if code[0] == self.code:
            raise InputError(f"{other!r} is the prediction itself. Name another class to set against it.")
        signs = np.eye(len(self.classes))[self.code] - np.eye(len(self.classes))[code[0]]
        margin = float(self.evidence @ signs)
        return Contrast(
            self.prediction, self.classes[code[0]], margin, self._labels(signs), self._features(signs)
        )

    def _labels(self, signs: Array) -> list[tuple[Any, Any, float]]:
        known = np.flatnonzero(self.parts.codes >= 0)
        codes = self.parts.codes[known]
        amounts = self.parts.label_weight * self.parts.weights[known] * signs[codes]
        return [
            (self.name(int(self.parts.nodes[known[k]])), self.classes[codes[k]], float(amounts[k]))
            for k in order(amounts)
            if amounts[k]
        ]

    def _features(self, signs: Array) -> list[tuple[Any, float]]:
        amounts = self.parts.weights * (self.parts.features @ signs)
        listed: list[tuple[Any, float]] = [
            (self.name(int(self.parts.nodes[k])), float(amounts[k])) for k in order(amounts) if amounts[k]
        ]
        tail = float(self.tail @ signs)
        return [*listed, (None, tail)] if tail else listed

    @property
    def path(self) -> tuple[list[Any], float | None]:
        """The single path that carried most of another node's evidence here: its nodes, and the amount.

        G_ij is a sum over all walks from j to i, each 1 / H_ii times the product of a_kl / H_ll along it. The amount
        is that product times the evidence at j; None where G is no such sum (a fixed number of steps, the squared
        Laplacian), and the path is then the one of strongest ties. ([], 0) where nothing came from elsewhere.
        """
        walk, amount = self._walk
        return [self.name(node) for node in walk], amount

    @cached_property
    def path_kinds(self) -> list[list[str]]:
        """The kinds of each edge along `path`; empty where the graph has no kinds."""
        if self.kinds_between is None:
            return []
        return [self.kinds_between(a, b) for a, b in pairwise(self._walk[0])]

    def path_in_words(self) -> str:
        """The path as one line, with the kinds of its edges where the graph has kinds: a -> b, a -(cites)-> b."""
        walk, kinds = self.path[0], self.path_kinds
        arrows = [f" -({', '.join(names)})-> " for names in kinds] or [" -> "] * len(walk)
        return "".join(str(part) for step in zip(walk, [*arrows[: len(walk) - 1], ""]) for part in step)

    @cached_property
    def _walk(self) -> tuple[list[int], float | None]:
        """The path by positions."""
        evidence_of = dict(zip(self.parts.nodes.tolist(), self._own_evidence()))
        largest = max((abs(value) for node, value in evidence_of.items() if node != self.place), default=0.0)
        best, best_end, parent = 0.0, None, {self.place: self.place}
        done: set[int] = set()
        heap = [(-(self.own_share or 1.0), self.place, self.place)]
        while heap and len(done) < MAX_VISITED:
            weight, node, came_from = heapq.heappop(heap)
            if -weight * largest <= abs(best):
                break
            if node in done:
                continue
            done.add(node)
            parent[node] = came_from
            amount = -weight * evidence_of.get(node, 0.0)
            if node != self.place and abs(amount) > abs(best):
                best, best_end = amount, node
            columns, handed = self.neighbour_shares(node)
            for j, share in zip(columns.tolist(), handed.tolist()):
                if j not in done and j in evidence_of:
                    heapq.heappush(heap, (weight * share, j, node))
        walk = []
        while best_end is not None:
            walk.append(best_end)
            best_end = None if best_end == self.place else parent[best_end]
        return walk, float(best) if self.own_share is not None else None

    def _own_evidence(self) -> list[float]:
        """rhs_j in the predicted class."""
        labels = self.parts.label_weight * (self.parts.codes == self.code)
        evidence = self.parts.features[:, self.code] + labels
        return [float(e) for e in evidence]

    def record(self, most: int = 10) -> dict[str, Any]:
        """Everything in plain values, the `most` largest entries of each list, for JSON."""
        walk, amount = self.path
        return {
            "node": plain(self.node),
            "prediction": plain(self.prediction),
            "total": self.total,
            "evidence": dict(zip(map(str, self.classes.tolist()), self.evidence.tolist())),
            "labels": float(self.label_evidence[self.code]),
            "features": float(self.feature_evidence[self.code]),
            "tail": float(self.tail[self.code]),
            "from_labels": [[plain(n), plain(c), amount] for n, c, amount in self.from_labels[:most]],
            "from_features": [[plain(n), amount] for n, amount in self.from_features[:most] if n is not None],
            "from_start": [[plain(n), amount] for n, amount in self.from_start[:most]],
            "given": self.given,
            "outvoted_by": plain(self.outvoted_by),
            "columns": [[plain(n), amount] for n, amount in self.columns[:most] if n is not None],
            "columns_how": self.columns_how,
            "path": [plain(n) for n in walk],
            "path_amount": amount,
            **({"path_kinds": self.path_kinds} if self.kinds_between else {}),
            "error_bound": self.error_bound,
            "nodes_reached": self.parts.n_reached,
        }


def order(amounts: Array) -> list[int]:
    """Largest first, whichever their sign; ties by place."""
    return [int(k) for k in np.argsort(-np.abs(amounts), kind="stable")]


def plain(value: Any) -> Any:
    """A numpy scalar as Python's own."""
    return value.item() if isinstance(value, np.generic) else value
