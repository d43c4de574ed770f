"""The results as one self-contained HTML page, figures drawn."""

from math import isfinite
from pathlib import Path
from typing import Any

from altopt.drawing import charts
from altopt.drawing.charts import Series
from altopt.drawing.html import Html, element, join, table
from altopt.drawing.page import page
from altopt.drawing.palette import COLOURS
from altopt.io.files import write_text
from altopt_lab.experiments.page import HEAD, METHOD, cells_table, claims_table, origin, remarks
from altopt_lab.experiments.tables import PAPER_TABLES
from altopt_lab.experiments.tables.paper_table import RecordIndex
from altopt_lab.records import Record, read_records
from altopt_lab.table import Chart, Shown, as_table


def report_runs(runs: Path, page: Path) -> None:
    """The page of recorded runs, as `altopt report` writes it."""
    results_report(read_records(runs), page)


def results_report(records: list[Record], path: Path) -> None:
    """Write the page."""
    index = RecordIndex(records)
    words = f"{HEAD}\n{METHOD.partition(chr(10))[2]}".replace("`", "")
    title, *lead = (" ".join(part.split()) for part in words.strip().split("\n\n"))
    sections = [section("claims", "Claims of the paper", "", [claims_table(index), cells_table(index)])]
    for each in PAPER_TABLES.values():
        source = " ".join([f"altopt reproduce {each.name}{origin(each)}", *remarks(each.name)])
        sections.append(section(each.name, each.title, source, each.show(index)))
    names = {"claims": "Claims of the paper"} | {name: each.title for name, each in PAPER_TABLES.items()}
    links = [element("a", shown, href=f"#{name}") for name, shown in names.items()]
    title = title.removeprefix("# ")
    body = element(
        "main",
        element("h1", title),
        [element("p", paragraph, class_="soft") for paragraph in lead],
        element("nav", links, class_="contents", aria_label="Sections"),
        sections,
        class_="report",
    )
    write_text(path, page(title, body, {}))


def section(name: str, title: str, source: str, shown: Any) -> Html:
    """A table or figure of the paper under its title, and where its numbers come from."""
    said = element("p", source, class_="soft") if source else None
    return element("section", element("h2", title), said, [content(part) for part in shown], id=name)


def content(shown: Shown) -> Html:
    """A table, and a figure before it where it is one with something in it."""
    found = as_table(shown)
    cells = [[str(cell) for cell in row] for row in found.rows]
    numbers: Any = (
        table(found.columns, cells, caption=found.title) if cells else element("p", "Not run.", class_="soft")
    )
    if isinstance(shown, Chart) and any(series.x for series in shown.series):
        numbers = join(drawn(shown), element("details", element("summary", "The numbers"), numbers))
    return join(
        element("h3", found.title), numbers, [element("p", note, class_="soft") for note in found.notes]
    )


def drawn(chart: Chart) -> Html:
    """The chart: bars side by side, or lines, with deviations as whiskers."""
    series = list(zip(chart.series, COLOURS))
    label = f"{chart.y} by {chart.x}."
    if chart.kind == "bars":
        names = list(dict.fromkeys(str(x) for each, _ in series for x in each.x))
        bars = [by_name(each, colour, names) for each, colour in series]
        return charts.bars(names, bars, label, lambda y: f"{y:.1f}" if isfinite(y) else "not run")
    lines = [
        Series(each.name, list(each.y), [float(x) for x in each.x], list(each.spread), colour)
        for each, colour in series
    ]
    every = [y for each in lines for y in each.y]
    limits = max(0.0, min(every) - 8), min(100.0, max(every) + 6)
    return charts.lines(lines, label, chart.x, chart.y, y_range=limits)


def by_name(series: Any, colour: str, names: list[str]) -> Series:
    """A series of bars with one value for each name, NaN where it has none."""
    nan = float("nan")
    values = dict(zip(map(str, series.x), series.y))
    spread = dict(zip(map(str, series.x), series.spread))
    return Series(
        series.name,
        [values.get(name, nan) for name in names],
        (),
        [spread.get(name, 0.0) for name in names] if series.spread else (),
        colour,
    )
