"""The paper's figures as PNG and SVG, drawn from the records in the colours of all other pictures."""

from collections.abc import Callable
from pathlib import Path
from textwrap import wrap
from typing import Any

from altopt.drawing.palette import COLOURS, GREY
from altopt.errors import InputError, MissingExtra
from altopt.io.files import new_folder, replacing
from altopt_lab.experiments.tables.others import inductive_charts
from altopt_lab.experiments.tables.paper_table import RecordIndex
from altopt_lab.experiments.tables.studies import show_ablation, show_sensitivity, show_top
from altopt_lab.table import Chart, Shown

FIGURES: dict[str, Callable[[RecordIndex], list[Shown]]] = {
    "ablation": show_ablation,
    "top-k": show_top,
    "sensitivity": show_sensitivity,
    "inductive": inductive_charts,
}
MARKERS = "osD^vP"  # beside the colours, for paper without any
KINDS: dict[str, dict[str, Any]] = {"png": {"dpi": 200}, "svg": {"metadata": {"Date": None}}}
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": GREY,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "altopt",  # the same records give the same bytes
}
WIDTH, HEIGHT = 4.4, 3.3  # inches of one panel
TITLE = 50  # characters of a line across it


def with_figures(names: list[str]) -> list[str]:
    """Those of these tables that have a figure, once it is certain that they can be drawn."""
    found = [name for name in names if name in FIGURES]
    if not found:
        raise InputError(f"--figures draws {', '.join(FIGURES)}, but {', '.join(names)} has no figure.")
    matplotlib()
    return found


def matplotlib() -> Any:
    """matplotlib, drawing to files alone."""
    try:
        import matplotlib as drawing
    except ImportError as cause:
        raise MissingExtra(
            "--figures needs matplotlib, which is not installed. Install it with: pip install 'altopt-lab[figures]'"
        ) from cause
    drawing.use("agg")
    return drawing


def write_figures(names: list[str], index: RecordIndex, folder: Path) -> list[Path]:
    """Each figure as NAME.png and NAME.svg; one without a run is left out."""
    written = []
    with new_folder(folder):
        for name in names:
            charts = [chart for chart in FIGURES[name](index) if isinstance(chart, Chart) and drawable(chart)]
            if charts:
                written += write_figure(charts, folder / name)
    return written


def drawable(chart: Chart) -> bool:
    return any(series.x for series in chart.series)


def write_figure(charts: list[Chart], path: Path) -> list[Path]:
    """One figure, a panel for each chart."""
    written = []
    with matplotlib().rc_context(STYLE):
        from matplotlib.figure import Figure

        wide = max(1.0, max(len(chart.series) * len(places(chart)) for chart in charts) / 14)
        figure = Figure(figsize=(WIDTH * wide * len(charts), HEIGHT), layout="constrained")
        panels = figure.subplots(1, len(charts), squeeze=False)[0]
        for chart, panel in zip(charts, panels):
            (draw_bars if chart.kind == "bars" else draw_lines)(chart, panel)
            title = "\n".join(wrap(chart.title, int(TITLE * wide)))
            panel.set(title=title, xlabel=chart.x, ylabel=f"{chart.y}, ± standard deviation")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6))
        for kind, options in KINDS.items():
            with replacing(path.with_name(f"{path.name}.{kind}")) as draft:
                figure.savefig(draft, format=kind, **options)
            written.append(path.with_name(f"{path.name}.{kind}"))
    return written


def places(chart: Chart) -> list[str]:
    """Names along x, in the order of the series."""
    return list(dict.fromkeys(str(x) for series in chart.series for x in series.x))


def draw_bars(chart: Chart, panel: Any) -> None:
    """Bars side by side from zero, their values above them."""
    names = places(chart)
    width = 0.84 / len(chart.series)
    for k, (series, colour) in enumerate(zip(chart.series, COLOURS)):
        at = [names.index(str(x)) + (k - (len(chart.series) - 1) / 2) * width for x in series.x]
        spread = series.spread or None
        line = {"linewidth": 0.8, "ecolor": "0.25"}
        bars = panel.bar(
            at, series.y, 0.92 * width, yerr=spread, color=colour, label=series.name, error_kw=line
        )
        panel.bar_label(bars, fmt="%.1f", padding=2, fontsize=6.5, rotation=90)
    panel.set_xticks(range(len(names)), names)
    panel.set_ylim(0, 115)
    panel.set_yticks(range(0, 101, 20))


def draw_lines(chart: Chart, panel: Any) -> None:
    """Lines with whiskers over x as it is, logarithmic where it spans much."""
    for series, colour, marker in zip(chart.series, COLOURS, MARKERS):
        panel.errorbar(
            series.x,
            series.y,
            series.spread or None,
            color=colour,
            marker=marker,
            markersize=4.5,
            linewidth=1.6,
            elinewidth=0.8,
            capsize=2,
            label=series.name,
        )
    xs = [float(x) for series in chart.series for x in series.x]
    if min(xs) > 0 and max(xs) > 30 * min(xs):
        panel.set_xscale("log")
    panel.set_xticks(sorted(set(xs)), [f"{x:g}" for x in sorted(set(xs))], minor=False)
    panel.minorticks_off()
