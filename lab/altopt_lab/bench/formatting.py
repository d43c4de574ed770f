"""Reports in words: aligned text for a terminal, Markdown for the page."""

from collections.abc import Iterable
from typing import Any

from altopt_lab.bench.targets import Verdict

HEADINGS = {
    "who": "who",
    "best": "best wall",
    "median": "median wall",
    "cpu": "CPU",
    "ratio": "ratio",
    "runs": "runs",
    "note": "note",
    "steps": "steps",
    "error": "relative error",
    "gflops": "GFLOP/s",
    "gb_s": "logical GB/s",
    "many": "200 epochs (extrapolated)",
    "accuracy": "accuracy, %",
    "peak_gb": "peak RSS, GB",
    "before_gb": "after loading, GB",
    "seconds": "wall",
    "epochs": "epochs",
    "split": "split seed",
    "times": "size",
    "nodes": "nodes",
    "edges": "edges",
    "per_node_time": "time a node / 1x",
    "per_node_memory": "memory a node / 1x",
    "rounds": "rounds",
    "p99": "99 of 100 within",
    "touched": "touched",
    "changed": "changed",
    "memory_mb": "memory, MB",
}
LEFT = ("who", "note")


def cell(column: str, value: Any) -> str:
    """One cell, as people read it."""
    if value is None or value == "":
        return "" if column == "note" else "-"
    if column in ("best", "median", "p99", "cpu", "many", "seconds"):
        return duration(value)
    if column in ("ratio", "peak_gb", "before_gb", "per_node_time", "per_node_memory", "memory_mb"):
        return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"
    if column == "error":
        return f"{value:.1e}"
    if column == "accuracy":
        return f"{100 * value:.2f}"
    if column in ("gb_s", "gflops"):
        return f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def duration(seconds: float) -> str:
    """Three digits, in the unit that suits."""
    if seconds >= 1000:
        return f"{seconds:,.0f} s"
    unit, scale = next(((u, k) for u, k in (("s", 1.0), ("ms", 1e3)) if seconds * k >= 1), ("us", 1e6))
    return f"{seconds * scale:#.3g}".removesuffix(".") + f" {unit}"


def as_text(record: dict[str, Any], verdicts: Iterable[Verdict]) -> str:
    """A report for the terminal."""
    lines = [f"{record['bench']}, size {record['size']}: {record['facts']}"]
    for table in record["tables"]:
        lines += ["", table["title"], *aligned(table)]
    lines.append("")
    if record["not_installed"]:
        lines.append(f"not installed: {', '.join(record['not_installed'])}")
    lines += record["notes"]
    lines += [
        f"goal: {verdict.target.words} {verdict.target.asks()}: {verdict.value_in_words()}, {verdict.outcome()}"
        for verdict in verdicts
    ]
    return "\n".join(lines) + "\n"


def aligned(table: dict[str, Any]) -> list[str]:
    columns = table["columns"]
    grid = [[HEADINGS[column] for column in columns]]
    grid += [[cell(column, row.get(column)) for column in columns] for row in table["rows"]]
    widths = [max(len(line[k]) for line in grid) for k in range(len(columns))]
    lines = [
        "  ".join(
            text.ljust(width) if column in LEFT else text.rjust(width)
            for column, text, width in zip(columns, line, widths)
        ).rstrip()
        for line in grid
    ]
    return [lines[0], "-" * (sum(widths) + 2 * len(widths) - 2), *lines[1:]]


def as_markdown(table: dict[str, Any]) -> str:
    columns = table["columns"]
    lines = [
        f"| {' | '.join(HEADINGS[column] for column in columns)} |",
        f"|{'|'.join('---' if column in LEFT else '--:' for column in columns)}|",
    ]
    for row in table["rows"]:
        cells = (cell(column, row.get(column)).replace("|", "/") for column in columns)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
