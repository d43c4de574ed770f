"""Cases for X: arrays, matrices, tensors and tables of every type and size of number."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from altopt import AltOpt
from altopt.arrays import Array
from altopt.graph.features import read_features
from altopt_lab.trust.judge import judged, promise
from altopt_lab.trust.part import Outcome, Part
from altopt_lab.trust.recipes import Case, random, recipe
from altopt_lab.trust.values import Chance, as_objects

NUMBERS: dict[str, Callable[[Chance, Array], Array]] = {
    "normal": lambda chance, X: X,
    "counts": lambda chance, X: chance.poisson(1, X.shape).astype(float),
    "indicators": lambda chance, X: (X > 0).astype(float),
    "constant": lambda chance, X: X * 0 + 3,
    "scales": lambda chance, X: X * 10.0 ** chance.uniform(-5, 5, X.shape[1]),
}
ODD_NUMBERS: dict[str, Callable[[Chance, Array], Array]] = {
    "zeros": lambda chance, X: X * 0,
    "negative zeros": lambda chance, X: X * -0.0,
    "1e-320": lambda chance, X: X * 1e-320,
    "1e-300": lambda chance, X: X * 1e-300,
    "1e-40": lambda chance, X: X * 1e-40,
    "1e-20": lambda chance, X: X * 1e-20,
    "1e8": lambda chance, X: X * 1e8,
    "1e30": lambda chance, X: X * 1e30,
    "1e38": lambda chance, X: X * 1e38,
    "1e154": lambda chance, X: X * 1e154,
    "1e300": lambda chance, X: X * 1e300,
    "1e308": lambda chance, X: np.sign(X) * 1e308,
    "offset": lambda chance, X: X + 1e12,
    "one large column": lambda chance, X: X * np.where(np.arange(X.shape[1]) == 0, 1e39, 1.0),
    "one huge row": lambda chance, X: X * np.where(np.arange(len(X)) == 0, 1e200, 1.0)[:, None],
    "scales to the end": lambda chance, X: X * 10.0 ** chance.uniform(-300, 300, X.shape),
    "NaN": lambda chance, X: np.where(chance.random(X.shape) < 0.2, np.nan, X),
    "inf": lambda chance, X: np.where(chance.random(X.shape) < 0.2, np.inf, X),
    "one NaN": lambda chance, X: np.where(np.arange(X.size).reshape(X.shape) == X.size - 1, np.nan, X),
    "opposite infinities": lambda chance, X: np.where(X > 0, np.inf, -np.inf),
}
TYPES = ("float64", "float64", "float32", "int64")
ODD_TYPES = (
    "float16",
    "int8",
    "uint64",
    "bool",
    "complex128",
    "object",
    "longdouble",
    "text",
    "bytes",
    "dates",
)


def frame(X: Array, chance: Chance) -> Any:
    import pandas as pd

    index = [None, list(range(len(X), 0, -1)), [f"n{k}" for k in range(len(X))]][int(chance.integers(3))]
    return pd.DataFrame(X, index=index)


def mixed_frame(X: Array, chance: Chance) -> Any:
    import pandas as pd

    columns = {
        "category": pd.Categorical([["x", "y"][k % 2] for k in range(len(X))]),
        "nullable": pd.array([None if k % 3 == 0 else k for k in range(len(X))], "Int64"),
        "text": [f"t{k}" for k in range(len(X))],
        "date": pd.date_range("2020-01-01", periods=len(X)),
    }
    name = sorted(columns)[int(chance.integers(len(columns)))]
    return pd.DataFrame({"a": X[:, 0] if X.shape[1] else 0.0, name: columns[name]})


def named_twice(X: Array, chance: Chance) -> Any:
    import pandas as pd

    return pd.DataFrame(np.hstack([X, X]), columns=list(range(X.shape[1])) * 2)


def many_levels(X: Array, chance: Chance) -> Any:
    import pandas as pd

    return pd.DataFrame(X, index=pd.MultiIndex.from_arrays([range(len(X)), range(len(X))]))


def polars_frame(X: Array, chance: Chance) -> Any:
    import polars as pl

    return pl.DataFrame({f"x{j}": X[:, j].tolist() for j in range(X.shape[1])}, strict=False)


def arrow_table(X: Array, chance: Chance) -> Any:
    import pyarrow as pa

    return pa.table({f"x{j}": pa.array(X[:, j].tolist()) for j in range(X.shape[1])})


def tensor(X: Array, chance: Chance) -> Any:
    import torch

    return torch.as_tensor(X)


def sparse_tensor(X: Array, chance: Chance) -> Any:
    return tensor(X, chance).to_sparse()


def memory_map(X: Array, chance: Chance) -> Any:
    path = Path("X.dat").resolve()
    mapped = np.memmap(path, X.dtype, "w+", shape=X.shape)
    mapped[:] = X
    path.unlink()
    return mapped


def bad_sparse(X: Array, chance: Chance) -> Any:
    """A matrix whose column numbers or rows point outside."""
    A = sparse.csr_array(X)
    array = A.indices if chance.random() < 0.7 else A.indptr
    if len(array):
        array[int(chance.integers(len(array)))] = chance.choice([-1, -7, A.shape[1], 5_000_000])
    return A


FORMS: dict[str, Callable[[Array, Chance], Any]] = {
    "array": lambda X, chance: X,
    "list": lambda X, chance: X.tolist(),
    "csr": lambda X, chance: sparse.csr_array(X),
    "csc": lambda X, chance: sparse.csc_array(X),
    "coo": lambda X, chance: sparse.coo_array(X),
    "pandas": frame,
    "polars": polars_frame,
    "arrow": arrow_table,
    "tensor": tensor,
    "fortran": lambda X, chance: np.asfortranarray(X),
    "strided": lambda X, chance: np.repeat(X, 2, axis=1)[:, ::2],
}
ODD_FORMS: dict[str, Callable[[Array, Chance], Any]] = {
    "sparse tensor": sparse_tensor,
    "bad sparse": bad_sparse,
    "lil": lambda X, chance: sparse.lil_matrix(X),
    "dia": lambda X, chance: sparse.dia_array(X),
    "mixed frame": mixed_frame,
    "named twice": named_twice,
    "many levels": many_levels,
    "memory map": memory_map,
    "masked": lambda X, chance: np.ma.masked_array(X, mask=np.isnan(X.astype(float)) | (X[:1] == X)),
    "3-d": lambda X, chance: X[None],
    "1-d": lambda X, chance: X.ravel(),
    "scalar": lambda X, chance: 3.0,
    "None": lambda X, chance: None,
    "text": lambda X, chance: "X.csv",
    "dict": lambda X, chance: {"a": X},
    "ragged": lambda X, chance: [[1.0] * (k % 3) for k in range(len(X))],
    "lists in cells": lambda X, chance: as_objects([[1.0]] * len(X))[:, None],
    "read-only": lambda X, chance: read_only(X),
    "empty list": lambda X, chance: [],
    "generator": lambda X, chance: (row for row in X),
}
PLAIN: dict[str, Any] = {
    "form": tuple(FORMS),
    "rows": (2, 3, 8, 30),
    "columns": (1, 2, 5, 30),
    "numbers": tuple(NUMBERS),
    "type": TYPES,
}
ODD: dict[str, Any] = {
    "form": tuple(ODD_FORMS),
    "rows": (0, 1),
    "columns": (0, 1000),
    "numbers": tuple(ODD_NUMBERS),
    "type": ODD_TYPES,
}


def read_only(X: Array) -> Array:
    X = X.copy()
    X.setflags(write=False)
    return X


def make_features(case: Case) -> Any:
    """The X of a case."""
    chance = random(case)
    with np.errstate(all="ignore"):
        X = (NUMBERS | ODD_NUMBERS)[case["numbers"]](
            chance, chance.normal(size=(case["rows"], case["columns"]))
        )
        if case["type"] == "text":
            X = X.astype(str)
        elif case["type"] == "bytes":
            X = X.astype("S8")
        elif case["type"] == "dates":
            X = np.nan_to_num(X).astype("datetime64[s]")
        else:
            X = X.astype(case["type"])
        return (FORMS | ODD_FORMS)[case["form"]](X, chance)


def made(make: Callable[[Case], Any], case: Case) -> Any:
    """What `make` makes of a case, or the Outcome where the libraries before altopt do not make it."""
    try:
        return make(case)
    except Exception as error:
        return Outcome(
            "refused", f"not even numpy, scipy, pandas or torch makes this: {type(error).__name__}"
        )


def check(case: Case) -> Outcome:
    """Read X as a fit does, and once more as predict does."""
    X = made(make_features, case)
    return X if isinstance(X, Outcome) else judged(lambda: hold_to_promises(X))


def hold_to_promises(given: Any) -> None:
    """What is read of X is a finite matrix of floats; read again it is the same."""
    estimator = AltOpt()
    X, row_ids = read_features(estimator, given, reset=True, missing=False)
    promise(X.ndim == 2 and X.shape[0] > 0 and X.shape[1] > 0, f"X has shape {X.shape}")
    promise(X.dtype.kind == "f", f"X holds {X.dtype}")
    values = X.data if sparse.issparse(X) else np.asarray(X)
    promise(np.isfinite(values).all(), "X is not finite")
    promise(estimator.n_features_in_ == X.shape[1], "n_features_in_ is not the number of columns")
    promise(row_ids is None or len(row_ids) == X.shape[0], "X has not one id a row")
    if sparse.issparse(X):
        promise(
            X.indices.size == 0 or 0 <= X.indices.min() <= X.indices.max() < X.shape[1], "an index is outside"
        )
        X.toarray()
    again, _ = read_features(estimator, X, reset=False, missing=False, by_name=False)
    promise(again.shape == X.shape, "read again, X has another shape")


PART = Part(
    name="features",
    what="X as a fit reads it: arrays, sparse matrices, tensors and tables of every type, numbers from 1e-320 to "
    "1e308, NaN, inf, broken matrices",
    strategy=recipe(PLAIN, ODD),
    check=check,
    trials=12_000,
    seconds=30.0,
    short=50,
    batch=5000,
)
