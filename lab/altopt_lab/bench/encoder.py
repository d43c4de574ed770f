"""One epoch of the encoder with dropout: MLPEncoder against the same network in eager torch."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from altopt.arrays import Array, one_hot
from altopt.encoders import MLPEncoder
from altopt_lab.bench import machine
from altopt_lab.bench.graphs import SEED, Case
from altopt_lab.bench.report import TIMES, Report, times_table
from altopt_lab.bench.timing import Contestant, Log, best_of, race, ratio

BATCH = 4096
REPEATS, CAP = 5, 60.0
DROPOUT = 0.5


def run(case: Case, repeats: int | None, log: Log) -> Report:
    report = Report("encoder", case.size.name, case.size.facts(), repeats or REPEATS)
    size = case.size
    widths = (size.n_features, *size.hidden, size.n_classes)
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((size.n_nodes, size.n_features), dtype=np.float32)
    targets = one_hot(case.y, size.n_classes, np.float32)
    contestants = [machine.triad(), machine.sgemm()]
    for batch, how in ((None, "full batch"), (BATCH, f"batches of {BATCH:,}")):
        for dropout, with_it in ((DROPOUT, "dropout"), (0.0, "no dropout")):
            memory = activations_gb(size.n_nodes if batch is None else batch, widths)
            for who, prepare in (("altopt", ours), ("eager torch", eager)):
                contestants.append(
                    Contestant(
                        f"{who}, {how}, {with_it}",
                        partial(prepare, X, targets, size.hidden, batch, dropout),
                        "ours" if who == "altopt" else "peer",
                        needs_gb=memory,
                    )
                )
    with machine.same_threads(case.numbers):
        timings = race(contestants, report.repeats, CAP, log)
    # forward, and backward for weights and for inputs (not for X): 2, 2 and 2 operations a weight and row
    pairs = [a * b for a, b in pairwise(widths)]
    flops = size.n_nodes * (6.0 * sum(pairs) - 2.0 * pairs[0])
    for timing in timings[2:]:
        if timing.best:
            timing.facts["gflops"] = flops / timing.best / 1e9
    full, batches = "full batch, dropout", f"batches of {BATCH:,}, dropout"
    reference = f"altopt, {full}" if best_of(timings, f"altopt, {full}") else f"altopt, {batches}"
    title = f"one epoch, {'-'.join(map(str, widths))}, {size.n_nodes:,} rows, best of {report.repeats}"
    report.tables.append(times_table(title, timings, reference, (*TIMES[:5], "gflops", *TIMES[5:])))
    peak, stream = machine.arithmetic(timings), machine.bandwidth(timings)
    reached = max(t.facts.get("gflops", 0.0) for t in timings[2:] if t.who.endswith(", dropout"))
    report.measure(
        epoch_full=ratio(best_of(timings, f"eager torch, {full}"), best_of(timings, f"altopt, {full}")),
        epoch_batches=ratio(
            best_of(timings, f"eager torch, {batches}"), best_of(timings, f"altopt, {batches}")
        ),
        sgemm_gflops=peak,
        stream_gb_s=stream,
    )
    report.notes += [
        f"STREAM triad in this run: {stream:.1f} GB/s; sgemm: {peak:.0f} GFLOP/s. The fastest epoch with dropout "
        f"reaches {reached / peak:.2f} of sgemm.",
        "Without dropout is the bound: what dropout costs lies between.",
    ]
    return report


def activations_gb(rows: int, widths: tuple[int, ...]) -> float:
    """What eager torch holds at once: per hidden number three floats and a mask, gradients, logits and loss."""
    hidden = widths[1:-1]
    return rows * (13.0 * sum(hidden) + 8.0 * max(hidden) + 16.0 * widths[-1]) / 1e9


def ours(
    X: Array, targets: Array, hidden: tuple[int, ...], batch: int | None, dropout: float
) -> Callable[[], object]:
    encoder = MLPEncoder(hidden=hidden, dropout=dropout, input_dropout=0.0, batch_size=batch)
    learner = encoder.begin(X.shape[1], targets.shape[1], SEED)
    weights = np.ones(len(X), dtype=np.float32)
    return lambda: learner.train(X, targets, weights, 1)


def eager(
    X: Array, targets: Array, hidden: tuple[int, ...], batch: int | None, dropout: float
) -> Callable[[], object]:
    """Linear, ReLU, Dropout and Adam as in any tutorial; same loss, same shuffling."""
    import torch
    from torch import nn

    layers: list[nn.Module] = []
    width = X.shape[1]
    for size in hidden:
        layers += [nn.Linear(width, size), nn.ReLU(), *([nn.Dropout(dropout)] if dropout else [])]
        width = size
    network = nn.Sequential(*layers, nn.Linear(width, targets.shape[1])).train()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=5e-4)
    x, t = torch.from_numpy(X), torch.from_numpy(targets)

    def learn(rows: Any, wanted: Any) -> None:
        optimizer.zero_grad()
        loss = ((torch.softmax(network(rows), dim=1) - wanted) ** 2).sum(dim=1).mean()
        loss.backward()
        optimizer.step()

    def epoch() -> None:
        if batch is None:
            learn(x, t)
            return
        order = torch.randperm(len(x))
        for start in range(0, len(x), batch):
            rows = order[start : start + batch]
            learn(x[rows], t[rows])

    return epoch
