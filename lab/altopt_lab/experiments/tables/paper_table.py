"""A table or figure of the paper: the work it needs, and how it is made from the records."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt_lab import provenance
from altopt_lab.experiments.methods import METHODS
from altopt_lab.experiments.protocols import Cell
from altopt_lab.experiments.run import Change, Run
from altopt_lab.experiments.work import Work
from altopt_lab.records import Record
from altopt_lab.table import NOT_RUN, Shown

STALE = "†"


@dataclass(frozen=True)
class RunFilter:
    """The part of a table that is wanted; None: all of it.

    Parameters
    ----------
    dataset, rate, method : str or None
    n_splits, n_runs : int or None

    Examples
    --------
    >>> RunFilter(dataset="Cora").matches(Cell("Cora", "20"))
    True
    """

    dataset: str | None = None
    rate: str | None = None
    n_splits: int | None = None
    n_runs: int | None = None
    method: str | None = None

    def matches(self, cell: Cell) -> bool:
        return self.dataset in (None, cell.source) and self.rate in (None, cell.rate)


@dataclass(frozen=True)
class ScheduledRun:
    """A piece of work and its place in the order: all first repetitions come before any second one.

    Parameters
    ----------
    number : int
        Lower numbers come first.
    work : Work
    """

    number: int
    work: Work


@dataclass(frozen=True)
class PaperTable:
    """A table or figure of the paper.

    Parameters
    ----------
    name : str
        As `altopt reproduce` takes it.
    title : str
    plan : callable
        The work it needs, of a RunFilter.
    show : callable
        Its tables and charts, of a RecordIndex.
    progress : callable or None
        How it is run and how far it is, of a RecordIndex, where that is not `altopt reproduce` and its plan.
    """

    name: str
    title: str
    plan: Callable[[RunFilter], list[ScheduledRun]]
    show: Callable[["RecordIndex"], list[Shown]]
    progress: Callable[["RecordIndex"], str] | None = None


class RecordIndex:
    """Records by key, and runs by method, cell and changed settings.

    Of two records with the same key the later counts, and of the runs of a cell only those under the newest settings.

    Parameters
    ----------
    records : sequence of dict
    code : dict or None
        Sums of sources, as `provenance.code` gives them: means of records that other code made are marked. None: no
        marks.

    Examples
    --------
    >>> run = {"method": "LP", "dataset": "Cora", "rate": "20", "settings_from": "fixed"}
    >>> index = RecordIndex([run | {"key": str(k), "split_seed": k, "test_accuracy": 0.6 + k / 10} for k in (0, 1)])
    >>> index.text("LP", Cell("Cora", "20"))
    '65.00 ± 5.00 (2 x 1)'
    """

    def __init__(self, records: Sequence[Record], code: dict[str, str] | None = None) -> None:
        self.code = code
        self.by_key: dict[str, Record] = {}
        for line in records:
            self.by_key.pop(line["key"], None)  # a later record takes the place of an earlier one, at the end
            self.by_key[line["key"]] = line
        self._watchers: list[list[Record]] = []
        self.rows: dict[tuple[Any, ...], list[Record]] = {}
        for line in self.by_key.values():
            if "split_seed" in line:
                change = tuple(line.get("changed", {}).items())
                place = (line["method"], line["dataset"], line["rate"], repr(change))
                self.rows.setdefault(place, []).append(line)
        # runs under other settings than the newest do not belong to the same mean
        for place, lines in self.rows.items():
            newest = [line.get("settings") for line in lines if "settings" in line][-1:]
            self.rows[place] = [
                line for line in lines if line.get("settings", *newest) in newest or not newest
            ]

    def is_stale(self, line: Record) -> bool:
        """Whether other code made a record than that of this index."""
        if self.code is None:
            return False
        method = METHODS.get(line.get("method", ""))
        kind = line.get("depends_on") or (provenance.OURS if method is None else method.depends_on)
        in_contest = "fresh_split" in line or "tuning_split" in line
        now = provenance.in_contest(self.code, kind) if in_contest else self.code[kind]
        return line.get("fit_code") != now

    @contextmanager
    def watched(self) -> Iterator[list[Record]]:
        """The records that are read meanwhile."""
        seen: list[Record] = []
        self._watchers.append(seen)
        try:
            yield seen
        finally:
            self._watchers.pop()

    def read(self, lines: Sequence[Record]) -> None:
        """Tell those who watch that a figure rests on these records."""
        for seen in self._watchers:
            seen.extend(lines)

    def mark(self, lines: Sequence[Record]) -> str:
        """† where other code made one of them."""
        return STALE if any(map(self.is_stale, lines)) else ""

    def marked(self, tell: Callable[[], str]) -> str:
        """A text of figures, with † where other code made one of the records that it rests on."""
        with self.watched() as seen:
            text = tell()
        return text if text in ("", NOT_RUN) or text.endswith(STALE) else text + self.mark(seen)

    @property
    def fits(self) -> list[Record]:
        """All runs that the page shows, those on fresh splits too."""
        fresh = [line for line in self.by_key.values() if "fresh_split" in line]
        return [line for lines in self.rows.values() for line in lines] + fresh

    def get(self, key: str) -> Record | None:
        line = self.by_key.get(key)
        self.read([] if line is None else [line])
        return line

    def runs(self, method: str, cell: Cell, change: Change = ()) -> list[Record]:
        """All runs of a cell on record, failures included."""
        lines = self.rows.get((method, cell.dataset, cell.rate, repr(tuple(change))), [])
        self.read(lines)
        return lines

    def good(self, method: str, cell: Cell, change: Change = ()) -> list[Record]:
        return [line for line in self.runs(method, cell, change) if "test_accuracy" in line]

    def accuracies(self, method: str, cell: Cell, change: Change = ()) -> Array:
        """Test accuracy of each run, in %."""
        return np.array([100 * line["test_accuracy"] for line in self.good(method, cell, change)])

    def mean(self, method: str, cell: Cell, change: Change = ()) -> float | None:
        accuracies = self.accuracies(method, cell, change)
        return float(accuracies.mean()) if len(accuracies) else None

    def on_the_same_splits(
        self, method: str, other: str, cell: Cell, change: Change = (), other_change: Change = ()
    ) -> tuple[float, float, int] | None:
        """Means of two methods over the splits that both were run on, and how many; each split counts once."""
        mine, theirs = self._by_split(method, cell, change), self._by_split(other, cell, other_change)
        shared = sorted(mine.keys() & theirs.keys())
        if not shared:
            return None
        ours, other_mean = (float(np.mean([by[split] for split in shared])) for by in (mine, theirs))
        return ours, other_mean, len(shared)

    def _by_split(self, method: str, cell: Cell, change: Change) -> dict[int, float]:
        accuracies: dict[int, list[float]] = {}
        for line in self.good(method, cell, change):
            accuracies.setdefault(line["split_seed"], []).append(100 * line["test_accuracy"])
        return {split: float(np.mean(values)) for split, values in accuracies.items()}

    def text(self, method: str, cell: Cell, change: Change = ()) -> str:
        """Mean ± standard deviation (splits x runs), or why there is nothing."""
        lines = self.good(method, cell, change)
        if not lines:
            failed = [line["failed"] for line in self.runs(method, cell, change) if "failed" in line]
            return f"failed: {failed[0][:60]}" if failed else NOT_RUN
        accuracies = self.accuracies(method, cell, change)
        n_splits = len({line["split_seed"] for line in lines})
        n_runs = max(1, round(len(lines) / n_splits))
        mark = "" if not any("not tuned" in line["settings_from"] for line in lines) else " untuned"
        return f"{accuracies.mean():.2f} ± {accuracies.std():.2f} ({n_splits} x {n_runs}{mark}){self.mark(lines)}"


def repeated(
    method: str, cell: Cell, n_splits: int, n_runs: int, change: Change = (), scheduled: int = 0
) -> list[ScheduledRun]:
    """Every split once, then every split again with other seeds."""
    return [
        ScheduledRun(scheduled + run * n_splits + split, Run(method, cell, split, split * 3 + run, change))
        for run in range(n_runs)
        for split in range(n_splits)
    ]
