"""The protocols of the paper: data sets, label rates, and splits by a seed."""

from dataclasses import dataclass

import numpy as np

from altopt.datasets import Dataset
from altopt.datasets.splits import Split, fraction, given, per_class, per_class_rest
from altopt.errors import InputError

CITATION = ("Cora", "CiteSeer", "PubMed")
CO_OCCURRENCE = ("CS", "Physics", "Computers", "Photo")
HETEROPHILOUS = ("chameleon", "squirrel", "chameleon-filtered", "squirrel-filtered")
RATES = ("5", "10", "20", "60", "30%", "60%")
GIVEN = "given"  # the splits that came with a data set
INDUCTIVE = "inductive"  # half of the nodes train; validation and test nodes are not in the training graph
N_SPLITS, N_RUNS = 10, 3
TUNING_SPLITS = tuple(range(1000, 1018))  # settings are chosen on splits that are never reported
GIVEN_TUNING_SPLITS = (0, 1, 2, 3)  # of given splits there are no others: their validation nodes alone choose


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
    def stratified_validation(self) -> bool:
        """Whether validation nodes are stratified by class while test nodes are not."""
        return self.dataset in CO_OCCURRENCE and self.rate.isdigit()


CELLS = tuple(Cell(name, rate) for name in CITATION for rate in RATES) + tuple(
    Cell(name, "20") for name in CO_OCCURRENCE
)


def find_rate(rate: str) -> str:
    """A rate as the paper writes it, or how else nodes are split."""
    wanted, known = rate.replace(" ", ""), (*RATES, GIVEN, INDUCTIVE)
    if wanted in known:
        return wanted
    raise InputError(f"--rate must be one of {', '.join(known)}, but is {rate!r}.")


def tuning_splits(cell: Cell) -> tuple[int, ...]:
    return GIVEN_TUNING_SPLITS if cell.rate == GIVEN else TUNING_SPLITS


def split_of(dataset: Dataset, rate: str, seed: int) -> Split:
    """The paper's split with this seed.

    Citation graphs: so many of each class, 500 nodes for validation and 1,000 for test; or a share of each class,
    the rest halved. The other four: 20 of each class, 30 of each for validation, the rest for test.
    """
    y = np.asarray(dataset.y)
    if rate == GIVEN:
        return given(dataset, seed)
    if rate == INDUCTIVE:
        return fraction(y, 0.5, seed=seed)
    if rate.endswith("%"):
        return fraction(y, float(rate[:-1]) / 100, seed=seed)
    if dataset.name in CO_OCCURRENCE:
        return per_class_rest(y, int(rate), 30, seed=seed)
    return per_class(y, int(rate), seed=seed)
