"""Options that the paper's framework names, each in the place of a default part of AltOpt()."""

from altopt_lab.experiments.option_methods import OPTIONS
from altopt_lab.experiments.protocols import Cell
from altopt_lab.experiments.tables.own_labels import OURS
from altopt_lab.experiments.tables.paper_table import (
    PaperTable,
    RecordIndex,
    RunFilter,
    ScheduledRun,
    repeated,
)
from altopt_lab.table import NOT_RUN, Shown, Table

OPTION_CELLS = (Cell("Cora", "20"), Cell("CiteSeer", "20"))


def plan(only: RunFilter) -> list[ScheduledRun]:
    return [
        scheduled
        for cell in filter(only.matches, OPTION_CELLS)
        for method in (OURS, *(option.name for option in OPTIONS))
        for scheduled in repeated(method, cell, only.n_splits or cell.n_splits, 1)
    ]


def show(index: RecordIndex) -> list[Shown]:
    rows = [("D_A: Laplacian, D_X: hops and diffused features", OURS, *cells(index, OURS))]
    rows += [(option.option, option.name, *cells(index, option.name)) for option in OPTIONS]
    notes = (
        "Section 2 of the paper names these as designs of its framework and measures none of them. Each takes the "
        "place of one part of AltOpt(); all else is chosen from training labels as ever. The gap is to AltOpt() on "
        "the same splits. Settings of the options are their defaults but for p and q; nothing was tuned.",
        "DeepWalk and node2vec by the counts that are expected of infinitely many walks; contrastive with negatives "
        "in closed form; scaling on 300 landmarks by the angle between nodes' words, without the graph.",
    )
    heads = [head for cell in OPTION_CELLS for head in (str(cell), "gap")]
    return [Table("Options of the framework", ("option", "method", *heads), rows, notes, n_labels=2)]


def cells(index: RecordIndex, method: str) -> list[str]:
    texts = []
    for cell in OPTION_CELLS:
        means = index.on_the_same_splits(method, OURS, cell)
        gap = NOT_RUN if means is None else f"{means[0] - means[1]:+.2f}"
        texts += [index.text(method, cell), gap]
    return texts


OPTIONS_TABLE = PaperTable("options", "Options of the framework", plan, show)
