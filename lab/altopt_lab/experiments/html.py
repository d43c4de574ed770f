"""The results as one self-contained HTML page, figures drawn."""

from pathlib import Path
from typing import Any

from altopt.cli.report.charts import Figure, axis, figure
from altopt.cli.report.page import render
from altopt_lab.experiments.page import HEAD, cells_table, claims_table, origin, remarks
from altopt_lab.experiments.tables import PAPER_TABLES
from altopt_lab.experiments.tables.paper_table import RecordIndex
from altopt_lab.records import Record, read_records
from altopt_lab.table import Chart, Shown, as_table

COLOURS = ("#3b7dd8", "#d9822b", "#2e9d6b", "#7a7a85", "#a05bc4", "#c2477f")


def report_runs(runs: Path, page: Path) -> None:
    """The page of recorded runs, as `altopt report` writes it."""
    results_report(read_records(runs), page)


def results_report(records: list[Record], path: Path) -> None:
    """Write the page."""
    index = RecordIndex(records)
    title, *lead = (" ".join(part.split()) for part in HEAD.replace("`", "").strip().split("\n\n"))
    judged = {"name": "claims", "title": "Claims of the paper", "origin": ""}
    sections = [judged | {"shown": [ready(claims_table(index)), ready(cells_table(index))]}]
    for paper_table in PAPER_TABLES.values():
        source = " ".join(
            [f"altopt reproduce {paper_table.name}{origin(paper_table)}", *remarks(paper_table.name)]
        )
        shown = [ready(part) for part in paper_table.show(index)]
        sections.append(
            {"name": paper_table.name, "title": paper_table.title, "origin": source, "shown": shown}
        )
    render(
        Path(__file__).with_name("results.html.j2"),
        path,
        title=title.removeprefix("# "),
        lead=lead,
        sections=sections,
    )


def ready(shown: Shown) -> dict[str, Any]:
    """A table, and a figure where it is one with something in it."""
    figure = drawn(shown) if isinstance(shown, Chart) and any(series.x for series in shown.series) else None
    return {"table": as_table(shown), "figure": figure}


def drawn(chart: Chart) -> Figure:
    """The chart for plotly: bars side by side, or lines, with deviations as whiskers."""
    shape: dict[str, Any] = (
        {"type": "bar"} if chart.kind == "bars" else {"type": "scatter", "mode": "lines+markers"}
    )
    data = [
        {
            **shape,
            "name": series.name,
            "x": [str(x) for x in series.x] if chart.kind == "bars" else series.x,
            "y": series.y,
            "error_y": {
                "type": "data",
                "array": series.spread,
                "thickness": 1,
                "visible": bool(series.spread),
            },
            "hovertemplate": "%{x}: %{y:.2f}",
            "marker": {"color": colour},
        }
        for series, colour in zip(chart.series, COLOURS)
    ]
    lowest = min(y for series in chart.series for y in series.y)
    highest = max(y for series in chart.series for y in series.y)
    room = [max(0.0, lowest - 8), min(100.0, highest + 6)]
    x = {"title": {"text": chart.x}, **({"type": "category"} if chart.kind == "bars" else {})}
    return figure(data, x=x, y=axis(chart.y, range=room))
