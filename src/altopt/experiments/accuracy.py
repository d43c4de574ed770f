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
from altopt.baselines.appnp import APPNP
from altopt.datasets import load
from altopt.splits import hide, per_class

METHODS: dict[str, tuple[Callable[[int], Any], bool]] = {
    "AltOpt()": (lambda seed: AltOpt(random_state=seed), False),
    "AltOpt.paper(), best round by validation": (lambda seed: AltOpt.paper(random_state=seed), True),
    "APPNP, 200 epochs, last": (lambda seed: APPNP(random_state=seed), False),
    "APPNP, 200 epochs, best by validation": (lambda seed: APPNP(random_state=seed), True),
}


def run(dataset: Any, method: str, rate: int, split_seed: int) -> dict[str, Any]:
    """One fit and its test accuracy, with everything needed to repeat it."""
    make, uses_validation = METHODS[method]
    y = np.asarray(dataset.y)
    split = per_class(y, rate, seed=split_seed)
    validation = (split.validation, y[split.validation]) if uses_validation else None
    model = make(split_seed)
    began = time.perf_counter()
    model.fit(dataset.X, hide(y, split.train), graph=dataset.graph, validation=validation)
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


def all_runs(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every run asked for; those on record are read, the others made and recorded."""
    records: dict[Any, dict[str, Any]] = {}
    if arguments.out is not None and arguments.out.exists():
        for line in arguments.out.read_text().splitlines():
            record = json.loads(line)
            records[record["dataset"], record["rate"], record["split_seed"], record["method"]] = record
    for name in arguments.datasets:
        dataset = load(name)
        for split_seed in range(arguments.splits):
            for method in METHODS:
                key = (dataset.name, arguments.rate, split_seed, method)
                if key not in records:
                    records[key] = run(dataset, method, arguments.rate, split_seed)
                    if arguments.out is not None:
                        with arguments.out.open("a") as file:
                            file.write(json.dumps(records[key]) + "\n")
                yield records[key]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=["cora", "citeseer"])
    parser.add_argument("--rate", type=int, default=20, help="labels per class")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--out", type=Path, default=None, help="file of JSON lines; resumed if it exists")
    arguments = parser.parse_args()
    records = list(all_runs(arguments))
    print(f"{'data set':10} {'method':42} {'accuracy':>15} {'s a fit (median)':>18}")
    for name in dict.fromkeys(record["dataset"] for record in records):
        for method in METHODS:
            mine = [r for r in records if r["dataset"] == name and r["method"] == method]
            accuracy = 100 * np.array([r["accuracy"] for r in mine])
            seconds = np.median([r["seconds"] for r in mine])
            print(f"{name:10} {method:42} {accuracy.mean():8.2f} ± {accuracy.std():4.2f} {seconds:18.2f}")


if __name__ == "__main__":
    main()
