"""Graphs of the Open Graph Benchmark, from the compressed tables in the folders that ogb lays out."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from altopt.arrays import Array
from altopt.datasets.dataset import Dataset
from altopt.datasets.raw import Source, adjacency, masks
from altopt.errors import InputError
from altopt.graph import Graph

RAW = ("edge", "node-feat", "node-label", "num-node-list", "num-edge-list")
PARTS = {"train": "train", "validation": "valid", "test": "test"}


def files(split: str) -> tuple[str, ...]:
    """What lies in the folder of one graph; `split` is the name that ogb gives to its split."""
    return (
        *(f"raw/{name}.csv.gz" for name in RAW),
        *(f"split/{split}/{part}.csv.gz" for part in PARTS.values()),
    )


def read_directed(source: Source, folder: Path) -> Dataset:
    """The given direction is kept beside the undirected graph."""
    return read(source, folder, directed=True)


def read_undirected(source: Source, folder: Path) -> Dataset:
    """Each edge is named once and goes both ways."""
    return read(source, folder, directed=False)


def read(source: Source, folder: Path, directed: bool) -> Dataset:
    n = int(table(folder / "raw/num-node-list.csv.gz", np.int64)[0, 0])
    ends = table(folder / "raw/edge.csv.gz", np.int64).T
    X = table(folder / "raw/node-feat.csv.gz", np.float32)
    label = table(folder / "raw/node-label.csv.gz", np.float64)[:, 0]
    n_edges = int(table(folder / "raw/num-edge-list.csv.gz", np.int64)[0, 0])
    for what, n_rows, expected in (
        ("node-feat", len(X), n),
        ("node-label", len(label), n),
        ("edge", ends.shape[1], n_edges),
    ):
        if n_rows != expected:
            raise InputError(
                f"{folder / 'raw' / what}.csv.gz has {n_rows:,} rows, but {expected:,} are announced beside it. "
                f"Fetch {source.name} anew."
            )
    y = np.where(np.isnan(label), -1, label).astype(np.int64)
    chosen = {file.rpartition("/")[2].removesuffix(".csv.gz"): file for file in source.files}
    parts = {part: table(folder / chosen[file], np.int64)[:, 0] for part, file in PARTS.items()}
    A = adjacency(ends, n)
    graph = Graph(A, directed=True) if directed else Graph(A.maximum(A.T))
    return Dataset(source.name, X, y, graph, masks(n, **parts), source.note)


def table(path: Path, dtype: Any) -> Array:
    """A compressed table without a header, all of one type; an empty field is NaN."""
    with gzip.open(path, "rt") as file:
        n_columns = file.readline().count(",") + 1
    names = [str(k) for k in range(n_columns)]
    kind = pa.from_numpy_dtype(np.dtype(dtype))
    read_as = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(names, kind), null_values=["", "nan"], strings_can_be_null=True
    )
    with pa.input_stream(path, compression="gzip") as stream:
        batches = pa.csv.open_csv(stream, pa.csv.ReadOptions(column_names=names), convert_options=read_as)
        # batch by batch, so that a large table is not held twice
        blocks = [np.column_stack([column.to_numpy(zero_copy_only=False) for column in b]) for b in batches]
    return np.concatenate(blocks).astype(dtype, copy=False)
