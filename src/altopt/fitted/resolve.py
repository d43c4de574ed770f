"""Updates of models that a local push does not serve: the last update of F is made again, on all nodes."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import one_hot
from altopt.errors import InputError
from altopt.fitted.new_nodes import changed_nodes, new_nodes
from altopt.fitted.request import Change, Changes, Known, joined, read_changes, stacked
from altopt.fitted.system import with_directions
from altopt.graph.knn import Neighbours
from altopt.graph.validation import UNKNOWN
from altopt.operator import NormalizedAdjacency
from altopt.operator.feature_matrix import empty_rows


def update(
    model: Any, labels: Any, edges: Any, nodes: Any, features: Any, refresh: bool, store: bool
) -> Change:
    """F from the model's own solver, on the graph and labels as they are now.

    A solver that takes a fixed number of steps takes them again from where its last update began, new labels
    put in there.
    """
    graph, n = model.graph_, model.graph_.n_nodes
    views = (model.plan_.feature_view, model.plan_.label_view)
    odd = [view for view in views if not view.quadratic]
    if odd:
        names = " and ".join(getattr(view, "__name__", type(view).__name__) for view in odd)
        raise InputError(
            f"update needs views that are quadratic in F, but {names} is not. Fit again with the new data."
        )
    known = Known(n, graph.positional, graph.position)
    asked = read_changes(model, known, labels, edges, nodes, features)
    if edges is None and asked.names and model.neighbours_ is not None:
        asked = replace(asked, **nearest(model, n, asked.X))
    new_graph = with_changes(graph, asked)
    A_tilde = NormalizedAdjacency(new_graph.adjacency, model.self_loops)
    P, inputs = model.encoder_output_, model.inputs_
    if asked.names:
        Z = inputs.extend(new_nodes(new_graph, A_tilde, asked.X, model.restart_, model.n_diffusion))
        P = np.concatenate([P, model.encoder_.predict(inputs.rows(Z)).astype(P.dtype)])
        inputs = inputs.with_rows(Z)
    near = changed_nodes(graph, new_graph, A_tilde, model.restart_, model.n_diffusion) if refresh else None
    if near is not None and len(near.nodes):
        renewed = inputs.renewed(near)
        P = P.copy()
        P[near.nodes] = model.encoder_.predict(inputs.rows(renewed))
    codes = np.full(len(P), UNKNOWN, dtype=np.int64)
    codes[:n][model.labelled_] = model.Y_.argmax(axis=1)
    codes[list(asked.labels)] = list(asked.labels.values())
    Y = one_hot(codes[codes != UNKNOWN], P.shape[1], model.Y_.dtype)
    start = np.zeros_like(P)
    start[:n] = model.scores_ if model.start_ is None else model.start_
    if model.start_ is not None:
        places = np.array(list(asked.labels), dtype=np.int64)
        start[places] = one_hot(codes[places], P.shape[1], P.dtype)
    objective = model._objective(new_graph, A_tilde, Y, codes != UNKNOWN)(P, None)
    solution = model._solvers().last.solve(objective, start)
    F = solution.F.astype(model.scores_.dtype, copy=False)
    reading = model._reading().read(F)
    found = model.classes_[np.where(codes == UNKNOWN, reading.label, codes)]
    changed = np.flatnonzero(np.any(F[:n] != model.scores_, axis=1) | (found[:n] != model.transduction_))
    changed = np.concatenate([changed, np.arange(n, len(F))])
    names = new_graph.ids.tolist()
    moved = [
        (names[k], None if k >= n else model.transduction_[k], found[k])
        for k in changed.tolist()
        if k >= n or found[k] != model.transduction_[k]
    ]
    change = Change(
        moved,
        len(changed),
        len(F),
        solution.residual,
        solution.error_bound,
        store,
        [names[k] for k in changed.tolist()],
        found[changed],
        F[changed],
    )
    if store:
        silent = model.featureless_ if model.featureless_ is not None else np.flatnonzero(~model.reached_)
        if asked.names:
            silent = np.concatenate([silent, n + np.flatnonzero(empty_rows(asked.X))])
        has_label = np.bincount(new_graph.components, weights=codes != UNKNOWN) > 0
        reached = np.ones(len(F), dtype=bool)
        reached[silent] = has_label[new_graph.components[silent]]
        if near is not None and len(near.nodes):
            inputs = inputs.with_rows(renewed, near.nodes)
        model.graph_, model.inputs_, model.featureless_, model.reached_ = new_graph, inputs, silent, reached
        model.scores_, model.encoder_output_, model.labelled_, model.Y_ = F, P, codes != UNKNOWN, Y
        model.transduction_, model.confidence_ = found, reading.w
        model.start_ = None if model.start_ is None else start
        if asked.names and model.neighbours_ is not None:
            X = stacked(model.neighbours_.X, asked.X)
            model.neighbours_ = Neighbours(X, model.neighbours_.n_neighbors, model.neighbours_.metric)
    return change


def nearest(model: Any, n: int, X: Any) -> dict[str, Any]:
    """Edges of new nodes to their nearest known ones, for a model that built its own graph."""
    rows, known = model.neighbours_.edges_of(X)
    pairs = list(zip(known.tolist(), (n + rows).tolist()))
    return {"edges": dict.fromkeys(pairs), "directions": pairs}


def with_changes(graph: Any, asked: Changes) -> Any:
    """The graph with edges set, removed and added, and new nodes at its end."""
    n = graph.n_nodes + len(asked.names)
    A = resized(graph.adjacency, n)
    default = float(graph.adjacency.data.mean()) if graph.adjacency.nnz else 1.0
    for (a, b), weight in asked.edges.items():
        now = float(A[a, b])
        if weight == 0.0 and now == 0.0:
            raise InputError(
                f"edges removes the edge from {name(graph, asked, a)!r} to {name(graph, asked, b)!r}, "
                "but there is no such edge."
            )
        A[a, b] = A[b, a] = (now or default) if weight is None else weight
    directed = graph.directed_adjacency
    if directed is not None:
        weighted = [(source, target, float(A[source, target])) for source, target in asked.directions]
        directed = with_directions(directed, n, weighted)
    ids = None if graph.positional else joined(graph.ids, asked.names)
    return graph.with_edges(settled(A), directed, ids)


def resized(A: Any, n: int) -> Any:
    A = sp.lil_array(A.astype(np.float64))
    A.resize((n, n))
    return A


def settled(A: Any) -> Any:
    A = sp.csr_array(A)
    A.eliminate_zeros()
    return A


def name(graph: Any, asked: Changes, place: int) -> Any:
    return graph.ids.item(place) if place < graph.n_nodes else asked.names[place - graph.n_nodes]
