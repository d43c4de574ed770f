"""Nodes that were not part of a fit on files: their F from their features and the known neighbours' F, held fixed."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.fitted.model import node_kinds
from altopt.fitted.new_nodes import resolve_edges
from altopt.inputs import NewNodes
from altopt.inputs.local_diffusion import product
from altopt.operator.feature_matrix import empty_rows

if TYPE_CHECKING:
    from altopt.scale.stored import StoredModel

N_STEPS = 60  # by which new nodes that are tied to each other settle: each shrinks the error threefold


def probabilities(model: "StoredModel", X: Any, edges: Any, ids: Any) -> Array:
    """Class probabilities of new nodes.

    (1 + lambda1) F_i = lambda1 P_i + sum_j a_ij F_j, the rows of the system that belong to the new nodes, with F of
    known nodes as it is.
    """
    X = np.asarray(X, dtype=np.float32)
    n, d = model.n_nodes, len(model.column_names)
    if X.ndim != 2 or X.shape[1] != d:
        raise InputError(
            f"X has the shape {X.shape}; give a row for each new node and the {d} columns of the fit."
        )
    if not np.isfinite(X).all():
        raise InputError("X must hold finite numbers; fill in what is missing.")
    ties = new_ties(model, len(X), ids, edges)
    new = NewNodes(X, ties, ties, ties, model.files.restart, model.files.n_diffusion)
    P = model.files.learner.predict(model.inputs.rows(model.inputs.extend(new)).astype(np.float64))
    weight = model.files.feature_weight
    fixed = weight * P + product(ties[:, :n], model.files.F)  # type: ignore[arg-type]
    among, F = ties[:, n:], P
    for _ in range(N_STEPS if among.nnz else 1):
        F = (fixed + among @ F) / (1.0 + weight)
    isolated = np.diff(ties.indptr) == 0
    kinds = node_kinds(np.zeros(len(X), bool), isolated, ~(isolated & empty_rows(X)))
    return model.files.readout.soften(F, kinds)


def new_ties(model: "StoredModel", n_new: int, ids: Any, edges: Any) -> Any:
    """Rows of A_tilde of the new nodes, known nodes first."""
    n, csr, system = model.n_nodes, model.graph.csr, model.system
    weights = csr.edge_weights if csr.weighted else np.ones(min(csr.n_entries, 1))
    graph: Any = SimpleNamespace(
        n_nodes=n,
        positional=model.graph.id_kind == "positions",
        positions=lambda nodes: model.graph.positions(np.asarray(nodes, dtype=object).tolist()),
        adjacency=SimpleNamespace(nnz=len(weights), data=weights),
    )
    names = None if ids is None else np.asarray(ids)
    source, target, weight = resolve_edges(graph, n_new, names, [] if edges is None else edges)
    proper = source != target
    source, target, weight = source[proper], target[proper], weight[proper]
    one, other = np.concatenate([source, target]), np.concatenate([target, source])
    A = sp.csr_array((np.concatenate([weight, weight]), (one, other)), shape=(n + n_new, n + n_new))[n:]
    A = sp.coo_array(A)
    known, place = np.unique(A.col[A.col < n], return_inverse=True)
    own = np.asarray(A.sum(axis=1)).ravel()
    degrees = np.empty(len(A.col))
    added = np.bincount(place, weights=A.data[A.col < n], minlength=len(known))
    indptr = csr.indptr
    alone = np.asarray(indptr[known + 1] == indptr[known])
    grown = np.where(alone, 0.0, system.degrees(known)) + added
    degrees[A.col < n] = grown[place]
    degrees[A.col >= n] = own[A.col[A.col >= n] - n]
    return sp.csr_array((A.data / np.sqrt(own[A.row] * degrees), (A.row, A.col)), shape=A.shape)
