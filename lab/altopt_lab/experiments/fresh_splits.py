"""AltOpt() on fresh splits of the paper's cells, by the present code and by a checkout of the code before."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

import altopt
from altopt_lab.experiments.checkout import Checkout
from altopt_lab.experiments.protocols import Cell, split_of
from altopt_lab.experiments.work import Contexts, Work
from altopt_lab.metrics import accuracy
from altopt_lab.provenance import code_of
from altopt_lab.records import Record

FIRST = 5100  # seed of the first fresh split: nothing was chosen by them, though a mean over fourteen was looked at
DEVELOPMENT = 900  # and of splits that may be looked at
NOW = Path(altopt.__file__).parents[2]


@cache
def code_in(tree: Path) -> str:
    """The sum behind figures of the altopt of a checkout; read once, since hundreds of runs ask for it."""
    return code_of(tree / "src" / "altopt")


@dataclass(frozen=True)
class FreshRun(Work):
    """AltOpt() of one checkout on one fresh split.

    Parameters
    ----------
    version : "now" or "before"
    cell : Cell
    split : int
        Its seed.
    tree : Path
        The root of the checkout.
    fitter : callable
        From a checkout to its process.
    """

    version: str
    cell: Cell
    split: int
    tree: Path
    fitter: Callable[[Path], Checkout] = field(compare=False)

    @property
    def code(self) -> str:
        return code_in(self.tree)

    @property
    def key(self) -> str:
        return f"AltOpt() {self.version}, {self.cell}, split {self.split}"

    @property
    def needs_dataset(self) -> str:
        return self.cell.dataset

    def is_current(self, record: Record) -> bool:
        return bool(record["code"] == self.code)

    def identity(self) -> Record:
        return {
            "version": self.version,
            "dataset": self.cell.dataset,
            "rate": self.cell.rate,
            "split_seed": self.split,
            "code": self.code,
        }

    def measure(self, contexts: Contexts) -> Record:
        data = contexts(self.cell.dataset).dataset
        split = split_of(data, self.cell.rate, self.split)
        labels, seconds = self.fitter(self.tree).fit(self.cell.dataset, split.train.tolist(), self.split)
        right = accuracy(np.asarray(labels), np.asarray(data.y), split.test)
        return {"test_accuracy": round(right, 6), "seconds": round(seconds, 4)}
