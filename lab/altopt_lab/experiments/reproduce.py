"""The work of `altopt reproduce`: plan the runs, make those that are not on record, print the tables."""

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from altopt.datasets import available
from altopt.errors import InputError
from altopt_lab.experiments import tuned
from altopt_lab.experiments.context import DatasetContexts
from altopt_lab.experiments.figures import with_figures, write_figures
from altopt_lab.experiments.methods import METHODS, find_method
from altopt_lab.experiments.protocols import Cell, find_rate
from altopt_lab.experiments.run import Run
from altopt_lab.experiments.runner import ProgressCallback, standing, work_through
from altopt_lab.experiments.tables import PAPER_TABLES
from altopt_lab.experiments.tables.paper_table import RecordIndex, RunFilter, ScheduledRun
from altopt_lab.experiments.work import Work
from altopt_lab.records import Records
from altopt_lab.table import NOT_RUN, Shown, Table, aligned, as_table

UNITS = {"s": 1, "m": 60, "h": 3600}


def find(what: str) -> list[str]:
    """The tables and figures that a word names."""
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
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text.strip())
    if match is None:
        raise InputError(f"--budget must be a time such as 90s, 30m or 2h, but is {text!r}.")
    return float(match[1]) * UNITS[match[2]]


def request(
    dataset: str | None, rate: str | None, n_splits: int | None, n_runs: int | None, method: str | None = None
) -> RunFilter:
    """The part that is wanted, with the data set and the method in their own spelling."""
    if dataset is not None:
        names = {name.lower(): name for name in available()}
        if dataset.lower().replace("_", "-") not in names:
            raise InputError(f"--dataset {dataset!r} is not known. There are {', '.join(names.values())}.")
        dataset = names[dataset.lower().replace("_", "-")]
    if method is not None:
        method = find_method(method).name
    return RunFilter(dataset, None if rate is None else find_rate(rate), n_splits, n_runs, method)


def planned(names: list[str], only: RunFilter) -> list[Work]:
    """All work in order: every cell's first split before any second one."""
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
    figures: Path | None = None,
    renew: bool = False,
) -> str:
    """Do the work that is not on record yet; the tables as text, and what is left.

    Figures are drawn into the folder `figures`, where one is named.
    """
    to_draw = [] if figures is None else with_figures(names)
    wanted = planned(names, only)
    if not wanted:
        raise InputError(
            f"{', '.join(names)} has nothing{'' if only.method is None else f' of {only.method}'} on "
            f"{only.dataset or 'any data set'}"
            f"{'' if only.rate is None else f' at label rate {only.rate}'}. "
            "Leave --dataset or --rate out to see it all."
        )
    on_disk = available(data)
    lacking = {work.needs_dataset for work in wanted if not on_disk.get(work.needs_dataset or "", True)}
    wanted = [work for work in wanted if work.needs_dataset not in lacking]
    contexts = DatasetContexts(data)
    if lacking and not wanted:
        contexts(
            min(name for name in lacking if name)
        )  # raises, naming the file that is missing and its place
    with Records(out) as records:
        recorded = list(work_through(wanted, records, contexts, budget, retry, on_progress, renew))
    index = RecordIndex(recorded)
    parts = [text_of(shown) for name in names for shown in PAPER_TABLES[name].show(index)]
    parts.append(standing(recorded, len(wanted), out, filter(None, lacking)))
    if figures is not None:
        drawn = write_figures(to_draw, index, figures)
        parts.append(f"Drew {', '.join(map(str, drawn))}." if drawn else "No figure has a run on record yet.")
    return "\n".join(filter(None, parts))


def was_run(cell: str) -> bool:
    return NOT_RUN not in cell and cell not in ("", "-")


def text_of(shown: Shown) -> str:
    """A table in plain columns, without the rows and columns that have no run at all; empty where none has."""
    table = as_table(shown)
    ours = [k for k in range(table.n_labels, len(table.columns)) if not table.columns[k].startswith("paper")]
    rows = [row for row in table.rows if any(was_run(row[k]) for k in ours)]
    if not rows:
        return ""
    kept = [k for k in range(len(table.columns)) if k not in ours or any(was_run(row[k]) for row in rows)]
    columns, *rows = [tuple(row[k] for k in kept) for row in (table.columns, *rows)]
    return f"{table.title}\n{aligned(Table(table.title, columns, rows))}\n"


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
