"""Whole fits on files: beside the same fit in memory, under a limit of all memory, and of a graph many times as large.

usage: python -m altopt_lab.bench.scale_whole beside [--size products] [--memory 2GB] [--limit 2.5e9]
       python -m altopt_lab.bench.scale_whole large [--times 10] [--memory 6GB]
       both: [--record results/scale.jsonl] [--page docs/scale.md]

The limit is a cgroup's, in which pages of the disk that are cached count too; where none can be made, the record says
so. Every part runs in a process of its own. Tables are generated once and kept in the cache folder; `large` removes
what it has read, so that ten times the size of ogbn-products needs about 60 GB of disk.
"""

import argparse
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt import AltOpt
from altopt.arrays import row_blocks
from altopt.scale.graph_folder import GraphFolder
from altopt.scale.model import ModelOfFiles
from altopt.scale.plan import bytes_of
from altopt.scale.run import fit_files, prepare
from altopt.scale.runner import Here
from altopt.scale.store import Store
from altopt_lab.bench import graphs, worker
from altopt_lab.bench.large import LargeGraph, write
from altopt_lab.bench.scale_tasks import datasets, read_datasets
from altopt_lab.bench.worker import measured
from altopt_lab.experiments.work import made_on
from altopt_lab.records import Record, append_record, read_records

TASKS = "altopt_lab.bench.scale_whole"
MEMORY_GROUPS = Path("/sys/fs/cgroup/memory")  # version 1
UNIFIED = Path("/sys/fs/cgroup")  # version 2


# the limit


@contextmanager
def limited(limit: float | None) -> Iterator[dict[str, Any]]:
    """This process within a limit of all its memory, cached pages of files included, where a cgroup can be made."""
    told: dict[str, Any] = {"limit_gb": None}
    group = None if limit is None else cgroup(int(limit))
    if group is None:
        yield told
        return
    before = own_group(group.parent)
    (group / "cgroup.procs").write_text(str(os.getpid()))
    told["limit_gb"] = (limit or 0) / 1e9
    try:
        yield told
    finally:
        for name, what in (("max_usage_in_bytes", "with_cache_gb"), ("failcnt", "reclaims")):
            file = group / f"memory.{name}"
            if file.exists():
                told[what] = int(file.read_text()) / (1e9 if what == "with_cache_gb" else 1)
        (before / "cgroup.procs").write_text(str(os.getpid()))
        with suppress(OSError):
            group.rmdir()


def cgroup(limit: int) -> Path | None:
    """A new group of the first kind that can be made."""
    for root, file in ((MEMORY_GROUPS, "memory.limit_in_bytes"), (UNIFIED, "memory.max")):
        group = root / f"altopt-{os.getpid()}"
        try:
            group.mkdir()
            (group / file).write_text(str(limit))
        except OSError:
            with suppress(OSError):
                group.rmdir()
            continue
        return group
    return None


def own_group(root: Path) -> Path:
    """Where this process belongs."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, kinds, path = line.split(":", 2)
        if "memory" in kinds.split(",") or (not kinds and root == UNIFIED):
            return root / path.lstrip("/")
    return root


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


def tables(size: str, times: float) -> dict[str, Any]:
    """The tables generated, so that the memory this takes is not counted."""
    return {"folder": str(datasets(size, times)[1])}


def ingested(size: str, times: float, memory: float, spare: bool) -> dict[str, Any]:
    """Tables to a problem on disk; with `spare` tables go as soon as they were read."""
    graph, folder = datasets(size, times)
    target = folder / "ingested"
    shutil.rmtree(target, ignore_errors=True)
    measures: dict[str, Any] = {}
    with measured(measures):
        stored = read_datasets(folder, target, memory)
    if spare:
        for name in ("edges", "features"):
            shutil.rmtree(folder / name)
    return measures | {"folder": str(target), "nodes": stored.n_nodes, "edges": graph.n_edges}


def on_files(folder: str, memory: float, limit: float | None, place: str) -> dict[str, Any]:
    """The fit of a problem on disk within a budget, ingestion apart; its predictions are written apart from it too."""
    measures: dict[str, Any] = {}
    with limited(limit) as told, measured(measures):
        graph = GraphFolder.open(Path(folder))
        parameters = AltOpt(random_state=graphs.SEED).parameters()
        ready = prepare(parameters, graph, Here(Store(Path(place) / "jobs"), int(memory)))
        model = fit_files(ready, Path(place) / "model")
    held_out = model.leave_one_out
    return measures | told | {"expected": None if isinstance(held_out, str) else held_out.accuracy}


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


def beside(size: str, memory: float, limit: float) -> Record:
    """A fit within `memory`, under a limit, beside the fit in memory, ingestion apart."""
    worker.run("tables", tasks=TASKS, size=size, times=1.0)
    made = worker.run("ingested", tasks=TASKS, size=size, times=1.0, memory=memory, spare=False)
    kept, place = (graphs.cache_folder() / f"whole-{size}-{name}" for name in ("kept", "files"))
    for folder in (kept, place):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    whole = worker.run("in_memory", tasks=TASKS, folder=made["folder"], kept=str(kept))
    files = worker.run(
        "on_files", tasks=TASKS, folder=made["folder"], memory=memory, limit=limit, place=str(place)
    )
    both = worker.run("compared", tasks=TASKS, place=str(place), kept=str(kept))
    for folder in (kept, place):
        shutil.rmtree(folder)
    return {
        "bench": "whole fit on files",
        "size": size,
        "nodes": made["nodes"],
        "edges": made["edges"],
        "memory_gb": memory / 1e9,
        "ingestion": made,
        "in_memory": whole,
        "on_files": files,
        "times": files["seconds"] / whole["seconds"],
        **both,
    }


def large(size: str, times: float, memory: float) -> Record:
    """A graph many times as large, once through."""
    graph = LargeGraph.of(graphs.find(size), times)
    folder = graphs.cache_folder() / f"large-{size}-{times:g}x-{graph.n_classes}"
    write(graph, folder, log=lambda line: print(line, flush=True))
    made = worker.run("ingested", tasks=TASKS, size=size, times=times, memory=memory, spare=True)
    print(made, flush=True)
    place = graphs.cache_folder() / f"whole-{size}-{times:g}x"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    files = worker.run(
        "on_files", tasks=TASKS, folder=made["folder"], memory=memory, limit=None, place=str(place)
    )
    print(files, flush=True)
    shutil.rmtree(place / "jobs")
    found = worker.run("right", tasks=TASKS, place=str(place), tables=str(folder))
    for done in (place, folder):
        shutil.rmtree(done)
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


# the page


def in_words(records: list[Record]) -> str:
    """The newest record of each question for the handbook."""
    lines = []
    newest = {record["bench"]: record for record in records}
    beside_memory = newest.get("whole fit on files")
    if beside_memory is not None:
        files, whole = beside_memory["on_files"], beside_memory["in_memory"]
        read = beside_memory["ingestion"]
        limit = (
            f"in a cgroup of {files['limit_gb']:g} GB, cached pages of files counted"
            if files["limit_gb"]
            else "without a limit but its own"
        )
        lines.append(
            f"- {beside_memory['nodes']:,} nodes, {beside_memory['edges']:,} edges with `--memory "
            f"{beside_memory['memory_gb']:g}GB`, {limit}: peak {files['peak_gb']:.2f} GB of the process, "
            f"{files['seconds']:.0f} s, {beside_memory['times']:.2f} times the {whole['seconds']:.0f} s of the fit in "
            f"memory, which took {whole['peak_gb']:.1f} GB; ingestion apart ({read['seconds']:.0f} s, "
            f"{1e6 * read['seconds'] / beside_memory['edges']:.2f} s a million edges, {read['peak_gb']:.2f} GB). "
            f"{beside_memory['same']:.3%} of the labels are the same, F is within {beside_memory['F_error']:.0e}."
        )
    many = newest.get("large graph on files")
    if many is not None:
        files, read = many["on_files"], many["ingestion"]
        node = 1e6 * files["seconds"] / many["nodes"]
        ratio = ""
        if beside_memory is not None:
            of_one = 1e6 * beside_memory["on_files"]["seconds"] / beside_memory["nodes"]
            ratio = f", {node / of_one:.2f} times that of the graph above"
        lines.append(
            f"- {many['times']:g} times that, {many['nodes']:,} nodes and {many['edges']:,} edges, with `--memory "
            f"{many['memory_gb']:g}GB`: peak {files['peak_gb']:.2f} GB, {files['seconds'] / 60:.0f} min, "
            f"{node:.0f} microseconds a node{ratio}; ingestion {read['seconds'] / 60:.0f} min, "
            f"{read['peak_gb']:.2f} GB. {many['right']:.2%} of the nodes without a label are right."
        )
    bits = {record["problem"]: record for record in records if record["bench"] == "same bits"}
    lines += [in_words_of_bits(record) for record in bits.values()]
    return "\n".join(lines)


def in_words_of_bits(record: Record) -> str:
    """What a record of `scale_bits` says."""
    name = {"arxiv": "The generated graph of ogbn-arxiv's size"}.get(record["problem"], record["problem"])
    which = "the same bits of F" if record["one_hash"] else "OTHER BITS of F"
    return (
        f"- {name}: {which} by {'; '.join(record['hashes'])} ({len(record['killed_in'])} kinds). F is within "
        f"{record['F_error']:.0e} of the fit in memory with the same candidate, {record['same_labels']:.3%} of the "
        "labels are its."
    )


def write_page(records: list[Record], page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    marks = re.compile("(<!-- whole -->\n).*?(\n?<!-- end -->)", re.DOTALL)
    words = in_words(records)
    page.write_text(marks.sub(lambda found: f"{found[1]}{words}\n<!-- end -->", text), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("question", choices=["beside", "large", "page"])
    parser.add_argument("--size", default="products", choices=list(graphs.SIZES))
    parser.add_argument("--times", type=float, default=10.0)
    parser.add_argument("--memory", help="the fit's own limit; by default 2GB, of the large one 6GB")
    parser.add_argument("--limit", type=float, default=2.5e9, help="of all memory, in bytes")
    parser.add_argument("--record", type=Path, default=Path("results/scale.jsonl"))
    parser.add_argument("--page", type=Path)
    asked = parser.parse_args()
    if asked.question == "beside":
        found = beside(asked.size, bytes_of(asked.memory or "2GB"), asked.limit)
    elif asked.question == "large":
        found = large(asked.size, asked.times, bytes_of(asked.memory or "6GB"))
    if asked.question != "page":
        print(found, flush=True)
        append_record(asked.record, found | made_on())
    if asked.page is not None:
        write_page(read_records(asked.record), asked.page)


if __name__ == "__main__":
    main()
