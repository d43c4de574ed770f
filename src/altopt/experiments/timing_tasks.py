"""What is timed in a process of its own: a few epochs of each method on a generated graph, after a warm-up."""

import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

from altopt import AltOpt
from altopt.bench import networks, sizes
from altopt.bench.child import measured
from altopt.bench.machine import same_threads
from altopt.bench.sizes import Case
from altopt.encoders import MLPEncoder
from altopt.splits import fraction

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
    case = sizes.load(sizes.find(size))
    vars(case)["train"] = fraction(case.y, case.size.train_share, seed=sizes.SEED).train
    return case


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
    case, found = case_of(size), dict[str, Any]()
    with same_threads(case.numbers), measured(found):
        began = time.perf_counter()
        train = NETWORKS[method](case)
        found["setup"] = time.perf_counter() - began
        train()
        walls = []
        for _ in range(n_epochs):
            began = time.perf_counter()
            train()
            walls.append(time.perf_counter() - began)
    return found | {"epoch": median(walls), "epochs_timed": n_epochs}


def ours(size: str, n_epochs: int) -> dict[str, Any]:
    """The parts of ALT-OPT: setting up, an update of F with all that belongs to it, and an epoch of the encoder.

    Two fits of the paper's form: one with a single epoch a round, one with `n_epochs` more; what they differ by is
    epochs, and what is left of a round is the update. `n_labels` rows are given, `n_rows` trained on.
    """
    import_all()
    case, found = case_of(size), dict[str, Any]()
    X, y, A = case.X, case.known(), case.adjacency()
    encoder = MLPEncoder(hidden=case.size.gnn_hidden, weight_decay=5e-5, input_dropout=0.0)
    rounds = 3

    def fit(epochs: int) -> tuple[AltOpt, float]:
        model = AltOpt.paper(
            n_rounds=rounds,
            total_epochs=rounds * epochs,
            n_warmup=1,
            n_pseudo=PER_CLASS.get(size, 100),
            encoder=replace(encoder),
            random_state=sizes.SEED,
        )
        began = time.perf_counter()
        model.fit(X, y, graph=A)
        return model, time.perf_counter() - began

    with measured(found):
        short, seconds = fit(1)
        long, _ = fit(1 + n_epochs)
    inside = [entry["seconds"] for entry in short.trace_[:rounds]]
    longer = [entry["seconds"] for entry in long.trace_[:rounds]]
    epoch = (median(longer) - median(inside)) / n_epochs
    n_labels = int(short.labelled_.sum())
    return found | {
        "epoch": epoch,
        "update": max(median(inside) - epoch, 0.0),
        "setup": seconds - sum(entry["seconds"] for entry in short.trace_),
        "n_labels": n_labels,
        "n_rows": n_labels + short.trace_[0]["n_selected"],
        "epochs_timed": rounds * n_epochs,
    }
