"""Who is compared in which cells, on which splits, and what comes first."""

from dataclasses import dataclass

from altopt_lab.experiments.methods import find_method
from altopt_lab.experiments.protocols import (
    CELLS,
    CITATION,
    GIVEN,
    GIVEN_TUNING_SPLITS,
    INDUCTIVE,
    TUNING_SPLITS,
    Cell,
)

FIRST_FRESH = 7000  # nothing was ever fitted on splits from here on
N_FRESH, N_FRESH_PEERS = 30, 10
N_TRIALS = 6
PAPER = ("ALT-OPT (paper, mse)", "ALT-OPT (paper, ce)")
OURS, DEFAULT = "ALT-OPT (ours, wider search)", "AltOpt()"
FULL, NORMALISED = "ALT-OPT-Full (paper)", "ALT-OPT-N (paper)"
SQUARED, SQUARED_GCN = "ALT-OPT-H (paper, X as it is)", "ALT-OPT-H (GCN as encoder)"
PERSISTENT, ONE_TIME, WITHOUT = ("GCN", "GAT", "APPNP", "PPRGo"), ("SGC", "SIGN", "C&S", "PTA"), ("LP", "MLP")
# from the cheapest fit of the paper's method to the dearest
BY_COST = ("PubMed", "Photo", "Cora", "Computers", "CiteSeer", "CS", "Physics")
INDUCTIVE_CELLS = tuple(Cell(name, INDUCTIVE) for name in ("PubMed", "CS", "Physics"))
HETEROPHILOUS_CELLS = (Cell("chameleon", GIVEN), Cell("squirrel", GIVEN))


@dataclass(frozen=True)
class Entry:
    """A method in a cell.

    Parameters
    ----------
    phase : int
        Lower ones are run first.
    method : str
    cell : Cell
    splits : tuple of int
        Seeds of the splits that it is judged on.
    """

    phase: int
    method: str
    cell: Cell
    splits: tuple[int, ...]


def fresh(first: int, last: int) -> tuple[int, ...]:
    return tuple(range(FIRST_FRESH + first, FIRST_FRESH + last))


def entries() -> list[Entry]:
    """The most informative first: the paper's method in all cells, ours, the quick peers, the slow ones."""
    cells = sorted(CELLS, key=lambda cell: BY_COST.index(cell.dataset))
    few, all_ = fresh(0, N_FRESH_PEERS), fresh(0, N_FRESH)
    plan = [Entry(0, name, cell, few) for cell in cells for name in PAPER]
    plan += [Entry(1, name, cell, all_) for cell in cells for name in (OURS, DEFAULT)]
    quick = ("APPNP", "GCN", "SGC", "C&S", "LP", "MLP", "SIGN")
    plan += [Entry(2, name, cell, few) for cell in cells for name in quick]
    at_20 = [Cell(name, "20") for name in CITATION]
    plan += [Entry(3, FULL, cell, few) for cell in at_20]
    plan += [Entry(3, NORMALISED, cell, few) for cell in (Cell("PubMed", "20"), Cell("CS", "20"))]
    given = tuple(range(10))
    plan += [Entry(3, name, cell, given) for cell in HETEROPHILOUS_CELLS for name in (SQUARED, SQUARED_GCN)]
    inductive = (PAPER[0], "MLP", "GCN", "APPNP", "SGC", "C&S")
    plan += [Entry(3, name, cell, few) for cell in INDUCTIVE_CELLS for name in inductive]
    plan += [Entry(4, name, cell, fresh(N_FRESH_PEERS, N_FRESH)) for cell in cells for name in PAPER]
    slow = ("GAT", "PTA", "PPRGo")
    plan += [Entry(5 + k, name, cell, few) for k, name in enumerate(slow) for cell in cells]
    return plan


def trial_splits(cell: Cell) -> tuple[int, ...]:
    """Splits that settings are chosen on, the same for every method: four where splits differ much, else two."""
    n_splits = 4 if cell.rate in ("5", "10") else 2
    return (GIVEN_TUNING_SPLITS if cell.rate == GIVEN else TUNING_SPLITS)[:n_splits]


def is_tuned(method: str) -> bool:
    return find_method(method).tuned_by is not None
