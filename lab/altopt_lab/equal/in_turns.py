"""Epochs of all methods and the parts of ALT-OPT, timed in turns in one process: other load affects all alike."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from altopt import AltOpt, Graph
from altopt.arrays import Array
from altopt.encoders import MLPEncoder
from altopt.inputs import DiffusedInputs, InputSource, encoder_rows
from altopt.solvers import GradientSteps
from altopt.training.pseudo_labels import TopPerClass
from altopt.views import FeatureView, GraphView, LabelView, Objective
from altopt_lab import provenance
from altopt_lab.baselines import BASELINES
from altopt_lab.baselines.baseline import GraphData
from altopt_lab.bench import graphs, networks, worker
from altopt_lab.bench.graphs import Case
from altopt_lab.bench.machine import same_threads
from altopt_lab.bench.timing import Contestant, race
from altopt_lab.experiments.timing_tasks import NETWORKS, PER_CLASS, case_of, import_all
from altopt_lab.experiments.work import Contexts, Work
from altopt_lab.records import Record

BATCH = 32_768  # rows
UPDATE, SELECTION, PREDICTION = "update of F", "selection of pseudo labels", "prediction for all nodes"
ENCODER, ENCODER_BATCHES, DIFFUSION = "encoder", "encoder, mini-batches", "diffusion of X"
PARTS = (DIFFUSION, ENCODER, ENCODER_BATCHES, UPDATE, SELECTION, PREDICTION)
LAYERS = ("MLP", "SGC", "SIGN", "GCN", "APPNP")  # PyTorch Geometric's, where they propagate in every epoch
WITH_OUR_OPERATOR = ("GCN, our operator", "APPNP, our operator")
IN_BATCHES = ("MLP, mini-batches", "SGC, mini-batches")


def in_turns(size: str, n_turns: int, cap: float) -> dict[str, Any]:
    """Wall and CPU seconds of an epoch of each method, and of each part of ALT-OPT."""
    import_all()
    case = case_of(size)
    contestants = [Contestant(name, partial(NETWORKS[name], case)) for name in LAYERS]
    contestants += [
        Contestant(name, partial(own_epoch, case, name.partition(",")[0])) for name in WITH_OUR_OPERATOR
    ]
    contestants += [
        Contestant(name, partial(batch_epoch, case, hops)) for name, hops in zip(IN_BATCHES, (0, 2))
    ]
    with same_threads(case.numbers):
        parts = our_parts(case)
        contestants += [Contestant(name, partial(parts.__getitem__, name), kind="ours") for name in parts]
        timings = race(contestants, n_turns, cap)
    return {
        "times": {
            timing.who: {
                "wall": median(timing.walls),
                "least_wall": min(timing.walls),
                "cpu": median(timing.cpus),
                "runs": len(timing.walls),
            }
            for timing in timings
            if timing.walls
        },
        "notes": {timing.who: timing.note for timing in timings if timing.note},
        "turns": n_turns,
        "n_labels": len(case.train),
    }


def own_epoch(case: Case, method: str) -> Callable[[], object]:
    """An epoch of a peer whose products are ours, forth and back."""
    import torch
    from torch.nn.functional import cross_entropy

    from altopt.operator.kernels.dropout import Masks

    *hidden, last = case.size.gnn_hidden
    make: Any = BASELINES[method]
    kind = make(hidden=last, n_layers=len(hidden) + 2, scale_rows=False)
    graph_input = kind.prepare(GraphData(case.dense_X(), Graph(case.adjacency()), case.known()))
    torch.manual_seed(graphs.SEED)
    network = kind.network(case.size.n_features, case.size.n_classes, Masks(graphs.SEED))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=5e-4)
    batch, wanted = graph_input.batch(case.train), torch.from_numpy(case.y[case.train])
    network.train()

    def train() -> None:
        optimizer.zero_grad()
        cross_entropy(network(batch), wanted).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return train


def batch_epoch(case: Case, n_hops: int) -> Callable[[], object]:
    """An epoch of the encoder by itself on the labelled rows, in mini-batches as ALT-OPT's may have them."""
    import torch
    from torch.nn.functional import cross_entropy

    from altopt_lab.bench.propagate import torch_csr

    X = torch.from_numpy(case.dense_X())
    for _ in range(n_hops):
        X = torch_csr(case) @ X
    torch.manual_seed(graphs.SEED)
    network, rows, wanted = networks.perceptron(case), X[case.train], torch.from_numpy(case.y[case.train])
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=5e-4)

    def train() -> None:
        order = torch.randperm(len(rows))
        for first in range(0, len(rows), BATCH):
            chosen = order[first : first + BATCH]
            optimizer.zero_grad()
            cross_entropy(network(rows[chosen]), wanted[chosen]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()

    return train


def our_parts(case: Case) -> dict[str, Callable[[], object]]:
    """What a training of the paper's form is made of, each by itself, on a model that was fitted for two updates."""
    n_pseudo = PER_CLASS.get(case.size.name, 100)
    encoder = MLPEncoder(
        hidden=case.size.gnn_hidden, weight_decay=5e-5, input_dropout=0.0, reduction="sum", loss="mse"
    )
    graph = Graph(case.adjacency())
    model = AltOpt.paper(
        n_rounds=2, total_epochs=2, n_warmup=1, n_pseudo=n_pseudo, encoder=encoder, random_state=graphs.SEED
    ).fit(case.X, case.known(), graph=graph)
    A_tilde, F, P = case.operator, model.scores_, model.encoder_output_
    Y = np.eye(case.size.n_classes, dtype=P.dtype)[case.y[case.train]]
    views = [FeatureView(P, 0.5), GraphView(A_tilde), LabelView(Y, model.labelled_, 5.0)]
    solver, rule, rows = GradientSteps(n_steps=10), TopPerClass(n_pseudo, 0.1), encoder_rows(model.inputs_)
    start = rule.next_start(F)
    nodes, weights = rule.choose(rule.read(F), model.labelled_, graphs.SEED)
    chosen = np.concatenate([case.train, nodes])
    w = np.concatenate([np.ones(len(case.train)), weights])
    source = InputSource(graph, A_tilde, case.X, 0.1, 10, graphs.SEED)
    learner = model.encoder_

    def select() -> object:
        reading = rule.read(F)
        return rule.choose(reading, model.labelled_, graphs.SEED), rule.next_start(F)

    def epoch_of(settings: MLPEncoder) -> Callable[[], object]:
        trained = settings.begin(rows.shape[1], case.size.n_classes, graphs.SEED)
        X, targets = rows[chosen], shares_of(start, chosen)
        return lambda: trained.train(X, targets, w, 1)

    return {
        DIFFUSION: lambda: DiffusedInputs(scale_rows=True).prepare(source),
        ENCODER: epoch_of(encoder),
        ENCODER_BATCHES: epoch_of(MLPEncoder(**{**vars(encoder), "batch_size": BATCH})),
        UPDATE: lambda: solver.solve(Objective(views), start),
        SELECTION: select,
        PREDICTION: lambda: learner.predict(rows),
    }


def shares_of(S: Array, nodes: Array) -> Array:
    return np.ascontiguousarray(S[nodes])


@dataclass(frozen=True)
class InTurns(Work):
    """All methods at one size, on one occasion.

    Parameters
    ----------
    size : str
    n_turns : int
    cap : float
        Seconds after which a contestant rests.
    """

    size: str
    n_turns: int = 9
    cap: float = 120.0

    @property
    def key(self) -> str:
        return f"in turns, {self.size} size"

    @property
    def depends_on(self) -> str:
        return provenance.PAPER_ON_GRAPH

    def identity(self) -> Record:
        return {"size": self.size, "facts": graphs.find(self.size).facts()}

    def measure(self, contexts: Contexts) -> Record:
        return worker.run("in_turns", tasks=__name__, size=self.size, n_turns=self.n_turns, cap=self.cap)


def trainings(line: Record, epochs: int, kind: str = "wall") -> dict[str, float]:
    """Seconds of a whole training of each method, put together from what was timed."""
    times = {name: float(found[kind]) for name, found in line["times"].items()}
    total = {name: epochs * time for name, time in times.items() if name not in PARTS}
    for encoder, words in ((ENCODER, ""), (ENCODER_BATCHES, ", mini-batches")):
        if set(PARTS) - {ENCODER, ENCODER_BATCHES} <= times.keys() and encoder in times:
            once = times[UPDATE] + times[SELECTION] + times[PREDICTION]
            learned = times[DIFFUSION] + epochs * times[encoder]
            total |= {f"ALT-OPT-{k}{words}": learned + k * once for k in (1, 5)}
            total[f"ALT-OPT-Full{words}"] = learned + epochs * once
    return total
