"""Default fits at 1x, 2x, 4x and 8x the nodes and edges: time and memory per node should stay constant."""

from typing import Any

from altopt_lab.bench import graphs, machine, worker
from altopt_lab.bench.graphs import Case
from altopt_lab.bench.report import Report, ResultTable
from altopt_lab.bench.timing import Log

TIMES = (1, 2, 4, 8)
REPEATS = 3


def run(case: Case, repeats: int | None, log: Log) -> Report:
    grown = {times: graphs.grown(case.size, times) for times in TIMES}
    report = Report("growth", case.size.name, f"1x: {grown[1].facts()}", repeats or REPEATS)
    for size in grown.values():
        graphs.load(size, log)  # generated here, so that it is no part of the fit's process
    runs: dict[int, list[dict[str, Any]]] = {times: [] for times in TIMES}
    for number in range(report.repeats):
        for times, size in grown.items():
            log(f"default fit at {times}x, turn {number + 1} of {report.repeats}")
            runs[times].append(worker.run("default_fit", size=size.name))
    rows = [row(times, grown[times], runs[times]) for times in TIMES]
    relate(rows)
    title = f"AltOpt(), the whole fit, best of {report.repeats}; memory a node: peak above an empty process"
    columns = (
        "times",
        "nodes",
        "edges",
        "best",
        "per_node_time",
        "peak_gb",
        "per_node_memory",
        "rounds",
        "accuracy",
    )
    report.tables.append(ResultTable(title, columns, rows))
    stream = machine.bandwidth_alone()
    report.measure(
        time=max(row["per_node_time"] for row in rows),
        memory=max(row["per_node_memory"] for row in rows),
        stream_gb_s=stream,
    )
    report.notes.append(f"STREAM triad in this run: {stream:.1f} GB/s.")
    return report


def row(times: int, size: graphs.Size, runs: list[dict[str, Any]]) -> dict[str, Any]:
    fastest = min(runs, key=lambda run: run["seconds"])
    return {
        "times": f"{times}x",
        "nodes": size.n_nodes,
        "edges": size.n_edges,
        "best": fastest["seconds"],
        "cpu": min(run["cpu"] for run in runs),
        "peak_gb": min(run["peak_gb"] for run in runs),
        "empty_gb": min(run["empty_gb"] for run in runs),
        "rounds": fastest["rounds"],
        "accuracy": fastest["accuracy"],
    }


def relate(rows: list[dict[str, Any]]) -> None:
    """Time and memory a node, as multiples of the first row's."""
    for entry in rows:
        entry["memory_gb"] = entry["peak_gb"] - entry["empty_gb"]
    for name, cost in (("per_node_time", "best"), ("per_node_memory", "memory_gb")):
        base = rows[0][cost] / rows[0]["nodes"]
        for entry in rows:
            entry[name] = entry[cost] / entry["nodes"] / base
