"""The paper's table of data sets, beside our counts."""

from dataclasses import dataclass

from altopt.datasets.statistics import PAPER, statistics
from altopt_lab.experiments.tables.paper_table import PaperTable, RecordIndex, RunFilter, ScheduledRun
from altopt_lab.experiments.work import Contexts, Work
from altopt_lab.records import Record
from altopt_lab.table import NOT_RUN, Shown, Table


@dataclass(frozen=True)
class Count(Work):
    """Nodes, edges, features and classes of a data set."""

    dataset: str

    @property
    def key(self) -> str:
        return f"statistics, {self.dataset}"

    @property
    def needs_dataset(self) -> str:
        return self.dataset

    def identity(self) -> Record:
        return {"dataset": self.dataset}

    def measure(self, contexts: Contexts) -> Record:
        return statistics(contexts(self.dataset).dataset)._asdict()


def plan(only: RunFilter) -> list[ScheduledRun]:
    return [ScheduledRun(0, Count(name)) for name in PAPER if only.dataset in (None, name)]


def show(index: RecordIndex) -> list[Shown]:
    rows = []
    for name, paper in PAPER.items():
        line = index.get(Count(name).key)
        for what, theirs in paper._asdict().items():
            ours = NOT_RUN if line is None else f"{line[what]:,}"
            same = "" if ours == NOT_RUN else "same" if ours == f"{theirs:,}" else "differs"
            rows.append((name, what.removeprefix("n_"), ours, f"{theirs:,}", same))
    notes = (
        "The paper counts Computers and Photo on their largest connected component; here, as in PyTorch Geometric, "
        "all nodes are kept. Data sets that are not run were not on disk where these runs were made.",
    )
    return [Table("Data sets", ("data", "what", "ours", "paper", ""), rows, notes, n_labels=2)]


STATISTICS = PaperTable("statistics", "Data set statistics", plan, show)
