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
from typing import Any

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
from altopt_lab.experiments.work import made_on
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


def on_files(folder: Path, runner: Callable[[Store], Runner]) -> tuple[str, Array, Array]:
    """Hash of everything that the model holds of F, F itself, and class numbers."""
    graph = GraphFolder.open(folder)
    with tempfile.TemporaryDirectory(dir=graphs.cache_folder()) as made:
        place = Path(made)
        with runner(Store(place / "jobs")) as running:
            parameters = AltOpt(random_state=SEED).parameters()
            model = fit_files(prepare(parameters, graph, running), place / "model")
        F = np.asarray(model.F.rows(0, model.n_nodes))
        labels = model.predictions(0, model.n_nodes)[0]
        return blake2b(F.tobytes(), digest_size=16).hexdigest(), F, np.asarray(labels)


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
    least = int(max(BUDGETS[name]))
    ways |= {
        f"Ray, {n} worker{'s' * (n > 1)}": lambda store, n=n: Ray(store, n, budget=least)  # type: ignore[misc]
        for n in WORKERS
    }
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as orders:
        os.environ[mortal.ORDERS] = orders
        with raylets([max(WORKERS)], least):
            for who, runner in ways.items():
                found[who], F, labels = on_files(folder, runner)
                print(name, who, found[who], flush=True)
            kinds = sorted(path.name.removeprefix("seconds-") for path in Path(orders).glob("seconds-*"))
            for kind in kinds:
                (Path(orders) / f"die-{kind}").touch()
            found["Ray, 2 workers, killed once in each kind of job"] = on_files(
                folder, lambda store: Ray(store, 2, budget=least)
            )[0]
            left = sorted(path.name for path in Path(orders).glob("die-*"))
    shutil.rmtree(folder)
    return {
        "bench": "same bits",
        "problem": name,
        "hashes": found,
        "one_hash": len(set(found.values())) == 1,
        "killed_in": [kind for kind in kinds if f"die-{kind}" not in left],
        "F_error": float(np.linalg.norm(F - expected) / np.linalg.norm(expected)),
        "F_furthest": float(np.abs(F - expected).max()),
        "same_labels": float(np.mean(labels == expected_labels)),
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
            append_record(asked.record, record | made_on())


if __name__ == "__main__":
    main()
