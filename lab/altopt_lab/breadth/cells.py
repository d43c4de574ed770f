"""What the records say of a cell: figures of each method, the best peer on the same draws, AltOpt() on itself."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from altopt_lab.breadth.draws import Draw, read_draw
from altopt_lab.breadth.run import METHODS, OURS
from altopt_lab.records import Record


@dataclass(frozen=True)
class Comparison:
    """AltOpt() beside a peer on the draws that both were run on, in points of the cell's metric.

    Parameters
    ----------
    peer : str
    ours, theirs : float
        Means.
    error : float
        The standard error of the mean difference; infinite for a single draw.
    n_draws : int
    """

    peer: str
    ours: float
    theirs: float
    error: float
    n_draws: int

    @property
    def gap(self) -> float:
        return self.ours - self.theirs

    @property
    def verdict(self) -> str:
        """ "behind" or "ahead" by more than half a point and one standard error, "level", or "one draw"."""
        if self.n_draws == 1:
            return "one draw"
        if abs(self.gap) <= max(0.5, self.error):
            return "level"
        return "ahead" if self.gap > 0 else "behind"


@dataclass(frozen=True)
class Cell:
    """All runs on a data set under one kind of draw.

    Parameters
    ----------
    dataset : str
    draw : Draw
    runs : dict
        By method, by the number of the draw.
    """

    dataset: str
    draw: Draw
    runs: dict[str, dict[int, Record]]

    @property
    def metric(self) -> str:
        return next((run["metric"] for runs in self.runs.values() for run in runs.values()), "accuracy")

    def scores(self, method: str) -> dict[int, float]:
        """In points, by the number of the draw."""
        return {k: 100 * run[f"test_{self.metric}"] for k, run in self.runs.get(method, {}).items()}

    def text(self, method: str) -> str:
        """Mean and standard deviation, or a dash."""
        scores = list(self.scores(method).values())
        return f"{np.mean(scores):.1f} ± {np.std(scores):.1f}" if scores else "-"

    def seconds(self, method: str) -> float | None:
        runs = self.runs.get(method, {})
        return float(np.median([run["seconds"] for run in runs.values()])) if runs else None

    def beside(self, peer: str) -> Comparison | None:
        ours, theirs = self.scores(OURS), self.scores(peer)
        shared = sorted(ours.keys() & theirs.keys())
        if not shared:
            return None
        gaps = np.array([ours[k] - theirs[k] for k in shared])
        error = float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else np.inf
        mine, other = (float(np.mean([scores[k] for k in shared])) for scores in (ours, theirs))
        return Comparison(peer, mine, other, error, len(shared))

    def best_peer(self) -> Comparison | None:
        """The peer that leaves AltOpt() least ahead; which it is, nobody who chooses could know."""
        compared = [found for peer in METHODS if peer != OURS and (found := self.beside(peer))]
        return min(compared, key=lambda one: one.gap, default=None)


def cells_of(records: Iterable[Record]) -> list[Cell]:
    """Cells in the order of their first runs; the later of two records of a run counts, of AltOpt() the newest code."""
    found: dict[tuple[str, str], dict[str, dict[int, Record]]] = {}
    lines = list(records)
    newest = [line["code"] for line in lines if "code" in line][-1:]
    for line in lines:
        if line.get("code", *newest) not in newest and newest:
            continue
        runs = found.setdefault((line["dataset"], line["draw"]), {}).setdefault(line["method"], {})
        runs.pop(line["number"], None)
        if "failed" not in line:
            runs[line["number"]] = line
    return [Cell(dataset, read_draw(draw), runs) for (dataset, draw), runs in found.items()]


@dataclass(frozen=True)
class Honesty:
    """What AltOpt() expected of itself beside the truth, over some runs.

    Parameters
    ----------
    n_runs : int
    error : float
        Mean of the estimate minus the truth, in points.
    holds : float
        Share of the intervals that hold the truth, in %.
    width : float
        Mean width of the intervals, in points.
    calibration : float
        Mean expected calibration error.
    """

    n_runs: int
    error: float
    holds: float
    width: float
    calibration: float


def honesty_of(runs: list[Record], what: str = "") -> Honesty:
    """Of the accuracy, or of ROC AUC where `what` is "auc_"."""
    intervals = np.array([run[f"{what}interval"] for run in runs])
    return Honesty(
        len(runs),
        100 * float(np.mean([run[f"{what}estimate"] - run[f"{what}truth"] for run in runs])),
        100 * float(np.mean([run[f"{what}holds"] for run in runs])),
        100 * float(np.mean(intervals[:, 1] - intervals[:, 0])),
        float(np.mean([run["calibration_error"] for run in runs])),
    )
