"""Test accuracy with the fused dropout and with torch's, on the same splits and seeds.

    python -m altopt_lab.experiments.dropout --dataset cora --splits 10 --out results/dropout.jsonl

One JSON line per fit goes to --out; fits already there are not repeated. Printed is the paired difference of test
accuracies with its standard error.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import altopt
from altopt import AltOpt
from altopt.datasets import load
from altopt.datasets.splits import hide, per_class
from altopt_lab.metrics import accuracy
from altopt_lab.records import append_record, read_records


def run(dataset: Any, rate: int, split_seed: int, fused: bool) -> dict[str, Any]:
    """One fit without validation labels, and its test accuracy."""
    y = np.asarray(dataset.y)
    split = per_class(y, rate, seed=split_seed)
    model = AltOpt.paper(random_state=split_seed)
    model.set_params(encoder=replace(model.encoder, fused=fused))
    began = time.perf_counter()
    model.fit(dataset.X, hide(y, split.train), graph=dataset.graph)
    return {
        "dataset": dataset.name,
        "rate": rate,
        "split_seed": split_seed,
        "fused": fused,
        "encoder": repr(model.encoder),
        "accuracy": accuracy(model.transduction_, y, split.test),
        "seconds": time.perf_counter() - began,
        "altopt": altopt.__version__,
    }


def summary(records: list[dict[str, Any]]) -> str:
    """Fused minus torch's, split by split, in points of accuracy."""
    accuracies = {
        (r["dataset"], r["rate"], r["split_seed"], r["fused"]): 100 * r["accuracy"] for r in records
    }
    pairs = [(accuracies[(*key, True)], accuracies[(*key, False)]) for *key, fused in accuracies if fused]
    fused, plain = np.array(pairs).T
    difference = fused - plain
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return (
        f"{len(pairs)} splits: fused {fused.mean():.2f} %, torch {plain.mean():.2f} %, "
        f"difference {difference.mean():+.2f} ± {error:.2f} (standard error)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--rate", type=int, default=20, help="labels per class")
    parser.add_argument("--splits", type=int, default=10, help="at least 2")
    parser.add_argument("--out", type=Path, required=True, help="file of JSON lines; resumed if it exists")
    arguments = parser.parse_args()
    dataset = load(arguments.dataset)
    records = read_records(arguments.out)
    asked = [
        (dataset.name, arguments.rate, split, fused)
        for split in range(arguments.splits)
        for fused in (True, False)
    ]
    done = {(r["dataset"], r["rate"], r["split_seed"], r["fused"]): r for r in records}
    for name, rate, split_seed, fused in asked:
        if (name, rate, split_seed, fused) not in done:
            record = run(dataset, rate, split_seed, fused)
            done[name, rate, split_seed, fused] = record
            append_record(arguments.out, record)
    print(summary([done[key] for key in asked]))


if __name__ == "__main__":
    main()
