"""Nodes that were not part of the fit: their edges, the graph extended by them, and their F."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.fitted.edge_kinds import OfKind, split_by_kind
from altopt.fitted.model import FittedModel, node_kinds
from altopt.graph import Graph, tables
from altopt.graph.ids import comes_from
from altopt.graph.placement import WEIGHTS, is_weight
from altopt.graph.readers import as_weights, refuse_two_readings
from altopt.graph.validation import UNKNOWN
from altopt.inputs import ChangedNodes, NewNodes
from altopt.operator import NormalizedAdjacency
from altopt.operator.feature_matrix import empty_rows
from altopt.operator.knn import Neighbours

Ends = tuple[Array, Array, Array]  # positions of sources and targets, and weights


def probabilities_of_new_nodes(model: FittedModel, X: Any, row_ids: Any, edges: Any) -> Array:
    """F of new nodes as probabilities.

    By their nearest known nodes where the model built its graph and no edges are given.
    """
    with model.lock:
        if edges is None and model.neighbours is not None:
            return model.readout.soften(by_neighbours(model, model.neighbours, X))
        grown, ends = with_new_nodes(model.graph, X.shape[0], row_ids, edges)
        return model.readout.soften(by_solve(model, grown, X), kinds_of(model, X, ends))


def with_new_nodes(graph: Graph, n_new: int, row_ids: Any, edges: Any) -> tuple[Graph, Ends]:
    """The graph with new nodes at its end, and the edges along which these are smoothed."""
    if not graph.kinds:
        ends = resolve_edges(graph, n_new, row_ids, [] if edges is None else edges)
        return graph.grown(n_new, *ends), ends
    given = {} if edges is None else split_by_kind(graph.kinds, edges)
    by_kind = {
        name: resolve_edges(kind, n_new, row_ids, given.get(name, [])) for name, kind in graph.kinds.items()
    }
    kinds = {name: kind.grown(n_new, *by_kind[name]) for name, kind in graph.kinds.items()}
    used = [by_kind[name] for name, factor in graph.edge_factors.items() if factor > 0]
    source, target, weight = (np.concatenate(column) for column in zip(*used))
    return graph.with_kinds(kinds), (source, target, weight)


def kinds_of(model: FittedModel, X: Any, ends: Ends) -> Array:
    """NodeKind of new nodes: without edges, or without features and tied to none that anything is known of."""
    n, n_new = model.n_nodes, X.shape[0]
    source, target, _ = ends
    one, other = np.concatenate([source, target]), np.concatenate([target, source])
    here = one >= n
    one, other = one[here] - n, other[here]
    telling = np.ones(len(other), dtype=bool)
    telling[other < n] = model.reached[other[other < n]]
    isolated = np.bincount(one, minlength=n_new) == 0
    reached = (np.bincount(one[telling], minlength=n_new) > 0) | ~empty_rows(X)
    return node_kinds(np.zeros(n_new, dtype=bool), isolated, reached)


def by_solve(model: FittedModel, grown: Graph, X: Any) -> Array:
    """F of the new nodes, the last of a grown graph, from one solve over known and new nodes together."""
    n_new = X.shape[0]
    A_tilde = model.normalized(grown)
    new = new_nodes(grown, A_tilde, X, model.restart, model.n_diffusion)
    P = np.concatenate([model.encoder_output, encoder_output_of(model, new)])
    codes = np.concatenate([model.codes, np.full(n_new, UNKNOWN, dtype=model.codes.dtype)])
    objective = model.objective_on(grown, A_tilde, codes, P)
    start = np.zeros_like(P)
    start[codes != UNKNOWN] = model.Y
    return model.solver.solve(objective, start).F[-n_new:]


def by_neighbours(model: FittedModel, neighbours: Neighbours, X: Any) -> Array:
    """F of each new row on its own, from its nearest known nodes' F held fixed and its own P.

    F_i = (lambda1 P_i + sum_j a_ij F_j) / (lambda1 + 1): the row of the linear system that belongs to i.
    """
    rows, known = neighbours.edges_of(X)
    graph, n, n_new = model.graph, model.n_nodes, X.shape[0]
    if not model.couples_by_adjacency():  # another view has another row: solve it
        return by_solve(model, graph.grown(n_new, rows + n, known, np.ones(len(rows))), X)
    degrees = np.bincount(rows, minlength=n_new)[rows] * np.maximum(graph.degrees[known], 1.0)
    ties = sp.csr_array((1.0 / np.sqrt(degrees), (rows, known)), shape=(n_new, n + n_new))
    edges = sp.csr_array((np.ones(len(rows)), (rows, known)), shape=ties.shape)
    P = encoder_output_of(model, NewNodes(X, ties, edges, edges, model.restart, model.n_diffusion))
    weight = model.candidate.feature_weight
    return np.asarray((weight * P + ties[:, :n] @ model.scores) / (weight + 1.0))


def encoder_output_of(model: FittedModel, new: NewNodes) -> Array:
    """P of new nodes, in double precision: a row's answer must not depend on which rows are asked for with it."""
    rows = model.inputs.rows(model.inputs.extend(new))
    return model.encoder.predict(rows.astype(np.float64))


def resolve_edges(graph: Graph, n_new: int, new_ids: Any, edges: Any) -> Ends:
    """Edge ends as positions (known nodes 0..n-1, new ones from n on) and weights.

    Pairs are (row of X_new, known node id), or name both ends as `update` does: a new node by its id, or where nodes
    are positions by n + row. A table with source/target names either kind at either end: a new node by its id
    (X_new's index) or, without ids, its row; everything else is a known node's id. A list of such parts is taken
    together.
    """
    if isinstance(edges, dict):
        split_by_kind((), edges)
    if isinstance(edges, (list, tuple)) and any(tables.is_table(part) for part in edges):
        parts = [resolve_edges(graph, n_new, new_ids, part) for part in edges]
        sources, targets, weights = (np.concatenate(column) for column in zip(*parts))
        return sources, targets, weights
    default = float(graph.adjacency.data.mean()) if graph.adjacency.nnz else 1.0
    if tables.is_table(edges):
        columns = tables.columns(edges)
        tables.choose(list(columns), ("source", "target"), ("weight",), "edges")
        names = {
            key: row for row, key in enumerate(new_ids.tolist() if new_ids is not None else range(n_new))
        }
        source, target = (name_positions(graph, names, columns[name]) for name in ("source", "target"))
        weight = as_weights(columns["weight"]) if "weight" in columns else np.full(len(source), default)
    else:
        first, second = as_pairs(edges)
        source, target = ends_of_pairs(graph, n_new, new_ids, first, second)
        weight = np.full(len(source), default)
    valid = is_weight(weight)
    if not valid.all():
        raise InputError(f"edges holds the weight {weight[np.argmin(valid)]}; {WEIGHTS}")
    return source, target, weight


def as_pairs(edges: Any) -> tuple[list[Any], list[Any]]:
    """First and second ends out of a list of pairs, an (E, 2) or a (2, E) array."""
    if comes_from(edges, "torch"):
        edges = edges.detach().cpu().numpy()
    if isinstance(edges, np.ndarray):
        if edges.ndim != 2 or 2 not in edges.shape:
            raise InputError(f"edges must be pairs, (E, 2) or (2, E), but has shape {edges.shape}.")
        refuse_two_readings(edges, "edges")
        first, second = edges.T if edges.shape[1] == 2 else edges
        return first.tolist(), second.tolist()
    pairs = list(edges) if isinstance(edges, Iterable) else [edges]
    if any(not isinstance(p, (list, tuple)) or len(p) != 2 for p in pairs):
        raise InputError(
            "edges must be pairs (row of X_new, known node id), or a table with source and target."
        )
    ends = [[end.item() if isinstance(end, np.generic) else end for end in pair] for pair in pairs]
    return [pair[0] for pair in ends], [pair[1] for pair in ends]


def ends_of_pairs(
    graph: Graph, n_new: int, new_ids: Any, first: list[Any], second: list[Any]
) -> tuple[Array, Array]:
    """Positions of the ends of pairs: (row, known id) where every first end is a row, else both by name."""
    n = graph.n_nodes
    if all(isinstance(end, int) and 0 <= end < n_new for end in first):
        return np.array(first, dtype=np.int64) + n, np.asarray(graph.positions(second))
    named = new_ids.tolist() if new_ids is not None else range(n, n + n_new) if graph.positional else []
    names = {name: row for row, name in enumerate(named)}
    if not any(end in names for end in first + second):
        strange = next(end for end in first if not (isinstance(end, int) and 0 <= end < n_new))
        raise InputError(
            f"edges starts with {strange!r}, which is neither a row of X_new, which has {n_new:,} rows, nor the id of "
            "a new node. Pairs are (row of X_new, known node id); with ids=, or X_new indexed by ids, (id, id)."
        )
    objects = np.empty((2, len(first)), dtype=object)
    objects[0], objects[1] = first, second
    source, target = (name_positions(graph, names, ends) for ends in objects)
    between_known = (source < n) & (target < n)
    if between_known.any():
        k = int(np.argmax(between_known))
        raise InputError(
            f"edges has ({first[k]!r}, {second[k]!r}), two known nodes. predict takes edges of new nodes; update "
            "changes the graph."
        )
    return source, target


def name_positions(graph: Graph, names: dict[Any, int], ends: Array) -> Array:
    """Positions of ends that are new nodes' names or known ids."""
    ends = np.asarray(ends)
    rows = np.array([names.get(end, -1) for end in ends.tolist()], dtype=np.int64)
    out = rows + graph.n_nodes
    known = rows < 0
    if known.any():
        out[known] = graph.positions(ends[known])
    return out


def new_nodes(
    grown: Graph, A_tilde: NormalizedAdjacency, X_new: Any, restart: float, n_steps: int
) -> NewNodes:
    """The last nodes of a grown graph, as encoder inputs see them; A_tilde is that of the grown graph."""
    nodes = np.arange(grown.n_nodes - X_new.shape[0], grown.n_nodes)
    new = NewNodes(X_new, A_tilde.matrix[nodes], *edges_of(grown, nodes), restart, n_steps)
    return new_nodes_by_kind(new, grown, A_tilde.self_loops)


def new_nodes_by_kind(new: NewNodes, grown: Graph, self_loops: bool) -> NewNodes:
    """New nodes with their edges of each kind."""
    nodes = np.arange(grown.n_nodes - new.X.shape[0], grown.n_nodes)
    kinds = {}
    for name, kind in grown.kinds.items():
        ties = NormalizedAdjacency(kind.adjacency, self_loops).matrix[nodes]
        kinds[name] = NewNodes(new.X, ties, *edges_of(kind, nodes), new.restart, new.n_steps)
    return replace(new, kinds=kinds)


def changed_nodes(
    before: Graph, now: Graph, A_tilde: NormalizedAdjacency, restart: float, n_steps: int
) -> ChangedNodes:
    """The nodes whose edges, or rows of A_tilde (that of `now`), are others than before; new ones left out."""
    self_loops = A_tilde.self_loops
    was = NormalizedAdjacency(before.adjacency, self_loops).matrix
    nodes = differing(was, A_tilde.matrix)
    pairs = [(before, now), *((kind, now.kinds[name]) for name, kind in before.kinds.items())]
    for earlier, later in pairs[1:]:
        rows = (NormalizedAdjacency(one.adjacency, self_loops).matrix for one in (earlier, later))
        nodes = np.union1d(nodes, differing(*rows))
    for earlier, later in pairs:
        if earlier.directed_adjacency is not None:  # an edge may have got its other direction alone
            A, B = earlier.directed_adjacency, later.directed_adjacency
            nodes = np.unique(np.concatenate([nodes, differing(A, B), differing(A.T.tocsr(), B.T.tocsr())]))
    ties_before = was[nodes]
    ties_before.resize((len(nodes), now.n_nodes))
    changed = ChangedNodes(nodes, A_tilde.matrix[nodes], ties_before, *edges_of(now, nodes), restart, n_steps)
    return changed_nodes_by_kind(changed, before, now, self_loops)


def changed_nodes_by_kind(changed: ChangedNodes, before: Graph, now: Graph, self_loops: bool) -> ChangedNodes:
    """Changed nodes with their edges of each kind, before and now."""
    nodes, kinds = changed.nodes, {}
    for name, kind in now.kinds.items():
        was = NormalizedAdjacency(before.kinds[name].adjacency, self_loops).matrix[nodes]
        was.resize((len(nodes), now.n_nodes))
        ties = NormalizedAdjacency(kind.adjacency, self_loops).matrix[nodes]
        kinds[name] = replace(
            changed, ties=ties, ties_before=was, **dict(zip(("out", "into"), edges_of(kind, nodes)))
        )
    return replace(changed, kinds=kinds)


def nodes_near_kinds(before: Graph, now: Graph, requested: dict[str, OfKind]) -> Array:
    """The ends of edges that are set, and their neighbours of that kind, before and now."""
    near = [np.empty(0, dtype=np.int64)]
    for name, (edges, _) in requested.items():
        ends = np.unique(np.array([*edges], dtype=np.int64).ravel())
        near.append(ends)
        for graph in (before, now):
            A = graph.kinds[name].adjacency
            near.append(A[ends[ends < A.shape[0]]].indices.astype(np.int64))
    return np.unique(np.concatenate(near))


def differing(before: Any, now: Any) -> Array:
    """The rows of `before` that are others in `now`, which may have more rows and columns."""
    was = before.copy()
    was.resize((before.shape[0], now.shape[1]))
    off = sp.csr_array(now[: before.shape[0]] - was)
    off.eliminate_zeros()
    return np.flatnonzero(np.diff(off.indptr))


def edges_of(graph: Graph, nodes: Array) -> tuple[Any, Any]:
    """Rows of weights of the edges that lead from these nodes, and of those that lead to them."""
    A = graph.directed_adjacency
    out = sp.csr_array((graph.adjacency if A is None else A)[nodes])
    return out, out if A is None else sp.csr_array(A[:, nodes].T)
