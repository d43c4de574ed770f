"""The cost of choosing a plan by training labels: AltOpt() beside each of its plans fixed."""

from altopt_lab.experiments.altopt_methods import PLANS
from altopt_lab.experiments.protocols import GIVEN, N_SPLITS, Cell
from altopt_lab.experiments.tables.own_labels import OURS
from altopt_lab.experiments.tables.paper_table import (
    PaperTable,
    RecordIndex,
    RunFilter,
    ScheduledRun,
    repeated,
)
from altopt_lab.table import NOT_RUN, Shown, Table

CHOICE_CELLS = (
    *(Cell(name, "20") for name in ("Cora", "CiteSeer", "Photo")),
    *(Cell(name, GIVEN) for name in ("chameleon", "squirrel")),
)
FIXED = {plan: f"always {plan}" for plan in PLANS}


def plan(only: RunFilter) -> list[ScheduledRun]:
    return [
        scheduled
        for cell in filter(only.matches, CHOICE_CELLS)
        for method in (OURS, *FIXED.values())
        for scheduled in repeated(method, cell, only.n_splits or N_SPLITS, 1)
    ]


def show(index: RecordIndex) -> list[Shown]:
    rows, lost = [], []
    for cell in CHOICE_CELLS:
        means = {name: index.mean(method, cell) for name, method in FIXED.items()}
        known = {name: mean for name, mean in means.items() if mean is not None}
        ours, verdict = index.mean(OURS, cell), [NOT_RUN, NOT_RUN]
        if ours is not None and len(known) == len(FIXED):
            best = max(known, key=lambda name: known[name])
            lost.append(known[best] - ours)
            verdict = [best, f"{lost[-1]:+.2f}"]
        fixed = (NOT_RUN if mean is None else f"{mean:.2f}" for mean in means.values())
        rows.append((str(cell), index.text(OURS, cell), *fixed, *verdict))
    notes: tuple[str, ...] = (
        "Each plan taken always, no labels held back; the best is named by test accuracy, which nobody who chooses "
        "could know. Plans but the usual one use no graph view; squared Laplacian and two hops are the usual plan with "
        "another graph view, which AltOpt() does not consider by itself. Trees, and mixtures of plans, are not among "
        "them.",
    )
    if lost:
        notes += (
            f"Choosing costs {sum(lost) / len(lost):.2f} points on average over {len(lost)} of {len(CHOICE_CELLS)} "
            "graphs (target: at most 1).",
        )
    columns = ("cell", OURS, *PLANS, "best of them", "above AltOpt()")
    return [Table("AltOpt() beside its own plans", columns, rows, notes)]


CHOICE = PaperTable("choice", "The automatic choice", plan, show)
