"""Answers for rows of features: nodes of the model keep what it says of them, others are new."""

from typing import Any, NamedTuple

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.fitted.model import FittedModel
from altopt.fitted.new_nodes import as_pairs, probabilities_of_new_nodes
from altopt.graph import tables
from altopt.graph.ids import as_ids, lookup
from altopt.io.fingerprint import fingerprint


class Answers(NamedTuple):
    """Class probabilities of rows, and the number of each one's class: the given one where there is one."""

    probabilities: Array
    codes: Array


def digest_of(X: Any) -> str:
    """What tells the X of the fit from any other: its number of rows and a hash."""
    return f"{X.shape[0]} {fingerprint(X)}"


def answers(model: FittedModel, X: Any, ids: Any, edges: Any, named: bool) -> Answers:
    """Of the rows of X. `named`: `ids` were given as such, and are not the index of a table."""
    with model.lock:
        rows = known_rows(model, X, ids, named, edges is not None)
        known = rows >= 0
        P = np.empty((len(rows), len(model.classes)))
        codes = np.empty(len(rows), dtype=np.int64)
        if known.any():
            at = rows[known]
            P[known] = model.readout.soften(model.scores[at], model.kinds(at))
            codes[known] = model.labels[at]
        if known.all() and edges is not None and len(rows):
            raise InputError(
                "every row is a node of the model, whose edges predict cannot change: use update()."
            )
        if not known.all():
            new = np.flatnonzero(~known)
            if known.any():
                X, ids = X[new], None if ids is None else np.asarray(ids)[new]
                edges = among_new(edges, new, len(rows))
            P[~known] = probabilities_of_new_nodes(model, X, ids, edges)
            codes[~known] = P[~known].argmax(axis=1)
        return Answers(P, codes)


def known_rows(model: FittedModel, X: Any, ids: Any, named: bool, has_edges: bool) -> Array:
    """The position of each row's node, -1 where it is new.

    Known by its id where the user's ids name the nodes; else where X as a whole is that of the fit and no edges are
    given for it. Rows of a model that built its graph are looked up by their features, unless ids are given as such.
    """
    n = X.shape[0]
    if ids is not None and not model.positional and (named or model.neighbours is None):
        return np.asarray(lookup(model.graph.ids, as_ids(ids, "ids")))
    unnamed = ids is None or (model.positional and not named)
    digest = model.digest if unnamed and not has_edges else None
    if digest is not None and digest.startswith(f"{n} ") and digest == digest_of(X):
        return np.arange(n)
    return np.full(n, -1)


def among_new(edges: Any, new: Array, n_rows: int) -> Any:
    """Edges with the rows of the new nodes alone counted; tables name their ends anyway."""
    if edges is None or tables.is_table(edges) or any(tables.is_table(part) for part in edges):
        return edges
    rows, known = as_pairs(edges)
    if not all(isinstance(row, int) and 0 <= row < n_rows for row in rows):
        return edges  # both ends by name
    place = {int(row): k for k, row in enumerate(new)}
    for row in rows:
        if row not in place:
            raise InputError(
                f"edges begins at row {row}, a node of the model, whose edges change by update() alone."
            )
    return [(place[row], end) for row, end in zip(rows, known)]
