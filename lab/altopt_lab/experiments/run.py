"""One run: a method on a split of a data set with a seed, and its record."""

import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from altopt_lab.bench.worker import peak_gb
from altopt_lab.experiments.methods import find_method
from altopt_lab.experiments.protocols import INDUCTIVE, Cell, split_of
from altopt_lab.experiments.tuned import tuned_settings
from altopt_lab.experiments.work import Contexts, Work
from altopt_lab.metrics import accuracy
from altopt_lab.records import Record

Change = tuple[tuple[str, Any], ...]  # settings that differ from the tuned ones, by name


@dataclass(frozen=True)
class Run(Work):
    """A fit of a method; two runs are the same when all of this is.

    Parameters
    ----------
    method : str
        Its name in `methods.METHODS`.
    cell : Cell
        Data set and label rate.
    split : int
        The split's seed, or the number of a given one.
    seed : int
        Of the fit.
    change : tuple of (str, value)
        Settings that differ from the tuned ones.

    Examples
    --------
    >>> Run("ALT-OPT", Cell("Cora", "20"), split=4, seed=7, change=(("n_rounds", 2),)).key
    'ALT-OPT, n_rounds=2, Cora 20, split 4, seed 7'
    """

    method: str
    cell: Cell
    split: int
    seed: int
    change: Change = ()

    @property
    def key(self) -> str:
        changed = "".join(f", {name}={value}" for name, value in self.change)
        return f"{self.method}{changed}, {self.cell}, split {self.split}, seed {self.seed}"

    @property
    def needs_dataset(self) -> str:
        return self.cell.source

    @property
    def depends_on(self) -> str:
        return find_method(self.method).depends_on

    def is_current(self, record: Record) -> bool:
        """Not when other settings have been chosen since."""
        method = find_method(self.method)
        settings, _ = tuned_settings(method, self.cell)
        now = method.full_settings(settings | dict(self.change), inductive=self.cell.rate == INDUCTIVE)
        return "failed" in record or record["settings"] == now

    def identity(self) -> Record:
        method = find_method(self.method)
        return {
            "method": self.method,
            "dataset": self.cell.dataset,
            "rate": self.cell.rate,
            "split_seed": self.split,
            "seed": self.seed,
            "changed": dict(self.change),
            "settings_from": tuned_settings(method, self.cell)[1],
            "validation_labels": method.validation,
        }

    def measure(self, contexts: Contexts) -> Record:
        """Accuracy on validation and test nodes, with time and memory."""
        method, context = find_method(self.method), contexts(self.cell.dataset)
        settings, _ = tuned_settings(method, self.cell)
        split = split_of(context.dataset, self.cell.rate, self.split)
        fit = method.fit_inductively if self.cell.rate == INDUCTIVE else method.fit
        reset_peak()
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # libraries warn of what is to come, not of this run
            fitted = fit(context, split, settings | dict(self.change), self.seed)
        seconds = time.perf_counter() - began
        y = np.asarray(context.dataset.y)
        return {
            "split": split.how,
            "settings": fitted.settings,
            "validation_accuracy": round(accuracy(fitted.labels, y, split.validation), 6),
            "test_accuracy": round(accuracy(fitted.labels, y, split.test), 6),
            "seconds": round(seconds + fitted.shared_seconds, 4),
            "peak_gb": round(peak_gb(), 3),
            **fitted.facts,
        }


def reset_peak() -> None:
    """Let the system start counting this process's peak memory again, where it can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
