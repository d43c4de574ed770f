"""The paper's main tables: test accuracy of every method at every label rate."""

from collections.abc import Sequence

from altopt_lab.experiments import published
from altopt_lab.experiments.protocols import (
    CELLS,
    CITATION,
    CO_OCCURRENCE,
    COMPONENT_CELLS,
    N_RUNS,
    N_SEEDS,
    OGB_CELLS,
    Cell,
)
from altopt_lab.experiments.tables.paper_table import (
    PaperTable,
    RecordIndex,
    RunFilter,
    ScheduledRun,
    repeated,
)
from altopt_lab.table import NOT_RUN, Shown, Table

# the methods whose comparison says most come first
ORDER = (
    "ALT-OPT",
    "APPNP",
    "AltOpt()",
    "GCN",
    "SGC",
    "MLP",
    "LP",
    "SIGN",
    "C&S",
    "GAT",
    "PTA",
    "PPRGo",
)
PAPER = ("ALT-OPT (paper, mse)", "ALT-OPT (paper, ce)")  # on the large graphs; elsewhere under equal-effort
# the paper's groups: who propagates in every epoch, once, or a few times in a training
GROUPS = {
    "lazy": ("ALT-OPT", *PAPER, "AltOpt()"),
    "persistent": ("APPNP", "GCN", "GAT", "PPRGo"),
    "one-time": ("SGC", "SIGN", "C&S", "PTA"),
    "no GNN": ("MLP", "LP"),
}
FEW_SPLITS = {("CS", name): 3 for name in ORDER[3:]} | {("Physics", name): 3 for name in ORDER[3:]}
ON_COMPONENT = ("ALT-OPT", "APPNP", "AltOpt()")  # also run on the component that the paper counts
MOST_TELLING = ("20", "5", "30%", "60", "10", "60%")  # label rates


def plan(only: RunFilter) -> list[ScheduledRun]:
    schedule = []
    cells = sorted(CELLS, key=lambda cell: (MOST_TELLING.index(cell.rate), cell.dataset in CO_OCCURRENCE))
    for method in methods():
        for cell in filter(only.matches, (*cells, *OGB_CELLS)):
            n_splits = min(
                only.n_splits or FEW_SPLITS.get((cell.dataset, method), cell.n_splits), cell.n_splits
            )
            usual = N_SEEDS if cell in OGB_CELLS else N_RUNS if method == "ALT-OPT" else 1
            schedule += repeated(method, cell, n_splits, only.n_runs or usual)
        for cell in filter(only.matches, COMPONENT_CELLS if method in ON_COMPONENT else ()):
            schedule += repeated(method, cell, only.n_splits or cell.n_splits, only.n_runs or 1)
    for cell in filter(only.matches, OGB_CELLS):
        for method in PAPER:
            schedule += repeated(method, cell, 1, only.n_runs or N_SEEDS)
    return schedule


def methods() -> list[str]:
    from altopt_lab.experiments.methods import METHODS

    return [name for name in ORDER if name in METHODS]


def show(index: RecordIndex) -> list[Shown]:
    """One table for each citation graph, one for the other four, one for what the paper has besides."""
    groups: dict[str, list[Cell]] = {
        name: [cell for cell in CELLS if cell.dataset == name] for name in CITATION
    }
    groups["Co-author and co-purchase graphs, 20 labels per class"] = [
        cell for cell in CELLS if cell.dataset in CO_OCCURRENCE
    ]
    tables: list[Shown] = []
    for title, cells in groups.items():
        heads = [cell.rate if cell.dataset == title else cell.dataset for cell in cells]
        rows = [row for row in grouped(index, cells) if any(cell != NOT_RUN for cell in row[2:])]
        tables.append(Table(title, ("", "method", *heads), rows, (BRACKETS,), n_labels=2))
    tables.append(
        Table(
            "Computers and Photo on their largest component, 20 labels per class",
            ("", "method", *(cell.source for cell in COMPONENT_CELLS)),
            [row for row in grouped(index, list(COMPONENT_CELLS)) if row[1] in ON_COMPONENT],
            ("The part of these graphs that the paper counts; above all nodes are kept.", BRACKETS),
            n_labels=2,
        )
    )
    heads = [cell.dataset for cell in OGB_CELLS]
    notes = (large_graphs(index, OGB_CELLS), *published.notes("transductive"))
    tables.append(
        Table(
            "OGB graphs",
            ("", "method", *heads),
            grouped(index, list(OGB_CELLS), (*methods(), *PAPER)),
            notes,
            n_labels=2,
        )
    )
    return tables


BRACKETS = (
    "In brackets: the paper. Persistent: the graph is propagated over in every epoch; one-time: once; lazy: a few "
    "times in a training."
)


def grouped(index: RecordIndex, cells: list[Cell], names: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """A row for each method under the name of its group; who is in none comes last."""
    named = {method: group for group, members in GROUPS.items() for method in members}
    order = [*GROUPS, ""]
    ordered = sorted(names or methods(), key=lambda method: order.index(named.get(method, "")))
    return [
        (named.get(method, ""), method, *(beside(index, method, cell) for cell in cells))
        for method in ordered
    ]


def large_graphs(index: RecordIndex, cells: Sequence[Cell], paper_table: str = "transductive") -> str:
    """How graphs that come with one split are run, and which of them have no run on record."""
    recorded = {line.get("dataset") for line in index.fits}
    lacking = [cell.dataset for cell in cells if cell.dataset not in recorded]
    words = (
        f"{' and '.join(cell.dataset for cell in cells)}: splits are those that come with the data, runs differ by "
        "their seeds, networks have the sizes that the paper's appendix names."
    )
    if not lacking:
        return words
    commands = ", ".join(
        f"`altopt datasets get {name}` and `altopt reproduce {paper_table} --dataset {name}`"
        for name in lacking
    )
    return (
        f"{words} No run of {' and '.join(lacking)} is on record. Where the files are, or a network: {commands}; the "
        "formats are tested on tiny files."
    )


def beside(index: RecordIndex, method: str, cell: Cell) -> str:
    """Ours, and the paper's in brackets where it has the method."""
    theirs = published.accuracy("ALT-OPT" if method in PAPER else method, cell)
    return index.text(method, cell) + ("" if theirs is None else f" [{theirs:.2f}]")


TRANSDUCTIVE = PaperTable("transductive", "Transductive node classification", plan, show)
