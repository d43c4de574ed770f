"""A method on a fresh split, under the settings that its six trials chose."""

import time
import warnings
from dataclasses import dataclass

import numpy as np

from altopt_lab import provenance
from altopt_lab.equal.contest import FIRST_FRESH, entries, is_tuned
from altopt_lab.equal.splits import contest_split
from altopt_lab.equal.trials import chosen_in
from altopt_lab.experiments.method import Settings
from altopt_lab.experiments.methods import find_method
from altopt_lab.experiments.protocols import INDUCTIVE, Cell
from altopt_lab.experiments.run import Change
from altopt_lab.experiments.work import Contexts, Work
from altopt_lab.metrics import accuracy
from altopt_lab.records import Record


@dataclass(frozen=True)
class FreshRun(Work):
    """One fit on one fresh split.

    Parameters
    ----------
    method : str
    cell : Cell
    split : int
        Its seed.
    change : tuple of (str, value)
        Settings that differ from the chosen ones.
    """

    method: str
    cell: Cell
    split: int
    change: Change = ()

    @property
    def key(self) -> str:
        changed = "".join(f", {name}={value}" for name, value in self.change)
        return f"equal effort, {self.method}{changed}, {self.cell}, split {self.split}"

    @property
    def needs_dataset(self) -> str:
        return self.cell.dataset

    @property
    def depends_on(self) -> str:
        return find_method(self.method).depends_on

    @property
    def fit_code(self) -> str:
        return provenance.in_contest(provenance.code(), self.depends_on)

    def settings(self) -> Settings:
        chosen = chosen_in(self.cell).get(self.method, {"settings": {}})
        return {**chosen["settings"], **dict(self.change)}

    def is_current(self, record: Record) -> bool:
        return bool(record["chosen"] == self.settings())

    def identity(self) -> Record:
        return {
            "method": self.method,
            "dataset": self.cell.dataset,
            "rate": self.cell.rate,
            "fresh_split": self.split,
            "changed": dict(self.change),
            "chosen": self.settings(),
        }

    def measure(self, contexts: Contexts) -> Record:
        method, context = find_method(self.method), contexts(self.cell.dataset)
        split = contest_split(context.dataset, self.cell, self.split)
        fit = method.fit_inductively if self.cell.rate == INDUCTIVE else method.fit
        began, began_cpu = time.perf_counter(), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = fit(context, split, self.settings(), self.split)
        spent = {
            "seconds": round(time.perf_counter() - began, 3),
            "cpu_seconds": round(time.process_time() - began_cpu, 3),
        }
        y = np.asarray(context.dataset.y)
        return {
            "validation_accuracy": round(accuracy(fitted.labels, y, split.validation), 6),
            "test_accuracy": round(accuracy(fitted.labels, y, split.test), 6),
            **spent,
            **fitted.facts,
        }


def planned_runs() -> list[tuple[int, FreshRun]]:
    """(place in the order, run) of all whose settings are chosen; in a phase every first split comes first."""
    return [
        (100 * entry.phase + split % FIRST_FRESH, FreshRun(entry.method, entry.cell, split))
        for entry in entries()
        if not is_tuned(entry.method) or entry.method in chosen_in(entry.cell)
        for split in entry.splits
    ]
