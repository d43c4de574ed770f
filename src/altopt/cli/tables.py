"""A command's tables put together: ids matched across files, all mismatches named with their files."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from altopt.arrays import Array
from altopt.cli.edge_files import EdgeFiles
from altopt.errors import InputError
from altopt.graph import Graph, tables
from altopt.graph.files import ColumnNames, read_edges, read_labels
from altopt.graph.ids import distinct, is_text, lookup, unique_ids
from altopt.io.codec import encode_array
from altopt.table.files import is_matrix_file, read_rows
from altopt.table.frame import Frame
from altopt.table.reader import TableReader

T = TypeVar("T")


@dataclass(frozen=True)
class Files:
    """The files of a fit, and what their columns are called."""

    features: Path | None
    labels: Path | None  # None: a column of the features
    edges: EdgeFiles
    names: ColumnNames
    text: tuple[str, ...] = ()
    directed: bool = False

    @property
    def matrix(self) -> Path | None:
        """The first file of edges that is a matrix."""
        return next((path for path in self.edges.values() if path.suffix.lower() == ".npz"), None)


@dataclass(frozen=True)
class Read:
    """What the files hold, as it came."""

    ids: Array | None  # of the rows of features
    X: Any
    label_ids: Array
    labels: Array
    ends: dict[str, dict[str, Array]]  # the columns of each table of edges, by kind; nothing of a matrix


@dataclass(frozen=True)
class Problem:
    """Node ids, X, y and the graph, all in the order of the ids; those without a row of features last."""

    ids: Array
    X: Any
    y: Array
    graph: Graph | None


class Problems(list[str]):
    """What is wrong with the files, to be said at once."""

    def run(self, step: Callable[[], T], default: T) -> T:
        try:
            return step()
        except InputError as error:
            self.append(str(error))
            return default

    def refuse(self) -> None:
        if self:
            raise InputError(" ".join(dict.fromkeys(self)))


def read_problem(files: Files) -> Problem:
    """Everything that a fit needs."""
    if files.features is None and not files.edges:
        raise InputError("nothing to learn from: give --features, --edges or both.")
    if files.labels is None and files.features is None:
        raise InputError(
            "no labels: give --labels, or a table of --features that has them in a column (--label)."
        )
    read = read_files(files, text=False)
    parts = [read.label_ids, *([] if read.ids is None else [read.ids])]
    if mixed([*parts, *(ends[name] for ends in read.ends.values() for name in ("source", "target"))]):
        read = read_files(files, text=True)  # one file's ids look like numbers and another file's are text
    where = f"{files.features}, column {files.names.node!r},"
    if read.ids is not None:
        check_storable(read.ids, where)
    check_storable(read.labels, f"{files.labels or files.features}, column {files.names.label!r},")
    ids = all_ids(files, read)
    y = spread(read.labels, lookup(ids, read.label_ids), len(ids))
    return Problem(ids, with_matrix(read.X), y, read_graph(files, read.ends, ids))


def read_files(files: Files, text: bool) -> Read:
    """The files one by one; the problems of all of them are named together."""
    problems, names = Problems(), files.names
    nothing: tuple[Any, Any, Any] = None, None, None
    in_features = names.label if files.labels is None else None
    features = files.features
    ids, X, column = nothing
    if features is not None:
        rows = lambda: read_rows(features, names.node, text=files.text, label=in_features, text_ids=text)  # noqa: E731
        ids, X, column = problems.run(rows, nothing)
        X = problems.run(lambda: with_matrix(X), X)
    labels = files.labels
    empty = np.zeros(0, np.int64)
    if labels is not None:
        label_ids, given = problems.run(lambda: read_labels(labels, names, text_ids=text), (empty, empty))
    else:
        label_ids, given = ids, column
        if features is not None and is_matrix_file(features):
            problems.append(f"{features} is a matrix, which holds no labels: give --labels.")
    ends: dict[str, dict[str, Array]] = {}
    for kind, path in files.edges.items():
        if path.suffix.lower() != ".npz":
            ends[kind] = problems.run(partial(read_edges, path, names, text_ids=text), {})
    problems.refuse()
    return Read(ids, X, label_ids, given, ends)


def with_matrix(X: Any) -> Any:
    """A table with its matrix beside it, so that it is read once."""
    if not isinstance(X, Frame) or X.read is not None:
        return X
    reader = TableReader.fit(X)
    return replace(X, read=(reader, reader.transform(X)))


def mixed(columns: list[Array]) -> bool:
    """Whether ids are text in some columns and numbers in others."""
    return len({is_text(column) for column in columns if len(column)}) > 1


def all_ids(files: Files, read: Read) -> Array:
    """The rows of features, then nodes that only edges and labels name; where no edges could serve these, none may."""
    names = files.names
    places = {f"{files.labels}, column {names.node!r},": read.label_ids} if files.labels is not None else {}
    for kind, ends in read.ends.items():
        for key, name in (("source", names.source), ("target", names.target)):
            places[f"{files.edges[kind]}, column {name!r},"] = ends[key]
    if read.ids is None:
        ids = ids_of_edges(files, read)
        if len(read.ends) < len(files.edges):  # a matrix, whose nodes are positions
            rows_of(ids, read.label_ids, f"{files.labels}, column {names.node!r},", files.matrix)
        return with_more(ids, read.label_ids)
    problems = Problems()
    features = files.features
    closed = not isinstance(read.X, Frame) or not read.ends
    ids = read.ids
    for what, wanted in places.items():
        if closed or (len(wanted) and (lookup(read.ids, wanted) < 0).all()):
            problems.run(lambda what=what, wanted=wanted: rows_of(read.ids, wanted, what, features), None)  # type: ignore[misc]
        ids = with_more(ids, wanted)
    problems.refuse()
    return ids


def ids_of_edges(files: Files, read: Read) -> Array:
    """The nodes that edges name: the positions of a matrix, and the ends in tables."""
    ids = np.zeros(0, np.int64)
    if files.matrix is not None:
        ids = np.arange(Graph(files.matrix, directed=files.directed).n_nodes)
    for ends in read.ends.values():
        named = distinct(ends["source"], ends["target"])
        ids = with_more(ids, named) if len(ids) else named
    return ids


def with_more(ids: Array, wanted: Array) -> Array:
    """The ids, and after them what else is wanted, each once."""
    more = list(dict.fromkeys(wanted[lookup(ids, wanted) < 0].tolist()))
    if not more:
        return ids
    found = np.array([*ids.tolist(), *more], dtype=object)
    return unique_ids(found, "the ids")


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


def read_graph(files: Files, ends: dict[str, dict[str, Array]], ids: Array) -> Graph | None:
    """The edges between the nodes, named by their ids."""
    kinds = {kind: edges_between(files, kind, ends.get(kind), ids) for kind in files.edges}
    if "" in kinds:
        return kinds[""]
    return Graph(kinds, nodes=ids) if kinds else None


def edges_between(files: Files, kind: str, ends: dict[str, Array] | None, ids: Array) -> Graph:
    """The graph of one file of edges."""
    if ends is None:
        return Graph(Graph(files.edges[kind], directed=files.directed), nodes=ids)
    import pyarrow as pa

    positions = {name: lookup(ids, ends[name]) for name in ("source", "target")}
    weight = {"weight": ends["weight"]} if "weight" in ends else {}
    return Graph(Graph(pa.table(positions | weight), n_nodes=len(ids), directed=files.directed), nodes=ids)


def rows_of(ids: Array, wanted: Array, what: str, features: Path | None) -> Array:
    """The rows of wanted ids in the features, or in a matrix of edges."""
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
