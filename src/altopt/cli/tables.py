"""A command's tables put together: ids matched across files, each mismatch named with its file."""

from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph import Graph, tables
from altopt.graph.ids import is_text
from altopt.io.codec import encode_array

Problem = tuple[Array, Array, Any, Array, Graph | None]


def read_problem(features: Path, labels: Path, edges: Path | None, directed: bool) -> Problem:
    """Node ids, feature names, X, y and the graph, all in the order of the features' rows."""
    text = False
    while True:  # twice, where one CSV file's ids look like numbers and another file's are text
        ids, X, names = tables.read_features(features, text_ids=text)
        label_ids, given = tables.read_labels(labels, text_ids=text)
        ends = read_ends(edges, text)
        if text or not mixed([ids, label_ids, *(ends[name] for name in ("source", "target") if ends)]):
            break
        text = True
    check_storable(ids, f"{features}, column 'node',")
    check_storable(given, f"{labels}, column 'label',")
    y = spread(given, rows_of(ids, label_ids, f"{labels}, column 'node',", features), len(ids))
    return ids, np.array(names, dtype=object), X, y, read_graph(edges, ends, ids, features, directed)


def check_storable(names: Array, what: str) -> None:
    """Refuse before the fit ids and classes that are neither numbers nor text."""
    others = {type(name).__name__ for name in names.tolist()} - {"str", "int", "float", "bool", "NoneType"}
    if names.dtype.kind in "Mm":  # instants and spans of time, of which numpy makes numbers
        others = {str(names.dtype)}
    if others:
        raise InputError(
            f"{what} holds values of type {min(others)}; altopt takes numbers and text. Write them as text."
        )
    try:
        encode_array(names, {}, "")
    except UnicodeEncodeError as cause:
        raise InputError(f"{what} holds text that is not Unicode. Write it as UTF-8.") from cause


def read_ends(edges: Path | None, text_ids: bool) -> dict[str, Array]:
    """The columns of a table of edges; nothing for a matrix, or where there are no edges."""
    if edges is None or edges.suffix.lower() == ".npz":
        return {}
    return tables.read_edges(edges, text_ids=text_ids)


def mixed(columns: list[Array]) -> bool:
    """Whether ids are text in some columns and numbers in others."""
    return len({is_text(column) for column in columns if len(column)}) > 1


def read_graph(
    edges: Path | None, ends: dict[str, Array], ids: Array, features: Path, directed: bool
) -> Graph | None:
    """The edges between the rows of the features, named by their ids."""
    if edges is None:
        return None
    if not ends:
        return Graph(Graph(edges, directed=directed), nodes=ids)
    import pyarrow as pa

    names = ("source", "target")
    positions = {name: rows_of(ids, ends[name], f"{edges}, column {name!r},", features) for name in names}
    weight = {"weight": ends["weight"]} if "weight" in ends else {}
    return Graph(Graph(pa.table(positions | weight), n_nodes=len(ids), directed=directed), nodes=ids)


def rows_of(ids: Array, wanted: Array, what: str, features: Path) -> Array:
    """The rows of wanted ids in the features."""
    try:
        return tables.match(ids, wanted, what)
    except InputError as error:
        raise InputError(
            f"{error} Nodes are the rows of {features}: add it there or drop it here."
        ) from error


def spread(given: Array, rows: Array, n_nodes: int) -> Array:
    """y: the given label on its row, unknown on all others."""
    if given.dtype.kind in "iu" and (given.dtype != np.uint64 or not len(given) or given.max() < 2**63):
        y: Array = np.full(n_nodes, -1, dtype=np.int64)
    elif given.dtype.kind == "f":
        y = np.full(n_nodes, np.nan)
    else:
        y = np.full(n_nodes, None, dtype=object)
    y[rows] = given
    return y
