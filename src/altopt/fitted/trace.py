"""The trace of a fit: the record of each round, which shows itself as a chart and a table."""

from typing import Any

from altopt.drawing import charts
from altopt.drawing.charts import Series
from altopt.drawing.html import Html, join, table
from altopt.drawing.palette import COLOURS, GREY

PARTS = {"objective": GREY, "features": COLOURS[0], "graph": COLOURS[2], "labels": COLOURS[1]}


class Trace(list[dict[str, Any]]):
    """A list of records, one a round.

    Examples
    --------
    >>> print(Trace([{"round": 1, "objective": 3.0, "features": 1.0, "graph": 1.5, "labels": 0.5, "seconds": 0.25}]))
    round  objective  features    graph   labels  seconds
        1          3         1      1.5      0.5    0.250
    """

    def __str__(self) -> str:
        names = ("round", *PARTS, "seconds")
        widths = [max(7, len(name)) if k else 5 for k, name in enumerate(names)]
        rows = [names, *self.rows()]
        return "\n".join("  ".join(str(cell).rjust(w) for cell, w in zip(row, widths)) for row in rows)

    def rows(self) -> list[tuple[Any, ...]]:
        """Round, the objective and its parts, and seconds, as text."""
        return [
            (entry["round"], *(f"{entry[part]:.5g}" for part in PARTS), f"{entry.get('seconds', 0.0):.3f}")
            for entry in self
        ]

    def _repr_html_(self) -> str:
        return self.in_html()

    def in_html(self) -> Html:
        """In words and as a chart."""
        rounds = [float(entry["round"]) for entry in self]
        series = [
            Series(part, [float(entry[part]) for entry in self], rounds, colour=colour)
            for part, colour in PARTS.items()
        ]
        head = ("Round", *PARTS, "Seconds")
        return join(
            charts.lines(series, "The objective and its parts after each round.", "round", "value"),
            table(head, self.rows(), caption="Rounds", numbers=range(len(head))),
        )
