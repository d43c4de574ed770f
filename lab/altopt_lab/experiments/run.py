"""One run: a method on a split of a data set with a seed, and the line that goes on record about it."""

import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.datasets import load
from altopt_lab.bench.machine import describe
from altopt_lab.bench.worker import peak_gb
from altopt_lab.experiments.methods import DatasetContext, Settings, find_method
from altopt_lab.experiments.protocols import INDUCTIVE, Cell, split_of
from altopt_lab.experiments.tuned import tuned_settings
from altopt_lab.records import Record

BROKEN = (
    ArithmeticError,
    RuntimeError,
    ValueError,
    MemoryError,
    np.linalg.LinAlgError,
)  # one run, not the work
Change = tuple[tuple[str, Any], ...]  # settings that differ from the tuned ones, by name


@dataclass(frozen=True)
class Run:
    """What is to be run; two runs are the same when all of this is."""

    method: str
    cell: Cell
    split: int  # the split's seed, or the number of a given one
    seed: int  # of the fit
    change: Change = ()

    @property
    def key(self) -> str:
        """What makes it this run and no other, in words."""
        changed = "".join(f", {name}={value}" for name, value in self.change)
        return f"{self.method}{changed}, {self.cell}, split {self.split}, seed {self.seed}"

    @property
    def needs_dataset(self) -> str:
        return self.cell.dataset

    def is_current(self, record: Record) -> bool:
        """Not when settings were chosen anew since."""
        method = find_method(self.method)
        settings, _ = tuned_settings(method, self.cell)
        now = method.full_settings(settings | dict(self.change), inductive=self.cell.rate == INDUCTIVE)
        return "failed" in record or record["settings"] == now

    def perform(self, contexts: "DatasetContexts") -> Record:
        """Fit, judge, and say all that is needed to do it again; a fit that breaks is a record too."""
        method, began = find_method(self.method), time.perf_counter()
        settings, source = tuned_settings(method, self.cell)
        line: Record = {
            "key": self.key,
            "method": self.method,
            "dataset": self.cell.dataset,
            "rate": self.cell.rate,
            "split_seed": self.split,
            "seed": self.seed,
            "changed": dict(self.change),
            "settings_from": source,
            "validation_labels": method.validation,
        }
        try:
            line |= judged(self, settings, contexts)
        except BROKEN as error:
            line["failed"] = f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
            line["seconds"] = round(time.perf_counter() - began, 3)
        return line | made_on()


class DatasetContexts:
    """Data sets, read when they are first wanted, and kept."""

    def __init__(self, data: Path | None = None) -> None:
        self._data = data
        self._read: dict[str, DatasetContext] = {}

    def __call__(self, name: str) -> DatasetContext:
        if name not in self._read:
            self._read[name] = DatasetContext(load(name, self._data))
        return self._read[name]


def judged(run: Run, settings: Settings, contexts: DatasetContexts) -> Record:
    """Accuracy on validation and test nodes, with time and memory."""
    method, context = find_method(run.method), contexts(run.cell.dataset)
    split = split_of(context.dataset, run.cell.rate, run.split)
    fit = method.fit_inductively if run.cell.rate == INDUCTIVE else method.fit
    forget_peak()
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # libraries warn of what is to come, not of this run
        fitted = fit(context, split, settings | dict(run.change), run.seed)
    seconds = time.perf_counter() - began
    y = np.asarray(context.dataset.y)
    return {
        "split": split.how,
        "settings": fitted.settings,
        "validation_accuracy": accuracy(fitted.labels, y, split.validation),
        "test_accuracy": accuracy(fitted.labels, y, split.test),
        "seconds": round(seconds + fitted.shared_seconds, 4),
        "peak_gb": round(peak_gb(), 3),
        **fitted.facts,
    }


def accuracy(labels: Array, y: Array, nodes: Array) -> float:
    return round(float(np.mean(labels[nodes] == y[nodes])), 6)


def forget_peak() -> None:
    """Let the system count this process's peak memory anew, where it can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


@lru_cache(maxsize=1)
def _machine() -> Record:
    found = describe()
    return {"versions": found["versions"], "machine": f"{found['cpu']}, {found['system']}"}


def made_on() -> Record:
    return {**_machine(), "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M")}
