"""Honesty of AltOpt(): accuracy, intervals and probabilities beside the truth, for labels drawn at random and by class.

python -m altopt_lab.experiments.honesty OUT.jsonl [--datasets Cora] [--draws 10] [--first 0] [--report] [--page P]

One JSON line a run; runs on record are not made again for the same code, and several processes may share a file.
`--report` prints the table of what is on record by this code, `--page` writes it with what is asked of it.
"""

import argparse
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from altopt import AltOpt
from altopt.arrays import Array
from altopt.datasets import Dataset, available, load
from altopt.graph import Graph
from altopt.io.files import write_text
from altopt.selection.calibration import calibration_error
from altopt_lab.breadth.run import code
from altopt_lab.experiments.honesty_report import page, report
from altopt_lab.experiments.work import made_on
from altopt_lab.records import Record, Records, read_records

AT_RANDOM, BY_CLASS = (50, 200, 1000), (5, 20, 60)
HIDDEN = 0.3  # share of the graph that must stay hidden
BUILT_IN = ("digits", "communities")


@dataclass(frozen=True)
class Skewed:
    """A generated graph of 2,000 nodes with skewed classes.

    Parameters
    ----------
    shares : tuple of float
        Of the classes.
    within : float
        Share of edges whose ends have the same class by design; the others are drawn anywhere, or, where negative, in
        another class.
    signal : float
        Distance of class centroids of the features, in standard deviations of one of them.
    """

    shares: tuple[float, ...]
    within: float
    signal: float

    def make(self, name: str, n: int = 2000, mean_degree: int = 8, n_features: int = 32) -> Dataset:
        rng = np.random.default_rng(sum(map(ord, name)))
        y = rng.permutation(
            np.repeat(np.arange(len(self.shares)), np.round(np.array(self.shares) * n).astype(int))
        )
        n = len(y)
        X = (
            rng.normal(size=(n, n_features))
            + self.signal * rng.normal(size=(len(self.shares), n_features))[y]
        )
        source = rng.integers(n, size=n * mean_degree // 2)
        target = rng.integers(n, size=len(source))
        tied = rng.random(len(source)) < abs(self.within)
        for k in range(len(self.shares)):
            own = tied & (y[source] == k)
            pool = np.flatnonzero(y == k if self.within > 0 else y != k)
            target[own] = rng.choice(pool, int(own.sum()))
        kept = source != target
        A = sp.coo_array((np.ones(kept.sum()), (source[kept], target[kept])), shape=(n, n)).tocsr()
        A = ((A + A.T) > 0).astype(np.float64)
        return Dataset(name, X, y, Graph(A), None, "Generated.")


GENERATED = {
    "skewed-15": Skewed((0.85, 0.15), 0.5, 0.25),
    "skewed-20-apart": Skewed((0.8, 0.2), -0.3, 0.1),
    "skewed-five": Skewed((0.5, 0.25, 0.15, 0.07, 0.03), 0.5, 0.25),
}


@dataclass(frozen=True)
class Run:
    """One draw of labels from a graph."""

    dataset: str
    kind: str  # "random", "class", or "prior": by class with the true shares given
    rate: int  # labels, or labels a class
    seed: int

    @property
    def key(self) -> str:
        return f"{self.dataset} {self.kind} {self.rate} {self.seed}"

    def fits(self, y: Array) -> bool:
        """Whether the graph has so many labels, and enough of it stays hidden."""
        counts = np.bincount(y[y >= 0])
        n_labels = self.rate if self.kind == "random" else self.rate * len(counts)
        return bool(
            n_labels <= (1 - HIDDEN) * counts.sum() and (self.kind == "random" or counts.min() >= self.rate)
        )

    def draw(self, y: Array) -> Array:
        """The labelled nodes."""
        rng, known = np.random.default_rng([self.seed, self.rate]), np.flatnonzero(y >= 0)
        if self.kind == "random":
            return rng.choice(known, self.rate, replace=False)
        groups = [np.flatnonzero(y == k) for k in range(int(y.max()) + 1)]
        return np.concatenate([rng.choice(group, self.rate, replace=False) for group in groups])


def datasets() -> list[str]:
    """The graphs on disk, and the generated ones."""
    found = [name for name, here in available().items() if here and name not in BUILT_IN]
    return [*found, *GENERATED]


def dataset(name: str) -> Dataset:
    for generated, made in GENERATED.items():
        if generated == name:
            return made.make(name)
    return load(name)


def runs(names: list[str], n_draws: int, first: int) -> Iterator[Run]:
    """All runs: seeds outermost, so that what is on record is spread over the settings at any time."""
    for seed in range(first, first + n_draws):
        for name in names:
            yield from (Run(name, "random", rate, seed) for rate in AT_RANDOM)
            yield from (Run(name, kind, rate, seed) for rate in BY_CLASS for kind in ("class", "prior"))


def result(run: Run, data: Dataset) -> Record:
    """The fit of a run beside the truth of all nodes that were hidden."""
    truth = np.asarray(data.y)
    labelled = run.draw(truth)
    y = np.full(len(truth), -1)
    y[labelled] = truth[labelled]
    hidden = np.flatnonzero((truth >= 0) & (y < 0))
    counts = np.bincount(truth[truth >= 0])
    prior = (
        {k: float(share) for k, share in enumerate(counts / counts.sum())} if run.kind == "prior" else None
    )
    begin = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AltOpt(random_state=run.seed, class_prior=prior).fit(data.X, y, graph=data.graph)
    seconds, told = perf_counter() - begin, model.leave_one_out_
    codes, P = np.searchsorted(model.classes_, truth[hidden]), model.label_distributions_[hidden]
    seen = np.isin(truth[hidden], model.classes_)  # a class without a label is never predicted
    right = model.transduction_[hidden] == truth[hidden]
    return {
        **vars(run),
        "key": run.key,
        "n_labels": len(labelled),
        "n_hidden": len(hidden),
        "truth": float(right.mean()),
        "estimate": told.accuracy,
        "low": told.interval[0],
        "high": told.interval[1],
        "ece": calibration_error(P, np.where(seen, codes, -1)),
        **auc_of(P[seen], codes[seen], told),
        "draw": told.draw,
        "plan": model.choice_["plan"],
        "seconds": seconds,
        "fit_code": code(),
    } | made_on()


def auc_of(P: Array, codes: Array, told: Any) -> Record:
    """ROC AUC beside its estimate, for the classes that both know; None where it is not told."""
    if np.isnan(told.auc) or len(np.unique(codes)) < P.shape[1]:
        return {"auc_truth": None, "auc": None, "auc_low": None, "auc_high": None}
    two = P.shape[1] == 2
    truth = roc_auc_score(codes, P[:, 1]) if two else roc_auc_score(codes, P, multi_class="ovr")
    return {
        "auc_truth": float(truth),
        "auc": told.auc,
        "auc_low": told.auc_interval[0],
        "auc_high": told.auc_interval[1],
    }


def make(out: Path, names: list[str], n_draws: int, first: int) -> None:
    """Every run that is not on record."""
    loaded: dict[str, Dataset] = {}
    with Records(out) as records:
        for run in runs(names, n_draws, first):
            records.refresh()
            made = any(line["key"] == run.key for line in current(records.lines))
            if made or not records.claim(run.key):
                continue
            if run.dataset not in loaded:
                loaded[run.dataset] = dataset(run.dataset)
            data = loaded[run.dataset]
            if run.fits(np.asarray(data.y)):
                records.add(result(run, data))
            records.release(run.key)


def current(lines: Sequence[Record]) -> list[Record]:
    """Those made by the present code."""
    return [line for line in lines if line.get("fit_code") == code()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--datasets", nargs="*", help="default: all on disk, and three generated")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed; 900 and up for development")
    parser.add_argument(
        "--report", action="store_true", help="print the table of what is on record, and stop"
    )
    parser.add_argument("--page", type=Path, help="write all that is on record as a page here")
    arguments = parser.parse_args()
    if not arguments.report:
        make(arguments.out, arguments.datasets or datasets(), arguments.draws, arguments.first)
    records = read_records(arguments.out)
    print(report(current(records)))
    if arguments.page is not None:
        write_text(arguments.page, page(records))


if __name__ == "__main__":
    main()
