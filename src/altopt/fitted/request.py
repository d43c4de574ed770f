"""What an update asks for, read and checked as a whole before anything is changed, and what it did."""

import numbers
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.drawing import charts
from altopt.drawing.charts import Series
from altopt.drawing.html import Html, element, join, table
from altopt.drawing.palette import GREY
from altopt.errors import InputError
from altopt.fitted.edge_kinds import Edges, OfKind, split_by_kind
from altopt.fitted.explanation import plain
from altopt.fitted.model import FittedModel
from altopt.graph import tables
from altopt.graph.ids import comes_from
from altopt.graph.placement import MAX_WEIGHT, MIN_WEIGHT, is_weight
from altopt.graph.readers import refuse_two_readings
from altopt.graph.validation import UNKNOWN, is_unknown
from altopt.operator.knn import Neighbours

MAX_MOVES = 20  # nodes that a Change lists when it is shown


@dataclass(frozen=True)
class Change:
    """What an update did, or what `what_if` says it would do.

    Attributes
    ----------
    moved : list of (node, label before, label now)
        Nodes whose label changed; the label before is None for a new node.
    n_changed, n_touched : int
        Nodes whose row of F changed, and nodes that were visited.
    residual : float
        max_k ||r_k|| / sqrt(d_k) with r = rhs - H F; after a re-solve ||r||.
    error_bound : float or None
        ||F_k - F*_k|| <= error_bound sqrt(d_k), F* being the solution from scratch; after a re-solve ||F - F*||. None
        where no bound is known.
    stored : bool
        False for `what_if`.
    nodes, labels, scores : list, ndarray, ndarray
        The nodes whose row of F changed, their labels and their rows of F now.
    """

    moved: list[tuple[Any, Any, Any]]
    n_changed: int
    n_touched: int
    residual: float
    error_bound: float | None
    stored: bool
    nodes: list[Any] = field(repr=False)
    labels: Array = field(repr=False)
    scores: Array = field(repr=False)

    def __str__(self) -> str:
        n = len(self.moved)
        would = "" if self.stored else "would have "
        return (
            f"{n:,} {'node' if n == 1 else 'nodes'} {would}changed label; {self.n_changed:,} rows of F changed."
            + "".join(f"\n  {node}: {before} -> {now}" for node, before, now in self.moved[:MAX_MOVES])
            + (f"\n  and {n - MAX_MOVES:,} more" if n > MAX_MOVES else "")
        )

    def _repr_html_(self) -> Html:
        said = element("p", str(self).split("\n")[0])
        rows = [
            ("new" if before is None else before, now, node) for node, before, now in self.moved[:MAX_MOVES]
        ]
        head = ("Before", "Now", "Node")
        return (
            join(said, self.drawn(), table(head, rows, caption="Nodes whose label changed")) if rows else said
        )

    def drawn(self) -> Html:
        """Bars: of the nodes whose label changed, how many had each class before and have it now."""
        before, now = (Counter(str(move[k]) for move in self.moved if move[k] is not None) for k in (1, 2))
        names = [name for name, _ in (before + now).most_common(MAX_MOVES)]
        series = [
            Series("before", [float(before[name]) for name in names], colour=GREY),
            Series("now", [float(now[name]) for name in names]),
        ]
        label = "Nodes whose label changed: how many had each class before, and how many have it now."
        return charts.bars(names, series, label, "{:,.0f}".format)

    def record(self) -> dict[str, Any]:
        """In plain values, for JSON."""
        named = [[plain(part) for part in move] for move in self.moved]
        numbers = {key: getattr(self, key) for key in ("n_changed", "n_touched", "residual", "error_bound")}
        return {"moved": named, **numbers, "stored": self.stored}


@dataclass(frozen=True)
class Request:
    """Labels, edges and nodes of an update, by position; new nodes follow the known ones."""

    labels: dict[int, int]  # position -> class number, -1 withdraws
    edges: Edges  # of all kinds, without weights, where the graph has kinds
    arcs: list[tuple[int, int]]  # the edges in the direction each was named
    new_ids: list[Any]
    X: Any  # features of the new nodes
    by_kind: dict[str, OfKind] = field(default_factory=dict)  # where the graph has kinds


@dataclass(frozen=True)
class NewFeatures:
    """Checked features of new nodes, and the ids their rows carry, if any."""

    X: Any
    row_ids: Any


def read_request(
    model: FittedModel, labels: Any, edges: Any, nodes: Any, features: NewFeatures | None
) -> Request:
    """The whole request, or an InputError that says what is wrong."""
    new_ids = read_new_ids(model, nodes, features)
    rows = {node: model.n_nodes + k for k, node in enumerate(new_ids)}

    def place(node: Any, where: str) -> int:
        try:
            if node in rows:
                return rows[node]
            return model.position(node)
        except (InputError, TypeError) as error:
            raise InputError(
                f"{where} names node {node!r}, which is not in the graph. Add it with nodes= and features=, "
                "or leave it out."
            ) from error

    codes = {} if labels is None else read_labels(model.classes, labels, place)
    kinds, by_kind = model.last_graph.kinds, {}
    pairs, arcs = ({}, []) if edges is None or kinds else read_edges(edges, place)
    if edges is not None and kinds:
        given = split_by_kind(kinds, edges)
        by_kind = {kind: OfKind(*read_edges(part, place)) for kind, part in given.items()}
        pairs = {pair: None for of_kind in by_kind.values() for pair in of_kind.edges}
        arcs = [arc for of_kind in by_kind.values() for arc in of_kind.arcs]
    X = None if features is None else features.X
    if edges is None and new_ids and model.neighbours is not None:
        pairs, arcs = nearest(model.neighbours, model.n_nodes, X)
    return Request(codes, pairs, arcs, new_ids, X, by_kind)


def nearest(neighbours: Neighbours, n: int, X: Any) -> tuple[Edges, list[tuple[int, int]]]:
    """Edges of new nodes to their nearest known ones, for a model that built its own graph."""
    rows, known = neighbours.edges_of(X)
    pairs = list(zip(known.tolist(), (n + rows).tolist()))
    return dict.fromkeys(pairs), pairs


def read_new_ids(model: FittedModel, nodes: Any, features: NewFeatures | None) -> list[Any]:
    """Ids of new nodes, one for each row of their features."""
    n = model.n_nodes
    if features is None:
        ids = [] if nodes is None else plain_list(nodes)
        if ids:
            raise InputError(
                f"nodes names {ids[0]!r}, but features is not given. A new node needs a row of features."
            )
        return []
    n_new = features.X.shape[0]
    if nodes is not None:
        ids = plain_list(nodes)
    elif features.row_ids is not None:
        ids = plain_list(features.row_ids)
    elif model.positional:
        ids = list(range(n, n + n_new))
    else:
        raise InputError("features holds new nodes, but nodes= does not say their ids. Name them.")
    if len(ids) != n_new:
        raise InputError(f"nodes names {len(ids):,} new nodes but features has {n_new:,} rows.")
    try:
        distinct = len(set(ids))
    except TypeError as cause:
        raise InputError(f"nodes holds an id that is not hashable ({cause}). Use numbers or text.") from cause
    if distinct < len(ids):
        twice = next(node for node in ids if ids.count(node) > 1)
        raise InputError(f"nodes names {twice!r} twice. Give every new node an id of its own.")
    if model.positional and ids != list(range(n, n + n_new)):
        raise InputError(
            f"nodes starts with {ids[0]!r}, but this model's nodes are positions: new ones are numbered "
            f"{n}, {n + 1} and so on. Leave nodes out, or fit with ids."
        )
    for node in ids:
        if not model.positional and is_known(model, node):
            raise InputError(
                f"nodes names {node!r}, which is in the graph already. Give new nodes only; features of known "
                "ones change with a fit."
            )
    return ids


def is_known(model: FittedModel, node: Any) -> bool:
    try:
        model.position(node)
    except InputError:
        return False
    return True


def check_tolerance(tolerance: Any) -> None:
    """Refuse a tolerance that is not a number above 0."""
    if tolerance is not None and not (isinstance(tolerance, numbers.Real) and float(tolerance) > 0):
        raise InputError(f"tolerance must be a number above 0, but is {tolerance!r:.80}.")


def plain_list(values: Any) -> list[Any]:
    """Python's own values out of a list, an array, a series or a column."""
    if comes_from(values, "torch"):
        values = values.detach().cpu().numpy()
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        return [values]
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    values = values if isinstance(values, list) else [values]  # an array without axes
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def read_labels(classes: Array, labels: Any, place: Callable[[Any, str], int]) -> dict[int, int]:
    """Class numbers by position."""
    codes = {name: code for code, name in enumerate(classes.tolist())}
    by_position: dict[int, int] = {}
    for node, label in label_pairs(labels):
        at = place(node, "labels")
        code = UNKNOWN if is_unknown(label) else codes.get(hashable(label))
        if code is None:
            listed = ", ".join(repr(name) for name in list(codes)[:10])
            raise InputError(
                f"labels gives node {node!r} the label {label!r}, which is not among the classes ({listed}). "
                "A new class needs a new fit."
            )
        if by_position.setdefault(at, code) != code:
            raise InputError(f"labels gives node {node!r} two different labels. Decide on one.")
    return by_position


def hashable(label: Any) -> Any:
    label = label.item() if isinstance(label, np.generic) else label
    try:
        hash(label)
    except TypeError:
        return repr(label)
    return label


def label_pairs(labels: Any) -> list[tuple[Any, Any]]:
    """(node, label) out of a dict, a table with node and label, or a list of pairs."""
    if isinstance(labels, dict):
        return list(labels.items())
    if tables.is_table(labels):
        columns = tables.columns(labels, ("node", "label"), ())
        return list(zip(columns["node"].tolist(), columns["label"].tolist()))
    if comes_from(labels, "pandas") and hasattr(labels, "items"):  # a Series, by its index
        return list(zip(labels.index.tolist(), labels.tolist()))
    pairs = plain_pairs(
        labels, "labels", (2,), "labels must be {node: label}, pairs or a table of node and label"
    )
    return [(node, label) for node, label in pairs]


def read_edges(edges: Any, place: Callable[[Any, str], int]) -> tuple[Edges, list[tuple[int, int]]]:
    """Weights by pairs of positions, and the direction each was named in."""
    if isinstance(edges, dict):
        split_by_kind((), edges)
    if tables.is_table(edges):
        columns = tables.columns(edges, ("source", "target"), ("weight",))
        parts = [columns[name].tolist() for name in ("source", "target", "weight") if name in columns]
        rows: list[Any] = list(zip(*parts))
    else:
        hint = "edges must be (source, target) or (source, target, weight), or a table of them"
        rows = plain_pairs(edges, "edges", (2, 3), hint)
    weights: Edges = {}
    arcs = []
    for row in rows:
        source, target = place(row[0], "edges"), place(row[1], "edges")
        weight = row[2] if len(row) == 3 else None
        weight = None if weight is None or weight != weight else as_weight(weight)
        if weight is not None and not is_weight(weight):
            raise InputError(
                f"edges gives the edge from {row[0]!r} to {row[1]!r} the weight {weight}. "
                f"Weights are finite; 0 removes the edge, others lie from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}."
            )
        if source == target:
            continue  # a self-loop says nothing, as at the fit
        pair = (min(source, target), max(source, target))
        if weights.setdefault(pair, weight) != weight:
            raise InputError(
                f"edges gives the edge from {row[0]!r} to {row[1]!r} two weights. Decide on one."
            )
        arcs.append((source, target))
    return weights, arcs


def as_weight(value: Any) -> float:
    """A weight as a float; what is none is NaN, which the check of weights refuses."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def plain_pairs(values: Any, what: str, widths: tuple[int, ...], hint: str) -> list[Any]:
    """Rows of one of these widths out of a list or an array; the hint says what was expected."""
    if comes_from(values, "torch"):
        values = values.detach().cpu().numpy()
    if isinstance(values, np.ndarray):
        if what == "edges" and values.ndim == 2:
            refuse_two_readings(values, what)
        values = values.T if values.ndim == 2 and values.shape[0] == 2 and values.shape[1] != 2 else values
        values = values.tolist()
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(f"{hint}, but {what} is {values!r}.")
    rows = list(values)
    for row in rows:
        if not isinstance(row, (list, tuple)) or len(row) not in widths:
            raise InputError(f"{hint}, but {what} holds {row!r}.")
    return rows
