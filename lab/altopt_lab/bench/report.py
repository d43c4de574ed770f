"""The result of a benchmark: tables, the figures that targets are judged by, and the machine."""

from dataclasses import asdict, dataclass, field
from typing import Any

from altopt_lab.bench.timing import Timing, best_of

TIMES = ("who", "best", "median", "cpu", "ratio", "runs", "note")


@dataclass(frozen=True)
class ResultTable:
    """Rows of named figures, as they are recorded; `columns` says which are shown, in their order."""

    title: str
    columns: tuple[str, ...]
    rows: list[dict[str, Any]]


@dataclass
class Report:
    """One benchmark at one size.

    Parameters
    ----------
    bench, size : str
    facts : str
        The size in words, with its seed.
    repeats : int
    tables : list of ResultTable
    measures : dict
        The figures that targets are judged by, and limits of the machine.
    notes : list of str
    not_installed : list of str
        Optional libraries that are missing.
    machine : dict
    made : str
        When, in UTC.
    parts : list of str, optional
        Which were run, of a benchmark that can be run in parts.
    commit, fit_code : str
        Of the code that was measured: see `altopt_lab.provenance`.
    """

    bench: str
    size: str
    facts: str
    repeats: int
    tables: list[ResultTable] = field(default_factory=list)
    measures: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    not_installed: list[str] = field(default_factory=list)
    machine: dict[str, Any] = field(default_factory=dict)
    made: str = ""
    parts: list[str] = field(default_factory=list)
    commit: str | None = None
    fit_code: str = ""

    def measure(self, **figures: float | None) -> None:
        """Keep those that could be measured."""
        self.measures |= {name: float(value) for name, value in figures.items() if value is not None}

    def record(self) -> dict[str, Any]:
        """Everything, as it goes into JSON."""
        return asdict(self)


def times_table(
    title: str, timings: list[Timing], reference: str, columns: tuple[str, ...] = TIMES
) -> ResultTable:
    """Timings as a table, each beside the best wall time of the contestant called `reference`."""
    base = best_of(timings, reference)
    return ResultTable(f"{title}; ratio: wall time / {reference}", columns, [t.row(base) for t in timings])
