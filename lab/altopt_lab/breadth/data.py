"""The data sets of the matrix by name: benchmark graphs, generated ones, tables, some with an irrelevant column."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import datasets as tables
from sklearn.preprocessing import StandardScaler

from altopt.datasets import Dataset, load
from altopt.errors import InputError
from altopt_lab.breadth import generated

GIVEN = ("Tolokers", "Wisconsin", "chameleon", "squirrel", "chameleon-filtered", "squirrel-filtered")
HALVES = ("reed98", "amherst41")  # split 50/25/25 at random, as is usual for them
CITATION = ("Cora", "CiteSeer", "PubMed")
LARGE = ("Photo", "Computers", "CS", "Physics")
GRAPHS = (*GIVEN, *HALVES, *CITATION, *LARGE)
AUC_BELOW = 0.3  # share of the smaller of two classes below which accuracy says little


def table(X: Any, y: Any) -> Dataset:
    """Standardised columns and no graph."""
    return Dataset(
        "table", StandardScaler().fit_transform(X), np.asarray(y), None, None, "From scikit-learn."
    )


def with_lognormal(data: Dataset) -> Dataset:
    """The same and a column that says nothing, of numbers around 60,000."""
    column = np.random.default_rng(11).lognormal(11.0, 1.0, (data.X.shape[0], 1))
    X = sp.csr_array(sp.hstack([data.X, column])) if sp.issparse(data.X) else np.hstack([data.X, column])
    return replace(data, X=X)


GENERATED: dict[str, Callable[[], Dataset]] = {
    "skewed 85/15": lambda: generated.skewed((0.85, 0.15), 0.5, 0.35, 4000, seed=1),
    "skewed 70/20/7/3": lambda: generated.skewed((0.7, 0.2, 0.07, 0.03), 0.6, 0.7, 4000, seed=2),
    "skewed 60/40, weak": lambda: generated.skewed((0.6, 0.4), 0.2, 0.3, 3000, seed=3),
    "counts": lambda: generated.counts(seed=4),
    "surroundings": lambda: generated.surroundings(seed=5),
    "random edges": lambda: generated.random_edges(seed=6),
    "noise for features": lambda: generated.noise(seed=7),
    "bands": lambda: generated.bands(seed=8),
    "users and items": lambda: generated.two_sides(seed=9),
}
TABLES: dict[str, Callable[[], Dataset]] = {
    "moons": lambda: table(*tables.make_moons(500, noise=0.1, random_state=0)),
    "circles": lambda: table(*tables.make_circles(500, noise=0.05, factor=0.5, random_state=0)),
    "iris": lambda: table(*tables.load_iris(return_X_y=True)),
    "wine": lambda: table(*tables.load_wine(return_X_y=True)),
    "breast cancer": lambda: table(*tables.load_breast_cancer(return_X_y=True)),
    "digits": lambda: table(*tables.load_digits(return_X_y=True)),
    "20 features": lambda: table(
        *tables.make_classification(
            1000, 20, n_informative=6, n_redundant=2, n_classes=3, class_sep=1.5, random_state=0
        )
    ),
}
LOGNORMAL = {f"{name} and a lognormal column": name for name in ("Cora", "Photo", "counts", "wine")}
NAMES = (*GRAPHS, *GENERATED, *TABLES, *LOGNORMAL)


def read(name: str, folder: Path | None = None) -> Dataset:
    """A data set of the matrix; `folder` holds the raw files (None: ALTOPT_DATA or ./data).

    >>> read("iris").X.shape
    (150, 4)
    """
    if name in LOGNORMAL:
        return replace(with_lognormal(read(LOGNORMAL[name], folder)), name=name)
    made = (GENERATED | TABLES).get(name)
    return replace(load(name, folder) if made is None else made(), name=name)


def raw_name(name: str) -> str | None:
    """The benchmark graph whose files a data set is read from, if any."""
    base = LOGNORMAL.get(name, name)
    return base if base in GRAPHS else None


def find_data(name: str) -> str:
    """A data set by its name, in upper or lower case."""
    known = {each.lower(): each for each in NAMES}
    if name.lower() not in known:
        raise InputError(f"--dataset {name!r} is not known. There are {', '.join(NAMES)}.")
    return known[name.lower()]


def metric_of(data: Dataset) -> str:
    """By which figure methods are compared: ROC AUC where one of two classes is small, accuracy elsewhere."""
    sizes = np.bincount(data.y[data.y >= 0])
    return "auc" if len(sizes) == 2 and sizes.min() < AUC_BELOW * sizes.sum() else "accuracy"
