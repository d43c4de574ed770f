"""The protocols of the paper: data sets, label rates, and splits by a seed."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from altopt.datasets import Dataset
from altopt.datasets.splits import Split, fraction, given, per_class, per_class_rest
from altopt.errors import InputError

CITATION = ("Cora", "CiteSeer", "PubMed")
CO_OCCURRENCE = ("CS", "Physics", "Computers", "Photo")
HETEROPHILOUS = ("chameleon", "squirrel", "chameleon-filtered", "squirrel-filtered")
OGB = ("ogbn-arxiv", "ogbn-products")
INDUCTIVE_GRAPHS = ("Reddit", "Flickr")  # their training nodes and all others are given
RATES = ("5", "10", "20", "60", "30%", "60%")
GIVEN = "given"  # the splits that came with a data set
INDUCTIVE = "inductive"  # half of the nodes train; validation and test nodes are not in the training graph
N_SPLITS, N_RUNS = 10, 3
TUNING_SPLITS = tuple(range(1000, 1018))  # settings are chosen on splits that are never reported
GIVEN_TUNING_SPLITS = (0, 1, 2, 3)  # of given splits there are no others: their validation nodes alone choose
LARGEST_COMPONENT = ", largest component"  # after the name of a data set: of its graph that part alone
N_SEEDS = 10  # runs where there is one split and no other

# what the paper's appendix fixes for a data set: sizes of networks and epochs. Rows are divided by their sum where
# features count words; those of these graphs have signs
FIXED_ON: dict[str, dict[str, Any]] = {
    "ogbn-arxiv": {"hidden": 256, "n_layers": 3, "n_epochs": 500, "scale_rows": False},
    "ogbn-products": {"hidden": 256, "n_layers": 3, "n_epochs": 1000, "scale_rows": False},
    "Reddit": {"hidden": 256, "n_layers": 3, "n_epochs": 500, "scale_rows": False},
    "Flickr": {"hidden": 64, "n_layers": 2, "n_epochs": 500, "scale_rows": False},
}


@dataclass(frozen=True, order=True)
class Cell:
    """A cell of a table: a data set and a label rate.

    Parameters
    ----------
    dataset : str
    rate : str
        Labels per class ("20"), a share of each class ("30%"), "given" or "inductive".

    Examples
    --------
    >>> str(Cell("Cora", "20"))
    'Cora 20'
    """

    dataset: str
    rate: str

    def __str__(self) -> str:
        return f"{self.dataset} {self.rate}"

    @property
    def source(self) -> str:
        """The data set whose files it is read from."""
        return self.dataset.removesuffix(LARGEST_COMPONENT)

    @property
    def n_splits(self) -> int:
        """How many splits there are: one where the data set comes with one, else as many as the paper drew."""
        return 1 if self.dataset in FIXED_ON else N_SPLITS

    @property
    def stratified_validation(self) -> bool:
        """Whether validation nodes are stratified by class while test nodes are not."""
        return self.source in CO_OCCURRENCE and self.rate.isdigit()


CELLS = tuple(Cell(name, rate) for name in CITATION for rate in RATES) + tuple(
    Cell(name, "20") for name in CO_OCCURRENCE
)
COMPONENT_CELLS = tuple(Cell(f"{name}{LARGEST_COMPONENT}", "20") for name in ("Computers", "Photo"))
# graphs that no number of the defaults was set on
APART_CELLS = (Cell("Wisconsin", GIVEN), Cell("amherst41", "50%"), Cell("reed98", "50%"))
OGB_CELLS = tuple(Cell(name, GIVEN) for name in OGB)


def find_rate(rate: str) -> str:
    """A rate as the paper writes it, or how else nodes are split."""
    wanted, known = rate.replace(" ", ""), (*RATES, "50%", GIVEN, INDUCTIVE)
    if wanted in known:
        return wanted
    raise InputError(f"--rate must be one of {', '.join(known)}, but is {rate!r}.")


def tuning_splits(cell: Cell) -> tuple[int, ...]:
    if cell.n_splits == 1:
        return (0,)
    return GIVEN_TUNING_SPLITS if cell.rate == GIVEN else TUNING_SPLITS


def split_of(dataset: Dataset, rate: str, seed: int) -> Split:
    """The paper's split with this seed.

    Citation graphs: so many of each class, 500 nodes for validation and 1,000 for test; or a share of each class,
    the rest halved. The next four: 20 of each class, 30 of each for validation, the rest for test. OGB, Reddit and
    Flickr: the one split that they come with; only the training nodes of Reddit and Flickr are in the training graph.
    """
    y = np.asarray(dataset.y)
    if rate == GIVEN or dataset.name in INDUCTIVE_GRAPHS:
        return given(dataset, seed)
    if rate == INDUCTIVE:
        return fraction(y, 0.5, seed=seed)
    if rate.endswith("%"):
        return fraction(y, float(rate[:-1]) / 100, seed=seed)
    if dataset.name in CO_OCCURRENCE:
        return per_class_rest(y, int(rate), 30, seed=seed)
    return per_class(y, int(rate), seed=seed)
