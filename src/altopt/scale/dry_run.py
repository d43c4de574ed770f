"""What a fit of some datasets would cost, told from their metadata, the labels and two seconds of measuring."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from altopt.graph.validation import known_labels
from altopt.scale.cost import Cost, Size, cost_of
from altopt.scale.dataset import Dataset
from altopt.scale.id_tables import tables_within
from altopt.scale.ingest import BATCH, DATABASE_SHARE, free_bytes
from altopt.scale.labels import known_in, typed
from altopt.scale.probe import measure
from altopt.scale.sources import Sources
from altopt.scale.text_tables import opened, unreadable

Counted = tuple[int, set[Any]]  # labels, and the classes


def dry_run(sources: Sources, folder: Path, memory: float) -> tuple[Size, Cost]:
    """Size and cost of a fit whose files go to `folder`; nothing is left there."""
    size = size_of(sources, folder, memory)
    return size, replace(cost_of(size, memory, measure(folder)), free=free_bytes(folder))


def lines(size: Size, cost: Cost) -> list[str]:
    """For people; the last line says it all."""
    head = (
        f"{size.n_nodes:,} nodes, {size.n_entries // 2:,} edges, {size.n_features:,} features, {size.n_labels:,} "
        f"labels of {size.n_classes:,} classes, by the metadata of the files."
    )
    return [head, *cost.lines()]


def size_of(sources: Sources, folder: Path, memory: float, counted: Counted | None = None) -> Size:
    """Rows from metadata; of text tables, and of nodes that edges alone name, an estimate."""
    n_labels, classes = counted or count_labels(sources)
    features = sources.features
    if features is not None:
        n_nodes = features.estimated_rows
        width = features.arrays[0].shape[1] if features.kind == "array" else len(sources.feature_columns)
    else:
        n_nodes, width = count_nodes(sources, folder, memory), 0
    return Size(n_nodes, 2 * sources.n_edges, width, len(classes), n_labels, sources.weight is not None)


def count_labels(sources: Sources) -> Counted:
    """How many labels there are, and the classes."""
    table, name = sources.labels, sources.names.label
    if table.kind == "array":
        labels = np.concatenate([np.asarray(array).reshape(-1) for array in table.arrays])
        known = labels[known_labels(labels)]
        return len(known), set(np.unique(known).tolist())
    n_labels = 0
    classes: set[Any] = set()
    for column in label_columns(table, name):
        n, found = known_in(column)
        n_labels += n
        classes |= found
    return n_labels, classes


def label_columns(table: Dataset, name: str) -> Iterator[Any]:
    """The column of labels, a block at a time."""
    import pyarrow as pa
    from pyarrow import csv

    if table.kind == "parquet":
        for batch in table.batches([name], BATCH):
            yield batch.column(0)
        return
    convert = csv.ConvertOptions(
        column_types={name: pa.string()}, include_columns=[name], strings_can_be_null=True, null_values=[""]
    )
    for file in table.files:
        try:
            with opened(file, convert) as reader:
                for batch in reader:
                    yield typed(batch.column(0))
        except pa.ArrowException as error:
            raise unreadable(file, error) from error


def count_nodes(sources: Sources, folder: Path, memory: float) -> int:
    """About how many nodes edges name: by a sketch of their ids, which needs little memory."""
    edges, names = sources.edges, sources.names
    if edges.kind == "array":
        return 1 + max(int(array.max()) for array in edges.arrays)
    if edges.kind == "text":
        return edges.estimated_rows
    with tables_within(DATABASE_SHARE * memory, folder / "spill", "text", []) as tables:
        ids = " UNION ALL ".join(
            f"SELECT {tables.column(name)} AS id FROM {edges.sql}" for name in (names.source, names.target)
        )
        return int(tables.run(f"SELECT approx_count_distinct(id) FROM ({ids})")[0][0])
