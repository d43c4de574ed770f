"""A dense real graph, Tolokers: a label into a fitted model beside a fit, and AltOpt() beside boosted trees."""

import time
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from altopt import AltOpt
from altopt.arrays import Array
from altopt.datasets import Dataset, available, load
from altopt.datasets.splits import given, hide
from altopt.threads import threads_for
from altopt_lab.bench.graphs import SEED
from altopt_lab.bench.report import Report, ResultTable
from altopt_lab.bench.timing import Log
from altopt_lab.breadth.peers import Task, boosted_trees

NAME = "Tolokers"
LABELS, FITS = 20, 3
SPLITS = 10  # given with the data
COLUMNS = ("who", "best", "median", "ratio", "touched", "error", "auc")


def found(report: Report) -> Dataset | None:
    """The graph; without its raw files a word about that."""
    if available()[NAME]:
        return load(NAME)
    report.notes.append(f"{NAME}: not measured; its raw files are not in ALTOPT_DATA.")
    return None


def update_by_a_label(report: Report, log: Log) -> None:
    """Labels one after another, each in turn with a fit that holds none back."""
    data = found(report)
    if data is None:
        return
    y = np.asarray(data.y)
    known = hide(y, given(data, 0).train)
    model = AltOpt(random_state=SEED, cross_fit=False).fit(data.X, known, graph=data.graph)
    first, *nodes = np.random.default_rng(SEED).permutation(np.flatnonzero(known < 0))[: LABELS + 1].tolist()
    model.update({first: y[first]})  # measures the residual of the fit
    fits, walls, changes = [], [], []
    for k, node in enumerate(nodes):
        if k % (LABELS // FITS) == 0:
            log(f"{NAME}: a fit, and labels one after another")
            fits.append(fitted(data, known, cross_fit=False)[0])
        began = time.perf_counter()
        changes.append(model.update({node: y[node]}))
        walls.append(time.perf_counter() - began)
    fit = float(np.median(fits))
    rows: list[dict[str, Any]] = [
        {"who": "AltOpt(cross_fit=False), the whole fit", "best": min(fits), "median": fit, "ratio": 1.0},
        {
            "who": "update, one label",
            "best": min(walls),
            "median": float(np.median(walls)),
            "ratio": float(np.median(walls)) / fit,
            "touched": max(change.n_touched for change in changes),
            "error": max(change.error_bound or np.inf for change in changes),
        },
    ]
    title = f"{NAME}, {facts(data, known)}; ratio: median / the fit; error: the largest bound"
    report.tables.append(ResultTable(title, COLUMNS[:6], rows))
    report.measure(dense_update=rows[1]["ratio"])


def beside_boosted_trees(report: Report, log: Log) -> None:
    """AltOpt() and HistGradientBoosting on neighbour statistics, which it makes in its time, by turns on one thread."""
    data = found(report)
    if data is None:
        return
    y = np.asarray(data.y)
    walls: dict[str, list[float]] = {"AltOpt()": [], "boosted trees on neighbour statistics": []}
    auc: dict[str, list[float]] = {who: [] for who in walls}
    for number in range(SPLITS):
        log(f"{NAME}: AltOpt() and boosted trees, split {number}")
        split = given(data, number)
        known = hide(y, split.train)
        task = Task(data.X, known, data.graph, None, SEED)
        with threads_for(0, with_torch=False):
            seconds, model = fitted(data, known)
            began = time.perf_counter()
            trees = boosted_trees(task)
            of_trees = time.perf_counter() - began
        for who, took, P in zip(walls, (seconds, of_trees), (model.label_distributions_, trees)):
            walls[who].append(took)
            auc[who].append(100 * float(roc_auc_score(y[split.test], P[split.test, 1])))
    base = float(np.median(walls["boosted trees on neighbour statistics"]))
    rows: list[dict[str, Any]] = [
        {
            "who": who,
            "best": min(times),
            "median": float(np.median(times)),
            "ratio": float(np.median(times)) / base,
            "auc": float(np.mean(auc[who])),
        }
        for who, times in walls.items()
    ]
    title = (
        f"{NAME}, {facts(data, known)}; one thread; ratio: median / boosted trees; auc: ROC AUC, the mean of the "
        f"{SPLITS} given splits"
    )
    report.tables.append(ResultTable(title, (*COLUMNS[:4], "auc"), rows))
    report.measure(boosted_trees=rows[0]["ratio"], dense_auc=rows[0]["auc"])


def fitted(data: Dataset, known: Array, **settings: Any) -> tuple[float, AltOpt]:
    """Seconds of a fit, and its model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the graph does not help
        began = time.perf_counter()
        model = AltOpt(random_state=SEED, **settings).fit(data.X, known, graph=data.graph)
        return time.perf_counter() - began, model


def facts(data: Dataset, known: Array) -> str:
    assert data.graph is not None
    return f"{len(known):,} nodes, {data.graph.n_edges:,} edges, {int((known >= 0).sum()):,} labels"
