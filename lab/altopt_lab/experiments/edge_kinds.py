"""Several kinds of edges: two good ones, a random one, one that ties opposites, and a graph split into two.

    python -m altopt_lab.experiments.edge_kinds --out results/edge_kinds.jsonl --page docs/edge_kinds.md

One JSON line per fit goes to --out; fits already there are not repeated. The page is written from all of them.
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import altopt
from altopt import AltOpt
from altopt.arrays import Array
from altopt.datasets import Dataset, load
from altopt.datasets.splits import hide, per_class
from altopt.io.files import write_text
from altopt_lab.metrics import accuracy
from altopt_lab.records import Record, append_record, read_records
from altopt_lab.table import Table, markdown

FIRST_SEED = 900  # of development splits
REAL = {"Cora": 10, "PubMed": 5}  # splits of each
GENERATED = {"two kinds": 10}
PER_CLASS = 20
HEAD = """# Several kinds of edges

`python -m altopt_lab.experiments.edge_kinds --out results/edge_kinds.jsonl --page docs/edge_kinds.md` makes the fits
and writes this page from their records. `AltOpt()` as it comes, {per_class} labels a class, splits with seeds from
{first} on; accuracy in % on all other nodes, mean over the splits. Cora and PubMed: `a` and `b` are the edges split at
random into two kinds, `random` has as many random edges as the graph. `two kinds` is generated: 1,000 nodes of four
classes, faint features, every kind with three edges a node; of those of `a` and `b` 60 % lie within the class, of those
of `opposed` 80 % lead to the next class. The difference is to the fit named there, on the same splits, with its
standard error. Seconds are of a processor, choice and fit together.
"""
# the kinds that are given, and the fit that a row is compared with
COMPARED = {
    "Cora": {
        ("whole",): "",
        ("a",): "whole",
        ("b",): "whole",
        ("a", "b"): "whole",
        ("whole", "random"): "whole",
    },
    "two kinds": {("a",): "", ("b",): "a", ("a", "b"): "a", ("a", "random"): "a", ("a", "opposed"): "a"},
}
COMPARED["PubMed"] = COMPARED["Cora"]


class Problem(NamedTuple):
    """Features, classes and every kind of edges."""

    X: Any
    y: Array
    kinds: dict[str, Any]


def symmetric(source: Array, target: Array, n: int) -> Any:
    """Edges as a matrix of ones, without self-loops."""
    keep = source != target
    A = sp.csr_array((np.ones(keep.sum()), (source[keep], target[keep])), shape=(n, n))
    A = sp.csr_array(A + A.T)
    A.data[:] = 1.0
    return A


def random_edges(n: int, n_edges: int, rng: np.random.Generator) -> Any:
    source, target = rng.integers(0, n, (2, n_edges))
    return symmetric(source, target, n)


def edges_to_class(y: Array, shift: int, n_edges: int, share: float, rng: np.random.Generator) -> Any:
    """Edges of which this share leads to the class that is so many further on; the others lead anywhere."""
    members = [np.flatnonzero(y == (k + shift) % (y.max() + 1)) for k in range(y.max() + 1)]
    source, target = rng.integers(0, len(y), (2, n_edges))
    chosen = rng.random(n_edges) < share
    target[chosen] = [rng.choice(members[y[node]]) for node in source[chosen]]
    return symmetric(source, target, len(y))


def generated(seed: int, n: int = 1000, n_classes: int = 4) -> Problem:
    """Two kinds that tie like to like, one that ties opposites, and a random one."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = 0.4 * rng.normal(size=(n_classes, 16))[y] + rng.normal(size=(n, 16))
    kinds = {name: edges_to_class(y, 0, 3 * n, 0.6, rng) for name in ("a", "b")}
    kinds["opposed"] = edges_to_class(y, 1, 3 * n, 0.8, rng)
    return Problem(X, y, kinds | {"random": random_edges(n, 3 * n, rng)})


def split(data: Dataset, seed: int) -> Problem:
    """A graph, its edges in two halves, and a random kind of the same size."""
    assert data.graph is not None
    rng = np.random.default_rng(seed)
    whole = sp.csr_array(data.graph.adjacency.astype(np.float64))
    upper = sp.triu(whole, 1).tocoo()
    first = rng.random(upper.nnz) < 0.5
    n = whole.shape[0]
    halves = {
        name: symmetric(upper.row[half], upper.col[half], n) for name, half in (("a", first), ("b", ~first))
    }
    kinds = {"whole": whole, **halves, "random": random_edges(n, upper.nnz, rng)}
    return Problem(data.X, np.asarray(data.y), kinds)


def problem_of(name: str, seed: int) -> Problem:
    return generated(seed) if name in GENERATED else split(load(name), seed)


def run(name: str, problem: Problem, kinds: tuple[str, ...], seed: int) -> Record:
    """One fit with these kinds, one alone as a plain graph."""
    train = per_class(problem.y, PER_CLASS, 0, 1, seed=seed).train
    rest = np.setdiff1d(np.arange(len(problem.y)), train)
    graph = problem.kinds[kinds[0]] if len(kinds) == 1 else {kind: problem.kinds[kind] for kind in kinds}
    began = time.process_time()
    model = AltOpt(random_state=seed).fit(problem.X, hide(problem.y, train), graph=graph)
    return {
        "dataset": name,
        "kinds": list(kinds),
        "split_seed": seed,
        "accuracy": accuracy(model.transduction_, problem.y, rest),
        "edge_weights": model.edge_weights_,
        "plan": model.choice_["plan"],
        "cpu_seconds": time.process_time() - began,
        "altopt": altopt.__version__,
    }


def key_of(record: Record) -> tuple[str, tuple[str, ...], int]:
    return record["dataset"], tuple(record["kinds"]), record["split_seed"]


def page(records: list[Record]) -> str:
    """The whole page."""
    parts = [HEAD.format(per_class=PER_CLASS, first=FIRST_SEED)]
    done = {key_of(record): record for record in records}
    for name, compared in COMPARED.items():
        rows = [row for kinds, other in compared.items() if (row := row_of(done, name, kinds, other))]
        if rows:
            columns = (
                "kinds given",
                "accuracy",
                "difference",
                "weights, mean",
                "largest weight of random",
                "seconds",
            )
            parts.append(f"## {name}\n\n{markdown(Table('', columns, rows))}\n")
    return "\n".join(parts)


def row_of(done: dict[Any, Record], name: str, kinds: tuple[str, ...], other: str) -> tuple[str, ...] | None:
    fits = {seed: record for (of, given, seed), record in done.items() if (of, given) == (name, kinds)}
    if not fits:
        return None
    weights = {kind: [fit["edge_weights"].get(kind, 1.0) for fit in fits.values()] for kind in kinds}
    pairs = [
        100 * (fit["accuracy"] - done[name, (other,), seed]["accuracy"])
        for seed, fit in fits.items()
        if (name, (other,), seed) in done
    ]
    error = np.std(pairs, ddof=1) / np.sqrt(len(pairs)) if len(pairs) > 1 else 0.0
    return (
        " and ".join(kinds),
        f"{100 * np.mean([fit['accuracy'] for fit in fits.values()]):.2f}",
        f"{np.mean(pairs):+.2f} ± {error:.2f} to {other}" if pairs else "",
        ", ".join(f"{kind} {np.mean(w):.2f}" for kind, w in weights.items()) if len(kinds) > 1 else "",
        f"{max(weights['random']):.2f}" if "random" in weights else "",
        f"{np.median([fit['cpu_seconds'] for fit in fits.values()]):.1f}",
    )


def planned(splits: int | None) -> Iterator[tuple[str, int]]:
    for name, most in (GENERATED | REAL).items():
        for seed in range(FIRST_SEED, FIRST_SEED + (most if splits is None else min(splits, most))):
            yield name, seed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="file of JSON lines; resumed if it exists")
    parser.add_argument("--page", type=Path, help="file for the page")
    parser.add_argument("--splits", type=int, help="at most so many splits of each data set")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    records = read_records(asked.out)
    done = {key_of(record) for record in records}
    for name, seed in planned(asked.splits):
        missing = [kinds for kinds in COMPARED[name] if (name, kinds, seed) not in done]
        problem = problem_of(name, seed) if missing else None
        for kinds in missing:
            assert problem is not None
            records.append(run(name, problem, kinds, seed))
            append_record(asked.out, records[-1])
    if asked.page is not None:
        write_text(asked.page, page(records))
    else:
        print(page(records))


if __name__ == "__main__":
    main()
