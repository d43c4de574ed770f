"""What one more column of X costs that says nothing about the classes, and what one gains that does.

    python -m altopt_lab.experiments.irrelevant_column --out results/irrelevant_column.jsonl

One JSON line per fit goes to --out; fits already there are not repeated. Printed is the mean difference to the fit
without the column, in points of accuracy (ROC AUC on Tolokers), for each data set and kind of column.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import roc_auc_score

import altopt
from altopt import AltOpt
from altopt.arrays import Array
from altopt.datasets import Dataset, load
from altopt.datasets.splits import fraction, hide, per_class
from altopt_lab.metrics import accuracy
from altopt_lab.records import Record, append_record, read_records

FIRST_SEED = 900  # of development splits
FEW = {"PubMed", "Photo"}  # slow: three splits at the most
TABLES: dict[str, Callable[..., Any]] = {"iris": load_iris, "wine": load_wine}
DATA = ("Cora", "PubMed", "Photo", "Tolokers", "Wisconsin", "iris", "wine")
SHARES = {"Tolokers": 0.5, "Wisconsin": 0.6}  # of the nodes that are labelled; elsewhere some of each class
Draw = Callable[[np.random.Generator, Array], Array]


def dates(rng: np.random.Generator, n: int) -> Array:
    """Nanoseconds since 1970, over one year."""
    return 1.7e18 + rng.integers(0, 365 * 24 * 3600, n) * 1e9


COLUMNS: dict[str, Draw] = {
    "lognormal": lambda rng, y: rng.lognormal(11, 1, len(y)),
    "very lognormal": lambda rng, y: rng.lognormal(0, 5, len(y)),
    "Cauchy": lambda rng, y: rng.standard_cauchy(len(y)),
    "uniform, 1e9": lambda rng, y: 1e9 * rng.random(len(y)),
    "tiny, 1e-9": lambda rng, y: 1e-9 * rng.random(len(y)),
    "zero-inflated": lambda rng, y: (rng.random(len(y)) < 0.4) * rng.lognormal(11, 1, len(y)),
    "zero-inflated, small": lambda rng, y: (rng.random(len(y)) < 0.4) * rng.lognormal(0, 1, len(y)),
    "integers": lambda rng, y: rng.integers(0, 10, len(y)).astype(float),
    "flag": lambda rng, y: 1.0 * (rng.random(len(y)) < 0.5),
    "Poisson, 1000": lambda rng, y: rng.poisson(1000, len(y)).astype(float),
    "constant and noise": lambda rng, y: 5.0 + 1e-3 * rng.normal(size=len(y)),
    "dates": lambda rng, y: dates(rng, len(y)),
    "useful": lambda rng, y: rng.lognormal(11 + y, 1),
}


def read(name: str) -> Dataset:
    if name not in TABLES:
        return load(name)
    X, y = TABLES[name](return_X_y=True)
    return Dataset(name, X, y, None, None, "")


def widened(X: Any, column: Array) -> Any:
    """X with one more column, in the form that X has."""
    if sp.issparse(X):
        return sp.csr_array(sp.hstack([X, sp.csr_array(column[:, None])], format="csr"))
    return np.column_stack([X, column])


def score(model: AltOpt, y: Array, nodes: Array, auc: bool) -> float:
    if auc:
        return float(roc_auc_score(y[nodes], model.label_distributions_[nodes, 1]))
    return accuracy(model.transduction_, y, nodes)


def run(data: Dataset, column: str | None, seed: int, cross_fit: bool) -> Record:
    """One fit with this column beside X, and its score on the nodes that are not labelled."""
    y, X = np.asarray(data.y), data.X
    if data.name in SHARES:
        train = fraction(y, SHARES[data.name], seed=seed).train
    else:
        train = per_class(y, 5 if data.name in TABLES else 20, 0, 1, seed=seed).train
    if column is not None:
        X = widened(X, COLUMNS[column](np.random.default_rng(seed), y))
    rest = np.setdiff1d(np.arange(len(y)), train)
    began = time.perf_counter()
    model = AltOpt(random_state=seed, cross_fit=cross_fit).fit(X, hide(y, train), graph=data.graph)
    return {
        "dataset": data.name,
        "column": column,
        "split_seed": seed,
        "cross_fit": cross_fit,
        "score": score(model, y, rest, data.name == "Tolokers"),
        "seconds": time.perf_counter() - began,
        "altopt": altopt.__version__,
    }


def key_of(record: Record) -> tuple[Any, ...]:
    return tuple(record[name] for name in ("dataset", "column", "split_seed", "cross_fit"))


def summary(records: list[Record]) -> str:
    """The mean difference to the fit without the column, by data set and column."""
    scores = {key_of(record): 100 * record["score"] for record in records}
    names = sorted({key[0] for key in scores}, key=DATA.index)
    lines = [f"{'':22}" + "".join(f"{name:>11}" for name in names) + f"{'mean':>11}"]
    without = {name: [s for key, s in scores.items() if key[:2] == (name, None)] for name in names}
    lines.append(f"{'without':22}" + "".join(f"{np.mean(without[name]):11.2f}" for name in names))
    for column in [name for name in COLUMNS if any(key[1] == name for key in scores)]:
        means = []
        for name in names:
            lost = [
                s - scores[name, None, *key[2:]] for key, s in scores.items() if key[:2] == (name, column)
            ]
            means.append(float(np.mean(lost)) if lost else np.nan)
        lines.append(f"{column:22}" + "".join(f"{mean:+11.2f}" for mean in (*means, np.nanmean(means))))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="file of JSON lines; resumed if it exists")
    parser.add_argument("--dataset", nargs="+", choices=DATA, default=DATA)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--cross-fit", action="store_true", help="the whole of AltOpt(), choice included")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    done = {key_of(record): record for record in read_records(asked.out)}
    for name in asked.dataset:
        data = read(name)
        for seed in range(FIRST_SEED, FIRST_SEED + (min(asked.splits, 3) if name in FEW else asked.splits)):
            for column in (None, *COLUMNS):
                if (name, column, seed, asked.cross_fit) not in done:
                    record = run(data, column, seed, asked.cross_fit)
                    done[key_of(record)] = record
                    append_record(asked.out, record)
    print(summary([record for record in done.values() if record["cross_fit"] == asked.cross_fit]))


if __name__ == "__main__":
    main()
