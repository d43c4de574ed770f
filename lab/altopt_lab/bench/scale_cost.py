"""What fits on files cost: measured at several sizes, the cost model fitted to some and held to others.

usage: python -m altopt_lab.bench.scale_cost measure [--record results/scale.jsonl] [--case products 0.25 2GB]
       python -m altopt_lab.bench.scale_cost fit [--record results/scale.jsonl] [--write] [--page docs/scale.md]

`measure` adds a record for each case that has none of this code, so that a run that was stopped goes on. `fit` prints
the error at every case, with `--write` puts the constants into altopt/scale/cost.py, and with `--page` the table.
"""

import argparse
import re
import shutil
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from altopt import AltOpt
from altopt.errors import InputError
from altopt.io.files import write_text
from altopt.scale import cost
from altopt.scale.cost import ROWS, Constants, Parts, Size, cost_of
from altopt.scale.graph_folder import GraphFolder
from altopt.scale.ingest import DATABASE_SHARE
from altopt.scale.plan import bytes_of
from altopt.scale.probe import Rates
from altopt.scale.probe import measure as measure_rates
from altopt.scale.run import fit_files, prepare
from altopt.scale.runner import Here
from altopt.scale.store import Store
from altopt_lab.bench import graphs, worker
from altopt_lab.bench.formatting import formatted
from altopt_lab.bench.memory_group import drop_cached
from altopt_lab.bench.scale_page import put
from altopt_lab.bench.worker import measured
from altopt_lab.experiments.work import made_on_files
from altopt_lab.records import Record, append_record, read_records
from altopt_lab.table import Table, aligned, markdown

BENCH = "cost of a fit"
TASKS, PARTS = "altopt_lab.bench.scale_cost", "altopt_lab.bench.scale_tasks"
COLUMNS = (
    *("who", "nodes", "edges", "seconds", "by_model", "time_error"),
    *("peak_gb", "by_model_gb", "memory_error", "note"),
)
Case = tuple[str, float, float]  # a size, so many times of it, and the memory of the fit
FITTED: tuple[Case, ...] = (
    ("arxiv", 1 / 16, 2e9),
    ("arxiv", 1.0, 2e9),
    ("products", 1 / 64, 2e9),
    ("products", 1 / 16, 2e9),
    ("products", 1 / 16, 4.5e8),
    ("products", 1 / 4, 2e9),
    ("products", 1 / 4, 8e8),
)
HELD_OUT: tuple[Case, ...] = (
    ("arxiv", 1 / 4, 2e9),
    ("products", 1 / 32, 2e9),
    ("products", 1 / 8, 2e9),
    ("products", 1 / 8, 6e8),
    ("products", 1 / 2, 2e9),
)


# measuring


def measure(case: Case) -> Record:
    """The rates of this machine, ingestion and fit of one case, each in a process of its own."""
    size, times, memory = case
    tables = Path(worker.run("tables", tasks=PARTS, size=size, times=times)["folder"])
    place = graphs.cache_folder() / f"cost-{size}-{times:g}x-{memory:g}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        rates = worker.run("rates", tasks=TASKS, place=str(place))
        drop_cached(tables)
        problem = str(place / "graph")
        read = worker.run("ingestion", tasks=PARTS, size=size, times=times, memory=memory, target=problem)
        fitted = worker.run("fit", tasks=TASKS, place=str(place), memory=memory)
    finally:
        shutil.rmtree(place)
    return {
        "bench": BENCH,
        "case": list(case),
        "problem": fitted.pop("problem"),
        "rates": rates,
        "reading": read,
        "fitting": fitted,
    }


def rates(place: str) -> dict[str, Any]:
    return asdict(measure_rates(Path(place)))


def fit(place: str, memory: float) -> dict[str, Any]:
    """A whole fit and its predictions."""
    measures: dict[str, Any] = {}
    with measured(measures):
        graph = GraphFolder.open(Path(place) / "graph")
        ready = prepare(
            AltOpt(random_state=graphs.SEED).parameters(),
            graph,
            Here(Store(Path(place) / "jobs"), int(memory)),
        )
        model = fit_files(ready, Path(place) / "model")
        list(model.write_predictions(Path(place) / "predictions"))
    assert graph.features is not None
    problem = Size(
        graph.n_nodes, graph.csr.n_entries, graph.features.n_columns, len(graph.classes), graph.n_labelled
    )
    rounds = len(ready.fitting.trace)
    return measures | {"problem": asdict(problem), "rounds": rounds}


# fitting


def held(records: list[Record]) -> list[tuple[Record, Size, Rates, Parts]]:
    """The last record of each case, and what the model says of it by number, with the median of each rate."""
    last = {tuple(record["case"]): record for record in records if record["bench"] == BENCH}
    rates, found = typical(list(last.values())), []
    for (*_, memory), record in sorted(last.items(), key=lambda item: item[1]["problem"]["n_entries"]):
        size = Size(**record["problem"])
        found.append((record, size, rates, Parts(size, memory, rates)))
    return found


def typical(records: list[Record]) -> Rates:
    """The median of each rate: those of one moment are off where another process was at work."""
    names = [field.name for field in fields(Rates)]
    return Rates(
        *(float(np.median([record["rates"][name] for record in records] or [1.0])) for name in names)
    )


def fitted_constants(records: list[Record]) -> Constants:
    """The constants that come nearest to the cases that are fitted to, by relative error; none is below zero."""
    cases = [case for case in held(records) if tuple(case[0]["case"]) in FITTED]
    if len(cases) < 4:
        raise InputError(f"{len(cases)} of {len(FITTED)} cases are on record; measure at least 4 first.")
    whole = [record["reading"]["seconds"] + record["fitting"]["seconds"] for record, *_ in cases]
    seconds = nearest(
        [
            [sum(stage.seconds for stage in parts.by_rates), 1.0, parts.n_jobs, parts.trained]
            for _, _, _, parts in cases
        ],
        [record["fitting"]["seconds"] for record, *_ in cases],
        whole,
    )
    tables = nearest(
        [[1.0, size.n_entries / 2, size.n_nodes * size.n_features] for _, size, _, _ in cases],
        [record["reading"]["seconds"] for record, *_ in cases],
        whole,
    )
    memory = nearest(
        [[1.0, size.n_labels * (size.n_inputs + size.n_classes)] for _, size, _, _ in cases],
        [1e9 * record["fitting"]["peak_gb"] - parts.in_memory for record, _, _, parts in cases],
        [1e9 * record["fitting"]["peak_gb"] for record, *_ in cases],
    )
    reading = memory_of_reading([(record, size) for record, size, _, _ in cases])
    return Constants(*(float(f"{value:.3g}") for value in (*seconds, *tables, *memory, *reading)))


def nearest(amounts: list[list[float]], measured: list[float], whole: list[float]) -> Any:
    """What each amount costs, none below zero, by least squares of errors relative to the whole.

    >>> measured = [3.0, 12.0, 102.0]
    >>> nearest([[1.0, 1.0], [1.0, 10.0], [1.0, 100.0]], measured, measured).round(6).tolist()
    [2.0, 1.0]
    """
    A, b, weights = (np.array(numbers, np.float64) for numbers in (amounts, measured, whole))
    unit = A.max(axis=0)  # amounts differ by many powers of ten
    unit[unit == 0] = 1.0
    return nnls(A / unit / weights[:, None], b / weights)[0] / unit


def memory_of_reading(cases: list[tuple[Record, Size]]) -> tuple[float, float, float]:
    """Bytes of the process; for a number of the features; for an edge."""
    peaks = np.array([1e9 * record["reading"]["peak_gb"] for record, _ in cases])
    numbers = np.array([min(size.n_nodes, ROWS) * size.n_features for _, size in cases], np.float64)
    edges = np.array([size.n_entries / 2 for _, size in cases])
    most = np.array([DATABASE_SHARE * record["case"][2] for record, _ in cases])

    def tried(of_number: float, of_edge: float) -> tuple[float, float, float, float]:
        more = np.maximum(of_number * numbers, np.minimum(of_edge * edges, most))
        base = max(float(np.sum((peaks - more) / peaks**2) / np.sum(1.0 / peaks**2)), 0.0)
        return float(np.sum(((base + more) / peaks - 1.0) ** 2)), base, of_number, of_edge

    grid = np.geomspace(0.3, 300.0, 61)
    return min(tried(of_number, of_edge) for of_number in grid for of_edge in grid)[1:]


def errors(records: list[Record], constants: Constants) -> list[dict[str, Any]]:
    """What was measured of each case, what the model says, and how far it is off."""
    rows = []
    for record, size, rates, _ in held(records):
        said = cost_of(size, record["case"][2], rates, constants=constants)
        seconds = record["reading"]["seconds"] + record["fitting"]["seconds"]
        memory = max(record["reading"]["peak_gb"], record["fitting"]["peak_gb"])
        name, times, budget = record["case"]
        rows.append(
            {
                "who": f"{times:g} {name}, {budget / 1e9:g} GB",
                "nodes": size.n_nodes,
                "edges": size.n_entries // 2,
                "seconds": seconds,
                "by_model": said.seconds,
                "time_error": said.seconds / seconds - 1.0,
                "peak_gb": memory,
                "by_model_gb": said.memory / 1e9,
                "memory_error": said.memory / 1e9 / memory - 1.0,
                "note": "fitted" if tuple(record["case"]) in FITTED else "held out",
            }
        )
    return rows


# what is said


BIG = (
    ("10^8 nodes, 10^10 edges, 50 classes", Size(10**8, 2 * 10**10, 128, 50, 10**6)),
    ("10^8 nodes, 10^10 edges, 172 classes", Size(10**8, 2 * 10**10, 128, 172, 10**6)),
    ("ogbn-papers100M", Size(111_059_956, 2 * 1_615_685_872, 128, 172, 1_200_000)),
)
BUDGETS = (16e9, 64e9)
WORKERS = (4, 16)


def page_of(records: list[Record], constants: Constants) -> str:
    """How far the model is off, and what it says of very large graphs."""
    rows = errors(records, constants)
    out = [row for row in rows if row["note"] == "held out"]
    cases = formatted({"title": "", "columns": COLUMNS, "rows": rows})
    time, memory = worst(out)
    rates = held(records)[0][2]
    head = (
        f"Fitted to {len(rows) - len(out)} whole fits, ingestion and predictions included, and held to {len(out)} "
        f"others: at these time is off by {time:.0%} at most, memory by {memory:.0%}."
    )
    big = []
    for name, size in BIG:
        for budget in BUDGETS:
            said = cost_of(size, budget, rates, constants=constants)
            times = [f"{said.seconds_on(k) / 3600:.1f} h" for k in (1, *WORKERS)]
            big.append(
                (
                    name,
                    f"{budget / 1e9:g} GB",
                    f"{said.memory / 1e9:.1f} GB",
                    f"{said.disk / 1e9:,.0f} GB",
                    f"{said.read / 1e12:.1f} TB",
                    f"{said.written / 1e12:.1f} TB",
                    *times,
                )
            )
    machines = [f"{k} machines" for k in WORKERS]
    columns = ("graph", "`--memory`", "peak", "disk", "read", "written", "one machine", *machines)
    told = (
        "What it says of graphs that were not tried, on machines like the one of the records "
        f"({rates.read / 1e9:.1f} GB/s read, {1e9 * rates.entry:.2f} ns for an entry and column), with 128 features "
        "and a million labels (papers100M 1.2 million). Of several machines each has a copy of all edges, and tables "
        "are read by one of them; the network is not counted."
    )
    tables = (markdown(cases), told, markdown(Table("", columns, big, right=tuple(range(1, len(columns))))))
    return "\n\n".join((head, *tables))


def worst(rows: list[dict[str, Any]]) -> tuple[float, float]:
    return (
        max((abs(row["time_error"]) for row in rows), default=float("nan")),
        max((abs(row["memory_error"]) for row in rows), default=float("nan")),
    )


def verdict(records: list[Record], constants: Constants) -> Record:
    """The record that targets are judged by."""
    time, memory = worst([row for row in errors(records, constants) if row["note"] == "held out"])
    return {
        "bench": "cost",
        "size": "products",
        "constants": asdict(constants),
        "measures": {"cost_time": time, "cost_memory": memory},
    }


def write_constants(constants: Constants) -> None:
    """Into the one place that the model reads them from."""
    path = Path(str(cost.__file__))
    lines = "".join(f"    {field.name}={getattr(constants, field.name)!r},\n" for field in fields(constants))
    text, times = re.subn(
        r"CONSTANTS = Constants\(\n.*?\n\)\n",
        f"CONSTANTS = Constants(\n{lines})\n",
        path.read_text(),
        flags=re.DOTALL,
    )
    assert times == 1
    write_text(path, text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("question", choices=["measure", "fit"])
    parser.add_argument("--record", type=Path, default=Path("results/scale.jsonl"))
    parser.add_argument("--case", nargs=3, action="append", metavar=("SIZE", "TIMES", "MEMORY"))
    parser.add_argument("--write", action="store_true", help="put the constants into altopt/scale/cost.py")
    parser.add_argument("--page", type=Path)
    asked = parser.parse_args()
    if asked.question == "measure":
        measure_all(asked.record, asked.case)
        return
    records = read_records(asked.record)
    constants = fitted_constants(records)
    print(constants)
    print(aligned(formatted({"title": "", "columns": COLUMNS, "rows": errors(records, constants)})))
    if asked.write:
        write_constants(constants)
        append_record(asked.record, verdict(records, constants) | made_on_files())
    if asked.page is not None:
        put(asked.page, "cost", page_of(records, constants))


def measure_all(record: Path, given: list[list[str]] | None) -> None:
    """Every case that is not on record of this code."""
    cases: list[Case] = [(size, float(times), bytes_of(memory)) for size, times, memory in given or ()]
    code = made_on_files()["fit_code"]
    done = {tuple(line["case"]): line["fit_code"] for line in read_records(record) if line["bench"] == BENCH}
    for case in cases or sorted({*FITTED, *HELD_OUT}, key=lambda case: (case[0], case[1])):
        if done.get(tuple(case)) != code:
            found = measure(case)
            print(case, found["reading"]["seconds"], found["fitting"]["seconds"], flush=True)
            append_record(record, found | made_on_files())


if __name__ == "__main__":
    main()
