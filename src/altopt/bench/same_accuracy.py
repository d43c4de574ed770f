"""How long PyTorch Geometric's APPNP trains on a real graph until it is as good as AltOpt()."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from altopt import AltOpt
from altopt.baselines.appnp import APPNP
from altopt.bench import peers
from altopt.bench.clock import Say
from altopt.bench.report import Report, Table
from altopt.datasets import Dataset, available, load
from altopt.splits import hide, per_class

GRAPH = "Cora"
SPLITS, LABELS, MOST_EPOCHS = 3, 20, 500


def to_the_same_accuracy(report: Report, say: Say) -> None:
    """A table over a few splits, and the median ratio; nothing where the graph's raw files are not there."""
    if peers.find(peers.GEOMETRIC) is None or not available()[GRAPH]:
        report.notes.append(
            f"Time to the same accuracy: not measured; it needs PyTorch Geometric and {GRAPH}'s raw files in "
            "ALTOPT_DATA."
        )
        return
    data = load(GRAPH)
    rows = []
    for seed in range(SPLITS):
        say(f"AltOpt() and APPNP to the same accuracy, split {seed}")
        rows += one_split(data, seed)
    title = f"{GRAPH}, {LABELS} labels of each class, to the same test accuracy; ratio: wall time / AltOpt()"
    columns = ("who", "split", "seconds", "ratio", "accuracy", "epochs", "note")
    report.tables.append(Table(title, columns, rows))
    report.measure(same_accuracy=float(np.median([row["ratio"] for row in rows[1::2]])))
    report.notes.append(
        "Test labels were used only to stop APPNP's clock at its first epoch that is as good."
    )


def one_split(data: Dataset, seed: int) -> list[dict[str, Any]]:
    """AltOpt() once to warm up and once by the clock; then APPNP for as many epochs as it needs."""
    y = np.asarray(data.y)
    split = per_class(y, LABELS, seed=seed)
    known = hide(y, split.train)

    def right(labels: Any) -> float:
        return float(np.mean(labels[split.test] == y[split.test]))

    def ours() -> Any:
        return AltOpt(random_state=seed).fit(data.X, known, graph=data.graph)

    ours()
    our_seconds, model = clocked(ours)
    aim, seen = right(model.transduction_), []

    def there(labels: Any) -> bool:
        seen.append(right(labels))
        return seen[-1] >= aim

    APPNP(n_epochs=MOST_EPOCHS, random_state=seed).fit(data.X, known, data.graph, until=there)
    # again for that many epochs, without looking at the labels in between
    seconds, _ = clocked(lambda: APPNP(n_epochs=len(seen), random_state=seed).fit(data.X, known, data.graph))
    peer = {
        "who": "PyG APPNP, edge_index",
        "split": seed,
        "seconds": seconds,
        "ratio": seconds / our_seconds,
        "accuracy": seen[-1],
        "epochs": len(seen),
        "note": "" if seen[-1] >= aim else f"not as good within {MOST_EPOCHS} epochs",
    }
    return [{"who": "AltOpt()", "split": seed, "seconds": our_seconds, "ratio": 1.0, "accuracy": aim}, peer]


def clocked(job: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = job()
    return time.perf_counter() - began, result
