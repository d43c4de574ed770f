"""What is timed in a process of its own: a few epochs of each method on a generated graph, after a warm-up."""

import time
from collections.abc import Callable
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
        setup = Stopwatch()
        train = NETWORKS[method](case)
        found |= setup.read("setup")
        train()
        epochs = []
        for _ in range(n_epochs):
            watch = Stopwatch()
            train()
            epochs.append(watch.read("epoch"))
    return (
        found
        | {key: median(epoch[key] for epoch in epochs) for key in epochs[0]}
        | {"epochs_timed": n_epochs}
    )


def ours(size: str, n_epochs: int) -> dict[str, Any]:
    """The parts of ALT-OPT: setting up, an update of F with all that belongs to it, and an epoch of the encoder.

    Three fits of the paper's form: a round of one epoch; three such rounds; three rounds with `n_epochs` more each.
    What the first two differ by is two rounds, and what the last two differ by is epochs. `n_labels` rows are given,
    `n_rows` trained on.
    """
    import_all()
    case, found = case_of(size), dict[str, Any]()
    X, y, A = case.X, case.known(), case.adjacency()
    encoder = MLPEncoder(hidden=case.size.gnn_hidden, weight_decay=5e-5, input_dropout=0.0)
    models, taken = [], []
    with measured(found):
        for n_rounds, epochs in ((1, 1), (3, 1), (3, 1 + n_epochs)):
            model = AltOpt.paper(
                n_rounds=n_rounds,
                total_epochs=n_rounds * epochs,
                n_warmup=1,
                n_pseudo=PER_CLASS.get(size, 100),
                encoder=encoder,
                random_state=sizes.SEED,
            )
            watch = Stopwatch()
            models.append(model.fit(X, y, graph=A))
            taken.append(watch.read(""))
    for kind in ("", "_cpu"):
        one, three, longer = (part[kind] for part in taken)
        epoch = (longer - three) / (3 * n_epochs)
        update = max((three - one) / 2 - epoch, 0.0)
        found |= {f"epoch{kind}": epoch, f"update{kind}": update}
        found[f"setup{kind}"] = max(one - 2 * update - 2 * epoch, 0.0)  # warm-up and round: an epoch each
    n_labels = int(models[0].labelled_.sum())
    rows = {"n_labels": n_labels, "n_rows": n_labels + models[0].trace_[0]["n_selected"]}
    return found | rows | {"epochs_timed": 3 * n_epochs}


class Stopwatch:
    """Wall time and the CPU time of all threads since it was made."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self, name: str) -> dict[str, float]:
        return {name: time.perf_counter() - self.wall, f"{name}_cpu": time.process_time() - self.cpu}
