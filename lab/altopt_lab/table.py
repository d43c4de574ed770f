"""Tables and charts of recorded figures, written as Markdown or as aligned text."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

NOT_RUN = "not run"


@dataclass(frozen=True)
class Table:
    """Text cells under headings.

    Parameters
    ----------
    title : str
    columns : tuple of str
        The headings.
    rows : sequence of tuples of str
    notes : tuple of str
        Sentences that go below the table.
    n_labels : int
        The first columns, which say what a row is about.
    right : tuple of int
        Columns that are aligned to the right.

    Examples
    --------
    >>> table = Table("Accuracy", ("method", "Cora"), [("LP", "68.1"), ("GCN", "81.5")], right=(1,))
    >>> print(markdown(table))
    | method | Cora |
    |---|--:|
    | LP | 68.1 |
    | GCN | 81.5 |
    >>> print(aligned(table))
    method  Cora
    ------------
    LP      68.1
    GCN     81.5
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: tuple[str, ...] = ()
    n_labels: int = 1
    right: tuple[int, ...] = ()


@dataclass(frozen=True)
class Series:
    """One line or group of bars: y over x, with the standard deviation of each y and a mark where there is one."""

    name: str
    x: list[Any]
    y: list[float]
    spread: list[float] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Chart:
    """A figure: drawn on the HTML page, a table of its numbers elsewhere.

    Parameters
    ----------
    title, x, y : str
        The title and the names of both axes.
    series : list of Series
    notes : tuple of str
    kind : str
        "lines" or "bars".

    Examples
    --------
    >>> chart = Chart("Cora", "labels", "accuracy", [Series("LP", [5], [60.0], [1.5]), Series("GCN", [10], [74.0])])
    >>> print(markdown(chart.table()))
    | labels | LP | GCN |
    |---|---|---|
    | 5 | 60.00 ± 1.50 | not run |
    | 10 | not run | 74.00 |
    """

    title: str
    x: str
    y: str
    series: list[Series]
    notes: tuple[str, ...] = ()
    kind: str = "lines"

    def table(self) -> Table:
        """The numbers of the figure, a row for each x."""
        rows = []
        for x in dict.fromkeys(x for series in self.series for x in series.x):
            cells = []
            for series in self.series:
                k = series.x.index(x) if x in series.x else None
                spread = f" ± {series.spread[k]:.2f}" if k is not None and series.spread else ""
                mark = series.marks[k] if k is not None and series.marks else ""
                cells.append(NOT_RUN if k is None else f"{series.y[k]:.2f}{spread}{mark}")
            rows.append((str(x), *cells))
        return Table(self.title, (self.x, *(series.name for series in self.series)), rows, self.notes)


Shown = Table | Chart


def as_table(shown: Shown) -> Table:
    """The table itself, or that of a chart's numbers."""
    return shown if isinstance(shown, Table) else shown.table()


def markdown(table: Table) -> str:
    """The grid of a table in Markdown, without title and notes."""
    rule = "|".join("--:" if k in table.right else "---" for k in range(len(table.columns)))
    lines = [" | ".join(row) for row in (table.columns, *table.rows)]
    return "\n".join([f"| {lines[0]} |", f"|{rule}|", *(f"| {line} |" for line in lines[1:])])


def aligned(table: Table) -> str:
    """The grid of a table in plain columns, without title and notes."""
    lines = [table.columns, *table.rows]
    widths = [max(map(len, column)) for column in zip(*lines)]
    padded = [
        "  ".join(
            cell.rjust(width) if k in table.right else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(line, widths))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([padded[0], "-" * (sum(widths) + 2 * len(widths) - 2), *padded[1:]])
