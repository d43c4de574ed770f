"""The claims of the paper, judged by the runs on record: both ways where the paper says that two things are alike."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from altopt_lab.experiments import published
from altopt_lab.experiments.accuracy_claims import ACCURACY, SLACK, exceptions
from altopt_lab.experiments.cost_claims import COST
from altopt_lab.experiments.protocols import CELLS, Cell
from altopt_lab.experiments.study_claims import STUDIES
from altopt_lab.experiments.tables.paper_table import RecordIndex
from altopt_lab.verdict import Verdict, judged

HISTORY = "History, ten splits, unequal effort: ALT-OPT (ours) is"
Judge = Callable[[RecordIndex], Verdict | Iterable[Verdict]]


@dataclass(frozen=True)
class CellResult:
    """ALT-OPT, ours, in one cell, on those of the ten earlier splits that APPNP was run on too.

    Parameters
    ----------
    cell : Cell
    ours : float or None
        Mean test accuracy in %.
    target : float or None
        That of APPNP, plus the paper's gap, minus 0.5.
    paper : float
        The paper's figure.
    n_splits : int
        Splits that both were run on.
    """

    cell: Cell
    ours: float | None
    target: float | None
    paper: float
    n_splits: int

    @property
    def met(self) -> bool | None:
        """Whether it is at the target or above."""
        return None if self.ours is None or self.target is None else self.ours >= self.target

    @property
    def near_paper(self) -> bool | None:
        """Whether it is within half a point of the paper's figure, or above it."""
        return None if self.ours is None else self.ours >= self.paper - SLACK


def cell_results(index: RecordIndex) -> list[CellResult]:
    results = []
    for cell in CELLS:
        paper, peer = published.accuracy("ALT-OPT", cell), published.accuracy("APPNP", cell)
        if paper is None or peer is None:
            continue
        means = index.on_the_same_splits("ALT-OPT", "APPNP", cell)
        if means is None:
            results.append(CellResult(cell, index.mean("ALT-OPT", cell), None, paper, 0))
        else:
            results.append(CellResult(cell, means[0], means[1] + paper - peer - SLACK, paper, means[2]))
    return results


def verdicts(index: RecordIndex) -> list[Verdict]:
    judges = (*ACCURACY, *STUDIES, *COST, above_appnp_earlier, near_the_paper_earlier)
    return [verdict for judge in judges for verdict in with_marks(index, judge)]


def with_marks(index: RecordIndex, judge: Judge) -> Iterator[Verdict]:
    """Verdicts with † behind the evidence where other code made one of the records that they rest on."""
    with index.watched() as seen:
        found = judge(index)
    if isinstance(found, Verdict):
        yield marked(found, index.mark(seen))
        return
    verdicts = iter(found)
    while True:
        with index.watched() as seen:
            verdict = next(verdicts, None)
        if verdict is None:
            return
        yield marked(verdict, index.mark(seen))


def marked(verdict: Verdict, mark: str) -> Verdict:
    return replace(verdict, evidence=f"{verdict.evidence}{mark}") if verdict.evidence else verdict


def above_appnp_earlier(index: RecordIndex) -> Verdict:
    """History: ours on ten splits, under settings that were searched for longer than those of the peers."""
    cells = cell_results(index)
    compared = [cell for cell in cells if cell.met is not None]
    short = [str(cell.cell) for cell in compared if not cell.met]
    evidence = f"{len(compared) - len(short)} of {len(compared)} cells that both were run in, of {len(cells)}"
    told = evidence + exceptions(short) if compared else ""
    claim = f"{HISTORY} at least at APPNP plus the paper's gap minus 0.5"
    return judged(claim, told, len(compared), len(cells), not short)


def near_the_paper_earlier(index: RecordIndex) -> Verdict:
    cells = cell_results(index)
    run = [cell for cell in cells if cell.ours is not None]
    short = [str(cell.cell) for cell in run if not cell.near_paper]
    evidence = f"{len(run) - len(short)} of {len(run)} cells run, of {len(cells)}{exceptions(short)}"
    claim = f"{HISTORY} within 0.5 of the paper's figure or above"
    return judged(claim, evidence if run else "", len(run), len(cells), not short)
