"""What encoder inputs are told in an update: the edges of new nodes, and of known ones near edges that changed."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.fitted.system import LiveSystem, Row, with_directions
from altopt.inputs import Prepared


def ties_of(live: LiveSystem, nodes: Array) -> Any:
    """These nodes' rows of A_tilde, as they are now."""
    A = weights_of(live, nodes)
    A.data = A.data * live.scale[A.indices] * np.repeat(live.scale[nodes], np.diff(A.indptr))
    return A


def weights_of(live: LiveSystem, nodes: Array) -> Any:
    """These nodes' rows of A, self-loops included."""
    rows = [live.row(int(k)) for k in nodes]
    indptr = np.concatenate([[0], np.cumsum([len(columns) for columns, _ in rows])]).astype(np.int64)
    columns = np.concatenate([part for part, _ in rows]) if rows else np.empty(0, dtype=np.int32)
    weights = np.concatenate([part for _, part in rows]) if rows else np.empty(0)
    return sp.csr_array((weights, columns, indptr), shape=(len(nodes), live.n_nodes))


def edges_of(live: LiveSystem, directed: Any, nodes: Array) -> tuple[Any, Any]:
    """Rows of weights of the edges from these nodes and to them; `directed` is None where edges have no direction."""
    if directed is not None:
        return sp.csr_array(directed[nodes]), sp.csr_array(directed[:, nodes].T)
    A = sp.coo_array(weights_of(live, nodes))
    apart = A.col != nodes[A.row]
    out = sp.csr_array((A.data[apart], (A.row[apart], A.col[apart])), shape=A.shape)
    return out, out


def directed_now(live: LiveSystem, model: Any, directions: Iterable[tuple[int, int]]) -> Any:
    """The directed adjacency with all edges so far, and these, which are in the system already; None where there
    is none."""
    A = model._graph.directed_adjacency
    if A is None:
        return None
    return with_directions(A, live.n_nodes, [*live.log, *weighted(live, directions)])


def weighted(live: LiveSystem, directions: Iterable[tuple[int, int]]) -> list[tuple[int, int, float]]:
    """(source, target, weight) of edges as the system has them; 0 for those that are gone."""
    rows = {source: dict(zip(*live.row(source))) for source, _ in directions}
    return [(source, target, float(rows[source].get(target, 0.0))) for source, target in directions]


def around(live: LiveSystem, rows: dict[int, Row], directions: Iterable[tuple[int, int]], n: int) -> Array:
    """Known nodes (the first n) whose row of A_tilde changes with these rows of A, and both ends of `directions`,
    edges of which it may be the direction alone that is new."""
    near = [np.array(list(rows), dtype=np.int64), *(live.row(c)[0] for c in rows)]
    near += [columns for columns, _ in rows.values()]
    near += [np.array(pair, dtype=np.int64) for pair in directions]
    found = np.unique(np.concatenate(near)).astype(np.int64)
    return np.asarray(found[found < n])


def require(inputs: Prepared, offered: bool, method: str, wanted: str) -> None:
    """Refuse what inputs of the user's own do not offer, before anything is changed."""
    if not offered:
        raise InputError(
            f"{wanted} needs encoder inputs with {method}(), which {type(inputs).__name__} do not have. "
            "Fit again with the new data, or add it (see altopt.inputs.Prepared)."
        )
