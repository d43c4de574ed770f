"""A node and what speaks for its label: the nodes around it, with the share of the score that comes from each."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.cli.explore.nodes import record
from altopt.cli.explore.session import Session
from altopt.errors import InputError
from altopt.fitted.explanation import Explanation
from altopt.fitted.picture import name_of
from altopt.graph.validation import UNKNOWN

MAX_NODES, N_LISTED = 300, 8
LEAST = 5e-4  # share of a score that is listed
NO_EDGES = "No label comes along edges here: nodes it is tied to are drawn, but have no share in its score."
TOLERANCE_ON_LARGE_GRAPHS, LARGE_GRAPH = 3e-5, 20_000  # evidence is followed less far than explain() does


def neighbourhood(session: Session, at: int, most: int) -> dict[str, Any]:
    """The node, those its score comes from and the edges between them, each with its share."""
    fitted = session.fitted
    P = fitted.readout.soften(fitted.scores[[at]], fitted.kinds(np.array([at])))[0]
    node = record(session, at) | {
        "probabilities": [round(float(p), 5) for p in P],
        "reached": bool(fitted.reached[at]),
        "confidence": round(float(fitted.confidence[at]), 4),
    }
    try:
        why = explanation(session, at)
    except InputError as error:  # of views that are no weighted sums of evidence
        chosen = by_edges(session, at, most)
        edges, n_edges = ties(session, None, chosen)
        return {
            "node": node,
            "nodes": [record(session, int(k)) | {"share": 0.0} for k in chosen],
            "edges": edges,
            "n_edges": n_edges,
            "ledger": None,
            "note": str(error),
        }
    total = why.total or 1.0
    amounts = why.parts.weights * why.parts.features[:, why.code]
    labels = why.parts.weights * why.parts.label_weight * (why.parts.codes == why.code)
    share = dict(zip(why.parts.nodes.tolist(), ((amounts + labels) / total).tolist()))
    chosen = around(session, at, why, most)
    alone = len(chosen) == 1 and most > 1
    if alone:
        chosen = by_edges(session, at, most)
    edges, n_edges = ties(session, None if alone else why, chosen)
    return {
        "node": node,
        "nodes": [record(session, int(k)) | {"share": round(share.get(int(k), 0.0), 5)} for k in chosen],
        "edges": edges,
        "n_edges": n_edges,
        "ledger": ledger(session, why, amounts / total, labels / total),
        "note": NO_EDGES if alone and len(chosen) > 1 else None,
    }


def explanation(session: Session, at: int) -> Explanation:
    large = session.fitted.n_nodes > LARGE_GRAPH
    return session.model.explain(session.name(at), tolerance=TOLERANCE_ON_LARGE_GRAPHS if large else None)


def around(session: Session, at: int, why: Explanation, most: int) -> Array:
    """The node itself, then those whose evidence counts most here; its neighbours are among the first."""
    weights = dict(zip(why.parts.nodes.tolist(), np.abs(why.parts.weights).tolist()))
    columns, _ = why.neighbour_shares(at)
    beside = [int(k) for k in columns if k != at]
    order = sorted(beside, key=lambda k: -weights.get(k, 0.0))[: most - 1]
    taken = {at, *order}
    rest = why.parts.nodes[np.argsort(-np.abs(why.parts.weights), kind="stable")[: 2 * most]].tolist()
    order += [k for k in rest if k not in taken][: most - 1 - len(order)]
    return np.array([at, *order], dtype=np.int64)


def by_edges(session: Session, at: int, most: int) -> Array:
    """The node itself, its neighbours and theirs, as many as may be drawn."""
    A = session.fitted.graph.adjacency
    chosen = {at: None}
    for _ in range(2):
        beyond = A[list(chosen)].indices.tolist()
        chosen |= dict.fromkeys([k for k in dict.fromkeys(beyond) if k not in chosen][: most - len(chosen)])
    return np.array(list(chosen), dtype=np.int64)


def ties(session: Session, why: Explanation | None, chosen: Array) -> tuple[list[list[Any]], int]:
    """Edges between these nodes by their place in the list, with what of the score passes along each, where one says.

    H_jj F_j = rhs_j + sum_k a_jk F_k: with p the weight of evidence here, p_j a_jk F_k of the score comes from k by j.
    """
    fitted = session.fitted
    system = None if why is None else fitted.system()
    n = fitted.n_nodes
    A = fitted.graph.adjacency[chosen] if system is None else system.adjacency_rows(chosen)
    place = np.full(n, -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    A = sp.coo_array(A)
    inside = (place[A.col] >= 0) & (place[A.col] > A.row)
    a, b, weight = A.row[inside], place[A.col[inside]], A.data[inside]
    if system is None or why is None:
        return [[int(i), int(j), None] for i, j in zip(a, b)], len(a)
    p = np.zeros(len(chosen))
    known = dict(zip(why.parts.nodes.tolist(), why.parts.weights.tolist()))
    p[:] = [known.get(int(k), 0.0) for k in chosen]
    F, scale = fitted.scores[chosen, why.code], system.scale[chosen]
    passed = system.coupling * weight * scale[a] * scale[b] * np.maximum(p[a] * F[b], p[b] * F[a])
    shares = passed / (why.total or 1.0)
    return [[int(i), int(j), round(float(s), 5)] for i, j, s in zip(a, b, shares)], len(a)


def ledger(session: Session, why: Explanation, features: Array, labels: Array) -> dict[str, Any]:
    """What labels and features gave, in shares of the score, and the largest entries of both."""

    def largest(shares: Array) -> list[dict[str, Any]]:
        order = np.argsort(-np.abs(shares), kind="stable")[:N_LISTED]
        nodes = why.parts.nodes
        return [
            record(session, int(nodes[k])) | {"share": round(float(shares[k]), 5)}
            for k in order
            if abs(shares[k]) >= LEAST
        ]

    total = why.total or 1.0
    return {
        "score": round(why.total, 5),
        "labels": round(float(why.label_evidence[why.code]) / total, 5),
        "features": round(float(why.feature_evidence[why.code]) / total, 5),
        "further": round(float(why.tail[why.code]) / total, 5),
        "from_labels": largest(labels),
        "from_features": largest(features),
    }


def columns_that_spoke(session: Session, at: int) -> dict[str, Any]:
    """The columns of X that spoke for a node's label, with their shares of the score."""
    why = explanation(session, at)
    total = why.total or 1.0
    found = [(name, amount) for name, amount in why.columns if name is not None][:12]
    return {
        "how": why.columns_how,
        "columns": [[name_of(name), round(float(amount) / total, 5)] for name, amount in found],
    }


def given_labels(session: Session) -> list[tuple[Any, Any]]:
    """Every node with a given label, and the label."""
    fitted = session.fitted
    places = np.flatnonzero(fitted.codes != UNKNOWN)
    return [(session.name(int(at)), session.classes[int(fitted.codes[at])]) for at in places]
