"""Cases for y: labels of every type, unknown ones in every spelling, declared classes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.graph.validation import UNKNOWN, read_y
from altopt_lab.trust.features import made
from altopt_lab.trust.judge import judged, promise
from altopt_lab.trust.part import Outcome, Part
from altopt_lab.trust.recipes import Case, random, recipe
from altopt_lab.trust.values import as_objects

Known = Callable[[Array, Array], Any]  # of the class numbers and a mask of the known ones


def spelled(spell: Callable[[int], Any], unknown: Any = None) -> Known:
    return lambda y, known: as_objects(
        [spell(k) if is_known else unknown for k, is_known in zip(y.tolist(), known)]
    )


def series(y: Array, known: Array) -> Any:
    import pandas as pd

    return pd.Series(np.where(known, y, -1))


def nullable(y: Array, known: Array) -> Any:
    import pandas as pd

    return pd.Series(y).astype("Int64").where(known)


def category(y: Array, known: Array) -> Any:
    import pandas as pd

    return pd.Series(spelled(lambda k: f"k{k}")(y, known)).astype("category")


def arrow(y: Array, known: Array) -> Any:
    import pyarrow as pa

    return pa.array(spelled(lambda k: f"k{k}")(y, known).tolist())


def polars(y: Array, known: Array) -> Any:
    import polars as pl

    return pl.Series([f"k{k}" if is_known else None for k, is_known in zip(y.tolist(), known)])


def tensor(y: Array, known: Array) -> Any:
    import torch

    return torch.as_tensor(np.where(known, y, -1))


LABELS: dict[str, Known] = {
    "whole": lambda y, known: np.where(known, y, -1),
    "list": lambda y, known: np.where(known, y, -1).tolist(),
    "text": spelled(lambda k: f"c{k}"),
    "text and -1": spelled(lambda k: f"c{k}", -1),
    "text and NaN": spelled(lambda k: f"c{k}", float("nan")),
    "floats": lambda y, known: np.where(known, y * 1.0, np.nan),
    "numpy text": lambda y, known: np.where(known, y.astype(str), "-1"),
    "bools": spelled(lambda k: bool(k % 2)),
    "series": series,
    "nullable": nullable,
    "category": category,
    "tensor": tensor,
    "huge": lambda y, known: np.where(known, y + 2**60, -1),
}
ODD_LABELS: dict[str, Known] = {
    "arrow": arrow,
    "polars": polars,
    "None": lambda y, known: None,
    "all unknown": lambda y, known: np.full(len(y), np.nan),
    "one class": lambda y, known: np.where(known, 0, -1),
    "each its own": lambda y, known: np.arange(len(y)),
    "mixed": spelled(lambda k: k if k % 2 else str(k)),
    "strange text": spelled(lambda k: ["ü\n", "\x00", "😀", "", "\u202e", "nan", "-1", "None"][k % 8]),
    "surrogates": spelled(lambda k: f"\ud800{k}"),
    "past int64": spelled(lambda k: 2**70 + k, -1),
    "past float": spelled(lambda k: 10**400 + k, -1),
    "negative": lambda y, known: np.where(known, -y - 2, -1),
    "column": lambda y, known: np.where(known, y, -1)[:, None],
    "row": lambda y, known: np.where(known, y, -1)[None],
    "3-d": lambda y, known: y[:, None, None],
    "short": lambda y, known: np.where(known, y, -1)[:-1],
    "long": lambda y, known: np.append(np.where(known, y, -1), [0, 1]),
    "inf": lambda y, known: np.where(known, y * 1.0, np.inf),
    "float16": lambda y, known: np.where(known, y, np.nan).astype(np.float16),
    "large floats": lambda y, known: np.where(known, y * 1e300, np.nan),
    "halves": lambda y, known: y + 0.5,
    "dates": lambda y, known: y.astype("datetime64[D]"),
    "bytes": lambda y, known: y.astype("S3"),
    "uint64": lambda y, known: y.astype(np.uint64) + np.uint64(2**63),
    "int8": lambda y, known: np.where(known, y, -1).astype(np.int8),
    "complex": lambda y, known: y + 1j,
    "objects": lambda y, known: as_objects([object() for _ in y]),
    "lists": lambda y, known: as_objects([[k] for k in y.tolist()]),
    "arrays": lambda y, known: as_objects([np.array([k, k]) for k in y.tolist()]),
    "tuples": spelled(lambda k: (k, "x")),
    "scalar": lambda y, known: 3,
    "one text": lambda y, known: "abc",
    "dict": lambda y, known: dict(enumerate(y.tolist())),
    "set": lambda y, known: set(y.tolist()),
    "generator": lambda y, known: (k for k in y),
    "masked": lambda y, known: np.ma.masked_array(y, mask=~known),
    "structured": lambda y, known: np.zeros(len(y), [("a", "i8"), ("b", "f8")]),
    "0-d": lambda y, known: np.array(1),
    "long text": spelled(lambda k: "x" * 5000 + str(k)),
}
CLASSES: dict[str, Callable[[int], Any]] = {
    "none": lambda c: None,
    "numbers": lambda c: list(range(c)),
    "more": lambda c: list(range(c + 3)),
    "fewer": lambda c: [0],
    "text": lambda c: [f"c{k}" for k in range(c)],
    "empty": lambda c: [],
    "twice": lambda c: [0, 0, 1, 1],
    "mixed": lambda c: ["a", 1, None],
    "NaN": lambda c: [float("nan"), 0.0, 1.0],
    "2-d": lambda c: [[0, 1], [2, 3]],
    "one text": lambda c: "ab",
    "number": lambda c: 3,
    "objects": lambda c: [object(), object()],
    "unknown": lambda c: [-1, 0, 1],
}
PLAIN: dict[str, Any] = {
    "labels": tuple(LABELS),
    "rows": (2, 5, 20, 60),
    "n_classes": (2, 3, 7),
    "share": (0.1, 0.5, 1.0),
    "classes": ("none", "none", "none", "numbers", "text"),
}
ODD: dict[str, Any] = {
    "labels": tuple(ODD_LABELS),
    "rows": (0, 1),
    "n_classes": (1, 50),
    "share": (0.0,),
    "classes": tuple(CLASSES),
}


def make_labels(case: Case) -> Any:
    """The y of a case; of every class one label is known where there is room."""
    chance = random(case)
    n, c = case["rows"], case["n_classes"]
    y: Array = chance.integers(0, c, (n,))
    y[: min(c, n)] = np.arange(min(c, n))
    known = chance.random(n) < case["share"]
    if case["share"]:
        known[: min(2 * c, n)] = True
    return (LABELS | ODD_LABELS)[case["labels"]](y, known)


def check(case: Case) -> Outcome:
    """Read y as a fit does."""
    y = made(make_labels, case)
    if isinstance(y, Outcome):
        return y
    return judged(lambda: hold_to_promises(y, case["rows"], CLASSES[case["classes"]](case["n_classes"])))


def hold_to_promises(y: Any, n: int, declared: Any) -> None:
    """At least two classes, sorted, and a class number or unknown for every node."""
    classes, codes = read_y(y, n, declared)
    promise(codes.shape == (n,) and codes.dtype.kind == "i", "the class numbers are not one a node")
    promise(
        len(classes) >= 2 and len(set(classes.tolist())) == len(classes), "the classes are not two or more"
    )
    promise(codes.min() >= UNKNOWN and codes.max() < len(classes), "a class number is outside")
    promise(len(set(codes[codes != UNKNOWN].tolist())) >= 2, "fewer than two classes have a label")


PART = Part(
    name="labels",
    what="y and classes as a fit reads them: numbers, text, bools, tables, every spelling of unknown, everything "
    "that is not a label",
    strategy=recipe(PLAIN, ODD),
    check=check,
    trials=10_000,
    seconds=30.0,
    short=50,
    batch=5000,
)
