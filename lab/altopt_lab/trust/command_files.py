"""The files that command lines are tried with: a small problem as tables, and files that something is wrong with."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

N = 24
N_NEW = 3
COLUMNS = 3

ODD_TEXTS: dict[str, bytes] = {
    "empty.csv": b"",
    "blank.csv": b"\n\n\n",
    "header.csv": b"node,label,source,target,x0,x1,x2\n",
    "binary.csv": bytes(range(256)) * 4,
    "latin1.csv": "node,läbel,label\n1,ä,ü\n".encode("latin-1"),
    "utf16.csv": "node,label\n1,a\n".encode("utf-16"),
    "columns.csv": b"a,b,c\n1,2,3\n",
    "ragged.csv": b"node,label,source,target\n1,a\n2,b,3,4,5,6\n",
    "twice.csv": b"node,node,label,label\n1,1,a,b\n",
    "quotes.csv": b'node,label\n"1,a\n2,"b\n',
    "NUL.csv": b"node,label\n1\x00,a\n2,b\n",
    "unknown.csv": b"node,label,source,target,x0,x1,x2\nnobody,zzz,nobody,else,1,2,3\n",
    "NaN.csv": b"node,label,source,target,weight,x0,x1,x2\nn0,nan,n0,n1,nan,nan,inf,-inf\nn1,b,n1,n2,-1,1e400,2,3\n",
    "huge.csv": b"node,label,source,target,weight,x0,x1,x2\nn0,a,n0,n1,1e308,1e308,-1e308,5e-324\n",
    "semicolons.csv": b"node;label\nn0;a\nn1;b\n",
    "long.csv": b"node,label\nn0," + b"x" * 200_000 + b"\nn1,b\n",
    "bad.parquet": b"PAR1 and no more PAR1",
    "empty.parquet": b"",
    "bad.npz": b"PK\x03\x04 and no more",
    "bad.npy": b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (9999999, 9999999), }\n",
    "table.txt": b"node,label\nn0,a\n",
    "table.tsv": b"node\tlabel\nn0\ta\n",
}


def ids(first: int, last: int) -> list[str]:
    return [f"n{k}" for k in range(first, last)]


def write_files(folder: Path) -> None:
    """All files, good and bad."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import csv

    chance = np.random.default_rng(0)
    side = np.arange(N + N_NEW) % 2
    X = chance.normal(size=(N + N_NEW, COLUMNS)) + 2 * side[:, None]
    ends = chance.integers(0, N // 2, (2, 3 * N)) * 2 + chance.integers(0, 2, 3 * N)

    def features(first: int, last: int) -> Any:
        return pa.table({"node": ids(first, last)} | {f"x{j}": X[first:last, j] for j in range(COLUMNS)})

    names = np.array(ids(0, N + N_NEW), object)
    tables = {
        "features": features(0, N),
        "labels": pa.table({"node": ids(0, 12), "label": [f"c{k}" for k in side[:12]]}),
        "edges": pa.table({"source": list(names[ends[0]]), "target": list(names[ends[1]])}),
        "new": features(N, N + N_NEW),
        "ties": pa.table({"source": ids(N, N + N_NEW), "target": ids(0, N_NEW)}),
        "more": pa.table({"node": ["n13", "n14"], "label": ["c1", None]}),
        "reweighed": pa.table({"source": ["n0", "n1"], "target": ["n2", "n3"], "weight": [0.5, 0.0]}),
        "numbers": pa.table({"node": list(range(N)), "x0": X[:N, 0]}),
        "whole labels": pa.table({"node": list(range(8)), "label": [0, 1] * 4}),
    }
    for name, table in tables.items():
        csv.write_csv(table, folder / f"{name}.csv")
        pq.write_table(table, folder / f"{name}.parquet")
    lists = pa.array([[1.0], [2.0]])
    odd = {
        "lists": pa.table(
            {"node": ["n0", "n1"], "label": lists, "source": ["n0", "n1"], "target": ["n1", "n2"]}
        ),
        "structs": pa.table({"node": ["n0", "n1"], "label": [{"a": 1}, {"a": 2}]}),
        "dates": pa.table(
            {"node": pa.array([1, 2], pa.timestamp("s")), "label": ["c0", "c1"], "x0": [1.0, 2.0]}
        ),
        "decimals": pa.table(
            {"node": pa.array([1, 2]).cast(pa.decimal128(20)), "label": ["c0", "c1"], "x0": [0, 1]}
        ),
        "nulls": pa.table({"node": ["n0", None], "label": ["c0", None], "x0": [None, 1.0]}),
        "list weights": pa.table({"source": ["n0", "n1"], "target": ["n1", "n2"], "weight": lists}),
        "no rows": tables["features"].slice(0, 0),
    }
    for name, table in odd.items():
        pq.write_table(table, folder / f"{name}.parquet")
    for name, content in ODD_TEXTS.items():
        (folder / name).write_bytes(content)
    A = sparse.csr_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(N, N))
    sparse.save_npz(folder / "A.npz", A)
    A.indices[0] = 5_000_000
    sparse.save_npz(folder / "outside.npz", A)
    np.save(folder / "X.npy", X[:N])
    np.save(folder / "objects.npy", np.array([{}], object), allow_pickle=True)
    np.save(folder / "cube.npy", np.zeros((2, 2, 2)))
    (folder / "folder.csv").mkdir()
