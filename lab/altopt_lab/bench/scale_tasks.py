"""Tasks of `altopt bench scale` for a process of their own: steps with edges on disk, ingestion, fits by runners."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from altopt import AltOpt
from altopt.scale.csr_file import CsrFile
from altopt.scale.edge_stream import EdgeStream
from altopt.scale.graph_folder import GraphFolder
from altopt.scale.ingest import ingest
from altopt.scale.panel import Labels, PanelSystem, ViewWeights
from altopt.scale.plan import Plan
from altopt.scale.ray_runner import OBJECT_STORE, Ray
from altopt.scale.run import Ready, prepare
from altopt.scale.runner import Here, Runner
from altopt.scale.store import Store
from altopt.threads import available_processors
from altopt_lab.bench import graphs
from altopt_lab.bench.large import LargeGraph, write
from altopt_lab.bench.timing import Contestant, Timing, race
from altopt_lab.bench.worker import measured, resident_gb

WIDTHS = (8, 16, 24, 32, 48, 64)
EVERYTHING = 1 << 50  # bytes: no limit
CAP = 120.0
STORAGE = "float16"  # of panels where runners are compared, as at the full size
HEADLESS = {"include_dashboard": False}


# steps


def stored_edges(size: str) -> CsrFile:
    """The edges of a size on disk, nodes as they came."""
    folder = graphs.cache_folder() / f"{size}-edges"
    if not (folder / "manifest.json").exists():
        CsrFile.of(graphs.load(graphs.find(size)).adjacency(), folder)
    return CsrFile.open(folder)


def steps(size: str, repeats: int) -> dict[str, Any]:
    """One step in memory, as a fit there does it, and with the edges on disk; a panel as wide as there are classes."""
    csr, width = stored_edges(size), graphs.find(size).n_classes
    case = graphs.load(graphs.find(size))
    F = np.random.default_rng(graphs.SEED).random((csr.n_nodes, width), dtype=np.float32)

    def in_memory() -> Callable[[], object]:
        on = case.operator.backend(width, "float16", cache_order=False)
        G, out, rest = on.to_layout(F), on.empty(), on.to_layout(F)
        scale, diagonal = on.vector(0.5), on.vector(0.1)
        return lambda: on.step(G, out, scale, diagonal, rest)

    contestants = [
        Contestant("in memory, as a fit in memory does it", in_memory, "ours"),
        Contestant("in memory, block by block", partial(block_step, csr, width, EVERYTHING), "ours"),
        Contestant("edges on disk", partial(block_step, csr, width, 0), "ours"),
        Contestant(
            "edges on disk, without norms, as in folds and the last solve",
            partial(block_step, csr, width, 0, with_norms=False),
            "ours",
        ),
    ]
    return {"timings": [told(timing) for timing in race(contestants, repeats, CAP)]}


def widths(size: str, repeats: int) -> dict[str, Any]:
    """One step with the edges on disk, panels of several widths."""
    csr = stored_edges(size)
    contestants = [
        Contestant(f"{width} columns", partial(block_step, csr, width, 0), "ours") for width in WIDTHS
    ]
    timings = [told(timing) for timing in race(contestants, repeats, CAP)]
    for timing, width in zip(timings, WIDTHS):
        timing["width"] = width
    return {"timings": timings}


def block_step(csr: CsrFile, width: int, memory: int, with_norms: bool = True) -> Callable[[], object]:
    """A step on a panel of float16 as in the rounds; `memory`: bytes that edges may take."""
    nobody = Labels(np.empty(0, np.int64), np.empty(0, np.int32))
    edges = EdgeStream(csr, memory)
    system = PanelSystem(edges, ViewWeights(1.0, 1.0), nobody, (0, width), np.float16)
    rng = np.random.default_rng(graphs.SEED)
    X, out, rest = (system.empty() for _ in range(3))
    for block in (X, rest):
        for first in range(0, csr.n_nodes, 1 << 16):
            part = block[first : first + (1 << 16)]
            part[...] = rng.random(part.shape, dtype=np.float32)
    return lambda: system.step(X, out, rest, gain=0.5, keep=0.5, beta=0.1, with_norms=with_norms)


def told(timing: Timing) -> dict[str, Any]:
    return timing.row(None)


# problems on disk


def datasets(size: str, times: float, n_classes: int | None = None) -> tuple[LargeGraph, Path]:
    """A generated graph and the folder of its Parquet datasets."""
    wanted = graphs.find(size)
    wanted = wanted if n_classes is None else replace(wanted, n_classes=n_classes)
    graph = LargeGraph.of(wanted, times)
    return graph, graphs.cache_folder() / f"large-{size}-{times:g}x-{graph.n_classes}"


def tables(size: str, times: float, n_classes: int | None = None) -> dict[str, Any]:
    """The datasets written once; for a process of its own, so that the memory this takes is not counted."""
    graph, folder = datasets(size, times, n_classes)
    write(graph, folder)
    return {"folder": str(folder)}


def ingestion(
    size: str, times: float, memory: float, target: str | None = None, n_classes: int | None = None
) -> dict[str, Any]:
    """Datasets that are there to a GraphFolder, at `target` or in a place that is removed."""
    graph, folder = datasets(size, times, n_classes)
    measures: dict[str, Any] = {"empty_gb": resident_gb()}
    with tempfile.TemporaryDirectory(dir=graphs.cache_folder()) as passing:
        place = Path(passing) / "graph" if target is None else Path(target)
        with measured(measures):
            stored = read_datasets(folder, place, memory)
    return measures | {"nodes": stored.n_nodes, "edges": graph.n_edges}


def read_datasets(folder: Path, target: Path, memory: float) -> GraphFolder:
    return ingest(
        folder / "edges", folder / "labels.parquet", target, features=folder / "features", memory=memory
    )


def problem(size: str, times: float, n_classes: int, memory: float = 2e9) -> GraphFolder:
    """A problem on disk, made once."""
    graph, folder = datasets(size, times, n_classes)
    write(graph, folder)
    return read_datasets(folder, folder / "problem", memory)


# fits by runners


def ready_fit(graph: GraphFolder, runner: Runner, storage: str | None = None) -> Ready:
    """A fit as AltOpt() prepares it; with `storage`, panels of F and Z are kept in it, as those of large graphs are."""
    ready = prepare(AltOpt(random_state=graphs.SEED).parameters(), graph, runner)
    fitting = ready.fitting
    if storage is not None:
        n_inputs = fitting.plan.z_columns[-1][1]
        fitting.plan = Plan.of(graph.n_nodes, len(graph.classes), n_inputs, runner.budget, storage, storage)
    return ready


def fit(
    graph: GraphFolder, runner: Runner, storage: str | None = None, judged: bool = False
) -> dict[str, Any]:
    """Warm-up, a last solve of F and the rounds; the hash of all bits, seconds, and of them the last solve's.

    With `judged` held-out labels, own influence and unreached nodes too: every kind of job that a fit has.
    """
    ready = ready_fit(graph, runner, storage)
    fitting, evaluation = ready.fitting, ready.evaluation
    began, cpu = time.perf_counter(), time.process_time()
    encoder = fitting.warm_up()
    prepared = time.perf_counter()
    fitting.finish(encoder, "labels")  # no input of the rounds, which begin at the same place
    solved = time.perf_counter()
    rounds = fitting.alternate()
    ended = time.perf_counter()
    found = [runner.store.path(job.file("F")).read_bytes() for job in rounds.F]
    if judged:
        assert evaluation is not None
        evaluation.prepare()
        parts = [part for scores in evaluation.by_fold for part in scores]
        found += [part.tobytes() for part in (*parts, evaluation.inverse_diagonal(), evaluation.unreached())]
    return {
        "hash": blake2b(b"".join(found), digest_size=16).hexdigest(),
        "seconds": ended - solved + prepared - began,
        "solve": solved - prepared,
        "cpu": time.process_time() - cpu,  # of this process: of jobs on Ray, only what their driver does
        "rounds": rounds.n_done,
        "bytes": runner.store.bytes_read + runner.store.bytes_written,
    }


@contextmanager
def fresh_store() -> Iterator[Store]:
    with tempfile.TemporaryDirectory(dir=graphs.cache_folder()) as folder:
        yield Store(folder)


@contextmanager
def threads(number: int) -> Iterator[None]:
    """So many threads of kernels, which read the environment at each call, and of BLAS, which does so when loaded."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = str(number)
    try:
        with ThreadpoolController().limit(limits=number):
            yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


def here(graph: GraphFolder, budget: int, n_threads: int) -> dict[str, Any]:
    with threads(n_threads), fresh_store() as store:
        return fit(graph, Here(store, budget), STORAGE)


def by_ray(graph: GraphFolder, budget: int, workers: int) -> dict[str, Any]:
    """By workers of the cluster that runs."""
    with fresh_store() as store, Ray(store, workers, budget=budget) as runner:
        return fit(graph, runner, STORAGE)


def workers(size: str, times: float, n_classes: int, budget: int, repeats: int) -> dict[str, Any]:
    """One process of one core against Ray with one and two workers of one core, by turns."""
    graph = problem(size, times, n_classes)
    with raylets([available_processors()], budget):
        ways = {
            "one process, one core": lambda: here(graph, budget, 1),
            "Ray, 1 worker": lambda: by_ray(graph, budget, 1),
            "Ray, 2 workers": lambda: by_ray(graph, budget, 2),
        }
        return turns(ways, repeats)


def four_raylets(size: str, times: float, n_classes: int, budget: int, repeats: int) -> dict[str, Any]:
    """One process with all cores against four raylets of one worker each."""
    graph = problem(size, times, n_classes)
    with raylets([1] * 4, budget):
        ways = {
            "one process, all cores": lambda: here(graph, budget, available_processors()),
            "4 raylets": lambda: by_ray(graph, budget, 4),
        }
        return turns(ways, repeats)


def turns(ways: dict[str, Callable[[], dict[str, Any]]], repeats: int) -> dict[str, Any]:
    """Every way once to warm up and then `repeats` times, by turns."""
    runs: dict[str, list[dict[str, Any]]] = {who: [] for who in ways}
    for number in range(repeats + 1):
        for who, way in ways.items():
            run = way()
            if number:
                runs[who].append(run)
    return {"runs": runs}


@contextmanager
def raylets(processors: list[int], budget: int) -> Iterator[Any]:
    """A cluster of as many raylets, with so many processors each, to which this process is connected."""
    ray, clusters = import_module("ray"), import_module("ray.cluster_utils")

    os.environ |= {
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
    }  # of this process, made for a task
    cluster = clusters.Cluster(initialize_head=True, head_node_args=machine(processors[0], budget) | HEADLESS)
    try:
        for number in processors[1:]:
            cluster.add_node(**machine(number, budget))
        cluster.wait_for_nodes()
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def machine(n_processors: int, budget: int) -> dict[str, Any]:
    return {"num_cpus": n_processors, "memory": n_processors * budget, "object_store_memory": OBJECT_STORE}
