"""What AltOpt() promises of itself on bad data: it finds wrong labels, and random edges do it little harm."""

import numpy as np

from altopt_lab.experiments.robustness import FLIPPED, FlippedLabels, RandomEdges, Trial
from altopt_lab.experiments.tables.paper_table import PaperTable, RecordIndex, RunFilter, ScheduledRun
from altopt_lab.records import Record
from altopt_lab.table import NOT_RUN, Shown, Table

FLIPS = ("Cora", "CiteSeer", "Photo", "Tolokers")
EDGES = ("Cora", "PubMed", "Tolokers")
N_DRAWS = 10
OURS = "AltOpt()"


def plan(only: RunFilter) -> list[ScheduledRun]:
    trials: list[Trial] = [
        kind(name, number)
        for kind, names in ((FlippedLabels, FLIPS), (RandomEdges, EDGES))
        for name in names
        for number in range(only.n_splits or N_DRAWS)
    ]
    return [ScheduledRun(one.number, one) for one in trials if only.dataset in (None, one.dataset)]


def lines_of(index: RecordIndex, kind: type[Trial], name: str) -> list[Record]:
    found = [index.get(kind(name, number).key) for number in range(N_DRAWS)]
    return [line for line in found if line is not None and "failed" not in line]


def show(index: RecordIndex) -> list[Shown]:
    return [flipped(index), random_edges(index)]


def flipped(index: RecordIndex) -> Table:
    rows = []
    for name in FLIPS:
        lines = lines_of(index, FlippedLabels, name)
        found = [100 * line["found"] for line in lines]
        shown = (f"{np.mean(found):.1f}{index.mark(lines)}", str(len(lines))) if lines else (NOT_RUN, "0")
        rows.append((name, *shown))
    note = (
        f"{FLIPPED:.0%} of the training labels are made wrong; of as many labels as were, at the top of "
        "`suspicious_labels(all=True)`, so many are among them. 20 labels of each class, or the given splits."
    )
    return Table("Wrong labels found, %", ("data", "found", "draws"), rows, (note,))


def random_edges(index: RecordIndex) -> Table:
    rows = []
    for name in EDGES:
        lines = lines_of(index, RandomEdges, name)
        if not lines:
            rows.append((name, NOT_RUN, NOT_RUN, "", "0"))
            continue
        means = {who: float(np.mean([line["scores"][who] for line in lines])) for who in lines[0]["scores"]}
        ours = means.pop(OURS)
        best = max(means, key=lambda who: means[who])
        rows.append(
            (
                name,
                f"{ours:.2f}{index.mark(lines)}",
                f"{means[best]:.2f}{index.mark(lines)}",
                best,
                str(len(lines)),
            )
        )
    note = (
        "All edges are replaced by random ones with nearly the same degrees; beside AltOpt() the best method on "
        "features alone. Accuracy, on Tolokers ROC AUC, in %."
    )
    return Table("On random edges", ("data", OURS, "features alone", "by", "draws"), rows, (note,))


PROMISES = PaperTable("promises", "Wrong labels and random edges", plan, show)
