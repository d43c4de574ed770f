"""Figures of a benchmark as text: units and digits of each column, headings, the report for a terminal."""

from collections.abc import Iterable
from typing import Any

from altopt_lab.bench.targets import Target
from altopt_lab.table import Table, aligned
from altopt_lab.verdict import Verdict

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
    "per_node_time": "time per node / 1x",
    "per_node_memory": "memory per node / 1x",
    "rounds": "rounds",
    "p99": "99th percentile",
    "touched": "touched",
    "changed": "changed",
    "memory_mb": "memory, MB",
    "auc": "ROC AUC, %",
    "per_column": "CPU a column",
    "per_million": "s a million edges",
    "solve": "last solve",
    "same": "same bits",
    "job": "the job",
    "lost": "lost",
    "over": "lost beside the job",
    "by_model": "by the model",
    "by_model_gb": "by the model, GB",
    "time_error": "error of time, %",
    "memory_error": "error of memory, %",
}
LEFT_ALIGNED = ("who", "note")
DURATIONS = (
    "best",
    "median",
    "p99",
    "cpu",
    "many",
    "seconds",
    "per_column",
    "solve",
    "job",
    "lost",
    "over",
    "by_model",
)


def cell(column: str, value: Any) -> str:
    """One cell with the digits and the unit of its column."""
    if value is None or value == "":
        return "" if column == "note" else "-"
    if column in DURATIONS:
        return duration(value)
    if column in (
        "ratio",
        "peak_gb",
        "before_gb",
        "per_node_time",
        "per_node_memory",
        "memory_mb",
        "per_million",
        "by_model_gb",
    ):
        return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"
    if column == "error":
        return f"{value:.1e}"
    if column in ("time_error", "memory_error"):
        return f"{100 * value:+.0f}"
    if column == "accuracy":
        return f"{100 * value:.2f}"
    if column in ("gb_s", "gflops", "auc"):
        return f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def duration(seconds: float) -> str:
    """Three digits, in the unit that suits."""
    if seconds >= 1000:
        return f"{seconds:,.0f} s"
    unit, scale = next(((u, k) for u, k in (("s", 1.0), ("ms", 1e3)) if seconds * k >= 1), ("us", 1e6))
    return f"{seconds * scale:#.3g}".removesuffix(".") + f" {unit}"


def as_text(record: dict[str, Any], verdicts: Iterable[tuple[Target, Verdict]]) -> str:
    """A record for the terminal."""
    lines = [f"{record['bench']}, size {record['size']}: {record['facts']}"]
    for table in map(formatted, record["tables"]):
        lines += ["", table.title, aligned(table)]
    lines.append("")
    if record["not_installed"]:
        lines.append(f"not installed: {', '.join(record['not_installed'])}")
    lines += record["notes"]
    lines += [
        f"target: {target.claim} {target.bound_text()}: {verdict.evidence}, {verdict.outcome}"
        for target, verdict in verdicts
    ]
    return "\n".join(lines) + "\n"


def formatted(recorded: dict[str, Any]) -> Table:
    """A recorded table of figures as one of text."""
    columns = recorded["columns"]
    rows = [
        tuple(cell(column, row.get(column)).replace("|", "/") for column in columns)
        for row in recorded["rows"]
    ]
    right = tuple(k for k, column in enumerate(columns) if column not in LEFT_ALIGNED)
    return Table(recorded["title"], tuple(HEADINGS[column] for column in columns), rows, right=right)
