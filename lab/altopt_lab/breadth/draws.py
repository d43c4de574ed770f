"""Kinds of draw: which nodes have a label, which choose an epoch, and which are judged."""

from dataclasses import dataclass

import numpy as np

from altopt.arrays import Array
from altopt.datasets import Dataset
from altopt.datasets.splits import Split, given, known
from altopt.errors import InputError

HIDDEN = 0.3  # share of the nodes that a draw must leave unlabelled
NOBODY = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, order=True)
class Draw:
    """A kind of draw and its size.

    Parameters
    ----------
    kind : "given", "50/25/25", "random" or "class"
        The splits that came with the data; half of the nodes at random, a quarter to choose an epoch and a quarter to
        judge; so many nodes at random; so many of each class.
    count : int
        Labels of the last two.

    Examples
    --------
    >>> str(Draw("class", 20)), str(read_draw("random 50"))
    ('class 20', 'random 50')
    """

    kind: str
    count: int = 0

    def __str__(self) -> str:
        return f"{self.kind} {self.count}" if self.count else self.kind

    def fits(self, data: Dataset) -> bool:
        """Whether the data set has as many labels, with enough nodes left to judge."""
        sizes = np.bincount(data.y[known(data.y)])
        if self.kind == "given":
            return data.splits is not None
        if self.kind == "50/25/25":
            return True
        wanted = self.count if self.kind == "random" else self.count * len(sizes)
        enough = self.kind == "random" or bool(sizes.min() >= self.count)
        return enough and wanted <= (1 - HIDDEN) * sizes.sum()

    def split(self, data: Dataset, number: int) -> Split:
        """The draw of this number, which is its seed."""
        if self.kind == "given":
            return given(data, number)
        rng, nodes = np.random.default_rng(number), np.flatnonzero(known(data.y))
        if self.kind == "50/25/25":
            train, validation, test = np.split(rng.permutation(nodes), [len(nodes) // 2, len(nodes) * 3 // 4])
            return Split(np.sort(train), np.sort(validation), np.sort(test), str(self), number)
        if self.kind == "random":
            train = rng.choice(nodes, self.count, replace=False)
        else:
            train = np.concatenate([one_class(data.y, k, self.count, rng) for k in np.unique(data.y[nodes])])
        return Split(np.sort(train), NOBODY, np.setdiff1d(nodes, train), str(self), number)


def one_class(y: Array, label: int, count: int, rng: np.random.Generator) -> Array:
    return rng.choice(np.flatnonzero(y == label), count, replace=False)


GIVEN, HALVES = Draw("given"), Draw("50/25/25")
RANDOM = tuple(Draw("random", count) for count in (50, 200, 1000))
BY_CLASS = tuple(Draw("class", count) for count in (5, 20, 60))
FEW = tuple(Draw("class", count) for count in (3, 5, 10))


def read_draw(text: str) -> Draw:
    """A draw from its name."""
    kind, _, count = text.strip().partition(" ")
    known_draw = (kind in ("given", "50/25/25") and not count) or (
        kind in ("random", "class") and count.isdigit()
    )
    if not known_draw or count == "0":
        raise InputError(f"--rate must be given, 50/25/25, 'random 50' or 'class 20', say, but is {text!r}.")
    return Draw(kind, int(count or 0))
