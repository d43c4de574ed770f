"""Which node is which row: edge endpoints placed by position, by id or by a given order."""

from typing import NamedTuple

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph.ids import as_ids, describe_missing, distinct, lookup
from altopt.graph.readers import RawGraph, as_positions

MIN_WEIGHT, MAX_WEIGHT = 1e-30, 1e30
WEIGHTS = (
    f"weights must be finite and not negative: 0, or from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}. "
    "Only their ratios count, so that all may be divided by one number."
)


class Placed(NamedTuple):
    """Edges by the rows of their endpoints."""

    source: Array
    target: Array
    n_nodes: int
    ids: Array | None  # of the rows; None where nodes are positions
    has_order: bool  # False for ids that came in no order, such as those of a table


def place(raw: RawGraph, n_nodes: int | None, nodes: Array | None) -> Placed:
    """Which node is which row, from the edges and what was given as `n_nodes` or `nodes`."""
    source, target = raw.source, raw.target
    if raw.names is not None:
        if nodes is None:
            n = checked_node_count(len(raw.names), n_nodes, None, named=True)
            return Placed(source, target, n, raw.names, True)
        to = rows_among(nodes, raw.names, raw.origin)
        return Placed(to[source], to[target], len(nodes), nodes, True)
    if raw.endpoints == "ids" or (raw.endpoints == "positions" and _holds_whole_numbers(nodes)):
        if nodes is not None:
            source, target = as_ids(source, "the sources"), as_ids(target, "the targets")
            rows_among(nodes, np.arange(raw.n_nodes), raw.origin)
            source, target = (rows_among(nodes, ends, raw.origin) for ends in (source, target))
            return Placed(source, target, len(nodes), nodes, True)
        if (
            n_nodes is not None
            and could_be_positions(source, n_nodes)
            and could_be_positions(target, n_nodes)
        ):
            source, target = source.astype(np.int64), target.astype(np.int64)  # no edges may be of any type
            return Placed(source, target, int(n_nodes), None, True)
        ids = distinct(source, target)
        n = checked_node_count(len(ids), n_nodes, None, named=True)
        return Placed(lookup(ids, source), lookup(ids, target), n, ids, False)
    source, target = as_positions(source), as_positions(target)
    n = max([int(ends.max()) + 1 for ends in (source, target) if len(ends)], default=0)
    if raw.endpoints == "fixed" and raw.n_nodes and n > raw.n_nodes:
        raise InputError(
            f"the graph says it has {raw.n_nodes:,} nodes, but an edge ends at position {n - 1:,}."
        )
    n = checked_node_count(max(n, raw.n_nodes), n_nodes, nodes)
    return Placed(source, target, n, nodes, True)


def _holds_whole_numbers(nodes: Array | None) -> bool:
    return nodes is not None and any(isinstance(name, int | np.integer) for name in nodes.tolist())


def could_be_positions(ids: Array, n: int) -> bool:
    """Whether these ids may be positions of n nodes."""
    return not len(ids) or (ids.dtype.kind == "i" and ids.min() >= 0 and ids.max() < n)


def rows_among(nodes: Array, ids: Array, origin: str) -> Array:
    """The rows of ids among `nodes`, which must hold them all."""
    rows = lookup(nodes, ids)
    if len(rows) and rows.min() < 0:
        absent = describe_missing(nodes, ids, rows, "in nodes")
        raise InputError(f"{origin} has {absent} List every node in nodes=, with edges or without.")
    return rows


def checked_node_count(n: int, n_nodes: int | None, nodes: Array | None, named: bool = False) -> int:
    """The number of nodes of a graph whose edges name n, with `n_nodes` or `nodes` as given; too few are refused."""
    if nodes is not None and len(nodes) < n:
        raise InputError(f"nodes lists {len(nodes):,} ids but the graph has {n:,} nodes; name them all.")
    if n_nodes is not None and n_nodes < n:
        raise InputError(f"n_nodes is {n_nodes:,} but the graph has {n:,} nodes; raise it or leave it out.")
    if named and n_nodes is not None and n_nodes > n:
        raise InputError(f"n_nodes={n_nodes} would add nodes without an id to {n:,} with ids; use nodes=ids.")
    return int(n_nodes) if n_nodes is not None else n if nodes is None else len(nodes)


def refuse_bad_weights(raw: RawGraph, placed: Placed, ids: Array) -> None:
    """Refuse weights that are negative, missing or out of range, naming the first such edge."""
    weight = raw.weight if raw.matrix is None else raw.matrix.data
    valid = np.ones(0, bool) if weight is None else is_weight(weight)
    if weight is not None and not valid.all():
        k = int(np.argmin(valid))
        if raw.matrix is None:
            ends = [placed.source[k], placed.target[k]]
        else:
            ends = [np.searchsorted(raw.matrix.indptr, k, side="right") - 1, raw.matrix.indices[k]]
        first, second = ids[ends].tolist()
        raise InputError(
            f"in {raw.origin} the edge from {first!r} to {second!r} has weight {weight[k]}; {WEIGHTS}"
        )


def is_weight(weight: Array | float) -> Array:
    """Where a weight is 0 or in the range in which degrees, their roots and products stay exact in every kernel."""
    return np.asarray((weight == 0) | ((weight >= MIN_WEIGHT) & (weight <= MAX_WEIGHT)))
