"""What each number of the recipe is worth: fits with half and with double of it beside the same fits as they are.

    python -m altopt_lab.experiments.defaults_worth [NAME ...] [--out results/defaults.jsonl] [--splits 2]

Every number of `altopt.defaults` is changed alone: integers rounded, tuples element by element, flags flipped. One JSON
line a fit; fits on record are not made again for the same code. What is on record is summed up in worth.json beside
altopt/defaults.py, from which `python -m altopt.defaults` writes its page. Splits have seeds from 900 on, which no
table reports.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from altopt import defaults
from altopt.defaults import DEFAULTS
from altopt.errors import InputError
from altopt.io.files import write_text
from altopt_lab.breadth.data import raw_name, read
from altopt_lab.breadth.draws import BY_CLASS, FEW, HALVES, RANDOM, Draw
from altopt_lab.breadth.run import code
from altopt_lab.experiments.changed_default import ChangedDefault
from altopt_lab.experiments.context import DatasetContexts
from altopt_lab.experiments.runner import work_through
from altopt_lab.experiments.work import Contexts, Work
from altopt_lab.records import Record, Records, read_records

FIRST = 900  # seed of the first development split
PANEL: tuple[tuple[str, Draw], ...] = (
    ("Cora", BY_CLASS[1]),
    ("CiteSeer", BY_CLASS[0]),
    ("PubMed", BY_CLASS[1]),
    ("Photo", RANDOM[1]),
    ("Tolokers", RANDOM[2]),
    ("reed98", HALVES),
    ("chameleon-filtered", HALVES),
    ("counts", BY_CLASS[0]),
    ("skewed 70/20/7/3", RANDOM[1]),
    ("surroundings", RANDOM[1]),
    ("moons", FEW[1]),
    ("wine", FEW[2]),
)
LARGE = ("PubMed", "Photo", "Tolokers")  # one split at the most
NO_FIT = {"suggest": "suggestions alone use it, no fit does"}  # by the first word of a name


def variants(value: Any) -> dict[str, Any]:
    """What a number is changed to, by name; nothing where half and double are the number itself.

    >>> variants(5), variants(0.5), variants((0, 2)), variants(True), variants(1)
    ({'half': 2, 'double': 10}, {'half': 0.25, 'double': 1.0}, {'half': (0, 1), 'double': (0, 4)}, {'flipped': False}, \
{'double': 2})
    """
    if isinstance(value, bool):
        return {"flipped": not value}
    found = {"half": scaled(value, 0.5), "double": scaled(value, 2.0)}
    return {name: changed for name, changed in found.items() if changed not in (None, value)}


def scaled(value: Any, factor: float) -> Any:
    """A number times a factor; integers stay integers, at least 1 where they were. None of anything else."""
    if isinstance(value, tuple):
        parts = tuple(scaled(each, factor) for each in value)
        return None if None in parts else parts
    if isinstance(value, int):
        return max(min(value, 1), int(value * factor))
    return value * factor if isinstance(value, float) else None


@dataclass(frozen=True)
class WorthRun(Work):
    """A fit with one number changed, or with none.

    Parameters
    ----------
    name, variant : str
        The number and what was done to it; both empty: nothing.
    value : number, tuple or None
        What it was changed to.
    dataset : str
    draw : Draw
    number : int
        Of the draw.
    process : callable
        From changes to the process that fits with them.
    """

    name: str
    variant: str
    value: Any
    dataset: str
    draw: Draw
    number: int
    process: Callable[[dict[str, Any]], ChangedDefault] = field(compare=False)

    @property
    def key(self) -> str:
        change = f"{self.name} {self.variant}" if self.name else "as it is"
        return f"{change}, {self.dataset}, {self.draw}, number {self.number}"

    @property
    def needs_dataset(self) -> str | None:
        return raw_name(self.dataset)

    def is_current(self, record: Record) -> bool:
        return bool(record["code"] == code())

    def identity(self) -> Record:
        return {
            "name": self.name,
            "variant": self.variant,
            "value": self.value,
            "dataset": self.dataset,
            "draw": str(self.draw),
            "number": self.number,
            "code": code(),
        }

    def measure(self, contexts: Contexts) -> Record:
        changes = {self.name: self.value} if self.name else {}
        return self.process(changes).measure(self.dataset, str(self.draw), self.number)


class OneProcess:
    """The process of the last changes asked for; the former one is ended."""

    def __init__(self) -> None:
        self.running: ChangedDefault | None = None

    def __call__(self, changes: dict[str, Any]) -> ChangedDefault:
        ended = self.running is not None and self.running.process.poll() is not None
        if self.running is None or ended or self.running.changes != changes:
            self.end()
            self.running = ChangedDefault(changes)
        return self.running

    def end(self) -> None:
        if self.running is not None:
            self.running.end()
            self.running = None


def plan(
    names: Sequence[str],
    panel: Sequence[tuple[str, Draw]],
    n_splits: int,
    process: Callable[[dict[str, Any]], ChangedDefault],
) -> list[WorthRun]:
    """The recipe as it is first, then number after number."""
    changes: list[tuple[str, str, Any]] = [("", "", None)]
    for name in names:
        if name.split("_")[0] not in NO_FIT:
            changes += [(name, how, value) for how, value in variants(getattr(DEFAULTS, name)).items()]
    return [
        WorthRun(*change, dataset, draw, FIRST + number, process)
        for change in changes
        for number in range(n_splits)
        for dataset, draw in panel
        if number == 0 or dataset not in LARGE
    ]


def summed_up(records: Sequence[Record]) -> dict[str, Any]:
    """For each number what its variants changed, or why nothing is known."""
    usual = {place(line): line for line in records if not line["name"]}
    found: dict[str, Any] = {}
    for entry in fields(DEFAULTS):
        word = entry.name.split("_")[0]
        if word in NO_FIT:
            found[entry.name] = {"not measured": NO_FIT[word]}
            continue
        changes = {}
        for variant, value in variants(entry.default).items():
            held = list(value) if isinstance(value, tuple) else value
            mine = {
                place(line): line
                for line in records
                if (line["name"], line["variant"], line["value"]) == (entry.name, variant, held)
            }
            compared = worth(mine, usual)
            if compared:
                changes[variant] = {"value": held} | compared
        if changes:
            found[entry.name] = changes
    return found


def place(line: Record) -> tuple[Any, ...]:
    """What two fits must share to be compared, their code included."""
    return tuple(line[key] for key in ("dataset", "draw", "number", "code"))


def worth(changed: dict[Any, Record], usual: dict[Any, Record]) -> Record:
    """Mean change of the metric in points with its standard error; of the calibration error, and of the time."""
    shared = [(changed[key], usual[key]) for key in changed if "failed" not in usual.get(key, {"failed": ""})]
    pairs = [(mine, other) for mine, other in shared if "failed" not in mine]
    if len(pairs) < len(shared):
        failed = next(mine["failed"] for mine, _ in shared if "failed" in mine)
        outside = not pairs and failed.startswith("InputError")
        reason = "the value is outside its range" if outside else failed
        return {"failed": len(shared) - len(pairs), "runs": len(shared), "reason": reason}
    if len(pairs) < 2:
        return {}
    gaps = np.array([100 * (mine[metric(mine)] - other[metric(mine)]) for mine, other in pairs])
    calibration = [mine["calibration_error"] - other["calibration_error"] for mine, other in pairs]
    taken = [sum(line["seconds"] for line in lines) for lines in zip(*pairs)]
    return {
        "change": round(float(gaps.mean()), 3),
        "error": round(float(gaps.std(ddof=1) / np.sqrt(len(gaps))), 3),
        "runs": len(gaps),
        "calibration": round(float(np.mean(calibration)), 4),
        "times": round(taken[0] / taken[1], 2),
    }


def metric(line: Record) -> str:
    return f"test_{line['metric']}"


def progress(done: int, planned: int, record: Record, left: float) -> None:
    print(f"{done} of {planned}: {record['key']}, about {left / 60:.0f} min left", flush=True)


def main() -> None:
    known = [entry.name for entry in fields(DEFAULTS)]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="numbers; by default all")
    parser.add_argument("--out", type=Path, default=Path("results/defaults.jsonl"), help="the records")
    parser.add_argument("--splits", type=int, default=2, help="of each data set but the large ones")
    parser.add_argument("--datasets", nargs="+", help="only these of the panel")
    parser.add_argument(
        "--budget", type=float, default=float("inf"), help="hours after which nothing is begun"
    )
    parser.add_argument("--summary", type=Path, default=Path(defaults.__file__).with_name("worth.json"))
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in known]
    if unknown:
        raise InputError(f"altopt.defaults has no number {unknown[0]!r}. There are {', '.join(known)}.")
    panel = [cell for cell in PANEL if not asked.datasets or cell[0] in asked.datasets]
    process = OneProcess()
    runs = plan(asked.names or known, panel, asked.splits, process)
    try:
        with Records(asked.out) as records:
            contexts = DatasetContexts(None, read)
            list(work_through(runs, records, contexts, 3600 * asked.budget, on_progress=progress))
    finally:
        process.end()
    write_text(asked.summary, json.dumps(summed_up(read_records(asked.out)), indent=1) + "\n")


if __name__ == "__main__":
    main()
