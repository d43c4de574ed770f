"""The splits of the contest, on which validation nodes count alike for everyone."""

from dataclasses import replace

from altopt.datasets import Dataset
from altopt.datasets.splits import Split
from altopt_lab.experiments.protocols import Cell, split_of


def contest_split(data: Dataset, cell: Cell, seed: int) -> Split:
    """The split with this seed, on which everyone counts validation nodes plainly.

    Where as many of each class validate, AltOpt counts them by class size, which no peer does. One node less, and it
    counts them plainly too.
    """
    split = split_of(data, cell.rate, seed)
    return replace(split, validation=split.validation[:-1]) if cell.stratified_validation else split
