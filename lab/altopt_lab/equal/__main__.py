"""Six trials of every method in every cell, and runs on fresh splits under what they chose.

`python -m altopt_lab.equal tune` makes the trials and writes chosen.json (with --out beside that file);
`python -m altopt_lab.equal run` makes the runs under it. Stopped at any time, the same command goes on; several may
work on one file at once.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from altopt_lab.equal.trials import CHOSEN, planned_trials, write_chosen
from altopt_lab.experiments.context import DatasetContexts
from altopt_lab.experiments.reproduce import request
from altopt_lab.experiments.runner import standing, work_through
from altopt_lab.experiments.tables.equal_effort import EQUAL
from altopt_lab.experiments.tables.paper_table import RunFilter
from altopt_lab.experiments.work import Work
from altopt_lab.records import Record, Records

TRIALS, RUNS = Path("results/equal_trials.jsonl"), Path("results/runs.jsonl")


def wanted(what: str, only: RunFilter) -> list[Work]:
    """The trials, or the runs, that are asked for, in their order."""
    works: list[Work]
    if what == "tune":
        works = [trial for trial in planned_trials() if only.matches(trial.cell)]
    else:
        works = [scheduled.work for scheduled in sorted(EQUAL.plan(only), key=lambda one: one.number)]
    return [work for work in works if only.method in (None, getattr(work, "method", None))]


def say(done: int, planned: int, record: Record, left: float) -> None:
    right = record.get("test_accuracy", record.get("validation_accuracy"))
    figure = record.get("failed", "") if right is None else f"{100 * right:.2f} %"
    print(
        f"{done:,} of {planned:,}: {record['key']}: {figure}; about {left / 60:,.0f} minutes left", flush=True
    )


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m altopt_lab.equal", description=__doc__)
    parser.add_argument("what", choices=("tune", "run"))
    parser.add_argument(
        "--budget-minutes", type=float, default=float("inf"), help="begin nothing after so long"
    )
    parser.add_argument("--dataset", help="only this data set")
    parser.add_argument("--rate", help="only this label rate")
    parser.add_argument("--method", help="only this method")
    parser.add_argument("--splits", type=int, help="only the first so many fresh splits")
    parser.add_argument("--data", type=Path, help="folder of raw files")
    parser.add_argument("--out", type=Path, help=f"file of records; by default {TRIALS} or {RUNS}")
    parser.add_argument("--retry", action="store_true", help="try again what failed before")
    parser.add_argument("--renew", action="store_true", help="make again what other code made")
    asked = parser.parse_args(words)
    only = request(asked.dataset, asked.rate, asked.splits, None, asked.method)
    works, out = wanted(asked.what, only), asked.out or (TRIALS if asked.what == "tune" else RUNS)
    with Records(out) as records:
        done = work_through(
            works,
            records,
            DatasetContexts(asked.data),
            60 * asked.budget_minutes,
            asked.retry,
            say,
            asked.renew,
        )
        recorded = list(done)
        print(standing(recorded, len(works), out, ()))
        if asked.what == "tune":
            path = CHOSEN if out == TRIALS else out.with_name(CHOSEN.name)
            print(f"{write_chosen(records.lines, path):,} choices in {path}.")


if __name__ == "__main__":
    main()
