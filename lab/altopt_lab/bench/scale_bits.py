"""One hash: F of the same problem from any budget, from Ray with 1, 2 and 3 workers, and with a worker killed.

usage: python -m altopt_lab.bench.scale_bits [Cora PubMed arxiv] [--record results/scale.jsonl]

Each is also held to the fit in memory with the same candidate: F, and the labels. Cora and PubMed with 20 labels of
each class; arxiv is the generated graph of that size.
"""

import argparse
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from altopt import AltOpt
from altopt.arrays import Array
from altopt.datasets import load
from altopt.datasets.splits import hide, per_class
from altopt.inputs import ReducedInputs
from altopt.scale.graph_folder import GraphFolder
from altopt.scale.ray_runner import Ray
from altopt.scale.recipe import recipe_of
from altopt.scale.run import fit_files, prepare
from altopt.scale.runner import Here, Runner
from altopt.scale.store import Store
from altopt_lab.bench import graphs, mortal
from altopt_lab.bench.scale_tasks import raylets
from altopt_lab.experiments.work import made_on_files
from altopt_lab.records import Record, append_record

BUDGETS = {"Cora": (2e6, 1e9), "PubMed": (20e6, 1e9), "arxiv": (60e6, 120e6, 2e9)}
WORKERS = (1, 2, 3)
SEED = 0


def problem(name: str) -> tuple[Any, Any, Array]:
    """Graph, dense X and y with -1 where unknown."""
    if name == "arxiv":
        case = graphs.load(graphs.find("arxiv"))
        return case.adjacency(), case.X, case.known()
    data = load(name)
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    return data.graph, np.asarray(X, np.float32), hide(data.y, per_class(data.y, 20, 0, 0, seed=SEED).train)


def in_memory(name: str) -> tuple[Array, Array]:
    """F and class numbers of a fit in memory with the candidate of fits on files."""
    graph, X, y = problem(name)
    parameters = AltOpt(random_state=SEED).parameters()
    with tempfile.TemporaryDirectory() as folder:
        inputs = recipe_of(parameters, GraphFolder.of(graph, X, y, Path(folder))).inputs
    assert isinstance(inputs, ReducedInputs)
    model = AltOpt(inputs=inputs, feature_weight=2.0, label_weight=2.0, random_state=SEED)
    model.fit(X, y, graph=graph)
    return model.scores_, np.searchsorted(model.classes_, model.transduction_)


class Fitted(NamedTuple):
    """Hash of everything that a model holds of F, F itself, class numbers, and the panels that F was solved in."""

    hash: str
    F: Array
    labels: Array
    n_panels: int


def on_files(folder: Path, runner: Callable[[Store], Runner]) -> Fitted:
    """A fit of a problem on disk."""
    graph = GraphFolder.open(folder)
    with tempfile.TemporaryDirectory(dir=graphs.cache_folder()) as made:
        place = Path(made)
        with runner(Store(place / "jobs")) as running:
            parameters = AltOpt(random_state=SEED).parameters()
            ready = prepare(parameters, graph, running)
            model = fit_files(ready, place / "model")
        F = np.asarray(model.F.rows(0, model.n_nodes))
        labels = model.predictions(0, model.n_nodes)[0]
        digest = blake2b(F.tobytes(), digest_size=16).hexdigest()
        return Fitted(digest, F, np.asarray(labels), len(ready.fitting.plan.f_columns))


def tried(name: str) -> Record:
    """All ways on one problem."""
    expected, expected_labels = in_memory(name)
    folder = graphs.cache_folder() / f"bits-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    GraphFolder.of(*problem(name), folder)
    ways: dict[str, Callable[[Store], Runner]] = {
        f"{budget / 1e6:g} MB": lambda store, budget=budget: Here(store, int(budget))  # type: ignore[misc]
        for budget in BUDGETS[name]
    }
    least = int(min(BUDGETS[name]))  # the most panels, so that workers have something to share
    ways |= {
        f"Ray, {n} worker{'s' * (n > 1)}": lambda store, n=n: Ray(store, n, budget=least)  # type: ignore[misc]
        for n in WORKERS
    }
    found: dict[str, str] = {}
    panels: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as orders:
        os.environ[mortal.ORDERS] = orders
        with raylets([max(WORKERS)], least):
            for who, runner in ways.items():
                fitted = on_files(folder, runner)
                found[who], panels[who] = fitted.hash, fitted.n_panels
                print(name, who, found[who], panels[who], "panels", flush=True)
            kinds = sorted(path.name.removeprefix("seconds-") for path in Path(orders).glob("seconds-*"))
            for kind in kinds:
                (Path(orders) / f"die-{kind}").touch()
            who = "Ray, 2 workers, killed once in each kind of job"
            fitted = on_files(folder, lambda store: Ray(store, 2, budget=least))
            found[who], panels[who] = fitted.hash, fitted.n_panels
            left = sorted(path.name for path in Path(orders).glob("die-*"))
    shutil.rmtree(folder)
    return {
        "bench": "same bits",
        "problem": name,
        "hashes": found,
        "panels": panels,
        "one_hash": len(set(found.values())) == 1,
        "killed_in": [kind for kind in kinds if f"die-{kind}" not in left],
        "F_error": float(np.linalg.norm(fitted.F - expected) / np.linalg.norm(expected)),
        "F_furthest": float(np.abs(fitted.F - expected).max()),
        "same_argmax": float(np.mean(fitted.F.argmax(axis=1) == expected.argmax(axis=1))),
        "same_labels": float(np.mean(fitted.labels == expected_labels)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("problems", nargs="*", choices=[*BUDGETS, []], default=[])
    parser.add_argument("--record", type=Path)
    asked = parser.parse_args()
    for name in asked.problems or BUDGETS:
        record = tried(name)
        print(json.dumps(record, indent=1), flush=True)
        if asked.record is not None:
            append_record(asked.record, record | made_on_files())


if __name__ == "__main__":
    main()
