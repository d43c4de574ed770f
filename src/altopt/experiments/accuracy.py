"""Test accuracy on citation graphs: AltOpt(), AltOpt.paper() and APPNP on the same random splits.

    python -m altopt.experiments.accuracy --datasets cora citeseer --rate 20 --splits 10 --out runs.jsonl

One JSON line per run goes to --out; runs already there are not repeated. AltOpt() sees no validation label. The
others may use them for one thing, which their name says: to keep their best round or epoch.
"""

import argparse
import json
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import altopt
from altopt import AltOpt
from altopt.baselines import APPNP, Baseline
from altopt.datasets import load
from altopt.splits import hide, per_class

METHODS: dict[str, tuple[Callable[[int], Any], bool]] = {
    "AltOpt()": (lambda seed: AltOpt(random_state=seed), False),
    "AltOpt.paper(), best round by validation": (lambda seed: AltOpt.paper(random_state=seed), True),
    "APPNP, 200 epochs, last": (lambda seed: APPNP(n_epochs=200, patience=None), False),
    "APPNP, 200 epochs, best by validation": (lambda seed: APPNP(n_epochs=200, patience=None), True),
}


def run(dataset: Any, method: str, rate: int, split_seed: int) -> dict[str, Any]:
    """One fit and its test accuracy, with everything needed to repeat it."""
    make, uses_validation = METHODS[method]
    y = np.asarray(dataset.y)
    split = per_class(y, rate, seed=split_seed)
    validation = (split.validation, y[split.validation]) if uses_validation else None
    model = make(split_seed)
    began = time.perf_counter()
    seeded = {"seed": split_seed} if isinstance(model, Baseline) else {}
    model.fit(dataset.X, hide(y, split.train), graph=dataset.graph, validation=validation, **seeded)
    return {
        "dataset": dataset.name,
        "rate": rate,
        "split": f"{rate} per class, 500 validation, 1000 test",
        "split_seed": split_seed,
        "method": method,
        "settings": {key: repr(value) for key, value in sorted(vars(model).items()) if not key.endswith("_")},
        "validation_labels": "keep the best round or epoch" if uses_validation else "none",
        "accuracy": float(np.mean(model.transduction_[split.test] == y[split.test])),
        "seconds": time.perf_counter() - began,
        "altopt": altopt.__version__,
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
    }


def read_records(path: Path | None) -> list[dict[str, Any]]:
    """The runs on record."""
    if path is None or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def all_runs(datasets: list[str], rate: int, n_splits: int, out: Path | None) -> Iterator[dict[str, Any]]:
    """Every run asked for; those on record are read, the others made and recorded at once."""
    done = {(r["dataset"], r["rate"], r["split_seed"], r["method"]): r for r in read_records(out)}
    for name in datasets:
        dataset = load(name)
        for split_seed in range(n_splits):
            for method in METHODS:
                record = done.get((dataset.name, rate, split_seed, method))
                if record is None:
                    record = run(dataset, method, rate, split_seed)
                    if out is not None:
                        out.parent.mkdir(parents=True, exist_ok=True)
                        with out.open("a") as file:
                            file.write(json.dumps(record) + "\n")
                yield record


def table(records: list[dict[str, Any]]) -> str:
    """Mean and standard deviation over the splits, as a Markdown table."""
    lines = [
        "| data set | labels per class | method | splits | test accuracy, % | s a fit (median) |",
        "|---|---|---|---|---|---|",
    ]
    cells = dict.fromkeys((r["dataset"], r["rate"], method) for r in records for method in METHODS)
    for name, rate, method in sorted(
        cells, key=lambda cell: (cell[0], cell[1], list(METHODS).index(cell[2]))
    ):
        mine = [r for r in records if (r["dataset"], r["rate"], r["method"]) == (name, rate, method)]
        if mine:
            accuracy = 100 * np.array([r["accuracy"] for r in mine])
            seconds = np.median([r["seconds"] for r in mine])
            found = f"{accuracy.mean():.2f} ± {accuracy.std():.2f}"
            lines.append(f"| {name} | {rate} | {method} | {len(mine)} | {found} | {seconds:.2f} |")
    return "\n".join(lines) + "\n"


PAGE = """# Accuracy on citation graphs

Random splits (labels per class to train on, 500 nodes for validation, 1,000 for test), the same for every
method; mean ± standard deviation over splits. `AltOpt()` sees no validation label. This page is written by
`make bench` from the runs recorded in `results/accuracy.jsonl`, one JSON line each, with seeds and settings. Times are
of the machine that made the runs, one thread, and are no benchmark.

"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=["cora", "citeseer"])
    parser.add_argument("--rate", type=int, default=20, help="labels per class")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--out", type=Path, default=None, help="file of JSON lines; resumed if it exists")
    parser.add_argument("--page", type=Path, default=None, help="write all records of --out as a page here")
    arguments = parser.parse_args()
    records = list(all_runs(arguments.datasets, arguments.rate, arguments.splits, arguments.out))
    print(table(records), end="")
    if arguments.page is not None:
        arguments.page.write_text(PAGE + table(read_records(arguments.out)))


if __name__ == "__main__":
    main()
