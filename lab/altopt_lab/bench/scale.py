"""Fits past memory and on Ray: steps with edges on disk, panels, ingestion, workers, raylets, kills.

Every part runs in a process of its own and is kept until all are done: a run that was stopped goes on after its
last part.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from altopt.errors import InputError
from altopt.io.files import write_text
from altopt_lab.bench import graphs, worker
from altopt_lab.bench.graphs import Case
from altopt_lab.bench.report import TIMES, Report, ResultTable
from altopt_lab.bench.timing import Log, ratio

REPEATS = 10  # of steps, and trials of each kill
FITS = 2  # of each runner, beside one to warm up
MEMORY = 2e9
CLASSES = 96  # two panels
RUNNERS = {"products": 1 / 4, "arxiv": 8.0}  # of a size: where the last solve takes 10 to 60 s on one core
KILLED: dict[str, Any] = {
    "size": "cora",
    "times": 2.0,
    "n_classes": 72,
    "budget": 1 << 30,
}  # two panels, every kind of job
TASKS, KILLS = "altopt_lab.bench.scale_tasks", "altopt_lab.bench.scale_kills"

Part = dict[str, Any]


def run(case: Case, repeats: int | None, log: Log, only: Sequence[str] | None = None) -> Report:
    """All parts, or some: a record of some says which."""
    size = case.size.name
    report = Report("scale", size, case.size.facts(), repeats or REPEATS)
    chosen = some_of(parts(size, report.repeats), only)
    report.not_installed = [name for name in ("ray", "duckdb") if find_spec(name) is None]
    if report.not_installed:
        return report
    kept = graphs.cache_folder() / f"scale-{size}-{report.repeats}"
    for name, part in chosen.items():
        add(report, once(kept / f"{name}.json", name, part, log))
    for name in chosen:  # all of it is in the report now
        (kept / f"{name}.json").unlink()
    report.parts = list(chosen)
    return report


def some_of(
    found: dict[str, Callable[[], Part]], only: Sequence[str] | None
) -> dict[str, Callable[[], Part]]:
    unknown = sorted(set(only or ()) - set(found))
    if unknown:
        raise InputError(f"--parts must be of {', '.join(found)}, but has {', '.join(unknown)}.")
    return {name: part for name, part in found.items() if only is None or name in only}


def parts(size: str, repeats: int) -> dict[str, Callable[[], Part]]:
    fits = min(repeats, FITS)
    return {
        "steps": partial(steps, size, repeats),
        "widths": partial(widths, size, repeats),
        "ingestion": partial(ingestion, size),
        "workers": partial(workers, size, fits),
        "raylets": partial(raylets, size, fits),
        "kills": partial(kills, repeats),
    }


def once(file: Path, name: str, part: Callable[[], Part], log: Log) -> Part:
    """A part, or what an interrupted run has kept of it."""
    if file.exists():
        log(f"{name}: kept from an interrupted run in {file}")
    else:
        log(name)
        write_text(file, json.dumps(part()))
    return dict(json.loads(file.read_text()))


def add(report: Report, part: Part) -> None:
    report.tables += [ResultTable(t["title"], tuple(t["columns"]), t["rows"]) for t in part["tables"]]
    report.measure(**part["measures"])
    report.notes += part["notes"]


def made(
    title: str, columns: tuple[str, ...], rows: list[Part], *notes: str, **measures: float | None
) -> Part:
    table = {"title": title, "columns": columns, "rows": rows}
    return {"tables": [table], "measures": measures, "notes": list(notes)}


def steps(size: str, repeats: int) -> Part:
    rows = worker.run("steps", tasks=TASKS, size=size, repeats=repeats)["timings"]
    for row in rows:
        row["ratio"] = ratio(row["best"], rows[0]["best"])
    title = "one step, float16, nodes as they came; ratio: wall time / the fit in memory"
    on_disk = ratio(min(rows[0]["best"], rows[1]["best"]), rows[2]["best"])
    return made(title, TIMES, rows, disk_step=on_disk)


def widths(size: str, repeats: int) -> Part:
    rows = worker.run("widths", tasks=TASKS, size=size, repeats=min(repeats, 5))["timings"]
    for row in rows:
        row["per_column"] = row["cpu"] / row["width"]
    title = "one step with edges on disk, panels of several widths"
    return made(title, ("who", "best", "cpu", "per_column", "runs"), rows)


def ingestion(size: str) -> Part:
    worker.run("tables", tasks=TASKS, size=size, times=1.0)
    row = worker.run("ingestion", tasks=TASKS, size=size, times=1.0, memory=MEMORY)
    row |= {"who": "Parquet datasets to a graph on disk", "per_million": row["seconds"] / row["edges"] * 1e6}
    columns = ("who", "nodes", "edges", "seconds", "cpu", "per_million", "peak_gb")
    title = f"ingestion within {MEMORY / 1e9:g} GB, scrambled 64-bit ids, nothing sorted"
    return made(title, columns, [row], ingestion_s=row["per_million"], ingestion_gb=row["peak_gb"])


def by_runners(task: str, size: str, fits: int) -> tuple[list[Part], Callable[[str, str], float]]:
    """Rows of a task that has several runners fit the same problem, and a figure of the best run of one of them."""
    times = RUNNERS.get(size, 1.0)
    worker.run("tables", tasks=TASKS, size=size, times=times, n_classes=CLASSES)
    arguments: dict[str, Any] = {
        "size": size,
        "times": times,
        "n_classes": CLASSES,
        "budget": int(MEMORY),
        "repeats": fits,
    }
    runs = worker.run(task, tasks=TASKS, **arguments)["runs"]
    hashes = {run["hash"] for all_of_one in runs.values() for run in all_of_one}

    def best(who: str, what: str) -> float:
        return float(min(run[what] for run in runs[who]))

    first = next(iter(runs))
    rows = [
        {
            "who": who,
            "seconds": best(who, "seconds"),
            "ratio": best(who, "seconds") / best(first, "seconds"),
            "solve": best(who, "solve"),
            "cpu": best(who, "cpu") if who.startswith("one process") else None,
            "runs": len(runs[who]),
            "note": "same bits" if len(hashes) == 1 else "OTHER BITS",
        }
        for who in runs
    ]
    return rows, best


COLUMNS = ("who", "seconds", "cpu", "ratio", "solve", "runs", "note")


def workers(size: str, fits: int) -> Part:
    rows, best = by_runners("workers", size, fits)
    one, two = "one process, one core", "Ray, 2 workers"
    title = (
        f"a fit of {CLASSES} classes at {RUNNERS.get(size, 1.0):g} of the size, float16, held-out labels apart, and of "
        f"it the last solve; ratio: wall time / {one}"
    )
    gain = {what: best(one, what) / best(two, what) for what in ("seconds", "solve")}
    same = float(all(row["note"] == "same bits" for row in rows))
    return made(
        title, COLUMNS, rows, two_workers=gain["solve"], two_workers_fit=gain["seconds"], workers_same=same
    )


def raylets(size: str, fits: int) -> Part:
    rows, best = by_runners("four_raylets", size, fits)
    one, four = "one process, all cores", "4 raylets"
    title = f"the same by four raylets on one machine; ratio: wall time / {one}"
    return made(title, COLUMNS, rows, four_raylets=best(four, "seconds") / best(one, "seconds"))


def kills(trials: int) -> Part:
    found = worker.run("kills", tasks=KILLS, trials=trials, **KILLED)
    rows = found["rows"]
    machines = [row for row in rows if row["who"] == "machine"]
    others = [row for row in rows if row["who"] != "machine"]
    title = f"kills under way, on Ray; the fit without one: {found['plain']:.1f} s"
    columns = ("who", "runs", "same", "job", "lost", "over")
    return made(
        title,
        columns,
        rows,
        "Workers are killed at the end of the job, where most is lost; seconds are the most of all trials.",
        kills_same=min(row["same"] / row["runs"] for row in rows),
        kill_over_s=max(row["over"] for row in others),
        machine_over_s=max(row["over"] for row in machines),
    )
