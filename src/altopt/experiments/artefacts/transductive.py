"""The paper's main tables: test accuracy of every method at every label rate."""

from altopt.experiments import published
from altopt.experiments.artefacts.artefact import NOT_RUN, Artefact, Ask, Shelf, Shown, Table, Turn, repeated
from altopt.experiments.cells import CELLS, CO_OCCURRENCE, N_RUNS, N_SPLITS

IN_THE_PAPER = ("LP", "MLP", "GCN", "GAT", "APPNP", "SGC", "SIGN", "C&S")
# the methods whose comparison says most come first
ORDER = ("ALT-OPT", "APPNP", "AltOpt()", "GCN", "SGC", "MLP", "LP", "SIGN", "C&S", "GAT", "PTA", "PPRGo")
FEW_SPLITS = {("CS", name): 3 for name in ORDER[3:]} | {("Physics", name): 3 for name in ORDER[3:]}
MOST_TELLING = ("20", "5", "30%", "60", "10", "60%")  # label rates


def plan(ask: Ask) -> list[Turn]:
    turns = []
    cells = sorted(CELLS, key=lambda cell: (MOST_TELLING.index(cell.rate), cell.dataset in CO_OCCURRENCE))
    for method in methods():
        for cell in filter(ask.wants, cells):
            usual = FEW_SPLITS.get((cell.dataset, method), N_SPLITS)
            n_runs = ask.n_runs or (N_RUNS if method == "ALT-OPT" else 1)
            turns += repeated(method, cell, ask.n_splits or usual, n_runs)
    return turns


def methods() -> list[str]:
    from altopt.experiments.methods import METHODS

    return [name for name in ORDER if name in METHODS]


def show(shelf: Shelf) -> list[Shown]:
    tables: list[Shown] = []
    for name in dict.fromkeys(cell.dataset for cell in CELLS):
        rows = []
        for cell in (cell for cell in CELLS if cell.dataset == name):
            paper = published.published("transductive")[str(cell)]
            for method in methods():
                ours, mean, theirs = shelf.words(method, cell), shelf.mean(method, cell), paper.get(method)
                if ours == NOT_RUN and theirs is None:
                    continue
                gap = "" if mean is None or theirs is None else f"{mean - theirs[0]:+.2f}"
                rows.append((cell.rate, method, ours, published.in_words(theirs), gap))
        tables.append(Table(name, ("labels", "method", "ours", "paper", "difference"), rows))
    other = [cell for cell in published.published("transductive") if cell.startswith("ogbn")]
    absent = [
        (cell, method, NOT_RUN, published.in_words(values))
        for cell in other
        for method, values in published.published("transductive")[cell].items()
    ]
    note = "The two OGB graphs were not on disk where these runs were made; their loaders are tested on small files."
    tables.append(
        Table("OGB", ("data", "method", "ours", "paper"), absent, (note, *published.notes("transductive")))
    )
    return tables


TRANSDUCTIVE = Artefact("transductive", "Transductive node classification", plan, show)
