"""AltOpt() on graphs that took no part in the making of its defaults, beside peers under their usual settings."""

from altopt_lab.experiments.protocols import APART_CELLS
from altopt_lab.experiments.tables.own_labels import OURS
from altopt_lab.experiments.tables.paper_table import (
    PaperTable,
    RecordIndex,
    RunFilter,
    ScheduledRun,
    repeated,
)
from altopt_lab.table import Shown, Table

USUAL = tuple(f"{name}, usual settings" for name in ("MLP", "LP", "SGC", "GCN", "APPNP", "LINKX"))


def plan(only: RunFilter) -> list[ScheduledRun]:
    return [
        scheduled
        for cell in filter(only.matches, APART_CELLS)
        for method in (OURS, *USUAL)
        for scheduled in repeated(method, cell, only.n_splits or cell.n_splits, 1)
    ]


def show(index: RecordIndex) -> list[Shown]:
    rows = [(method, *(index.text(method, cell) for cell in APART_CELLS)) for method in (OURS, *USUAL)]
    notes = (
        "No number of the defaults was set on these graphs (docs/defaults.md names the ground of each), and nobody "
        "is tuned here: AltOpt() sees training labels alone, networks keep their best epoch by validation labels. They "
        "were not blind either: while candidates were made, these graphs were looked at as targets. Wisconsin: its "
        "ten given splits; the others: half of each class trains, a quarter each validates and tests.",
    )
    columns = ("method", *(str(cell) for cell in APART_CELLS))
    return [Table("Accuracy on graphs apart", columns, rows, notes)]


APART = PaperTable("apart", "Graphs that took no part in making the defaults", plan, show)
