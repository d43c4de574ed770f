"""y by node id: dicts, Series with an index and tables of node and label, put in the order of the nodes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph import tables
from altopt.graph.ids import as_array, as_ids, comes_from, describe_missing, lookup
from altopt.graph.validation import is_unknown

KeyedLabels = tuple[Array, list[Any]]  # ids and their labels


def keyed_labels(y: Any) -> KeyedLabels | None:
    """Ids and labels where y names its nodes; None where it goes by position."""
    if isinstance(y, Mapping):
        return as_ids(list(y), "y"), list(y.values())
    if tables.is_table(y) and {"node", "label"} <= set(
        map(str, getattr(y, "column_names", None) or y.columns)
    ):
        columns = tables.columns(y, ("node", "label"), ())
        return as_ids(columns["node"], "y, column 'node',"), columns["label"].tolist()
    y = as_series(y)
    if comes_from(y, "pandas") and hasattr(y, "index") and getattr(y, "ndim", 0) == 1:
        counts = type(y.index).__name__ == "RangeIndex" and y.index.start == 0 and y.index.step == 1
        return None if counts else (as_ids(y.index.to_numpy(), "the index of y"), list(as_array(y).tolist()))
    return None


def as_series(y: Any) -> Any:
    """The only column of a DataFrame that has one; anything else as it is."""
    one = comes_from(y, "pandas") and getattr(y, "ndim", 0) == 2 and y.shape[1] == 1
    return y.iloc[:, 0] if one else y


def counted_labels(y: Any) -> KeyedLabels | None:
    """The labels of a Series whose index counts its rows, with these counts as ids."""
    y = as_series(y)
    if comes_from(y, "pandas") and hasattr(y, "index") and getattr(y, "ndim", 0) == 1:
        return np.arange(len(y)), list(as_array(y).tolist())
    return None


def in_order(y: Any, names: list[Array], n_rows: int, by_position: bool) -> Any:
    """y with one entry a node, in the order of the nodes; what goes by position already is returned as it is.

    Parameters
    ----------
    names : list of arrays
        What the nodes may be called: the ids of X's rows, those of the graph; each in the order of the nodes. None
        where nothing names them.
    by_position : bool
        Whether an index that has nothing to do with these names may be ignored, as in scikit-learn: where no graph
        is given, and y has an entry for each row.
    """
    keyed = keyed_labels(y)
    if keyed is None:
        counted = counted_labels(y)
        shuffled = [
            ids for ids in names if ids.dtype.kind == "i" and np.array_equal(np.sort(ids), np.arange(n_rows))
        ]
        if counted is None or len(y) != n_rows or not shuffled:
            return y
        return spread(counted, lookup(shuffled[0], counted[0]), n_rows)
    ids, labels = keyed
    foreign = all((lookup(nodes, ids) < 0).all() for nodes in names)
    if foreign and by_position and len(ids) == n_rows and not isinstance(y, Mapping):
        return y
    if not names:
        names = [np.arange(n_rows)]
    found = [lookup(nodes, ids) for nodes in names]
    rows = max(found, key=lambda rows: int((rows >= 0).sum()))
    if len(rows) and rows.min() < 0:
        best = next(k for k, other in enumerate(found) if other is rows)
        absent = describe_missing(names[best], ids, rows, f"among the {n_rows:,} nodes of X and the graph")
        raise InputError(f"y names {absent} Labels given by id are matched by id, never by position.")
    return spread((ids, labels), rows, n_rows)


def spread(keyed: KeyedLabels, rows: Array, n_rows: int) -> Any:
    """One entry a node, None where none is given; a node named twice must have the same label.

    What was given for an unknown label stays, so that messages can speak of it.
    """
    ids, labels = keyed
    y = np.full(n_rows, None, dtype=object)
    for node, row, label in zip(ids.tolist(), rows.tolist(), labels):
        if is_unknown(label):
            y[row] = label if y[row] is None else y[row]
            continue
        if not is_unknown(y[row]) and y[row] != label:
            raise InputError(f"y gives node {node!r} two labels, {y[row]!r} and {label!r}. Decide on one.")
        y[row] = label
    return y
