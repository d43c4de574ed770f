"""Six trials of every method in every cell, on the same splits; the best by validation labels is chosen."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from altopt.io.files import write_text
from altopt_lab import provenance
from altopt_lab.equal.contest import entries, is_tuned, trial_splits
from altopt_lab.equal.drawn import six
from altopt_lab.equal.splits import contest_split
from altopt_lab.experiments import tuned
from altopt_lab.experiments.method import Settings
from altopt_lab.experiments.methods import find_method
from altopt_lab.experiments.protocols import INDUCTIVE, Cell
from altopt_lab.experiments.work import Contexts, Work
from altopt_lab.metrics import accuracy
from altopt_lab.records import Record

CHOSEN = Path(__file__).parent / "chosen.json"


@dataclass(frozen=True)
class Trial(Work):
    """One fit of one of the six settings on a tuning split; no test label is looked at."""

    method: str
    cell: Cell
    number: int
    split: int

    @property
    def key(self) -> str:
        return f"trial {self.number}, {self.method}, {self.cell}, split {self.split}"

    @property
    def needs_dataset(self) -> str:
        return self.cell.dataset

    @property
    def depends_on(self) -> str:
        return find_method(self.method).depends_on

    @property
    def fit_code(self) -> str:
        return provenance.in_contest(provenance.code(), self.depends_on)

    @property
    def settings(self) -> Settings:
        return six(self.method, self.cell)[self.number]

    def is_current(self, record: Record) -> bool:
        return bool(record["settings"] == self.settings)

    def identity(self) -> Record:
        return {
            "method": self.method,
            "dataset": self.cell.dataset,
            "rate": self.cell.rate,
            "trial": self.number,
            "tuning_split": self.split,
            "settings": self.settings,
        }

    def measure(self, contexts: Contexts) -> Record:
        method, context = find_method(self.method), contexts(self.cell.dataset)
        split = contest_split(context.dataset, self.cell, self.split)
        fit = method.fit_inductively if self.cell.rate == INDUCTIVE else method.fit
        began, began_cpu = time.perf_counter(), time.process_time()
        fitted = fit(context, split, self.settings, self.split)
        spent = {
            "seconds": round(time.perf_counter() - began, 3),
            "cpu_seconds": round(time.process_time() - began_cpu, 3),
        }
        y = np.asarray(context.dataset.y)
        return {"validation_accuracy": round(accuracy(fitted.labels, y, split.validation), 6), **spent}


def planned_trials() -> list[Trial]:
    """In the order of the contest; a method's first trial in a cell on all splits before its second."""
    places = dict.fromkeys((entry.method, entry.cell) for entry in sorted(entries(), key=lambda e: e.phase))
    return [
        Trial(method, cell, number, split)
        for method, cell in places
        if is_tuned(method)
        for number in range(len(six(method, cell)))
        for split in trial_splits(cell)
    ]


def choose(records: list[Record]) -> dict[str, Any]:
    """By cell and method the best of the six, where all of them are on record; a fit that failed counts 0.

    With it goes the sum of the code that made the trials; None where several did.
    """
    by_key = {record["key"]: record for record in records}
    chosen: dict[str, Any] = {}
    places = dict.fromkeys((trial.method, trial.cell) for trial in planned_trials())
    for method, cell in places:
        tried, scores, codes = six(method, cell), [], set[str | None]()
        for number in range(len(tried)):
            lines = [by_key.get(Trial(method, cell, number, split).key) for split in trial_splits(cell)]
            if any(line is None or line["settings"] != tried[number] for line in lines):
                break
            codes |= {line.get("fit_code") for line in lines if line is not None}
            scores.append(mean(line.get("validation_accuracy", 0.0) for line in lines if line is not None))
        if len(scores) == len(tried):
            best = int(np.argmax(scores))
            chosen.setdefault(str(cell), {})[method] = {
                "settings": tried[best],
                "validation_accuracy": round(scores[best], 6),
                "trial": best,
                "trials": len(tried),
                "splits": list(trial_splits(cell)),
                "fit_code": codes.pop() if len(codes) == 1 else None,
            }
    return chosen


def write_chosen(records: list[Record], path: Path = CHOSEN) -> int:
    """Put what is chosen into the file that runs go by; how many choices it holds."""
    chosen = choose(records)
    write_text(path, json.dumps(chosen, indent=1) + "\n")
    return sum(map(len, chosen.values()))


def chosen_in(cell: Cell, path: Path = CHOSEN) -> dict[str, Any]:
    """What was chosen in a cell, by method."""
    return dict(tuned.read(path).get(str(cell), {}))
