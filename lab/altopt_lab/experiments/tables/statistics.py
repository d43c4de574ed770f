"""The paper's table of data sets, beside what is counted here."""

from dataclasses import dataclass

from altopt.datasets.statistics import PAPER, statistics
from altopt_lab.experiments.records import Record
from altopt_lab.experiments.run import Grounds, made_on
from altopt_lab.experiments.tables.table import NOT_RUN, Artefact, Ask, Shelf, Shown, Table, Turn


@dataclass(frozen=True)
class Count:
    """Nodes, edges, features and classes of a data set."""

    dataset: str

    @property
    def key(self) -> str:
        return f"statistics, {self.dataset}"

    @property
    def reads(self) -> str:
        return self.dataset

    def stands(self, record: Record) -> bool:
        return True

    def perform(self, grounds: Grounds) -> Record:
        found = statistics(grounds(self.dataset).dataset)
        return {"key": self.key, "dataset": self.dataset} | found._asdict() | made_on()


def plan(ask: Ask) -> list[Turn]:
    return [Turn(0, Count(name)) for name in PAPER if ask.dataset in (None, name)]


def show(shelf: Shelf) -> list[Shown]:
    rows = []
    for name, paper in PAPER.items():
        line = shelf.get(Count(name).key)
        for what, theirs in paper._asdict().items():
            ours = NOT_RUN if line is None else f"{line[what]:,}"
            same = "" if ours == NOT_RUN else "same" if ours == f"{theirs:,}" else "differs"
            rows.append((name, what.removeprefix("n_"), ours, f"{theirs:,}", same))
    notes = (
        "The paper counts Computers and Photo on their largest connected component; here, as in PyTorch Geometric, "
        "all nodes are kept. Data sets that are not run were not on disk where these runs were made.",
    )
    return [Table("Data sets", ("data", "what", "ours", "paper", ""), rows, notes, n_labels=2)]


STATISTICS = Artefact("statistics", "Data set statistics", plan, show)
