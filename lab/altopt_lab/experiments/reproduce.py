"""What `altopt reproduce` does: plans the work that was asked for, goes through it, and words the tables."""

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from altopt.datasets import available
from altopt.errors import InputError
from altopt_lab.experiments import tuned
from altopt_lab.experiments.methods import METHODS, find_method
from altopt_lab.experiments.page import as_table
from altopt_lab.experiments.protocols import Cell, find_rate
from altopt_lab.experiments.run import DatasetContexts, Run
from altopt_lab.experiments.runner import ProgressCallback, Work, work_through
from altopt_lab.experiments.tables import PAPER_TABLES
from altopt_lab.experiments.tables.paper_table import (
    NOT_RUN,
    RecordIndex,
    RunFilter,
    ScheduledRun,
    Shown,
    Table,
)
from altopt_lab.records import Records

UNITS = {"s": 1, "m": 60, "h": 3600}


def find(what: str) -> list[str]:
    """The artefacts that a word names."""
    if what == "all":
        return list(PAPER_TABLES)
    if what in PAPER_TABLES:
        return [what]
    raise InputError(f"WHAT must be one of {', '.join(PAPER_TABLES)}, tuning or all, but is {what!r}.")


def read_budget(text: str | None) -> float:
    """Seconds: 90s, 30m, 2h or 1.5h.

    >>> read_budget("1.5h")
    5400.0
    """
    if text is None:
        return float("inf")
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text.strip())
    if found is None:
        raise InputError(f"--budget must be a time such as 90s, 30m or 2h, but is {text!r}.")
    return float(found[1]) * UNITS[found[2]]


def request(
    dataset: str | None, rate: str | None, n_splits: int | None, n_runs: int | None, method: str | None = None
) -> RunFilter:
    """What is asked for, in the data sets' own spelling."""
    if dataset is not None:
        names = {name.lower(): name for name in available()}
        if dataset.lower().replace("_", "-") not in names:
            raise InputError(f"--dataset {dataset!r} is not known. There are {', '.join(names.values())}.")
        dataset = names[dataset.lower().replace("_", "-")]
    if method is not None:
        method = find_method(method).name
    return RunFilter(dataset, None if rate is None else find_rate(rate), n_splits, n_runs, method)


def planned(names: list[str], only: RunFilter) -> list[Work]:
    """All work, in the order of turns: every cell's first split before any second one."""
    schedule: list[ScheduledRun] = [
        scheduled for name in names for scheduled in PAPER_TABLES[name].plan(only)
    ]
    works = dict.fromkeys(
        scheduled.work for scheduled in sorted(schedule, key=lambda scheduled: scheduled.number)
    )
    return [work for work in works if only.method in (None, getattr(work, "method", None))]


def results(
    names: list[str],
    only: RunFilter,
    out: Path,
    data: Path | None,
    budget: float,
    retry: bool,
    on_progress: ProgressCallback,
) -> str:
    """Do the work and say what came out."""
    wanted = planned(names, only)
    if not wanted:
        raise InputError(
            f"{', '.join(names)} has nothing{'' if only.method is None else f' of {only.method}'} on "
            f"{only.dataset or 'any data set'}"
            f"{'' if only.rate is None else f' at label rate {only.rate}'}. "
            "Leave --dataset or --rate out to see it all."
        )
    there = available(data)
    lacking = {
        work.needs_dataset
        for work in wanted
        if work.needs_dataset is not None and not there[work.needs_dataset]
    }
    wanted = [work for work in wanted if work.needs_dataset not in lacking]
    if lacking and not wanted:
        DatasetContexts(data)(min(lacking))  # says which file is missing and where it belongs
    with Records(out) as records:
        found = list(work_through(wanted, records, DatasetContexts(data), budget, retry, on_progress))
    index = RecordIndex(found)
    parts = [words(shown) for name in names for shown in PAPER_TABLES[name].show(index)]
    text = "\n".join(part for part in parts if part)
    left = len(wanted) - len(found)
    ends = [f"{len(found):,} of {len(wanted):,} runs on record in {out}."]
    failed = [line for line in found if "failed" in line]
    if failed:
        ends.append(f"{len(failed)} failed, e.g. {failed[0]['key']}: {failed[0]['failed']}")
    if left:
        ends.append(f"{left:,} are left; the same command goes on.")
    if lacking:
        ends.append(f"Not on disk, so not run: {', '.join(sorted(lacking))}.")
    return f"{text}\n{' '.join(ends)}"


def was_run(cell: str) -> bool:
    return NOT_RUN not in cell and cell not in ("", "-")


def words(shown: Shown) -> str:
    """A table in plain columns, without the rows and columns of which nothing was run."""
    table = shown if isinstance(shown, Table) else as_table(shown)
    ours = [k for k in range(table.n_labels, len(table.columns)) if not table.columns[k].startswith("paper")]
    rows = [row for row in table.rows if any(was_run(row[k]) for k in ours)]
    columns = [k for k in range(len(table.columns)) if k not in ours or any(was_run(row[k]) for row in rows)]
    if not rows:
        return ""
    lines = [tuple(row[k] for k in columns) for row in (table.columns, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
    return "\n".join([table.title, *text, ""])


def tuning(only: RunFilter, out: Path, data: Path | None, budget: float, log: Callable[[str], None]) -> str:
    """Choose the settings that are not chosen yet, for all methods in all cells asked for."""
    from altopt_lab.experiments.tuning import tune, usual_effort

    began, contexts, n_done = time.monotonic(), DatasetContexts(data), 0
    cells = dict.fromkeys(
        (work.method, work.cell) for work in planned(list(PAPER_TABLES), only) if isinstance(work, Run)
    )
    with Records(out.with_name("tuning.jsonl")) as records:
        for name, cell in cells:
            method = METHODS[name]
            if method.tuned_by is None or tuned.name_in_file(method, cell) in tuned.read(tuned.file_of(name)):
                continue
            if time.monotonic() - began > budget or not records.claim(
                f"{name} {tuned.name_in_file(method, cell)}"
            ):
                continue
            at = cell
            if method.tuned_by == "data set" and cell.rate not in ("given", "inductive"):
                at = Cell(cell.dataset, "30%" if cell.rate.endswith("%") else "20")
            records.refresh()
            left = budget - (time.monotonic() - began)
            tune(
                method,
                at,
                contexts(cell.dataset),
                records,
                replace(usual_effort(method, at), seconds=left),
                log,
            )
            n_done += 1
    return f"Chose settings in {n_done} cells; they are in {tuned.FOLDER}."
