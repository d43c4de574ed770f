"""A model of files as tables for other programs: its nodes with labels, and its edges, a block of rows at a time."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph.tables import to_arrow, write_predictions
from altopt.io.files import replacing
from altopt.io.graph_files import edges_path
from altopt.scale.graph_folder import GraphFolder
from altopt.scale.model import PREDICTION_ROWS, ModelOfFiles

BLOCK_ENTRIES = 1 << 20  # of edges written at once
BLOCK_NODES = 1 << 15


def export(model: ModelOfFiles, path: Path) -> list[Path]:
    """Write nodes and, beside them, edges as .parquet or .csv; the files written."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    writer = {".parquet": pa.parquet.ParquetWriter, ".csv": pa.csv.CSVWriter}.get(path.suffix.lower())
    if writer is None:
        raise InputError(f"a model of files is exported as .parquet or .csv, not as {path.name}.")
    with replacing(edges_path(path)) as of_edges, replacing(path) as of_nodes:
        for place, tables in (
            (of_nodes, node_tables(model)),
            (of_edges, edge_tables(model, of_edges.parent)),
        ):
            first = next(tables)
            with writer(place, first.schema) as file:
                file.write_table(first)
                for table in tables:
                    file.write_table(table.cast(first.schema))
    return [path, edges_path(path)]


def node_tables(model: ModelOfFiles) -> Iterator[Any]:
    """node, label, given, confidence and the probabilities."""
    import pyarrow as pa

    classes = model.classes
    names = ["node", "label", "given", "confidence", *(f"p_{name}" for name in classes.tolist())]
    for first in range(0, model.n_nodes, BLOCK_NODES):
        last = min(first + BLOCK_NODES, model.n_nodes)
        codes, confidence, P = model.predictions(first, last)
        given = np.zeros(last - first, bool)
        given[model.labels.within(first, last)[0]] = True
        columns = [model.graph.ids(first, last), classes[codes], given, confidence, *P.T]
        yield pa.table([to_arrow(column) for column in columns], names=names)


def edge_tables(model: ModelOfFiles, beside: Path) -> Iterator[Any]:
    """source, target and weight, each edge once; a copy of the ids lies on the disk of `beside` meanwhile."""
    import pyarrow as pa

    csr = model.graph.csr
    with tempfile.TemporaryDirectory(dir=beside, prefix=".altopt-") as folder:
        ids_at = mapped_ids(model.graph, Path(folder))
        for first, last in csr.ranges(BLOCK_ENTRIES):
            block = csr.rows(first, last)
            source = np.repeat(np.arange(first, last), np.diff(block.indptr))
            once = source <= block.indices
            ends = [ids_at(part[once].astype(np.int64)) for part in (source, block.indices)]
            weights = (
                np.ones(int(once.sum())) if block.weights is None else block.weights[once].astype(np.float64)
            )
            yield pa.table([*ends, pa.array(weights)], names=["source", "target", "weight"])


def mapped_ids(graph: GraphFolder, folder: Path) -> Callable[[Array], Any]:
    """A column of the ids of any nodes: all ids are written once, and mapped, as an edge may name any of them."""
    import pyarrow as pa

    if graph.id_kind == "positions":
        return lambda nodes: pa.array(nodes)
    values, ends, at = folder / "values", folder / "ends", 0
    with values.open("wb") as of_values, ends.open("wb") as of_ends:
        np.zeros(1, np.int64).tofile(of_ends)
        for block in graph.id_blocks():
            if graph.id_kind == "whole":
                np.ascontiguousarray(block, np.int64).tofile(of_values)
                continue
            texts = [text.encode() for text in block.tolist()]
            lengths = at + np.cumsum([len(text) for text in texts], dtype=np.int64)
            at = int(lengths[-1])
            of_values.write(b"".join(texts))
            lengths.tofile(of_ends)
    contents = np.memmap(values, np.uint8, "r") if values.stat().st_size else np.empty(0, np.uint8)
    if graph.id_kind == "whole":
        whole = contents.view(np.int64)
        return lambda nodes: pa.array(whole[nodes])
    buffers = [None, pa.py_buffer(np.memmap(ends, np.int64, "r")), pa.py_buffer(contents)]
    text = pa.Array.from_buffers(pa.large_string(), graph.n_nodes, buffers)
    return lambda nodes: text.take(pa.array(nodes)).cast(pa.string())


def rewrite_predictions(model: ModelOfFiles, folder: Path, nodes: Any) -> list[Path]:
    """Write anew the files of a dataset of predictions that hold these nodes."""
    classes, written = model.classes, []
    for k in np.unique(np.asarray(nodes) // PREDICTION_ROWS).tolist():
        first, last = k * PREDICTION_ROWS, min((k + 1) * PREDICTION_ROWS, model.n_nodes)
        codes, confidence, P = model.predictions(first, last)
        written.append(folder / f"part-{k:05d}.parquet")
        write_predictions(written[-1], model.graph.ids(first, last), classes[codes], confidence, P, classes)
    return written
