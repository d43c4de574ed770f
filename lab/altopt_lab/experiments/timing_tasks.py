"""Timing tasks for a process of their own: a few epochs of each method on a generated graph."""

import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from altopt import AltOpt
from altopt.arrays import shares
from altopt.datasets.splits import fraction
from altopt.encoders import MLPEncoder
from altopt.inputs import encoder_rows
from altopt_lab.bench import graphs, networks
from altopt_lab.bench.graphs import Case
from altopt_lab.bench.machine import same_threads
from altopt_lab.bench.worker import measured

NETWORKS: dict[str, Callable[[Case], Callable[[], object]]] = {
    "MLP": networks.mlp,
    "SGC": lambda case: networks.mlp(case, n_hops=2),  # with the layers that all others have, as in the paper
    "SIGN": networks.sign,
    "GCN": lambda case: networks.gcn(case, "CSR"),
    "APPNP": lambda case: networks.appnp(case, "CSR"),
}
PER_CLASS = {
    "arxiv": 500,
    "products": 5000,
}  # pseudo labels, from the paper's choices for graphs of this size


def case_of(size: str) -> Case:
    """The generated graph with as many labels as the graph it is named after has."""
    case = graphs.load(graphs.find(size))
    return replace(case, labelled=fraction(case.y, case.size.train_share, seed=graphs.SEED).train)


def import_all() -> None:
    """What is imported on the way is no part of anyone's time, and of everyone's memory."""
    import torch
    import torch_geometric.nn  # noqa: F401

    weight = torch.ones(1, requires_grad=True)
    weight.sum().backward()  # type: ignore[no-untyped-call]
    torch.optim.Adam([weight]).step()


def network(method: str, size: str, n_epochs: int) -> dict[str, Any]:
    """Seconds to set a network up and of each of some epochs, after one to warm up; peak memory."""
    import_all()
    case, measures = case_of(size), dict[str, Any]()
    with same_threads(case.numbers), measured(measures):
        setup = Stopwatch()
        train = NETWORKS[method](case)
        measures |= setup.read("setup")
        train()
        epochs = []
        for _ in range(n_epochs):
            watch = Stopwatch()
            train()
            epochs.append(watch.read("epoch"))
    return (
        measures
        | {key: median(epoch[key] for epoch in epochs) for key in epochs[0]}
        | {"epochs_timed": n_epochs}
    )


def ours(size: str, n_epochs: int) -> dict[str, Any]:
    """The parts of ALT-OPT: setting up, an update of F with all that belongs to it, and an epoch of the encoder.

    Two fits of the paper's form, of one update of F and of three, an epoch between two of them, differ by two of both.
    Epochs are timed by themselves, on as many rows as a round trains on: `n_labels` are given, `n_rows` trained on.
    """
    import_all()
    case, measures = case_of(size), dict[str, Any]()
    X, y, A = case.X, case.known(), case.adjacency()
    encoder = MLPEncoder(hidden=case.size.gnn_hidden, weight_decay=5e-5, input_dropout=0.0)
    seconds = []
    with measured(measures):
        for n_rounds in (1, 3):
            model = AltOpt.paper(
                n_rounds=n_rounds,
                total_epochs=n_rounds,
                n_warmup=1,
                n_pseudo=PER_CLASS.get(size, 100),
                encoder=encoder,
                random_state=graphs.SEED,
            )
            watch = Stopwatch()
            model.fit(X, y, graph=A)
            seconds.append(watch.read("fit"))
        n_labels = int(model.labelled_.sum())
        n_rows = n_labels + model.trace_[0]["n_selected"]
        epoch = timed_epoch(model, n_rows, n_epochs)
    for kind in ("", "_cpu"):
        one, three = (part[f"fit{kind}"] for part in seconds)
        update = max((three - one) / 2 - epoch[f"epoch{kind}"], 0.0)
        measures |= {f"epoch{kind}": epoch[f"epoch{kind}"], f"update{kind}": update}
        before = one - update - epoch[f"epoch{kind}"]  # the warm-up is one epoch
        measures[f"setup{kind}"] = max(before, 0.0)
    return measures | {"n_labels": n_labels, "n_rows": n_rows, "epochs_timed": n_epochs}


def timed_epoch(model: AltOpt, n_rows: int, n_epochs: int) -> dict[str, float]:
    """Seconds of an epoch of the model's encoder on so many rows, by what a longer training takes more."""
    chosen = np.sort(np.random.default_rng(graphs.SEED).permutation(len(model.scores_))[:n_rows])
    rows, targets, weights = (
        encoder_rows(model.inputs_)[chosen],
        shares(model.scores_[chosen]),
        np.ones(n_rows),
    )
    learner = model.plan_.encoder.begin(rows.shape[1], targets.shape[1], graphs.SEED)
    learner.train(rows, targets, weights, 1)
    seconds = []
    for epochs in (1, 1 + n_epochs):
        watch = Stopwatch()
        learner.train(rows, targets, weights, epochs)
        seconds.append(watch.read("epoch"))
    return {key: (seconds[1][key] - seconds[0][key]) / n_epochs for key in seconds[0]}


class Stopwatch:
    """Wall time and the CPU time of all threads since it was made."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self, name: str) -> dict[str, float]:
        return {name: time.perf_counter() - self.wall, f"{name}_cpu": time.process_time() - self.cpu}
