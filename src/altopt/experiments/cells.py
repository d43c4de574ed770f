"""What the paper's tables are made of: a data set with so many labels, split by a seed."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from altopt.datasets import Dataset
from altopt.errors import InputError
from altopt.splits import Split, fraction, per_class

CITATION = ("Cora", "CiteSeer", "PubMed")
CO_OCCURRENCE = ("CS", "Physics", "Computers", "Photo")
HETEROPHILOUS = ("chameleon", "squirrel", "chameleon-filtered", "squirrel-filtered")
RATES = ("5", "10", "20", "60", "30%", "60%")
GIVEN = "given"  # the splits that came with a data set
INDUCTIVE = "inductive"  # half of the nodes train; validation and test nodes are not in the training graph
N_SPLITS, N_RUNS = 10, 3
TUNING_SPLITS = (1000, 1001, 1002, 1003, 1004, 1005)  # settings are chosen on splits that are never reported


@dataclass(frozen=True, order=True)
class Cell:
    """A data set and a label rate: labels per class, a share of each class, or how else it is split."""

    dataset: str
    rate: str

    def __str__(self) -> str:
        return f"{self.dataset} {self.rate}"


CELLS = tuple(Cell(name, rate) for name in CITATION for rate in RATES) + tuple(
    Cell(name, "20") for name in CO_OCCURRENCE
)


def find_rate(rate: str) -> str:
    """A rate as the paper writes it."""
    wanted = rate.replace(" ", "")
    if wanted in RATES:
        return wanted
    raise InputError(f"--rate must be one of {', '.join(RATES)}, but is {rate!r}.")


def split_of(dataset: Dataset, rate: str, seed: int) -> Split:
    """The paper's split with this seed.

    Citation graphs: so many of each class, 500 nodes for validation and 1,000 for test; or a share of each class,
    the rest halved. The other four: 20 of each class, 30 of each for validation, the rest for test.
    """
    y = np.asarray(dataset.y)
    if rate == GIVEN:
        return given_split(dataset, seed)
    if rate == INDUCTIVE:
        return fraction(y, 0.5, seed=seed)
    if rate.endswith("%"):
        return fraction(y, float(rate[:-1]) / 100, seed=seed)
    if dataset.name in CO_OCCURRENCE:
        return both_per_class(y, int(rate), 30, seed)
    return per_class(y, int(rate), seed=seed)


def in_words(cell: Cell) -> str:
    """How a cell is split, for the record."""
    if cell.rate == GIVEN:
        return "the splits that came with the data"
    if cell.rate == INDUCTIVE:
        return "half of each class, the rest halved; validation and test nodes not in the training graph"
    if cell.rate.endswith("%"):
        return f"{cell.rate} of each class, the rest halved"
    if cell.dataset in CO_OCCURRENCE:
        return f"{cell.rate} per class, 30 per class validation, the rest test"
    return f"{cell.rate} per class, 500 validation, 1000 test"


def given_split(dataset: Dataset, seed: int) -> Split:
    masks: Any = dataset.splits
    number = seed % len(masks["train"])
    return Split(*(np.flatnonzero(masks[part][number]) for part in ("train", "validation", "test")))


def both_per_class(y: Any, n_train: int, n_validation: int, seed: int) -> Split:
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(np.flatnonzero(y == k)) for k in np.unique(y)]
    train = np.sort(np.concatenate([nodes[:n_train] for nodes in drawn]))
    validation = np.sort(np.concatenate([nodes[n_train : n_train + n_validation] for nodes in drawn]))
    return Split(train, validation, np.setdiff1d(np.arange(len(y)), np.concatenate([train, validation])))
