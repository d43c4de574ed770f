"""Whole fits on files: beside the same fit in memory, under a limit of all memory, and of a graph many times as large.

usage: python -m altopt_lab.bench.scale_whole beside [--size products] [--memory 2GB] [--limit 2.5GB]
       python -m altopt_lab.bench.scale_whole large [--times 10] [--memory 6GB]
       both: [--record results/scale.jsonl] [--page docs/scale.md]

The limit is a cgroup's, in which pages of the disk that are cached count too; where none can be made, the record says
so. Every part runs in a process of its own. Tables are generated once and kept in the cache folder; `large` removes
what it has read, so that ten times the size of ogbn-products needs about 60 GB of disk, and goes on after its last
finished stage when it was stopped.
"""

import argparse
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt import AltOpt
from altopt.arrays import row_blocks
from altopt.io.files import write_text
from altopt.scale.graph_folder import GraphFolder
from altopt.scale.model import ModelOfFiles
from altopt.scale.plan import bytes_of
from altopt.scale.run import fit_files, prepare
from altopt.scale.runner import Here
from altopt.scale.store import Store
from altopt_lab.bench import graphs, worker
from altopt_lab.bench.memory_group import drop_cached, memory_group
from altopt_lab.bench.scale_page import write_page
from altopt_lab.bench.scale_tasks import datasets
from altopt_lab.bench.worker import measured
from altopt_lab.experiments.work import made_on_files
from altopt_lab.records import Record, append_record, read_records

TASKS, PARTS = "altopt_lab.bench.scale_whole", "altopt_lab.bench.scale_tasks"


# the parts, each in a process of its own


def in_memory(folder: str, kept: str) -> dict[str, Any]:
    """AltOpt().fit of a problem on disk, read whole; F and labels are kept."""
    graph = GraphFolder.open(Path(folder))
    A, X, y = read_whole(graph)
    measures: dict[str, Any] = {}
    with measured(measures):
        model = AltOpt(random_state=graphs.SEED).fit(X, y, graph=A)
    np.save(Path(kept) / "F.npy", np.asarray(model.scores_, np.float32))
    np.save(Path(kept) / "labels.npy", np.searchsorted(model.classes_, model.transduction_))
    return measures | {"expected": model.leave_one_out_.accuracy}


def read_whole(graph: GraphFolder) -> tuple[Any, Any, Any]:
    """The adjacency, X and y with -1 where unknown."""
    csr = graph.csr
    data = np.broadcast_to(np.float32(1), csr.n_entries)
    parts = (data, np.array(csr.indices), np.array(csr.indptr))
    A = sp.csr_array(parts, shape=(graph.n_nodes, graph.n_nodes))
    assert graph.features is not None
    X = np.concatenate([graph.features.rows(b.start, b.stop) for b in row_blocks(graph.n_nodes)])
    y = np.full(graph.n_nodes, -1)
    y[graph.labelled] = graph.labels
    return A, X, y


def on_files(folder: str, memory: float, place: str) -> dict[str, Any]:
    """The fit of a problem on disk within a budget, ingestion apart; its predictions are written apart from it too."""
    measures: dict[str, Any] = {}
    with measured(measures):
        graph = GraphFolder.open(Path(folder))
        parameters = AltOpt(random_state=graphs.SEED).parameters()
        ready = prepare(parameters, graph, Here(Store(Path(place) / "jobs"), int(memory)))
        model = fit_files(ready, Path(place) / "model")
    held_out = model.leave_one_out
    return measures | {"expected": None if isinstance(held_out, str) else held_out.accuracy}


def compared(place: str, kept: str) -> dict[str, Any]:
    """F and labels of both fits."""
    model = ModelOfFiles.open(Path(place) / "model")
    F, labels = (np.load(Path(kept) / f"{name}.npy", mmap_mode="r") for name in ("F", "labels"))
    square, size, furthest, same = 0.0, 0.0, 0.0, 0
    for rows in row_blocks(model.n_nodes):
        mine, other = model.F.rows(rows.start, rows.stop), np.asarray(F[rows], np.float64)
        square += float(np.sum((mine - other) ** 2))
        size += float(np.sum(other**2))
        furthest = max(furthest, float(np.abs(mine - other).max()))
        same += int(np.sum(model.predictions(rows.start, rows.stop)[0] == labels[rows]))
    return {"F_error": float(np.sqrt(square / size)), "F_furthest": furthest, "same": same / model.n_nodes}


def right(place: str, tables: str) -> dict[str, Any]:
    """The share of nodes without a given label that a model of files has right."""
    from altopt_lab.bench.large import truth

    model = ModelOfFiles.open(Path(place) / "model")
    given = np.zeros(model.n_nodes, bool)
    given[model.graph.labelled] = True
    classes, hits, total = np.asarray(model.graph.classes), 0, 0
    predicted = np.concatenate(
        [model.predictions(rows.start, rows.stop)[0] for rows in row_blocks(model.n_nodes)]
    )
    for ids, labels in truth(Path(tables)):
        at = model.graph.positions(ids.tolist())
        unknown = ~given[at]
        hits += int(np.sum(classes[predicted[at[unknown]]] == labels[unknown]))
        total += int(unknown.sum())
    return {"right": hits / total}


# the two questions


def on_files_within(limit: float | None, problem: Path, memory: float, place: Path) -> dict[str, Any]:
    """The fit in a process of its own, whose memory with all cached pages is limited where that can be."""
    drop_cached(problem)
    with memory_group(limit) as group:
        found = worker.run(
            "on_files",
            tasks=TASKS,
            group=group.folder,
            folder=str(problem),
            memory=memory,
            place=str(place),
        )
    return found | group.told


def beside(size: str, memory: float, limit: float | None) -> Record:
    """A fit within `memory`, under a limit, beside the fit in memory, ingestion apart."""
    tables = Path(worker.run("tables", tasks=PARTS, size=size, times=1.0)["folder"])
    kept, place = (graphs.cache_folder() / f"whole-{size}-{name}" for name in ("kept", "files"))
    for folder in (kept, place):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    problem = str(place / "graph")
    drop_cached(tables)
    made = worker.run("ingestion", tasks=PARTS, size=size, times=1.0, memory=memory, target=problem)
    whole = worker.run("in_memory", tasks=TASKS, folder=problem, kept=str(kept))
    files = on_files_within(limit, Path(problem), memory, place)
    both = worker.run("compared", tasks=TASKS, place=str(place), kept=str(kept))
    for folder in (kept, place):
        shutil.rmtree(folder)
    times = files["seconds"] / whole["seconds"]
    return {
        "bench": "whole",
        "size": size,
        "nodes": made["nodes"],
        "edges": made["edges"],
        "memory_gb": memory / 1e9,
        "ingestion": made,
        "in_memory": whole,
        "on_files": files,
        "times": times,
        **both,
        "measures": {
            "default_s": whole["seconds"],
            "files_gb": files["peak_gb"],
            "files_times": times,
            "same_labels": both["same"],
        },
    }


def large(size: str, times: float, memory: float, limit: float | None) -> Record:
    """A graph many times as large, once through; what a run that was stopped has finished is not done again."""
    _, tables = datasets(size, times)
    place = graphs.cache_folder() / f"whole-{size}-{times:g}x-{memory / 1e9:g}GB"
    place.mkdir(parents=True, exist_ok=True)
    done = Stages(place / "stages.json")
    problem = place / "graph"

    def ingested() -> dict[str, Any]:
        shutil.rmtree(problem, ignore_errors=True)
        worker.run("tables", tasks=PARTS, size=size, times=times)
        drop_cached(tables)
        return worker.run(
            "ingestion", tasks=PARTS, size=size, times=times, memory=memory, target=str(problem)
        )

    def fitted() -> dict[str, Any]:
        for name in ("jobs", "model"):  # of a fit that was stopped: its time is told as a whole
            shutil.rmtree(place / name, ignore_errors=True)
        return on_files_within(limit, problem, memory, place)

    made = done.stage("ingested", ingested)
    for name in ("edges", "features"):  # room for the fit
        shutil.rmtree(tables / name, ignore_errors=True)
    files = done.stage("fitted", fitted)
    shutil.rmtree(place / "jobs", ignore_errors=True)
    found = done.stage(
        "right", lambda: worker.run("right", tasks=TASKS, place=str(place), tables=str(tables))
    )
    for folder in (place, tables):
        shutil.rmtree(folder)
    return {
        "bench": "large graph on files",
        "size": size,
        "times": times,
        "nodes": made["nodes"],
        "edges": made["edges"],
        "memory_gb": memory / 1e9,
        "ingestion": made,
        "on_files": files,
        **found,
    }


class Stages:
    """What each stage that was finished found, in a file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "stages.json"
    ...     first = Stages(file).stage("count", lambda: {"nodes": 3})
    ...     first == Stages(file).stage("count", dict)
    count {'nodes': 3}
    True
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.found: dict[str, dict[str, Any]] = json.loads(file.read_text()) if file.exists() else {}

    def stage(self, name: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if name not in self.found:
            self.found[name] = work()
            write_text(self.file, json.dumps(self.found))
            print(name, self.found[name], flush=True)
        return self.found[name]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("question", choices=["beside", "large", "page"])
    parser.add_argument("--size", default="products", choices=list(graphs.SIZES))
    parser.add_argument("--times", type=float, default=10.0)
    parser.add_argument("--memory", help="the fit's own limit; by default 2GB, of the large one 6GB")
    parser.add_argument("--limit", help="of all memory; by default 1.25 times the fit's own")
    parser.add_argument("--record", type=Path, default=Path("results/scale.jsonl"))
    parser.add_argument("--page", type=Path)
    asked = parser.parse_args()
    memory = bytes_of(asked.memory or {"large": "6GB"}.get(asked.question, "2GB"))
    limit = 1.25 * memory if asked.limit is None else bytes_of(asked.limit)
    if asked.question == "beside":
        found = beside(asked.size, memory, limit)
    elif asked.question == "large":
        found = large(asked.size, asked.times, memory, limit)
    if asked.question != "page":
        print(found, flush=True)
        append_record(asked.record, found | made_on_files())
    if asked.page is not None:
        write_page(read_records(asked.record), asked.page)


if __name__ == "__main__":
    main()
