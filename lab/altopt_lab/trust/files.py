"""Cases for tables: CSV, Parquet, NPZ and NPY files, as written and with bytes changed, cut off or repeated."""

import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from altopt import Graph
from altopt.graph import files
from altopt.table.files import read_rows
from altopt.table.frame import Frame
from altopt.table.reader import TableReader
from altopt_lab.trust.features import made
from altopt_lab.trust.graphs import arrow_table
from altopt_lab.trust.graphs import hold_to_promises as hold_graph
from altopt_lab.trust.judge import judged, promise
from altopt_lab.trust.part import Outcome, Part
from altopt_lab.trust.recipes import Case, random, recipe
from altopt_lab.trust.values import ENDS, ODD_ENDS, ODD_WEIGHTS, WEIGHTS, Chance


def flip(content: bytes, chance: Chance) -> bytes:
    at = int(chance.integers(len(content)))
    return content[:at] + bytes([content[at] ^ (1 << int(chance.integers(8)))]) + content[at + 1 :]


def cut(content: bytes, chance: Chance) -> bytes:
    return content[: int(chance.integers(len(content)))]


def drop(content: bytes, chance: Chance) -> bytes:
    first, last = sorted(int(k) for k in chance.integers(0, len(content), 2))
    return content[:first] + content[last:]


def repeat(content: bytes, chance: Chance) -> bytes:
    first, last = sorted(int(k) for k in chance.integers(0, len(content), 2))
    return content[:last] + content[first:]


def insert(content: bytes, chance: Chance) -> bytes:
    at = int(chance.integers(len(content)))
    odd = [
        b"\x00",
        b'"',
        b",",
        b"\n",
        b"\xff",
        b"\xef\xbb\xbf",
        b"1e999",
        b"nan",
        b"\r",
        b"-1",
        b";",
        bytes(40),
    ]
    return content[:at] + odd[int(chance.integers(len(odd)))] + content[at:]


CHANGES: dict[str, Callable[[bytes, Chance], bytes]] = {
    "flip": flip,
    "cut": cut,
    "drop": drop,
    "repeat": repeat,
    "insert": insert,
    "latin": lambda content, chance: content.replace(b"n", b"\xe4"),
    "tabs": lambda content, chance: content.replace(b",", b"\t"),
    "CRLF": lambda content, chance: content.replace(b"\n", b"\r\n"),
    "BOM": lambda content, chance: b"\xef\xbb\xbf" + content,
    "zeros": lambda content, chance: bytes(len(content)),
}
PLAIN: dict[str, Any] = {
    "kind": ("edges", "labels", "features", "graph"),
    "format": ("csv", "csv", "parquet", "matrix"),
    "rows": (2, 10, 50),
    "ends": tuple(ENDS),
    "weights": tuple(WEIGHTS),
    "change": ("none",),
    "text ids": (False, True),
}
ODD: dict[str, Any] = {
    "format": ("tsv", "npy"),
    "rows": (0, 1),
    "ends": tuple(ODD_ENDS),
    "weights": tuple(ODD_WEIGHTS),
    "change": tuple(CHANGES),
    "kind": ("features", "labels"),
}


def content_of(case: Case) -> tuple[str, bytes]:
    """The ending and the bytes of the file of a case."""
    import pyarrow.parquet as pq
    from pyarrow import csv

    chance = random(case)
    n, buffer = case["rows"], io.BytesIO()
    ids, weight = (
        (ENDS | ODD_ENDS)[case["ends"]](np.arange(n)),
        (WEIGHTS | ODD_WEIGHTS)[case["weights"]](chance, n),
    )
    if case["format"] == "matrix" and case["kind"] in ("graph", "features"):
        data = np.ones(n) if weight is None else np.asarray(weight, float)
        A = sparse.coo_array((data, tuple(chance.integers(0, max(n, 1), (2, n)))), shape=(n, n)).tocsr()
        sparse.save_npz(buffer, A, compressed=bool(chance.random() < 0.5))
        ending = ".npz"
    elif case["format"] == "npy":
        np.save(buffer, np.asarray(chance.normal(size=(n, 3)) if weight is None else weight))
        ending = ".npy"
    else:
        other = (ENDS | ODD_ENDS)[case["ends"]](chance.permutation(n))
        table = arrow_table(ids, other, weight)
        names = {"labels": ["node", "label", "more"], "features": ["node", "x0", "x1"]}
        table = table.rename_columns(
            names.get(case["kind"], ["source", "target", "weight"])[: table.num_columns]
        )
        if case["kind"] == "features" and case["ends"] in ("text", "numpy text"):
            table = table.set_column(1, "x0", [chance.normal(size=n)])
        ending = {"csv": ".csv", "tsv": ".tsv"}.get(case["format"], ".parquet")
        (pq.write_table if ending == ".parquet" else csv.write_csv)(table, buffer)
    content = buffer.getvalue()
    return ending, CHANGES[case["change"]](content, chance) if case[
        "change"
    ] != "none" and content else content


def check(case: Case) -> Outcome:
    """Write the file and read it as the command line does."""
    given = made(content_of, case)
    if isinstance(given, Outcome):
        return given
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{given[0]}"
        path.write_bytes(given[1])
        return judged(lambda: hold_to_promises(path, case["kind"], case["text ids"]))


def hold_to_promises(path: Path, kind: str, text_ids: bool) -> None:
    """What is read has as many ids as values, and finite ones."""
    if kind == "graph":
        hold_graph(Graph(path))
    elif kind == "edges":
        columns = files.read_edges(path, text_ids=text_ids)
        promise(len({len(column) for column in columns.values()}) == 1, "the columns differ in length")
    elif kind == "labels":
        ids, labels = files.read_labels(path, text_ids=text_ids)
        promise(len(ids) == len(labels) == len(set(ids.tolist())), "not one label a node")
    else:
        ids, X, _ = read_rows(path, text_ids=text_ids)
        promise(X.shape[0] == len(ids), "not one row a node")
        if isinstance(X, Frame):
            reader = TableReader.fit(X)
            X = reader.transform(X)
            promise(X.shape == (len(ids), len(reader.names)), "other columns than their names")
            promise(np.isfinite(X.data if sparse.issparse(X) else X).all(), "X is not finite")
        elif sparse.issparse(X) and X.nnz:
            promise(0 <= X.indices.min() <= X.indices.max() < X.shape[1], "an index is outside")


PART = Part(
    name="tables",
    what="files of edges, labels, features and matrices (CSV, Parquet, NPZ, NPY) as written, with odd ids and "
    "numbers, and with bytes flipped, cut off, dropped, repeated and inserted",
    strategy=recipe(PLAIN, ODD),
    check=check,
    trials=14_000,
    seconds=60.0,
    short=40,
    batch=3000,
)
