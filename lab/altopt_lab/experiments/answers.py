"""Records what AltOpt answers on a set of graphs and compares two records, to show that a change moved no answer.

    PYTHONPATH=OLDER/src python -P lab/altopt_lab/experiments/answers.py record before.npz
    python -m altopt_lab.experiments.answers record after.npz
    python -m altopt_lab.experiments.answers compare before.npz after.npz

Only the public interface of altopt is used, so that the file also runs against an older checkout, as in the first line.
Generated graphs are always recorded; benchmark graphs where ALTOPT_DATA has them, unless --quick is given.
"""

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from altopt import AltOpt, Graph
from altopt.datasets import communities, load

Answers = dict[str, Any]
BENCHMARKS = ("Cora", "PubMed", "chameleon")
VARIANTS = ("mse", "ce", "H", "N")
TOLERANCE = 1e-6


class Problem(NamedTuple):
    """What a model is fitted to; unknown labels are -1 or None."""

    name: str
    X: Any
    y: Any
    graph: Any


def generated_problems() -> Iterator[Problem]:
    """Homophilous, heterophilous, without a graph, and weighted with ids and text labels."""
    data: Any = communities(n_nodes=1500, n_classes=4, seed=1)
    yield Problem("homophilous", data.X, few_labels(data.y, 10), data.graph)
    data = communities(n_nodes=1200, n_classes=3, features="words", n_features=300, seed=2)
    yield Problem("heterophilous", data.X, few_labels(data.y, 40), heterophilous_graph(data.y))
    data = communities(n_nodes=600, n_classes=3, seed=3)
    y = few_labels(data.y, 8)
    yield Problem("without graph", data.X, y, None)
    A = data.graph.adjacency.copy()
    A.data = np.random.default_rng(0).uniform(0.5, 2.0, A.nnz)
    ids = np.array([f"n{k}" for k in range(600)], dtype=object)
    names = np.where(y < 0, None, np.array(["a", "b", "c"], dtype=object)[data.y])
    yield Problem("weighted, ids, text labels", data.X, names, Graph(A.maximum(A.T), nodes=ids))


def benchmark_problems() -> Iterator[Problem]:
    """Benchmark graphs with 20 labels per class; those that cannot be read are named and left out."""
    for name in BENCHMARKS:
        try:
            data: Any = load(name)
        except Exception as error:
            print(f"{name}: left out, {error}", file=sys.stderr)
            continue
        yield Problem(name, data.X, few_labels(data.y, 20), data.graph)


def few_labels(y: Any, per_class: int) -> Any:
    """The labels of `per_class` random nodes of each class, -1 elsewhere."""
    rng = np.random.default_rng(7)
    known = np.full(len(y), -1)
    for k in np.unique(y):
        known[rng.permutation(np.flatnonzero(y == k))[:per_class]] = k
    return known


def heterophilous_graph(y: Any) -> Graph:
    """Directed edges, four of five of which lead from a class to the next one."""
    rng, n_edges = np.random.default_rng(4), 5000
    source = rng.integers(0, len(y), n_edges)
    classes = np.where(rng.random(n_edges) < 0.8, (y[source] + 1) % (y.max() + 1), y[source])
    target = np.array([rng.choice(np.flatnonzero(y == k)) for k in classes])
    return Graph(np.stack([source, target]), directed=True)


def fit_answers(model: AltOpt) -> Answers:
    """The outcome of a fit."""
    answers = {
        "scores": model.scores_,
        "probabilities": model.label_distributions_,
        "reached": model.reached_,
        "plan": np.array(model.choice_["plan"]),
    }
    if hasattr(model, "leave_one_out_"):
        left_out = model.leave_one_out_
        answers["leave one out"] = np.array([left_out.accuracy, *left_out.interval])
        answers["margins"] = left_out.margin
    return answers


def later_answers(model: AltOpt, X: Any) -> Answers:
    """Explanations, suggestions, updates, new nodes, and the model saved and loaded; a refusal is an answer too."""
    ids, classes = model.graph_.ids, model.classes_.tolist()
    unlabelled = np.flatnonzero(~model.labelled_)
    answers: Answers = {}
    try:
        for node in unlabelled[:: max(1, len(unlabelled) // 3)][:3].tolist():
            answers[f"explain {node}"] = explained(model.explain(ids[node]))
    except Exception as error:
        answers["explain refused"] = np.array(type(error).__name__)
    answers["suggest"] = np.array([gain for _, gain in model.suggest(5)])
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model")
        loaded = AltOpt.load(f"{folder}/model")
    answers["loaded scores"] = loaded.scores_
    first, second, third = (ids[k] for k in unlabelled[[0, 5, 11]])
    try:
        answers["what if"] = model.what_if(labels={first: classes[0]}).scores
        change = model.update(labels={first: classes[1]}, edges=[(second, third)], refresh=True)
        answers["update"] = model.scores_.copy()
        answers["update counts"] = np.array([change.n_changed, len(change.moved)])
        names = None if ids.dtype.kind in "iu" else ["new one", "new two"]
        model.update(nodes=names, features=X[:2], edges=[(names[0] if names else len(ids), first)])
        answers["grown"] = model.scores_.copy()
    except Exception as error:
        answers["update refused"] = np.array(type(error).__name__)
    answers["new nodes"] = loaded.predict_proba(X[:3], [(0, first), (1, second), (2, third)])
    return answers


def explained(explanation: Any) -> Any:
    parts = (explanation.evidence, explanation.label_evidence, explanation.feature_evidence)
    return np.array([explanation.total, *(value for part in parts for value in part)])


def models(problem: Problem) -> Iterator[tuple[str, Any, bool]]:
    """The default and the paper's variants, fitted; and whether the model is asked for more than its fit."""
    yield "AltOpt()", AltOpt(random_state=0), True
    for variant in VARIANTS:
        model = AltOpt.paper(variant, total_epochs=100, random_state=0)  # type: ignore[arg-type, unused-ignore]
        yield f"paper {variant}", model, problem.name == "homophilous"


def answers_on(problem: Problem) -> Answers:
    """All answers of all models on one problem, by "problem|model|question"."""
    answers: Answers = {}
    for name, model, with_later in models(problem):
        began = time.perf_counter()
        model.fit(problem.X, problem.y, graph=problem.graph)
        model_answers = {key: np.array(value) for key, value in fit_answers(model).items()}
        if with_later:
            model_answers |= later_answers(model, problem.X)
        answers |= {f"{problem.name}|{name}|{question}": value for question, value in model_answers.items()}
        print(f"{problem.name}: {name} {time.perf_counter() - began:.1f} s", file=sys.stderr)
    return answers


def record(path: Path, quick: bool) -> None:
    """Write the answers on all problems to an .npz file."""
    answers: Answers = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for problem in generated_problems():
            answers |= answers_on(problem)
        for problem in () if quick else benchmark_problems():
            answers |= answers_on(problem)
    np.savez(path, **answers)


def differences(before: Answers, after: Answers, tolerance: float = TOLERANCE) -> dict[str, str]:
    """The answers that differ, and how.

    >>> differences({"scores": np.zeros(2), "plan": np.array("usual")}, {"scores": np.array([0.0, 0.1])})
    {'plan': 'only before', 'scores': 'differs by up to 0.1'}
    """
    differing: dict[str, str] = {}
    for key in sorted(before.keys() | after.keys()):
        if key not in after or key not in before:
            differing[key] = "only before" if key in before else "only after"
        elif before[key].shape != after[key].shape:
            differing[key] = f"shape {before[key].shape} before, {after[key].shape} after"
        elif before[key].dtype.kind in "US":
            if (before[key] != after[key]).any():
                differing[key] = f"{before[key]} before, {after[key]} after"
        elif not (gap := largest_gap(before[key], after[key])) <= tolerance:
            differing[key] = f"differs by up to {gap:.3g}"
    return differing


def largest_gap(before: Any, after: Any) -> float:
    return float(np.max(np.abs(before.astype(float) - after.astype(float)), initial=0.0))


def compare(before: Path, after: Path, tolerance: float) -> int:
    """Print every answer that differs by more than `tolerance`; the number of them."""
    with np.load(before) as old, np.load(after) as new:
        records = dict(old.items()), dict(new.items())
    differing = differences(*records, tolerance)
    for key, how in differing.items():
        print(f"{key}: {how}")
    n_answers = len(records[0].keys() | records[1].keys())
    print(f"{n_answers} answers compared, {len(differing)} differ by more than {tolerance:g}.")
    return len(differing)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="write the answers of this version to a file")
    recording.add_argument("out", type=Path)
    recording.add_argument("--quick", action="store_true", help="generated graphs alone")
    comparing = commands.add_parser("compare", help="name the answers that differ; exit code 1 if any does")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--tolerance", type=float, default=TOLERANCE)
    options = parser.parse_args(arguments)
    if options.command == "record":
        record(options.out, options.quick)
        return 0
    return 1 if compare(options.before, options.after, options.tolerance) else 0


if __name__ == "__main__":
    sys.exit(main())
