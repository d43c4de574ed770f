"""What an update asks for, read and checked as a whole before anything is changed, and what it came to."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.fitted.explanation import plain
from altopt.graph import tables
from altopt.graph.readers import comes_from
from altopt.graph.validation import UNKNOWN, is_unknown, read_X

Edges = dict[tuple[int, int], float | None]  # the lower position first; 0 removes, None is a weight not given


@dataclass(frozen=True)
class Change:
    """What an update did, or would do."""

    moved: list[tuple[Any, Any, Any]]  # (node, label before, label now); before is None for a new node
    n_changed: int  # nodes whose row of F changed
    n_touched: int  # nodes that were looked at: those, and the nodes next to them
    residual: float  # max_k ||r_k|| / sqrt(d_k); where F was solved anew, ||r||
    error_bound: (
        float | None
    )  # ||F_k - F*_k|| <= error_bound sqrt(d_k); solved anew: ||F - F*||; None: no bound is known
    stored: bool
    nodes: list[Any] = field(repr=False)  # those whose row of F changed
    labels: Array = field(repr=False)  # their labels now
    scores: Array = field(repr=False)  # their rows of F now

    def record(self) -> dict[str, Any]:
        """In plain values, for JSON."""
        named = [[plain(part) for part in move] for move in self.moved]
        numbers = {key: getattr(self, key) for key in ("n_changed", "n_touched", "residual", "error_bound")}
        return {"moved": named, **numbers, "stored": self.stored}


@dataclass(frozen=True)
class Changes:
    """Labels, edges and nodes by position; new nodes follow the known ones."""

    labels: dict[int, int]  # position -> class number, -1 withdraws
    edges: Edges
    directions: list[tuple[int, int]]  # of the edges, as they were named
    names: list[Any]  # of new nodes
    X: Any  # their features


@dataclass(frozen=True)
class Known:
    """The nodes there are: who is where."""

    n_nodes: int
    positional: bool
    position: Callable[[Any], int]


def read_changes(model: Any, known: Known, labels: Any, edges: Any, nodes: Any, features: Any) -> Changes:
    """All of it, or an InputError that says what is wrong."""
    names, X = read_nodes(model, known, nodes, features)
    new = {name: known.n_nodes + k for k, name in enumerate(names)}

    def place(node: Any, where: str) -> int:
        try:
            if node in new:
                return new[node]
            return known.position(node)
        except (InputError, TypeError) as error:
            raise InputError(
                f"{where} names node {node!r}, which is not in the graph. Add it with nodes= and features=, "
                "or leave it out."
            ) from error

    given = {} if labels is None else read_labels(model, labels, place)
    between, directions = ({}, []) if edges is None else read_edges(edges, place)
    return Changes(given, between, directions, names, X)


def read_nodes(model: Any, known: Known, nodes: Any, features: Any) -> tuple[list[Any], Any]:
    """Ids of new nodes and a row of features for each."""
    if features is None:
        names = [] if nodes is None else plain_list(nodes)
        if names:
            raise InputError(
                f"nodes names {names[0]!r}, but features is not given. A new node needs a row of features."
            )
        return [], None
    X, row_ids = read_X(features)
    if X.ndim != 2 or X.shape[1] != model.n_features_in_:
        raise InputError(
            f"features must have {model.n_features_in_} columns, as X had at the fit, but its shape is {X.shape}: "
            f"{X.shape[-1]} features."
        )
    X = model._check_X(X, reset=False)
    if nodes is not None:
        names = plain_list(nodes)
    elif row_ids is not None:
        names = plain_list(row_ids)
    elif known.positional:
        names = list(range(known.n_nodes, known.n_nodes + X.shape[0]))
    else:
        raise InputError("features holds new nodes, but nodes= does not say their ids. Name them.")
    if len(names) != X.shape[0]:
        raise InputError(f"nodes names {len(names):,} new nodes but features has {X.shape[0]:,} rows.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"nodes names {twice!r} twice. Give every new node an id of its own.")
    if known.positional and names != list(range(known.n_nodes, known.n_nodes + len(names))):
        raise InputError(
            f"nodes starts with {names[0]!r}, but this model's nodes are positions: new ones are numbered "
            f"{known.n_nodes}, {known.n_nodes + 1} and so on. Leave nodes out, or fit with ids."
        )
    for name in names:
        if not known.positional and is_known(known, name):
            raise InputError(
                f"nodes names {name!r}, which is in the graph already. Give new nodes only; features of known "
                "ones change with a fit."
            )
    return names, X


def is_known(known: Known, name: Any) -> bool:
    try:
        known.position(name)
    except InputError:
        return False
    return True


def plain_list(values: Any) -> list[Any]:
    """Python's own values out of a list, an array, a series or a column."""
    if comes_from(values, "torch"):
        values = values.detach().cpu().numpy()
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        return [values]
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def read_labels(model: Any, labels: Any, place: Callable[[Any, str], int]) -> dict[int, int]:
    """Class numbers by position."""
    codes = {name: code for code, name in enumerate(model.classes_.tolist())}
    found: dict[int, int] = {}
    for node, label in label_pairs(labels):
        at = place(node, "labels")
        code = UNKNOWN if is_unknown(label) else codes.get(hashable(label))
        if code is None:
            listed = ", ".join(repr(name) for name in list(codes)[:10])
            raise InputError(
                f"labels gives node {node!r} the label {label!r}, which is not among the classes ({listed}). "
                "A new class needs a new fit."
            )
        if found.setdefault(at, code) != code:
            raise InputError(f"labels gives node {node!r} two different labels. Decide on one.")
    return found


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
    pairs = plain_pairs(
        labels, "labels", (2,), "labels must be {node: label}, pairs or a table of node and label"
    )
    return [(node, label) for node, label in pairs]


def read_edges(edges: Any, place: Callable[[Any, str], int]) -> tuple[Edges, list[tuple[int, int]]]:
    """Weights by pairs of positions, and the direction each was named in."""
    if tables.is_table(edges):
        columns = tables.columns(edges, ("source", "target"), ("weight",))
        parts = [columns[name].tolist() for name in ("source", "target", "weight") if name in columns]
        rows: list[Any] = list(zip(*parts))
    else:
        hint = "edges must be (source, target) or (source, target, weight), or a table of them"
        rows = plain_pairs(edges, "edges", (2, 3), hint)
    found: Edges = {}
    directions = []
    for row in rows:
        source, target = place(row[0], "edges"), place(row[1], "edges")
        weight = row[2] if len(row) == 3 else None
        weight = None if weight is None or weight != weight else float(weight)
        if weight is not None and not 0 <= weight < np.inf:
            raise InputError(
                f"edges gives the edge from {row[0]!r} to {row[1]!r} the weight {weight}. "
                "Weights are finite; 0 removes the edge."
            )
        if source == target:
            continue  # a self-loop says nothing, as at the fit
        pair = (min(source, target), max(source, target))
        if found.setdefault(pair, weight) != weight:
            raise InputError(
                f"edges gives the edge from {row[0]!r} to {row[1]!r} two weights. Decide on one."
            )
        directions.append((source, target))
    return found, directions


def plain_pairs(values: Any, what: str, widths: tuple[int, ...], hint: str) -> list[Any]:
    if comes_from(values, "torch"):
        values = values.detach().cpu().numpy()
    if isinstance(values, np.ndarray):
        values = values.T if values.ndim == 2 and values.shape[0] == 2 and values.shape[1] != 2 else values
        values = values.tolist()
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(f"{hint}, but {what} is {values!r}.")
    rows = list(values)
    for row in rows:
        if not isinstance(row, (list, tuple)) or len(row) not in widths:
            raise InputError(f"{hint}, but {what} holds {row!r}.")
    return rows


def stacked(above: Any, below: Any) -> Any:
    """Rows of two blocks, dense or sparse as the first is."""
    if sp.issparse(above):
        return sp.csr_array(sp.vstack([above, sp.csr_array(below)]))
    below = below.toarray() if sp.issparse(below) else below
    return np.concatenate([above, np.asarray(below, dtype=above.dtype)])


def joined(ids: Array, names: list[Any]) -> Array:
    """Ids followed by further names, in an array that holds both as they are."""
    if all(isinstance(name, (int, np.integer)) for name in names) and ids.dtype.kind == "i":
        return np.concatenate([ids, np.array(names, dtype=ids.dtype)])
    held = np.empty(len(ids) + len(names), dtype=object)
    held[: len(ids)], held[len(ids) :] = ids, names
    return held
