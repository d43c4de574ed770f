"""Tables of a small problem as files, for the tests of the command line."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from altopt.datasets import communities

N, N_NEW = 240, 12
data = communities(N + N_NEW, 3, seed=3)
X = data.X[:, :16].astype(np.float64)
IDS = {
    "text": [f"{k:03d}" for k in range(N + N_NEW)],  # "007" must stay "007"
    "whole": [10 * k + 5 for k in range(N + N_NEW)],
}
A = data.graph.adjacency.tocoo()
AS_TEXT = csv.ConvertOptions(column_types=dict.fromkeys(("node", "source", "target"), pa.string()))
ends = np.stack([A.row, A.col])[:, A.row < A.col]


def write(path: Path, table: pa.Table) -> Path:
    (csv.write_csv if path.suffix == ".csv" else pq.write_table)(table, path)
    return path


def read(path: Path) -> dict[str, list]:
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pydict()
    return csv.read_csv(path, convert_options=AS_TEXT).to_pydict()


def edge_table(keep: np.ndarray, ids: list) -> pa.Table:
    source, target = ends[:, keep]
    return pa.table({"source": [ids[k] for k in source], "target": [ids[k] for k in target]})


def tables(folder: Path, suffix: str, kind: str) -> dict[str, Any]:
    """The tables of a problem: 240 nodes to fit, 12 that come later, labels of the nodes 150 to 239 only."""
    ids = IDS[kind]

    def features(rows: range, columns: list[int]) -> pa.Table:
        values = {f"x{j}": X[rows.start : rows.stop, j] for j in columns}
        return pa.table({"node": [ids[k] for k in rows]} | values)

    new = (ends >= N).any(axis=0)
    labelled = range(150, N)
    labels = {"node": [ids[k] for k in labelled], "label": [f"class {data.y[k]}" for k in labelled]}
    return {
        "features": write(folder / f"X.{suffix}", features(range(N), list(range(16)))),
        "labels": write(folder / f"y.{suffix}", pa.table(labels)),
        "edges": write(folder / f"E.{suffix}", edge_table(~new, ids)),
        "new_features": write(folder / f"X2.{suffix}", features(range(N, N + N_NEW), list(range(16))[::-1])),
        "new_edges": write(folder / f"E2.{suffix}", edge_table(new, ids)),
        "out": folder / "out",
        "ids": ids,
    }


def fit_call(files: dict[str, Any], *more: str, **instead: str) -> list[str]:
    named = {key: instead.get(key, files[key]) for key in ("features", "labels", "edges", "out")}
    return ["fit", *(part for key, value in named.items() for part in (f"--{key}", str(value))), *more]
