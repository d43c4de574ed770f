"""One model used by several threads: F is as near to the solution as updates said, and readers get whole answers."""

import copy
import pickle
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from altopt import AltOpt, Graph
from altopt_lab.trust.doors import Problem, distance_to_truth
from altopt_lab.trust.known.case import FINE, Case, fault
from altopt_lab.trust.part import Outcome

WEIGHT = 2.0
N, N_CLASSES = 400, 4
Use = Callable[[Any, int], Any]


def holds(
    folder: Path, change: Use, read: Use | None = None, n_updates: int = 60, n_threads: int = 4
) -> Outcome:
    """Several threads change the model, one more reads it; then F against a dense solution."""
    problem = Problem(N, N_CLASSES, 8)
    problem.graph = Graph(problem.graph.adjacency, nodes=[f"n{k}" for k in range(N)])
    model = problem.fit(feature_weight=WEIGHT, label_weight=WEIGHT)
    bounds: list[float] = []
    faults: list[str] = []
    ended = threading.Event()

    def guarded(job: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                job()
            except Exception as error:
                faults.append(f"{type(error).__name__}: {error}")

        return run

    def changes(k: int) -> None:
        for j in range(n_updates):
            bounds.append(change(model, k * n_updates + j).error_bound)

    def reads() -> None:
        k = 0
        while not ended.is_set():
            k += 1
            if read is not None:
                read(model, k)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads change places often
    try:
        writers = [threading.Thread(target=guarded(partial(changes, k))) for k in range(n_threads)]
        reader = threading.Thread(target=guarded(reads))
        for thread in (*writers, reader):
            thread.start()
        for thread in writers:
            thread.join()
        ended.set()
        reader.join()
    finally:
        sys.setswitchinterval(interval)
    if faults:
        return fault(faults[0][:300])
    model.save(folder / "model")
    again = AltOpt.load(folder / "model")
    bound = max(bounds)
    for name, held in (("in memory", model), ("stored", again)):
        distance = distance_to_truth(held, WEIGHT, WEIGHT)
        if not distance <= bound * 1.01 + 1e-6:  # F is stored in single precision
            return fault(f"{name}: the bound says {bound:.1e}, F is {distance:.1e} from the solution")
    return FINE


def label(model: AltOpt, k: int) -> Any:
    return model.update(labels={f"n{k * 131 % N}": k % N_CLASSES})


def label_and_edge(model: AltOpt, k: int) -> Any:
    return model.update(
        labels={f"n{k * 131 % N}": k % N_CLASSES}, edges=[(f"n{k % N}", f"n{(k * 7 + 3) % N}")]
    )


def new_node(model: AltOpt, k: int) -> Any:
    row = np.asarray(np.random.default_rng(k).random((1, model.n_features_in_)))
    return model.update(nodes=[f"new{k}"], features=row, edges=[(f"new{k}", f"n{k % N}")])


def explain(model: AltOpt, k: int) -> None:
    """Shares that sum to the row of F that the explanation belongs to."""
    told = model.explain(f"n{k % N}")
    amounts = [entry[-1] for entry in (*told.from_labels, *told.from_features)]
    if abs(sum(amounts) - told.total) > 1e-4:
        raise AssertionError(f"an explanation's amounts sum to {sum(amounts):.6f}, not to {told.total:.6f}")


def look(model: AltOpt, k: int) -> None:
    sums = model.label_distributions_.sum(axis=1)
    if not np.allclose(sums, 1.0, atol=1e-5):
        raise AssertionError("probabilities that do not sum to one")
    if len(model.transduction_) != len(sums) or len(model.labelled_) != len(sums):
        # two attributes read one after the other may be of two moments; each by itself must be whole
        return


def saves(model: AltOpt, k: int) -> None:
    """A model stored between updates is whole."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        distance = distance_to_truth(AltOpt.load(Path(folder) / "model"), WEIGHT, WEIGHT)
    if not distance < 1e-4:
        raise AssertionError(f"a model stored between updates is {distance:.1e} from the solution")


def copies(model: AltOpt, k: int) -> None:
    held = copy.deepcopy(model) if k % 2 else pickle.loads(pickle.dumps(model))
    distance = distance_to_truth(held, WEIGHT, WEIGHT)
    if not distance < 1e-4:
        raise AssertionError(f"a copy taken between updates is {distance:.1e} from the solution")


CASES = [
    Case("labels from four threads", partial(holds, change=label), seconds=60),
    Case(
        "labels and edges, explained meanwhile",
        partial(holds, change=label_and_edge, read=explain),
        False,
        60,
    ),
    Case("new nodes, read meanwhile", partial(holds, change=new_node, read=look, n_updates=20), False, 60),
    Case("labels, copied meanwhile", partial(holds, change=label, read=copies), False, 60),
]
