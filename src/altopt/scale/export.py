"""A model of files as tables for other programs: its nodes with labels, and its edges, a block of rows at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from altopt.errors import InputError
from altopt.graph.tables import to_arrow, write_predictions
from altopt.io.files import replacing
from altopt.io.graph_files import edges_path
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
        for place, tables in ((of_nodes, node_tables(model)), (of_edges, edge_tables(model))):
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


def edge_tables(model: ModelOfFiles) -> Iterator[Any]:
    """source, target and weight, each edge once."""
    import pyarrow as pa

    graph, csr = model.graph, model.graph.csr
    for first, last in csr.ranges(BLOCK_ENTRIES):
        block = csr.rows(first, last)
        source = np.repeat(np.arange(first, last), np.diff(block.indptr))
        once = source <= block.indices
        ends = [graph.ids_at(part[once].astype(np.int64)) for part in (source, block.indices)]
        weights = (
            np.ones(int(once.sum())) if block.weights is None else block.weights[once].astype(np.float64)
        )
        columns = [*map(to_arrow, ends), pa.array(weights)]
        yield pa.table(columns, names=["source", "target", "weight"])


def rewrite_predictions(model: ModelOfFiles, folder: Path, nodes: Any) -> list[Path]:
    """Write anew the files of a dataset of predictions that hold these nodes."""
    classes, written = model.classes, []
    for k in np.unique(np.asarray(nodes) // PREDICTION_ROWS).tolist():
        first, last = k * PREDICTION_ROWS, min((k + 1) * PREDICTION_ROWS, model.n_nodes)
        codes, confidence, P = model.predictions(first, last)
        written.append(folder / f"part-{k:05d}.parquet")
        write_predictions(written[-1], model.graph.ids(first, last), classes[codes], confidence, P, classes)
    return written
