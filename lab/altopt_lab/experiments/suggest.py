"""Active learning: AltOpt.suggest beside random choice, uncertainty, VOpt and SigmaOpt, with the same fits for all.

    python -m altopt_lab.experiments.suggest --out results/suggest.jsonl --page docs/suggest.md

A random half of the nodes is the test set, never asked for; one label of each class is given from the other half, the
pool; then ten times five nodes are chosen from the pool, with a fit of AltOpt(cross_fit=False) each time. One JSON
line per run goes to --out; runs already there are not repeated. VOpt and SigmaOpt are graphlearning's, on the largest
component, with the 200 smoothest eigenvectors of its normalised Laplacian, one pick after another.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import altopt
from altopt import AltOpt
from altopt.arrays import Array
from altopt.datasets import load
from altopt.io.files import write_text
from altopt_lab.metrics import accuracy
from altopt_lab.records import append_record, read_records

DATASETS = ("cora", "citeseer", "pubmed", "photo")
N_ROUNDS, A_ROUND = 10, 5
SHOWN = (10, 25, 50)  # queries after which accuracy is taken
Choose = Callable[[Any, Array, int], list[int]]  # from a model and the pool's unlabelled nodes to n of them
EIGENVECTORS: dict[str, tuple[Array, Array, Array]] = {}


def by_suggest(dataset: Any, first: list[int], seed: int) -> Choose:
    return lambda model, free, n: [int(node) for node, _ in model.suggest(n, among=free)]


def by_chance(dataset: Any, first: list[int], seed: int) -> Choose:
    rng = np.random.default_rng([seed, 1])
    return lambda model, free, n: rng.choice(free, n, replace=False).tolist()


def by_margin(dataset: Any, first: list[int], seed: int) -> Choose:
    """Plain uncertainty: the smallest difference of the two largest probabilities."""

    def choose(model: AltOpt, free: Array, n: int) -> list[int]:
        ranked = np.sort(model.label_distributions_[free], axis=1)
        order = np.argsort(ranked[:, -1] - ranked[:, -2], kind="stable")
        return [int(node) for node in free[order[:n]]]

    return choose


def by_peer(name: str) -> Callable[[Any, list[int], int], Choose]:
    """graphlearning's acquisition functions."""

    def start(dataset: Any, first: list[int], seed: int) -> Choose:
        from graphlearning import active_learning

        nodes, values, vectors = smoothest(dataset)
        place = {int(node): k for k, node in enumerate(nodes)}
        score = getattr(active_learning, name)(C=np.diag(1.0 / (values + 1e-11)), V=vectors.copy())
        score.update([place[node] for node in first if node in place], None)

        def choose(model: AltOpt, free: Array, n: int) -> list[int]:
            chosen: list[int] = []
            for _ in range(n):
                left = np.array([place[k] for k in free.tolist() if k in place and k not in chosen])
                best = int(left[np.argmax(score.compute(None, left))])
                score.update([best], None)
                chosen.append(int(nodes[best]))
            return chosen

        return choose

    return start


def smoothest(dataset: Any) -> tuple[Array, Array, Array]:
    """The largest component's nodes, and its smoothest eigenvectors as graphlearning finds them; found once."""
    if dataset.name not in EIGENVECTORS:
        import graphlearning

        component = dataset.graph.components
        nodes = np.flatnonzero(component == np.bincount(component).argmax())
        W = sp.csr_matrix(dataset.graph.adjacency[nodes][:, nodes].astype(np.float64))
        decomposition = graphlearning.graph(W).eigen_decomp(normalization="normalized", k=200)
        EIGENVECTORS[dataset.name] = (nodes, *decomposition)
    return EIGENVECTORS[dataset.name]


METHODS: dict[str, Callable[[Any, list[int], int], Choose]] = {
    "AltOpt.suggest": by_suggest,
    "random": by_chance,
    "uncertainty": by_margin,
    "VOpt": by_peer("var_opt"),
    "SigmaOpt": by_peer("sigma_opt"),
}
USES_MODEL = ("AltOpt.suggest", "uncertainty")  # the others choose by the graph alone


def run(dataset: Any, method: str, seed: int) -> dict[str, Any]:
    """Ten rounds of five, and the test accuracy on the way; fits that nobody looks at are left out."""
    y = np.asarray(dataset.y)
    rng = np.random.default_rng(seed)
    test = np.sort(rng.permutation(len(y))[: len(y) // 2])
    pool = np.setdiff1d(np.arange(len(y)), test)
    labelled = [int(rng.choice(pool[y[pool] == k])) for k in np.unique(y[pool])]
    choose, seconds = METHODS[method](dataset, labelled, seed), 0.0
    accuracies: dict[str, float] = {}
    model: Any = None
    for number in range(N_ROUNDS + 1):
        queries = number * A_ROUND
        if queries in SHOWN or method in USES_MODEL:
            known = np.full(len(y), -1)
            known[labelled] = y[labelled]
            model = AltOpt(cross_fit=False, random_state=seed).fit(dataset.X, known, graph=dataset.graph)
            accuracies[str(queries)] = accuracy(model.transduction_, y, test)
        if number < N_ROUNDS:
            began = time.perf_counter()
            labelled += choose(model, np.setdiff1d(pool, labelled), A_ROUND)
            seconds += time.perf_counter() - began
    return {
        "dataset": dataset.name,
        "method": method,
        "seed": seed,
        "accuracy": accuracies,
        "seconds_a_choice": seconds / N_ROUNDS,
        "altopt": altopt.__version__,
    }


def table(records: list[dict[str, Any]]) -> str:
    """Accuracy after 10, 25 and 50 queries: mean over the seeds, then over the data sets."""
    names = list(dict.fromkeys(r["dataset"] for r in records))
    lines = [
        "| queries | method | " + " | ".join(names) + " | mean |",
        "|--:|---|" + "--:|" * (len(names) + 1),
    ]
    for queries in SHOWN:
        for method in METHODS:
            cells = []
            for name in names:
                mine = [r for r in records if (r["dataset"], r["method"]) == (name, method)]
                cells.append(100 * np.array([r["accuracy"][str(queries)] for r in mine]))
            if all(len(cell) for cell in cells):
                shown = [f"{cell.mean():.1f} ± {cell.std():.1f}" for cell in cells]
                mean = float(np.mean([cell.mean() for cell in cells]))
                lines.append(f"| {queries} | {method} | {' | '.join(shown)} | {mean:.1f} |")
    return "\n".join(lines) + "\n"


def page(records: list[dict[str, Any]]) -> str:
    """The page, every number from the records."""
    names = list(dict.fromkeys(r["dataset"] for r in records))
    seeds = {name: len({r["seed"] for r in records if r["dataset"] == name}) for name in names}
    counts = ", ".join(f"{name} {count}" for name, count in seeds.items())
    taken = {m: np.median([r["seconds_a_choice"] for r in records if r["method"] == m]) for m in METHODS}
    choice = ", ".join(f"{method} {seconds:.2f} s" for method, seconds in taken.items() if seconds == seconds)
    return (
        "# Which node to label next\n\n"
        "One label per class to begin with, then ten rounds of five queries; `AltOpt(cross_fit=False)` is fitted again "
        "after each round, the same for every strategy. Test accuracy in % on the half of the nodes never asked "
        f"for, mean ± standard deviation over seeds ({counts}), none of which the method was tuned on. "
        "VOpt and SigmaOpt are `graphlearning`'s and see the graph alone. This page is written by `make suggest` from "
        "`results/suggest.jsonl`.\n\n" + table(records) + f"\nSeconds a choice of five, median: {choice}.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--out", type=Path, default=Path("results/suggest.jsonl"))
    parser.add_argument("--page", type=Path, default=None, help="write all records of --out as a page here")
    arguments = parser.parse_args()
    done = {(r["dataset"], r["method"], r["seed"]) for r in read_records(arguments.out)}
    for seed in arguments.seeds:
        for name in arguments.datasets:
            dataset = load(name)
            for method in arguments.methods:
                if (dataset.name, method, seed) not in done:
                    record = run(dataset, method, seed)
                    append_record(arguments.out, record)
    records = read_records(arguments.out)
    print(table(records), end="")
    if arguments.page is not None:
        write_text(arguments.page, page(records))


if __name__ == "__main__":
    main()
