"""Whole fits beside epochs of graph networks, and ALT-OPT-5 beside its encoder alone."""

import tempfile
from collections.abc import Callable
from typing import Any

from altopt import AltOpt
from altopt_lab.bench import machine, networks, optional, worker
from altopt_lab.bench.dense import beside_boosted_trees
from altopt_lab.bench.graphs import SEED, Case
from altopt_lab.bench.report import TIMES, Report, ResultTable, times_table
from altopt_lab.bench.same_accuracy import to_the_same_accuracy
from altopt_lab.bench.tasks import WARM_UP
from altopt_lab.bench.timing import Contestant, Log, best_of, race, ratio
from altopt_lab.metrics import accuracy

EAGER = "the encoder in eager torch, full batch, two epochs"
OURS, BARE = "AltOpt(), the whole fit", "AltOpt(cross_fit=False), the whole fit"
APPNP_CSR = "PyG APPNP, CSR, an epoch"
REPEATS, CAP = 4, 90.0
EPOCHS = {"cora": 200, "arxiv": 200}  # of ALT-OPT-5, over all rounds; products would take too long


def run(case: Case, repeats: int | None, log: Log) -> Report:
    report = Report("fit", case.size.name, case.size.facts(), repeats or REPEATS)
    report.not_installed = optional.missing(optional.GEOMETRIC)
    against_epochs(case, report, log)
    if case.size.name in EPOCHS:
        five_rounds(case, report, log)
    if case.size.name == "cora":
        to_the_same_accuracy(report, log)
        beside_boosted_trees(report, log)
    return report


def against_epochs(case: Case, report: Report, log: Log) -> None:
    known, A, seen = case.known(), case.adjacency(), {}

    def whole(who: str, **settings: Any) -> Contestant:
        def fit() -> None:
            model = AltOpt(random_state=SEED, **settings).fit(case.X, known, graph=A)
            seen[who] = accuracy(model.transduction_, case.y, known < 0)

        return Contestant(who, lambda: fit, "ours")

    ours = (whole(OURS), whole(BARE, cross_fit=False))
    contestants = [machine.triad(), *ours, *graph_networks(case)]
    with machine.same_threads(case.numbers):
        timings = race(contestants, report.repeats, CAP, log)
    for timing in timings:
        if timing.kind == "peer" and timing.best:
            timing.facts["many"] = 200 * timing.best
    title = f"AltOpt() against one epoch of graph networks, best of {report.repeats} after one to warm up"
    report.tables.append(times_table(title, timings, OURS, (*TIMES[:5], "many", *TIMES[5:])))
    log("the same fit with four times the encoder epochs")
    usual = AltOpt()
    longer = AltOpt(n_warmup=4 * usual.n_warmup, n_epochs=4 * usual.n_epochs, random_state=SEED)
    best = accuracy(longer.fit(case.X, known, graph=A).transduction_, case.y, known < 0)
    stream = machine.bandwidth(timings)
    report.measure(
        epochs_of_appnp=ratio(best_of(timings, OURS), best_of(timings, APPNP_CSR)),
        epochs_of_appnp_bare=ratio(best_of(timings, BARE), best_of(timings, APPNP_CSR)),
        accuracy=seen[OURS],
        accuracy_bare=seen[BARE],
        accuracy_longer=best,
        accuracy_lost=100 * (best - seen[OURS]),
        stream_gb_s=stream,
    )
    report.notes += [
        f"STREAM triad in this run: {stream:.1f} GB/s.",
        f"AltOpt() is right on {seen[OURS]:.2%} of the hidden labels, with four times the encoder epochs on "
        f"{best:.2%}, AltOpt(cross_fit=False), which holds no label back and so neither compares plans nor says how "
        f"sure it is, on {seen[BARE]:.2%}.",
        "200 epochs are 200 times the best epoch; the networks' graph was normalised beforehand.",
    ]


def graph_networks(case: Case) -> list[Contestant]:
    if optional.find(optional.GEOMETRIC) is None:
        return []
    widest = max(*case.size.gnn_hidden, case.size.n_classes)
    mlp, layers = networks.activations_gb(case, 5), networks.activations_gb(case, 8)
    narrow, wide = networks.messages_gb(case, case.size.n_classes), networks.messages_gb(case, widest)
    note = f"hidden {'-'.join(map(str, case.size.gnn_hidden))}"

    def contestant(
        who: str, prepare: Callable[[], Callable[[], object]], needs: float, note: str
    ) -> Contestant:
        return Contestant(who, prepare, needs_gb=needs, note=note)

    return [
        contestant(APPNP_CSR, lambda: networks.appnp(case, "CSR"), mlp, note),
        contestant(
            "PyG APPNP, edge_index, an epoch", lambda: networks.appnp(case, "edge_index"), mlp + narrow, note
        ),
        contestant("PyG GCN, CSR, an epoch", lambda: networks.gcn(case, "CSR"), layers, note),
        contestant(
            "PyG GCN, edge_index, an epoch", lambda: networks.gcn(case, "edge_index"), layers + wide, note
        ),
        contestant("SGC, an epoch", lambda: networks.sgc(case), 0.0, "features propagated before"),
    ]


def five_rounds(case: Case, report: Report, log: Log) -> None:
    """ALT-OPT-5 and its encoder alone, each in a process of its own, by turns."""
    name, epochs = case.size.name, EPOCHS[case.size.name]
    runs: dict[str, list[dict[str, Any]]] = {"ALT-OPT-5": [], "its encoder alone": [], EAGER: []}
    with tempfile.TemporaryDirectory() as recording:
        log("ALT-OPT-5: writing down what its encoder learns")
        worker.run("five_rounds", size=name, total_epochs=epochs, recording=recording)
        for number in range(1 if name == "arxiv" else min(2, report.repeats)):
            log(f"ALT-OPT-5 and its encoder alone, turn {number + 1}")
            runs["ALT-OPT-5"].append(worker.run("five_rounds", size=name, total_epochs=epochs))
            runs["its encoder alone"].append(worker.run("encoder_alone", size=name, recording=recording))
        runs[EAGER].append(worker.run("encoder_eager", size=name, recording=recording))
    rows = [
        {
            "who": who,
            "seconds": min(run["seconds"] for run in records),
            "cpu": min(run["cpu"] for run in records),
            "peak_gb": min(run["peak_gb"] for run in records),
            "before_gb": records[0]["before_gb"],
            "runs": len(records),
        }
        for who, records in runs.items()
    ]
    title = (
        f"ALT-OPT-5, {epochs} epochs over five rounds after {WARM_UP}, {case.size.train_share:.0%} labelled, against "
        "the same encoder on the same rows with F given; the fit's diffusion and checks count, all hold graph and X"
    )
    report.tables.append(ResultTable(title, ("who", "seconds", "cpu", "peak_gb", "before_gb", "runs"), rows))
    fit, alone, eager = rows
    report.measure(
        five_rounds_time=ratio(fit["seconds"], alone["seconds"]),
        five_rounds_memory=ratio(fit["peak_gb"], alone["peak_gb"]),
        five_rounds_memory_eager=ratio(fit["peak_gb"], eager["peak_gb"]),
    )
