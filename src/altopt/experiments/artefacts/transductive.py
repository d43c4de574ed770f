"""The paper's main tables: test accuracy of every method at every label rate."""

from typing import Any

import numpy as np

from altopt.experiments import published
from altopt.experiments.artefacts.artefact import NOT_RUN, Artefact, Ask, Shelf, Shown, Table, Turn, repeated
from altopt.experiments.cells import CELLS, CITATION, CO_OCCURRENCE, N_RUNS, N_SPLITS, Cell

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
    "ALT-OPT as printed",
    "PTA",
    "PPRGo",
)
ONLY = {"ALT-OPT as printed": (Cell("Cora", "20"), Cell("CiteSeer", "20"))}  # a fit on all words takes long
FEW_SPLITS = {("CS", name): 3 for name in ORDER[3:]} | {("Physics", name): 3 for name in ORDER[3:]}
FAR, TWO = 1.5, 2.0  # points from the paper's figure that call for a reason; standard errors that are none
MOST_TELLING = ("20", "5", "30%", "60", "10", "60%")  # label rates


def plan(ask: Ask) -> list[Turn]:
    turns = []
    cells = sorted(CELLS, key=lambda cell: (MOST_TELLING.index(cell.rate), cell.dataset in CO_OCCURRENCE))
    for method in methods():
        for cell in filter(ask.wants, ONLY.get(method, cells)):
            usual = FEW_SPLITS.get((cell.dataset, method), N_SPLITS)
            n_runs = ask.n_runs or (N_RUNS if method == "ALT-OPT" else 1)
            turns += repeated(method, cell, ask.n_splits or usual, n_runs)
    return turns


def methods() -> list[str]:
    from altopt.experiments.methods import METHODS

    return [name for name in ORDER if name in METHODS]


def show(shelf: Shelf) -> list[Shown]:
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
        rows = [(method, *(beside(shelf, method, cell) for cell in cells)) for method in methods()]
        rows = [row for row in rows if any(cell != NOT_RUN for cell in row[1:])]
        tables.append(Table(title, ("method", *heads), rows, ("In brackets: the paper.",)))
    tables.append(far_from_the_paper(shelf))
    paper = published.published("transductive")
    other = [cell for cell in paper if cell.startswith("ogbn")]
    absent = [
        (method, *(f"{NOT_RUN} [{published.in_words(paper[cell].get(method))}]" for cell in other))
        for method in paper[other[0]]
    ]
    note = "The two OGB graphs were not on disk where these runs were made; their loaders are tested on small files."
    tables.append(Table("OGB graphs", ("method", *other), absent, (note, *published.notes("transductive"))))
    return tables


def far_from_the_paper(shelf: Shelf) -> Table:
    """The peers' cells that are further from the paper's figure than splits explain at a glance, and why."""
    rows = []
    for method in methods():
        for cell in CELLS if method != "ALT-OPT" else ():
            theirs = published.published("transductive").get(str(cell), {}).get(method)
            found = shelf.accuracies(method, cell)
            if theirs is None or len(found) < 2 or abs(found.mean() - theirs[0]) <= FAR:
                continue
            gap = float(found.mean()) - theirs[0]
            doubt = float(np.hypot(found.std(ddof=1) / np.sqrt(len(found)), theirs[1] / np.sqrt(N_SPLITS)))
            settings = shelf.good(method, cell)[-1].get("settings", {})
            reason = why(gap, gap / doubt, settings)
            rows.append((method, str(cell), *(f"{x:.2f}" for x in (found.mean(), theirs[0])), f"{gap:+.2f}"))
            rows[-1] += (f"{gap / doubt:+.1f}", reason)
    heads = ("method", "cell", "here", "paper", "difference", "in standard errors", "reason")
    note = (
        "The standard error is of the difference of two means, each over its own ten splits (here as many as were "
        "run): where the difference is within two of them, other splits are reason enough."
    )
    return Table(f"Peers more than {FAR} points from the paper's figure", heads, rows, (note,))


def why(gap: float, in_errors: float, settings: dict[str, Any]) -> str:
    """What is known of a difference from the paper."""
    if abs(in_errors) <= TWO:
        return "splits"
    if gap > 0 and settings.get("root"):
        return "reads roots of word weights, chosen by validation labels"
    if gap > 0 and settings.get("scale_rows") is False:
        return "reads words as they are, not row-normalised, chosen by validation labels"
    return "not found"


def beside(shelf: Shelf, method: str, cell: Cell) -> str:
    """Ours, and the paper's in brackets where it has the method."""
    theirs = published.accuracy(method, cell)
    return shelf.words(method, cell) + ("" if theirs is None else f" [{theirs:.2f}]")


TRANSDUCTIVE = Artefact("transductive", "Transductive node classification", plan, show)
