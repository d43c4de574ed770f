"""A problem on disk: the graph, features, labels and node ids of a fit in one folder, read a block at a time."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph.graph import Graph
from altopt.graph.ids import find_position, lookup, unknown_node
from altopt.graph.tables import from_arrow, to_arrow
from altopt.graph.validation import UNKNOWN, read_y
from altopt.io.files import write_text
from altopt.scale.csr_file import MANIFEST, CsrFile, checksum_of, refuse_changed, refuse_resized
from altopt.scale.sheet import Sheet, panel_widths

FORMAT = 1
PANEL = 64  # columns of X in a file, as many as are diffused at once
ID_KINDS = ("positions", "whole", "text")
PART_ROWS = 1 << 20  # ids in a file of nodes that is written from memory


@dataclass(frozen=True)
class GraphFolder:
    """What a fit past memory reads. In the folder: `edges/` (a CsrFile), `features/` (a Sheet of float32),
    `nodes/part-*.parquet` (the ids by position), `labelled.i64` and `labels.i32`, and a manifest with all checksums.

    Parameters
    ----------
    folder : Path
    n_nodes : int
    id_kind : str
        positions: node k is called k; whole, text: the ids are in `nodes/`.
    node_parts : tuple of int
        Rows of each file of ids.
    feature_names : tuple of str
    classes : list
        In the order of the in-memory fit.
    sizes, checksums : dict
        Of each file beside the edges, by name.
    origin : str
        The key of the files it was made of.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = GraphFolder.of([("ann", "bob"), ("bob", "cem")], None, ["a", None, "b"], Path(folder))
    ...     stored.n_nodes, stored.classes, stored.labelled.tolist(), stored.labels.tolist(), stored.ids(1, 3).tolist()
    ...     stored.position("cem")
    (3, ['a', 'b'], [0, 2], [0, 1], ['bob', 'cem'])
    2
    """

    folder: Path
    n_nodes: int
    id_kind: str
    node_parts: tuple[int, ...]
    feature_names: tuple[str, ...]
    n_labelled: int
    classes: list[Any]
    sizes: dict[str, int]
    checksums: dict[str, str]
    origin: str = ""

    @classmethod
    def of(cls, graph: Any, X: Any, y: Any, folder: Path) -> "GraphFolder":
        """A problem in memory: anything that makes a Graph, X (dense, or None), and y with a label or none a node."""
        graph = graph if isinstance(graph, Graph) else Graph(graph)
        CsrFile.of(graph.adjacency, folder / "edges")
        names: tuple[str, ...] = ()
        if X is not None:
            X = np.asarray(X)
            names = tuple(f"x{j}" for j in range(X.shape[1]))
            feature_sheet(folder, len(X), len(names)).create().write_rows(0, X)
        classes, codes = read_y(y, graph.n_nodes)
        labelled = np.flatnonzero(codes != UNKNOWN)
        rows = () if graph.positional else write_ids(folder, [graph.ids])
        return cls.seal(folder, rows, names, labelled, codes[labelled], classes.tolist())

    @classmethod
    def seal(
        cls,
        folder: Path,
        node_parts: Iterable[int],
        feature_names: Iterable[str],
        labelled: Array,
        labels: Array,
        classes: list[Any],
        origin: str = "",
    ) -> "GraphFolder":
        """Write labels and manifest beside the edges, features and ids that are in the folder already."""
        np.asarray(labelled, dtype=np.int64).tofile(folder / "labelled.i64")
        np.asarray(labels, dtype=np.int32).tofile(folder / "labels.i32")
        n_nodes, parts, names = (
            CsrFile.open(folder / "edges").n_nodes,
            tuple(node_parts),
            tuple(feature_names),
        )
        id_kind = _id_kind(folder) if parts else "positions"
        files = list(file_names(n_nodes, len(parts), len(names)))
        sizes = {name: (folder / name).stat().st_size for name in files}
        checksums = {name: checksum_of(folder / name) for name in files}
        stored = cls(
            folder, n_nodes, id_kind, parts, names, len(labelled), list(classes), sizes, checksums, origin
        )
        head = {name: value for name, value in stored.__dict__.items() if name != "folder"}
        write_text(folder / MANIFEST, json.dumps({"format": FORMAT} | head, indent=1))
        return stored

    @classmethod
    def open(cls, folder: Path) -> "GraphFolder":
        """A stored problem; sizes are checked now, contents by `verify`."""
        try:
            head = json.loads((folder / MANIFEST).read_text())
            stored = cls(
                folder,
                int(head["n_nodes"]),
                str(head["id_kind"]),
                tuple(int(rows) for rows in head["node_parts"]),
                tuple(str(name) for name in head["feature_names"]),
                int(head["n_labelled"]),
                list(head["classes"]),
                {str(name): int(size) for name, size in head["sizes"].items()},
                {str(name): str(value) for name, value in head["checksums"].items()},
                str(head["origin"]),
            )
            known = head["format"] == FORMAT and stored.id_kind in ID_KINDS
            plain = len({type(name) for name in stored.classes}) == 1 and len(set(stored.classes)) == len(
                stored.classes
            )
            known = known and plain and isinstance(stored.classes[0], str | int | float)
            known = known and sum(stored.node_parts) == (
                0 if stored.id_kind == "positions" else stored.n_nodes
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{folder} holds no stored problem: {MANIFEST} cannot be read ({error})."
            ) from error
        expected = set(file_names(stored.n_nodes, len(stored.node_parts), len(stored.feature_names)))
        if not known or not expected == set(stored.sizes) == set(stored.checksums):
            raise InputError(f"{folder} holds a stored problem of another format than {FORMAT}.")
        refuse_resized(folder, stored.sizes)
        if stored.features is not None:
            stored.features.check()
        if stored.csr.n_nodes != stored.n_nodes:
            raise InputError(
                f"{folder / 'edges'} has {stored.csr.n_nodes:,} nodes, but {MANIFEST} says {stored.n_nodes:,}."
            )
        return stored

    def verify(self) -> None:
        """Refuse files that are not those of the manifest: changed, swapped or of another folder."""
        refuse_changed(self.folder, self.checksums)
        self.csr.verify()

    @cached_property
    def csr(self) -> CsrFile:
        """The edges: symmetric, no self-loops, each once, rows sorted."""
        return CsrFile.open(self.folder / "edges")

    @property
    def features(self) -> Sheet | None:
        """X, or None where there is none."""
        n_columns = len(self.feature_names)
        return feature_sheet(self.folder, self.n_nodes, n_columns) if n_columns else None

    @cached_property
    def labelled(self) -> Array:
        """Positions of the labelled nodes, rising."""
        refuse_changed(self.folder, {"labelled.i64": self.checksums["labelled.i64"]})
        rows = np.fromfile(self.folder / "labelled.i64", np.int64)
        inside = len(rows) == self.n_labelled and (
            not len(rows) or (rows[0] >= 0 and rows[-1] < self.n_nodes and bool(np.all(np.diff(rows) > 0)))
        )
        if not inside:
            raise InputError(f"{self.folder / 'labelled.i64'} does not hold nodes of the graph.")
        return rows

    @cached_property
    def labels(self) -> Array:
        """Their class numbers."""
        refuse_changed(self.folder, {"labels.i32": self.checksums["labels.i32"]})
        codes = np.fromfile(self.folder / "labels.i32", np.int32)
        if len(codes) != self.n_labelled or np.any((codes < 0) | (codes >= len(self.classes))):
            raise InputError(f"{self.folder / 'labels.i32'} does not hold classes of the manifest.")
        return codes

    def ids(self, first: int, last: int) -> Array:
        """The ids of nodes first..last."""
        if self.id_kind == "positions":
            return np.arange(first, last)
        found = [
            read()[max(first - at, 0) : last - at]
            for at, count, read in self._id_groups()
            if at < last and at + count > first
        ]
        return np.concatenate(found) if found else np.zeros(0, object)

    def ids_at(self, nodes: Array) -> Array:
        """The ids of some nodes, in their order; only groups of rows that hold one are read."""
        if self.id_kind == "positions":
            return np.asarray(nodes)
        rising, back = np.unique(nodes, return_inverse=True)
        found = np.empty(len(rising), np.int64 if self.id_kind == "whole" else object)
        for at, count, read in self._id_groups():
            begin, end = np.searchsorted(rising, (at, at + count))
            if end > begin:
                found[begin:end] = read()[rising[begin:end] - at]
        return np.asarray(found[back])

    def id_blocks(self) -> Iterator[Array]:
        """The ids of all nodes, block after block; each is read once."""
        return (read() for _, _, read in self._id_groups())

    def positions(self, nodes: list[Any], absent: int | None = None) -> Array:
        """The positions of nodes by their ids, `absent` or a refusal where there is none.

        Only groups of rows whose range holds an id are read.
        """
        places = np.full(len(nodes), -1, np.int64)
        if self.id_kind == "positions":
            for k, node in enumerate(nodes):
                places[k] = -1 if (at := find_position(node, self.n_nodes, None)) is None else at
        else:
            fitting = [k for k, node in enumerate(nodes) if self._could_be_id(node)]
            names = self._as_column([nodes[k] for k in fitting])
            for at, _, read in self._id_groups(names):
                within = lookup(read(), names)
                places[np.array(fitting)[within >= 0]] = at + within[within >= 0]
        missing = [node for node, place in zip(nodes, places.tolist()) if place < 0]
        if missing and absent is None:
            raise unknown_node(missing[0], self.n_nodes, n_others=len(missing) - 1)
        return places if absent is None else np.where(places < 0, absent, places)

    def position(self, node: Any) -> int:
        """The position of a node by its id."""
        return int(self.positions([node])[0])

    def _could_be_id(self, node: Any) -> bool:
        if self.id_kind == "text":
            return isinstance(node, str)
        whole = isinstance(node, int | np.integer) and not isinstance(node, bool)
        return whole and -(2**63) <= node < 2**63

    def _as_column(self, nodes: list[Any]) -> Array:
        column: Array = np.empty(len(nodes), np.int64 if self.id_kind == "whole" else object)
        column[:] = nodes
        return column

    def _id_groups(self, wanted: Array | None = None) -> Iterator[tuple[int, int, Callable[[], Array]]]:
        """Groups of ids: position of the first, how many, and how to read them; those that may hold a wanted id."""
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        at = 0
        for k in range(len(self.node_parts)):
            path = self.folder / node_file(k)
            try:
                with ParquetFile(path) as file:
                    for group in range(file.num_row_groups):
                        about = file.metadata.row_group(group)

                        def read(group: int = group, file: Any = file, path: Path = path) -> Array:
                            column = file.read_row_group(group, columns=["id"]).column("id")
                            return from_arrow(column, f"{path}, column 'id',")

                        if wanted is None or _may_hold(about.column(0).statistics, wanted):
                            yield at, about.num_rows, read
                        at += about.num_rows
            except (pa.ArrowException, OSError) as error:
                raise InputError(f"{path} cannot be read as Parquet: {error}. Copy it again.") from error


def file_names(n_nodes: int, n_parts: int, n_features: int) -> Iterator[str]:
    """The files that the manifest vouches for."""
    yield from (f"edges/{MANIFEST}", "labelled.i64", "labels.i32")
    yield from map(node_file, range(n_parts))
    sheet = feature_sheet(Path(), n_nodes, n_features)
    yield from (sheet.file(k).as_posix() for k in range(len(sheet.widths)))


def node_file(k: int) -> str:
    return f"nodes/part-{k:05d}.parquet"


def feature_sheet(folder: Path, n_nodes: int, n_columns: int) -> Sheet:
    widths = panel_widths(n_columns, PANEL) if n_columns else ()
    return Sheet(folder / "features", n_nodes, widths, np.dtype(np.float32))


def write_ids(folder: Path, blocks: Iterable[Array]) -> list[int]:
    """Ids by position, block by block, as files of nodes; returns the rows of each."""
    import pyarrow as pa
    from pyarrow.parquet import write_table

    (folder / "nodes").mkdir(parents=True, exist_ok=True)
    rows: list[int] = []
    for block in blocks:
        for first in range(0, len(block), PART_ROWS):
            ids = block[first : first + PART_ROWS]
            write_table(
                pa.table({"id": to_arrow(ids)}), folder / node_file(len(rows)), row_group_size=1 << 17
            )
            rows.append(len(ids))
    return rows


def _id_kind(folder: Path) -> str:
    import pyarrow as pa
    from pyarrow.parquet import read_schema

    return "whole" if pa.types.is_integer(read_schema(folder / node_file(0)).field("id").type) else "text"


def _may_hold(statistics: Any, wanted: Array) -> bool:
    """Whether one of these ids is within the range of a group."""
    if statistics is None or not statistics.has_min_max:
        return True
    return bool(np.any((wanted >= statistics.min) & (wanted <= statistics.max)))
