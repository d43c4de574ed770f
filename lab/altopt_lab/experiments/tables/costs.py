"""The paper's tables of time and memory, extrapolated from a few timed epochs."""

from typing import Any

import numpy as np

from altopt_lab.experiments import published
from altopt_lab.experiments.protocols import N_SEEDS, N_SPLITS, OGB_CELLS, RATES, Cell
from altopt_lab.experiments.tables.paper_table import (
    PaperTable,
    RecordIndex,
    RunFilter,
    ScheduledRun,
    repeated,
)
from altopt_lab.experiments.tables.studies import FULL, plan_rounds, rounds_table
from altopt_lab.experiments.timed import ALT_OPT, FULL_BATCH, Cost, EpochTime, LayerMemory
from altopt_lab.records import Record
from altopt_lab.table import NOT_RUN, Shown, Table

SIZES = {"arxiv": ("ogbn-arxiv", 500), "products": ("ogbn-products", 1000)}  # and the epochs of a training
PEERS = ("MLP", "SGC", "SIGN", "GCN", "APPNP")
UPDATES = {f"ALT-OPT-{k}": k for k in (1, 2, 3, 4, 5)}
FULL_NAME = "ALT-OPT-Full"
STEPS = (10, 20, 30)
EPOCH_CELLS = tuple(Cell(name, "20") for name in ("Cora", "CiteSeer", "PubMed"))
BEST_CELLS = (*(Cell("Cora", rate) for rate in RATES), OGB_CELLS[0])
EPOCH_METHODS = (
    "APPNP",
    "APPNP, PyTorch Geometric's layer",
    "ALT-OPT-Full on reduced inputs",
    "ALT-OPT-Full on plain inputs",
    "MLP",
)
GENERATED = (
    "A generated graph of that size and share of labels; no GPU. A whole training is extrapolated from the "
    "epochs timed after a warm-up: setting up, and as many epochs as the paper makes; for ALT-OPT-k also k "
    "updates of F, each with its selection and a prediction for all nodes. Hidden layers 256-256 at arxiv "
    "size; one of 64 at products size for everyone, since graph networks have no room for more there. "
    "ALT-OPT's epochs train on pseudo labels too, the others' on given labels alone, with torch's own layers. "
    "Times are CPU seconds of all threads, which others on the machine disturb least; memory is the process's "
    "peak."
)


def plan_efficiency(only: RunFilter) -> list[ScheduledRun]:
    wanted = [size for size, (name, _) in SIZES.items() if only.dataset in (None, name)]
    costs = [
        ScheduledRun(k, Cost(method, size)) for k, size in enumerate(wanted) for method in (ALT_OPT, *PEERS)
    ]
    return costs + plan_rounds(only)


def total(line: Record, epochs: int, updates: int | None) -> float:
    """CPU seconds of a training: setting up, the epochs, and the updates of F."""
    more = 0.0 if updates is None else updates * line["update_cpu"]
    return float(line["setup_cpu"] + epochs * line["epoch_cpu"] + more)


def cost_rows(index: RecordIndex, size: str) -> list[tuple[str, Record | None, float | None]]:
    """Every method with its record and the seconds of a whole training."""
    _, epochs = SIZES[size]
    rows: list[tuple[str, Record | None, float | None]] = []
    for method in (*PEERS, FULL_NAME, *UPDATES):
        peer = method in PEERS
        line = index.get(Cost(method if peer else ALT_OPT, size).key)
        updates = None if peer else UPDATES.get(method, epochs)
        good = line is not None and "epoch_cpu" in line
        rows.append((method, line, total(line, epochs, updates) if good and line is not None else None))
    return rows


def show_efficiency(index: RecordIndex) -> list[Shown]:
    tables: list[Shown] = []
    for size, (name, epochs) in SIZES.items():
        rows = []
        costs = cost_rows(index, size)
        mlp = costs[0][2]
        for method, line, seconds in costs:
            accuracy, time, memory = published.published("efficiency")[name][method]
            theirs = published.published("efficiency")[name]["MLP"]
            ours = ("", "", "", "")
            if line is None or seconds is None:
                failed = "" if line is None else line.get("failed", "")
                ours = (f"failed: {failed[:60]}" if failed else NOT_RUN, "", "", "")
            else:
                ratio = "" if mlp is None else f"{seconds / mlp:.2f}"
                mark = index.mark([line])
                ours = (
                    f"{seconds:,.0f}{mark}",
                    ratio,
                    f"{line['peak_gb']:.2f}{mark}",
                    str(line["epochs_timed"]),
                )
            paper = (f"{time:,.2f}", f"{time / theirs[1]:.2f}", f"{memory:.2f}", f"{accuracy:.2f}")
            rows.append((method, *ours, *paper))
        columns = (
            "method",
            f"CPU s, {epochs:,} epochs",
            "of MLP's",
            "GB",
            "epochs timed",
            "paper: s",
            "of MLP's",
            "GB",
            "accuracy, %",
        )
        tables.append(Table(f"{name} size", columns, rows, (GENERATED, *published.notes("efficiency"))))
    return [*tables, rounds_table(index)]


def show_complexity(index: RecordIndex) -> list[Shown]:
    rows = []
    costs = {name: (line, seconds) for name, line, seconds in cost_rows(index, "arxiv")}
    base, base_seconds = costs["MLP"]
    for method, (time, memory) in published.published("complexity").items():
        name = "ALT-OPT-5" if method == "ALT-OPT" else method
        line, seconds = costs[name]
        ours = (NOT_RUN, NOT_RUN)
        if line is not None and base is not None and seconds is not None and base_seconds is not None:
            extra = line["peak_gb"] - base["peak_gb"]
            mark = index.mark([line, base])
            ours = (f"{seconds - base_seconds:+,.0f} s{mark}", f"{extra:+.2f} GB{mark}")
        rows.append((name, time, memory, *ours))
    notes = (
        "n nodes, m edges, d hidden width, c classes, p propagation steps, t epochs, k updates of F; what all methods "
        "share is left out. Measured: a training of 500 epochs at arxiv size beyond what MLP takes, from the same "
        "records as the efficiency table; ALT-OPT trains on more rows than MLP, and in "
        "blocks, where torch's MLP takes all rows at once: both are part of its difference.",
    )
    columns = ("method", "time, paper", "memory, paper", "time beyond MLP", "memory beyond MLP")
    return [Table("Complexity", columns, rows, notes, n_labels=3)]


def plan_complexity(only: RunFilter) -> list[ScheduledRun]:
    if only.dataset not in (None, "ogbn-arxiv"):
        return []
    return [ScheduledRun(0, Cost(method, "arxiv")) for method in (ALT_OPT, "MLP", "SGC", "GCN", "APPNP")]


def plan_epoch_time(only: RunFilter) -> list[ScheduledRun]:
    cells = filter(only.matches, EPOCH_CELLS)
    schedule = [ScheduledRun(0, EpochTime(method, cell)) for cell in cells for method in EPOCH_METHODS]
    if only.dataset in (None, "ogbn-arxiv"):
        schedule += [ScheduledRun(0, Cost(method, "arxiv")) for method in ("APPNP", ALT_OPT, "MLP")]
    return schedule


def show_epoch_time(index: RecordIndex) -> list[Shown]:
    paper = published.published("epoch-time")
    rows = []
    for method in EPOCH_METHODS:
        name = method.partition(",")[0].partition(" on")[0]
        cells = []
        for cell in EPOCH_CELLS:
            line = index.get(EpochTime(method, cell).key)
            cells.append(NOT_RUN if line is None else f"{line['milliseconds']:.2f}{index.mark([line])}")
        line = index.get(Cost(ALT_OPT if name == FULL_NAME else name, "arxiv").key)
        large = "-" if "plain" in method or method == "APPNP" else NOT_RUN
        if large == NOT_RUN and line is not None and "epoch_cpu" in line:
            large = f"{1000 * (line['epoch_cpu'] + line.get('update_cpu', 0.0)):,.0f}{index.mark([line])}"
        theirs = [f"{paper[key][name]:.2f}" for key in paper]
        rows.append((method, *cells, large, *theirs))
    notes = (
        "CPU time of an epoch, 20 labels per class, by what 65 and 5 epochs differ. All networks read sparse words; "
        "ALT-OPT-Full's diffused words are dense, so it has a form on plain inputs and one on their 256 leading "
        "directions. An epoch of ALT-OPT-Full is an update of F in 10 steps, the selection, an epoch of the encoder "
        "and a prediction for all nodes. `APPNP` propagates with our operator, forth and back in one pass each.",
    )
    heads = [cell.dataset for cell in EPOCH_CELLS]
    return [
        Table(
            "ms an epoch", ("method", *heads, "arxiv size", *(f"paper: {key}" for key in paper)), rows, notes
        )
    ]


def plan_best_epochs(only: RunFilter) -> list[ScheduledRun]:
    return [
        scheduled
        for cell in filter(only.matches, BEST_CELLS)
        for method, change in (("ALT-OPT", FULL), ("APPNP", ()))
        for scheduled in repeated(
            method,
            cell,
            min(only.n_splits or N_SPLITS, cell.n_splits),
            only.n_runs or (N_SEEDS if cell in OGB_CELLS else 1),
            change,
        )
    ]


def best_epochs(index: RecordIndex, cell: Cell) -> dict[str, tuple[float, float]]:
    """Mean epoch that did best on validation nodes, and the seconds to get there."""
    best: dict[str, tuple[float, float]] = {}
    lines: list[Any] = [line for line in index.good("APPNP", cell) if "best_epoch" in line]
    if lines:
        epochs = [line["best_epoch"] for line in lines]
        seconds = [line["best_epoch"] * line["epoch_seconds"] for line in lines]
        best["APPNP"] = float(np.mean(epochs)), float(np.mean(seconds))
    lines = [line for line in index.good("ALT-OPT", cell, FULL) if "seconds_to_best" in line]
    if lines:
        rounds = [line["best_round"] + 100 for line in lines]
        best[FULL_NAME] = float(np.mean(rounds)), float(np.mean([line["seconds_to_best"] for line in lines]))
    return best


def show_best_epochs(index: RecordIndex) -> list[Shown]:
    rows = []
    for cell in BEST_CELLS:
        paper = published.in_cell("best-epochs", cell)
        with index.watched() as seen:
            ours = best_epochs(index, cell)
        for method in ("APPNP", FULL_NAME):
            epochs, seconds = ours.get(method, (None, None))
            mark = index.mark([line for line in seen if line["method"] == method.removesuffix("-Full")])
            mine = (NOT_RUN, "") if epochs is None else (f"{epochs:.0f}{mark}", f"{seconds:.3f}{mark}")
            rows.append((str(cell), method, *mine, str(paper[method][0]), f"{paper[method][1]:.2f}"))
    notes = (
        "The epoch that did best on validation labels and the seconds of training up to it, means over splits. Of "
        "ALT-OPT-Full the 100 epochs before the first round count as epochs, as in the paper, but their time, "
        "well under a tenth of a second, does not. An epoch of a linear encoder is an iteration of L-BFGS.",
    )
    return [
        Table(
            "Best epochs",
            ("cell", "method", "epochs", "s", "paper: epochs", "paper: s"),
            rows,
            notes,
            n_labels=2,
        )
    ]


def plan_layer_memory(only: RunFilter) -> list[ScheduledRun]:
    sizes = [size for size, (name, _) in SIZES.items() if only.dataset in (None, name)]
    return [
        ScheduledRun(scheduled, LayerMemory(method, size, K))
        for scheduled, size in enumerate(sizes)
        for method in (ALT_OPT, FULL_BATCH, "APPNP")
        for K in STEPS
    ]


def show_layer_memory(index: RecordIndex) -> list[Shown]:
    rows = []
    for size in SIZES:
        for method in ("APPNP", FULL_BATCH, ALT_OPT):
            lines = [index.get(LayerMemory(method, size, K).key) for K in STEPS]
            ours = [
                NOT_RUN
                if line is None
                else line.get("failed", "")[:60] or f"{line['peak_gb']:.2f}{index.mark([line])}"
                for line in lines
            ]
            paper = published.published("layer-memory")[method.partition(",")[0]]
            theirs = [f"{value:.2f}" for value in paper] if size == "products" else ["-"] * len(STEPS)
            name = f"{method}, mini-batches" if method == ALT_OPT else method
            rows.append((f"{size} size", name, *ours, *theirs))
    columns = ("graph", "method", *(f"K={K}" for K in STEPS), *(f"paper: K={K}" for K in STEPS))
    note = "Peak resident memory, GB, of one epoch of APPNP (PyTorch Geometric, CSR, all rows at once) "
    note += (
        "and of a whole fit of ALT-OPT, its encoder on all rows at once and in mini-batches of 32,768 rows."
    )
    return [Table("Peak memory against propagation steps", columns, rows, (note,), n_labels=2)]


EFFICIENCY = PaperTable("efficiency", "Time and memory of a training", plan_efficiency, show_efficiency)
COMPLEXITY = PaperTable("complexity", "Complexity", plan_complexity, show_complexity)
EPOCH_TIME = PaperTable("epoch-time", "Time of an epoch", plan_epoch_time, show_epoch_time)
BEST_EPOCHS = PaperTable(
    "best-epochs", "Best epochs and the time to them", plan_best_epochs, show_best_epochs
)
LAYER_MEMORY = PaperTable(
    "layer-memory", "Memory against propagation steps", plan_layer_memory, show_layer_memory
)
