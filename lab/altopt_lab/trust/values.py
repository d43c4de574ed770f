"""Columns of ids and weights, ordinary and odd, that cases are made of."""

import datetime
import decimal
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

from altopt.arrays import Array

Chance = np.random.Generator


def as_objects(values: list[Any]) -> Array:
    """A one-dimensional array whatever the values are."""
    column = np.empty(len(values), object)
    for k, value in enumerate(values):
        column[k] = value
    return column


def texts(numbers: Array) -> Array:
    """Ids as text, with characters that are easily mishandled."""
    marks = ["ü", "\n", "\x00", "😀", "a,b", '"', "", "\u202e", "x", " "]
    return np.array([f"{marks[k % len(marks)]}{k}" for k in numbers.tolist()], object)


ENDS: dict[str, Callable[[Array], Any]] = {
    "int": lambda k: k,
    "int8": lambda k: k.astype(np.int8),
    "uint8": lambda k: k.astype(np.uint8),
    "uint64": lambda k: k.astype(np.uint64),
    "float": lambda k: k.astype(float),
    "text": lambda k: np.array([f"n{v}" for v in k.tolist()], object),
    "numpy text": lambda k: k.astype(str),
    "objects": lambda k: k.astype(object),
}
ODD_ENDS: dict[str, Callable[[Array], Any]] = {
    "huge uint64": lambda k: k.astype(np.uint64) + np.uint64(2**63),
    "past int32": lambda k: k + 2**31,
    "past int64": lambda k: np.array([int(v) + 2**70 for v in k], object),
    "negative": lambda k: k - 2,
    "halves": lambda k: k + 0.5,
    "NaN": lambda k: np.where(k % 3 == 0, np.nan, k),
    "inf": lambda k: np.where(k % 3 == 0, np.inf, k),
    "float16": lambda k: k.astype(np.float16),
    "strange text": texts,
    "surrogate": lambda k: np.array([f"\ud800{v}" for v in k.tolist()], object),
    "mixed": lambda k: np.array([v if v % 2 else str(v) for v in k.tolist()], object),
    "bool": lambda k: k % 2 == 0,
    "dates": lambda k: k.astype("datetime64[D]"),
    "datetimes": lambda k: as_objects(
        [datetime.datetime(2020, 1, 1) + datetime.timedelta(v) for v in k.tolist()]
    ),
    "decimals": lambda k: as_objects([decimal.Decimal(v) for v in k.tolist()]),
    "tuples": lambda k: as_objects([(v, "x") for v in k.tolist()]),
    "lists": lambda k: as_objects([[v] for v in k.tolist()]),
    "bytes": lambda k: np.array([str(v).encode() for v in k.tolist()]),
    "uuids": lambda k: as_objects([uuid.UUID(int=v) for v in k.tolist()]),
    "None": lambda k: np.array([v or None for v in k.tolist()], object),
    "complex": lambda k: k + 1j,
    "arrays": lambda k: as_objects([np.array([v, v]) for v in k.tolist()]),
}
WEIGHTS: dict[str, Callable[[Chance, int], Any]] = {
    "none": lambda chance, n: None,
    "ones": lambda chance, n: np.ones(n),
    "uniform": lambda chance, n: chance.random(n),
    "float32": lambda chance, n: chance.random(n).astype(np.float32),
    "counts": lambda chance, n: chance.integers(1, 9, n),
    "bool": lambda chance, n: chance.random(n) > 0.1,
}
ODD_WEIGHTS: dict[str, Callable[[Chance, int], Any]] = {
    "zeros": lambda chance, n: np.zeros(n),
    "tiny": lambda chance, n: chance.random(n) * 1e-30,
    "huge": lambda chance, n: chance.random(n) * 1e30,
    "negative": lambda chance, n: chance.random(n) - 0.5,
    "NaN": lambda chance, n: np.where(chance.random(n) < 0.3, np.nan, 1.0),
    "inf": lambda chance, n: np.where(chance.random(n) < 0.3, np.inf, 1.0),
    "1e-300 to 1e300": lambda chance, n: 10.0 ** chance.uniform(-300, 300, n),
    "float16": lambda chance, n: chance.random(n).astype(np.float16),
    "uint64": lambda chance, n: (chance.random(n) * 2**63).astype(np.uint64) * np.uint64(2),
    "objects": lambda chance, n: chance.random(n).astype(object),
    "text": lambda chance, n: chance.random(n).astype(str),
    "smallest": lambda chance, n: np.full(n, 5e-324),
    "largest": lambda chance, n: np.full(n, 1.7e308),
    "int8": lambda chance, n: chance.integers(-128, 127, n).astype(np.int8),
    "complex": lambda chance, n: chance.random(n) + 1j,
    "longdouble": lambda chance, n: chance.random(n).astype(np.longdouble),
    "1e4000": lambda chance, n: np.full(n, np.longdouble(10) ** 4000),
    "None": lambda chance, n: as_objects([None, *[1.0] * n][:n]),
    "decimals": lambda chance, n: as_objects([decimal.Decimal(1)] * n),
    "lists": lambda chance, n: as_objects([[1.0]] * n),
    "past float": lambda chance, n: as_objects([10**400] * n),
}
