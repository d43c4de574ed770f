"""The demo: AltOpt, the paper's algorithm, LabelSpreading and an MLP compared on built-in data."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from altopt import AltOpt, __version__
from altopt.arrays import Array
from altopt.cli.report import demo_report
from altopt.cli.result import Result
from altopt.datasets import Dataset, communities, digits
from altopt.datasets.splits import hide, per_class
from altopt.graph.tables import write_predictions
from altopt.io.files import write_text
from altopt.operator.knn import neighbour_graph
from altopt.threads import threads_for

LABELS_PER_CLASS = 5
SEEDS = (0, 1, 2, 3, 4)

Fit = Callable[[Dataset, Array, int], tuple[Array, Any]]  # data, y partly hidden, seed -> labels, model


def altopt(data: Dataset, y: Array, seed: int) -> tuple[Array, Any]:
    model = AltOpt(random_state=seed).fit(data.X, y, graph=data.graph)
    return model.transduction_, model


def paper(data: Dataset, y: Array, seed: int) -> tuple[Array, Any]:
    """The paper's algorithm does not scale the features; standardised ones did best here."""
    graph = neighbour_graph(data.X) if data.graph is None else data.graph
    model = AltOpt.paper(random_state=seed).fit(standardised(data.X), y, graph=graph)
    return model.transduction_, model


def label_spreading(data: Dataset, y: Array, seed: int) -> tuple[Array, Any]:
    """scikit-learn's LabelSpreading on the k-NN graph of X or, where there is one, on the graph itself.

    alpha=0.8 did best here of the values tried (0.2 to 0.99), judged by the hidden labels: in its favour.
    """
    from sklearn.semi_supervised import LabelSpreading

    graph = data.graph
    kernel = "knn" if graph is None else lambda X, other: graph.adjacency
    model = LabelSpreading(kernel=kernel, alpha=0.8, max_iter=1000).fit(data.X, y)
    return model.transduction_, model


def mlp(data: Dataset, y: Array, seed: int) -> tuple[Array, Any]:
    """scikit-learn's MLP on the labelled rows; the columns are standardised over all rows."""
    from sklearn.neural_network import MLPClassifier

    X, labelled = standardised(data.X), y != -1
    model = MLPClassifier(random_state=seed, max_iter=2000).fit(X[labelled], y[labelled])
    return model.predict(X), model


def standardised(X: Array) -> Array:
    """(X - mean) / std of each column; a column that never changes becomes zero."""
    std = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(std > 0, std, 1.0))


METHODS: dict[str, tuple[Fit, str]] = {
    "AltOpt": (altopt, "features and graph, the defaults"),
    "AltOpt.paper": (paper, "features (standardised) and graph, the paper's steps and schedule"),
    "LabelSpreading": (
        label_spreading,
        "the graph alone (k-NN of X where none is given), alpha 0.8, its best here",
    ),
    "MLP": (mlp, "the features alone, standardised; one hidden layer of 100"),
}


def run(
    out: str | Path, seeds: tuple[int, ...] = SEEDS, say: Callable[[str], None] = lambda line: None
) -> list[Result]:
    """Fit every method on every split; write predictions, results and the report. `say` gets a line for each step."""
    results, models = [], {}
    with threads_for(0, with_torch=True):  # these fits are small, and their seconds become comparable
        for data in (digits(), communities()):
            for method, (fit, how) in METHODS.items():
                say(f"{data.name}: {method}, {len(seeds)} fits")
                result, model = measure(data, method, fit, how, seeds)
                results.append(result)
                if method == "AltOpt":
                    models[data.name] = model
    for name, model in models.items():
        write_predictions(
            Path(out) / name / "predictions.parquet",
            model.graph_.ids,
            model.transduction_,
            model.confidence_,
            model.label_distributions_,
            model.classes_,
        )
    write_results(Path(out) / "results.json", results)
    demo_report(results, models, Path(out) / "report.html")
    return results


def measure(data: Dataset, method: str, fit: Fit, how: str, seeds: tuple[int, ...]) -> tuple[Result, Any]:
    """One method on all splits of a data set, and the model of the first."""
    accuracies, seconds, models = [], [], []
    for seed in seeds:
        labelled = per_class(data.y, LABELS_PER_CLASS, n_validation=0, n_test=0, seed=seed).train
        y = hide(data.y, labelled)
        began = time.perf_counter()
        labels, model = fit(data, y, seed)
        seconds.append(time.perf_counter() - began)
        accuracies.append(float(np.mean((labels == data.y)[y == -1])))
        models.append(model)
    # a function prints as an address, which differs from run to run
    settings = {
        key: "the graph" if callable(value) and not isinstance(value, type) else str(value)
        for key, value in models[0].get_params(deep=False).items()
    }
    splits = f"{LABELS_PER_CLASS} labels of each class are shown, all other nodes are judged"
    result = Result(data.name, method, how, settings, splits, seeds, tuple(accuracies), tuple(seconds))
    return result, models[0]


def write_results(path: Path, results: list[Result]) -> None:
    """All results with their settings, splits and seeds, as JSON: the whole file or none of it."""
    content = {"altopt": __version__, "threads": 1, "results": [asdict(result) for result in results]}
    write_text(path, json.dumps(content, indent=1) + "\n")
