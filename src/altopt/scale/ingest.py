"""From datasets to a GraphFolder within a memory limit, stage by stage: a stage that is done is not done again."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import DiskError, InputError
from altopt.graph.files import NAMES, ColumnNames
from altopt.graph.placement import WEIGHTS, is_weight
from altopt.graph.readers import MAX_NODES
from altopt.io.files import check_output, disk_errors, new_folder, write_text
from altopt.scale.bucket_sort import Buckets, n_buckets
from altopt.scale.csr_file import MANIFEST, CsrFile
from altopt.scale.graph_folder import GraphFolder, node_file
from altopt.scale.id_tables import tables_within
from altopt.scale.labels import read_labels
from altopt.scale.row_features import write_features
from altopt.scale.sources import Sources

DATABASE_SHARE = 0.5  # of the memory, for DuckDB; it passes its limit at times
SORTING_SHARE = 0.25  # of the memory, for a bucket that is sorted
BATCH = 1 << 20  # edges at a time
EDGE_BYTES = (
    40  # of disk for an edge at most at once: by positions, in buckets twice, as an entry twice, spilled
)
WEIGHT_BYTES = 24  # more where it has a weight


def ingest(
    edges: Any,
    labels: Any,
    folder: Path,
    *,
    features: Any = None,
    names: ColumnNames = NAMES,
    memory: float = 2e9,
    on_stage: Callable[[str], None] = lambda stage: None,
) -> GraphFolder:
    """Read datasets into `folder`; a run that was killed goes on after its last finished stage.

    Parameters
    ----------
    edges, features, labels : path
        A file, a folder of files or a glob: Parquet, CSV or npy. Features None: there are none. Labels None: they are
        a column of the features.
    folder : Path
        Where the GraphFolder comes to lie; one that is there already, of the same files, is returned as it is.
    memory : float
        Bytes.

    Notes
    -----
    Positions are those of the fit in memory: the rows of the features, in their order; without features, the ids
    sorted, and after them nodes that only the labels name.
    """
    sources = Sources.open(edges, features, labels, names)
    check_output(folder, "the folder", folder=True)
    stored = already(folder, sources.key)
    if stored is not None:
        return stored
    refuse_full_disk(folder, disk_bytes(sources), "while the tables are read")
    draft = folder.with_name(f"{folder.name}.ingest")
    with new_folder(draft):
        try:
            with disk_errors(folder):
                Ingestion(sources, draft, memory, on_stage).build()
                shutil.rmtree(draft / "work")
                shutil.rmtree(folder, ignore_errors=True)
                draft.replace(folder)
        except InputError:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    return GraphFolder.open(folder)


def already(folder: Path, origin: str) -> GraphFolder | None:
    """What an earlier run made of the same files; a folder of somebody else's is refused."""
    if not folder.exists() or not any(folder.iterdir()):
        return None
    if not is_problem(folder):
        raise InputError(f"{folder} is not empty and holds no stored problem; name another folder.")
    try:
        stored = GraphFolder.open(folder)
        if stored.origin == origin:
            stored.verify()
            return stored
    except InputError:  # of another format, damaged or with files of another folder: made anew
        pass
    return None


def is_problem(folder: Path) -> bool:
    """Whether altopt wrote the folder's manifest, in whatever format."""
    try:
        said = json.loads((folder / MANIFEST).read_text())
    except (OSError, ValueError):
        return False
    return isinstance(said, dict) and {"format", "id_kind", "origin"} <= set(said)


def disk_bytes(sources: Sources) -> int:
    """Bytes that an ingestion writes at most at once."""
    n_bytes = sources.n_edges * (EDGE_BYTES + (WEIGHT_BYTES if sources.weight else 0))
    for table in {sources.edges.name: sources.edges, sources.labels.name: sources.labels}.values():
        n_bytes += table.n_bytes if table.kind == "text" else 0
    if sources.features is not None:
        table = sources.features
        width = table.arrays[0].shape[1] if table.kind == "array" else len(sources.feature_columns)
        n_bytes += 4 * width * table.estimated_rows + (table.n_bytes if table.kind == "text" else 0)
    return n_bytes


def free_bytes(folder: Path) -> int:
    """Free on the disk where a folder is, or would be."""
    place = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return int(shutil.disk_usage(place).free)


def refuse_full_disk(folder: Path, needed: float, when: str) -> None:
    """Refuse before the work what the disk has no room for."""
    free = free_bytes(folder)
    if needed > free:
        raise DiskError(
            f"{folder} needs about {needed / 1e9:,.1f} GB of disk {when}, but {free / 1e9:,.1f} GB are free "
            "there. Free some space, or name another place."
        )


@dataclass
class Ingestion:
    """One run: stages write into `draft`, and each leaves a note of what it found."""

    sources: Sources
    draft: Path
    memory: float
    on_stage: Callable[[str], None]

    @property
    def work(self) -> Path:
        return self.draft / "work"

    def stage(self, name: str, step: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What a stage found: by its note if it was done on the same files, else by doing it."""
        note = self.work / f"{name}.json"
        if note.is_file():
            found = json.loads(note.read_text())
            if found["key"] == self.sources.key:
                return dict(found)
        self.on_stage(name)
        found = {"key": self.sources.key} | step()
        write_text(note, json.dumps(found))
        return found

    def build(self) -> GraphFolder:
        self.work.mkdir(parents=True, exist_ok=True)
        given = self.sources
        text = self.stage("text", lambda: {"whole": given.convert(self.work / "text")})
        sources = given.converted(self.work / "text", text["whole"])
        nodes = self.stage("nodes", lambda: self.number(sources))
        n_nodes, parts = (
            int(nodes["n_nodes"]),
            [self.draft / node_file(k) for k in range(len(nodes["parts"]))],
        )
        if n_nodes >= MAX_NODES:
            raise InputError(f"the graph has {n_nodes:,} nodes; {MAX_NODES:,} is the most.")
        labels = self.stage("labels", lambda: read_labels(sources, n_nodes, parts, self.work, self.limit))
        columns = self.stage("features", lambda: write_features(sources, self.draft, n_nodes))
        self.stage("positions", lambda: self.place(sources, parts))
        self.stage("edges", lambda: self.sort(sources, n_nodes))
        (self.work / "positions.parquet").unlink(missing_ok=True)
        return GraphFolder.seal(
            self.draft,
            nodes["parts"],
            columns["names"],
            np.fromfile(self.work / "labelled.i64", np.int64),
            np.fromfile(self.work / "labels.i32", np.int32),
            labels["classes"],
            given.key,
        )

    @property
    def limit(self) -> float:
        return DATABASE_SHARE * self.memory

    def number(self, sources: Sources) -> dict[str, Any]:
        """Which node is which position: files of ids in the order of positions."""
        if sources.id_kind == "positions":
            return {"n_nodes": count_positions(sources), "parts": []}
        (self.draft / "nodes").mkdir(exist_ok=True)
        parts, names = [self.draft / node_file(0)], sources.names
        with tables_within(self.limit, self.work / "spill", sources.id_kind, parts) as tables:
            tables.refuse_missing(sources.edges, (names.source, names.target))
            tables.refuse_missing(sources.labels, (names.node,))
            if sources.weight:
                ends = (names.source, names.target)
                tables.refuse_bad_weights(sources.edges, ends, sources.weight)
            if sources.features is not None:
                tables.refuse_missing(sources.features, (names.node,))
                copy_ids(sources, parts[0])
                tables.refuse_repeated(f"{sources.features.name}, column {names.node!r},")
                tables.refuse_unknown(sources.labels, (names.node,), sources.features.name)
            else:
                tables.number(sources.edges, (names.source, names.target), parts[0])
                more = self.draft / node_file(1)
                if tables.add_unknown(sources.labels, names.node, more):
                    parts.append(more)
        rows = [count_rows(part) for part in parts]
        return {"n_nodes": sum(rows), "parts": rows}

    def place(self, sources: Sources, parts: list[Path]) -> dict[str, Any]:
        """Edges by positions, in a file; positions that came as such stay where they are."""
        if sources.id_kind == "positions":
            return {}
        names, edges = sources.names, sources.edges
        ends, placed = (names.source, names.target), self.work / "positions.parquet"
        with tables_within(self.limit, self.work / "spill", sources.id_kind, parts) as tables:
            tables.place_edges(edges, ends, sources.weight, placed)
            if sources.features is not None and count_rows(placed) < (edges.n_rows or 0):
                tables.refuse_unknown(edges, ends, sources.features.name)
        return {}

    def sort(self, sources: Sources, n_nodes: int) -> dict[str, Any]:
        """The CSR file."""
        memory, weighted = SORTING_SHARE * self.memory, sources.weight is not None
        shutil.rmtree(self.work / "buckets", ignore_errors=True)
        count = n_buckets(2 * sources.n_edges, memory)
        with Buckets(self.work / "buckets", 0, n_nodes, n_nodes, count, weighted) as buckets:
            for source, target, weight in edge_blocks(sources, n_nodes, self.work / "positions.parquet"):
                buckets.add_edges(source, target, weight)
        CsrFile.write(self.draft / "edges", buckets.rows(memory))
        return {"n_self_loops": buckets.n_loops}


def count_rows(file: Path) -> int:
    from pyarrow.parquet import read_metadata

    return int(read_metadata(file).num_rows)


def count_positions(sources: Sources) -> int:
    """The number of nodes where they are positions: the rows of features, or the largest position named."""
    if sources.features is not None:
        return int(sources.features.n_rows or 0)
    return max(
        (int(max(a.max(), b.max())) + 1 for a, b, _ in edge_blocks(sources, MAX_NODES, None)), default=0
    )


def copy_ids(sources: Sources, to: Path) -> None:
    """The ids of the rows of features, in their order."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    assert sources.features is not None
    kind = pa.int64() if sources.id_kind == "whole" else pa.string()
    with ParquetWriter(to, pa.schema([("id", kind)])) as writer:
        for batch in sources.features.batches([sources.names.node], 122_880):
            ids = batch.column(0)
            ids = ids.dictionary_decode() if pa.types.is_dictionary(ids.type) else ids
            try:
                writer.write_batch(pa.record_batch([ids.cast(kind)], names=["id"]))
            except pa.ArrowInvalid as error:
                raise InputError(
                    f"{sources.features.name}, column {sources.names.node!r}: {error}."
                ) from error


def edge_blocks(
    sources: Sources, n_nodes: int, placed: Path | None
) -> Iterator[tuple[Array, Array, Array | None]]:
    """Edges by positions, a block at a time."""
    if sources.id_kind != "positions":
        import pyarrow.parquet as pq

        with pq.ParquetFile(placed, pre_buffer=False, buffer_size=1 << 20) as file:
            for batch in file.iter_batches(BATCH, use_threads=False):
                columns = [column.to_numpy() for column in batch.columns]
                yield columns[0], columns[1], columns[2] if len(columns) > 2 else None
        return
    for source, target, weight in given_blocks(sources):
        for ends in (source, target):
            refuse_outside(ends, n_nodes, sources)
        yield source, target, weight


def given_blocks(sources: Sources) -> Iterator[tuple[Array, Array, Array | None]]:
    """Edges as they stand in arrays, or in tables whose ids are positions."""
    names = sources.names
    if sources.edges.kind == "array":
        for array in sources.edges.arrays:
            pairs = array if array.shape[1] == 2 else array.T
            for first in range(0, len(pairs), BATCH):
                block = np.asarray(pairs[first : first + BATCH])
                yield block[:, 0], block[:, 1], None
        return
    columns = [names.source, names.target, *([sources.weight] if sources.weight else [])]
    for batch in sources.edges.batches(columns, BATCH):
        source, target = (batch.column(k).cast("int64").to_numpy(zero_copy_only=False) for k in (0, 1))
        weight = batch.column(2).cast("double").to_numpy(zero_copy_only=False) if sources.weight else None
        if weight is not None and not is_weight(weight).all():
            k = int(np.argmin(is_weight(weight)))
            raise InputError(
                f"in {sources.edges.name} the edge from {source[k]} to {target[k]} has weight {weight[k]}; {WEIGHTS}"
            )
        yield source, target, weight


def refuse_outside(ends: Array, n_nodes: int, sources: Sources) -> None:
    """Refuse ends that are no positions of the nodes."""
    if ends.dtype.kind not in "iuf" or np.any((ends < 0) | (ends >= n_nodes) | (ends != np.floor(ends))):
        odd = ends[(ends < 0) | (ends >= n_nodes) | (ends != np.floor(ends))].tolist()[0]
        rows = (
            f"the {n_nodes:,} rows of {sources.features.name}" if sources.features else "positions from 0 on"
        )
        raise InputError(
            f"{sources.edges.name} names node {odd!r}, which is not among {rows}: add it there or drop it here."
        )
