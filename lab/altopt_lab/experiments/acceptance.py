"""What AltOpt() must reach on the data people bring, each line with its figure and whether it holds.

    python -m altopt_lab.experiments.acceptance [1 2 3 4 5 6] [--splits N] [--before CHECKOUT]

1: graphs of other kinds. 2: tables without a graph. 3: an irrelevant column. 4: honest estimates. 5: the paper's cells
on fresh splits, beside the code before. 6: wrong labels and random edges. Runs are recorded, one JSON line each, and
not made again for the same code; seconds are of one core.
"""

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from altopt_lab.breadth.cells import Cell as BreadthCell
from altopt_lab.breadth.cells import cells_of
from altopt_lab.breadth.data import TABLES, read
from altopt_lab.breadth.draws import FEW, Draw
from altopt_lab.breadth.run import OURS, BreadthRun, code
from altopt_lab.experiments import honesty
from altopt_lab.experiments import irrelevant_column as columns
from altopt_lab.experiments.checkout import Checkout
from altopt_lab.experiments.context import DatasetContexts
from altopt_lab.experiments.fresh_splits import DEVELOPMENT, FIRST, NOW, FreshRun
from altopt_lab.experiments.honesty_report import criteria
from altopt_lab.experiments.protocols import CELLS, Cell
from altopt_lab.experiments.robustness import FlippedLabels, RandomEdges, Trial
from altopt_lab.experiments.run import Run
from altopt_lab.experiments.runner import work_through
from altopt_lab.experiments.work import Contexts, Work
from altopt_lab.records import Record, Records, read_records
from altopt_lab.verdict import Verdict

AT_LEAST = {
    "Tolokers": 86.0,
    "Wisconsin": 85.5,
    "chameleon": 81.5,
    "squirrel": 78.0,
    "chameleon-filtered": 48.5,
    "squirrel-filtered": 46.0,
}
SCHOOLS, SCHOOL_PEERS = ("reed98", "amherst41"), ("LINKX", "logistic regression on ties")
TREES, TREES_TIMES, SCHOOL_SECONDS = "boosted trees", 5.0, 2.0
SEMI_SUPERVISED = (
    *(f"{kind}, {kernel}" for kind in ("LabelSpreading", "LabelPropagation") for kernel in ("rbf", "knn")),
    "self-training",
)
FLIPS_FOUND = {"Cora": 0.7, "CiteSeer": 0.7, "Photo": 0.7, "Tolokers": 0.6}
RANDOM_EDGES = ("Cora", "PubMed", "Tolokers")
TUNED = Cell("CiteSeer", "20")


@dataclass
class Acceptance:
    """The runs that the lines are decided by.

    Parameters
    ----------
    records : Records
    data : Path or None
        Folder of raw files.
    n_splits : int or None
        Fewer than it takes: a first look.
    before : Path or None
        A checkout of the code before, built.
    """

    records: Records
    data: Path | None = None
    n_splits: int | None = None
    before: Path | None = None
    checkouts: dict[Path, Checkout] = field(default_factory=dict)

    def splits(self, usual: int) -> range:
        return range(min(usual, self.n_splits or usual))

    def made(self, works: Sequence[Work]) -> list[Record]:
        """The records of some work, as far as it did not fail."""
        contexts = DatasetContexts(self.data, read)
        wanted = {work.key: work for work in works}
        found = work_through(list(works), self.records, contexts, on_progress=progress)
        current = [line for line in found if wanted[line["key"]].is_current(line)]
        for line in current:
            if "failed" in line:
                print(f"  {line['key']} failed: {line['failed']}", flush=True)
        return [line for line in current if "failed" not in line]

    def cell(self, name: str, draw: Draw, methods: Sequence[str], usual: int = 10) -> BreadthCell:
        """The methods by turns on each draw of a data set."""
        numbers = self.splits(usual)
        runs = [BreadthRun(method, name, draw, number) for number in numbers for method in methods]
        return next(iter(cells_of(self.made(runs))), BreadthCell(name, draw, {}))

    def checkout(self, tree: Path) -> Checkout:
        if tree not in self.checkouts:
            self.checkouts[tree] = Checkout(tree, self.data)
        return self.checkouts[tree]

    def end(self) -> None:
        for checkout in self.checkouts.values():
            checkout.end()


def progress(done: int, planned: int, record: Record, left: float) -> None:
    print(f"  {done} of {planned}: {record['key']}, about {left / 60:.0f} min left", flush=True)


def mean_of(cell: BreadthCell, method: str) -> float:
    return float(np.mean(list(cell.scores(method).values()) or [np.nan]))


def seconds_of(cell: BreadthCell, method: str) -> float:
    return float(np.mean([run["seconds"] for run in cell.runs.get(method, {}).values()] or [np.nan]))


def at_least(claim: str, figure: float, bound: float, more: str = "") -> Verdict:
    met = None if np.isnan(figure) or np.isnan(bound) else bool(figure >= bound)
    return Verdict(claim, met, f"{figure:.2f}, at least {bound:.2f}{more}")


def at_most(claim: str, figure: float, bound: float, more: str = "") -> Verdict:
    met = None if np.isnan(figure) or np.isnan(bound) else bool(figure <= bound)
    return Verdict(claim, met, f"{figure:.2f}, at most {bound:.2f}{more}")


def other_graphs(ask: Acceptance) -> list[Verdict]:
    """Given splits, and random ones of the social networks."""
    lines = []
    for name, bound in AT_LEAST.items():
        cell = ask.cell(name, Draw("given"), (OURS, TREES) if name == "Tolokers" else (OURS,))
        metric = "ROC AUC" if cell.metric == "auc" else "accuracy"
        lines.append(at_least(f"{name}, {metric}", mean_of(cell, OURS), bound))
        if name == "Tolokers":
            ours, trees = seconds_of(cell, OURS), seconds_of(cell, TREES)
            more = f" ({ours:.2f} s, {trees:.2f} s)"
            lines.append(at_most(f"{name}, seconds over {TREES}", ours / trees, TREES_TIMES, more))
    for name in SCHOOLS:
        stronger = f"{SCHOOL_PEERS[1]}, C=10"
        cell = ask.cell(name, Draw("50/25/25"), (OURS, *SCHOOL_PEERS, stronger))
        bound = max(mean_of(cell, peer) for peer in SCHOOL_PEERS) - 0.5
        told = ", ".join(f"{peer} {mean_of(cell, peer):.2f}" for peer in (*SCHOOL_PEERS, stronger))
        lines.append(at_least(f"{name}, accuracy", mean_of(cell, OURS), bound, f" ({told})"))
        lines.append(at_most(f"{name}, seconds", seconds_of(cell, OURS), SCHOOL_SECONDS))
    return lines


def tables(ask: Acceptance) -> list[Verdict]:
    """Tables without a graph, 3, 5 and 10 labels of each class, beside the best peer of each of the three."""
    lines, gaps = [], []
    for name in TABLES:
        cells = [ask.cell(name, draw, (OURS, *SEMI_SUPERVISED)) for draw in FEW]
        ours = float(np.mean([mean_of(cell, OURS) for cell in cells]))
        best = float(np.mean([max(mean_of(cell, who) for who in SEMI_SUPERVISED) for cell in cells]))
        gaps.append(ours - best)
        lines.append(at_least(f"{name}, accuracy", ours, best - 1.0))
    return [*lines, at_least("mean over all, points above the best peers", float(np.mean(gaps)), 1.0)]


@dataclass(frozen=True)
class ColumnRun(Work):
    """A fit with one more column that says nothing, or without it.

    Parameters
    ----------
    dataset : str
    column : str or None
        Its kind, by the names of `irrelevant_column`.
    seed : int
    """

    dataset: str
    column: str | None
    seed: int

    @property
    def key(self) -> str:
        return f"{self.dataset} and a column {self.column}, seed {self.seed}"

    def is_current(self, record: Record) -> bool:
        return bool(record["code"] == code())

    def identity(self) -> Record:
        return {"dataset": self.dataset, "column": self.column, "seed": self.seed, "code": code()}

    def measure(self, contexts: Contexts) -> Record:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = columns.run(columns.read(self.dataset), self.column, self.seed, cross_fit=True)
        return {"score": 100 * found["score"]}


def irrelevant_column(ask: Acceptance) -> list[Verdict]:
    """Points that a column costs, on each data set over all kinds of column."""
    kinds = [kind for kind in columns.COLUMNS if kind != "useful"]
    lines, all_lost = [], []
    for name in columns.DATA:
        runs = [ColumnRun(name, kind, seed) for seed in ask.splits(5) for kind in (None, *kinds)]
        scores = {(line["column"], line["seed"]): line["score"] for line in ask.made(runs)}
        lost = {
            kind: float(np.mean([scores[None, k] - scores[kind, k] for k in ask.splits(5)])) for kind in kinds
        }
        all_lost += list(lost.values())
        worst = max(lost, key=lambda kind: lost[kind])
        mean = float(np.mean(list(lost.values())))
        lines.append(at_most(f"{name}, points lost", mean, 0.5, f" (most: {worst} {lost[worst]:.2f})"))
    return [*lines, at_most("mean of all, points lost", float(np.mean(all_lost)), 0.5)]


def honest_estimates(ask: Acceptance) -> list[Verdict]:
    """The criteria of the experiment on honesty."""
    out = ask.records.path.with_name("honesty.jsonl")
    honesty.make(out, honesty.datasets(), len(ask.splits(10)), 0)
    told = criteria(honesty.current(read_records(out)))
    claims = [(line.startswith("met"), *line[7:].partition(": ")) for line in told]
    return [Verdict(claim, met, figure) for met, claim, _, figure in claims]


def paper_cells(ask: Acceptance) -> list[Verdict]:
    """The 22 cells on 30 fresh splits."""
    first = FIRST if ask.n_splits is None else DEVELOPMENT  # a first look must not use fresh splits up
    splits = [first + number for number in ask.splits(30)]
    if ask.before is None:
        return [Verdict("22 cells beside the code before", None, "name its checkout with --before")]
    trees = {"before": ask.before.resolve(), "now": NOW}
    runs = [
        FreshRun(version, cell, split, tree, ask.checkout)
        for split in splits
        for cell in CELLS
        for version, tree in trees.items()
    ]
    found = ask.made(runs)

    def right(version: str, cell: Cell) -> float:
        wanted = (version, cell.dataset, cell.rate)
        mine = [r for r in found if (r["version"], r["dataset"], r["rate"]) == wanted]
        return float(np.mean([100 * r["test_accuracy"] for r in mine] or [np.nan]))

    gaps = {cell: right("now", cell) - right("before", cell) for cell in CELLS}
    worst = min(gaps, key=lambda cell: gaps[cell])
    more = f" ({np.mean([right('now', cell) for cell in CELLS]):.2f}; least: {worst} {gaps[worst]:+.2f})"
    tuned = ask.made([Run("ALT-OPT", TUNED, split, split) for split in splits])
    goal = float(np.mean([100 * line["test_accuracy"] for line in tuned] or [np.nan]))
    kind = "fresh" if first == FIRST else "development"
    claim = f"{len(CELLS)} cells, {len(splits)} {kind} splits, points above the code before"
    return [
        at_least(claim, float(np.mean(list(gaps.values()))), -0.1, more),
        at_least(f"{TUNED}, points above tuned ALT-OPT", right("now", TUNED) - goal, -0.7, f" ({goal:.2f})"),
    ]


def robustness(ask: Acceptance) -> list[Verdict]:
    """Wrong labels found, and points lost on random edges."""

    def tried(kind: type[Trial], name: str) -> list[Record]:
        return ask.made([kind(name, number) for number in ask.splits(10)])

    lines = []
    for name, bound in FLIPS_FOUND.items():
        trials = tried(FlippedLabels, name)
        found, known = (
            100 * float(np.mean([line[key] for line in trials] or [np.nan]))
            for key in ("found", "knowing_others")
        )
        more = f" ({known:.2f} from the true labels of all other nodes)"
        lines.append(at_least(f"{name}, % of flipped labels found", found, 100 * bound, more))
    for name in RANDOM_EDGES:
        scores = [line["scores"] for line in tried(RandomEdges, name)]
        means = {who: float(np.mean([one[who] for one in scores])) for who in (scores[0] if scores else ())}
        ours = means.pop(OURS, np.nan)
        best = max(means, key=lambda who: means[who], default="")
        lost, more = means.get(best, np.nan) - ours, f" ({best} {means.get(best, np.nan):.2f})"
        lines.append(at_most(f"{name}, points lost on random edges", lost, 1.0, more))
    return lines


PARTS: dict[str, tuple[str, Callable[[Acceptance], list[Verdict]]]] = {
    "1": ("Graphs of other kinds", other_graphs),
    "2": ("Tables without a graph", tables),
    "3": ("An irrelevant column", irrelevant_column),
    "4": ("Honest estimates", honest_estimates),
    "5": ("The paper's cells on fresh splits", paper_cells),
    "6": ("Wrong labels and random edges", robustness),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[], help="which; by default all")
    parser.add_argument("--splits", type=int, help="fewer than it takes, for a first look")
    parser.add_argument("--before", type=Path, help="a checkout of the code before, built; for 5")
    parser.add_argument("--data", type=Path, help="folder of raw files; else ALTOPT_DATA or ./data")
    parser.add_argument("--out", type=Path, default=Path("reproduced/acceptance.jsonl"), help="the records")
    asked = parser.parse_args()
    lines = []
    with Records(asked.out) as records:
        ask = Acceptance(records, asked.data, asked.splits, asked.before)
        try:
            for part in asked.parts or PARTS:
                title, decide = PARTS[part]
                print(f"{part}. {title}", flush=True)
                lines += [(part, verdict) for verdict in decide(ask)]
        finally:
            ask.end()
    for part, verdict in lines:
        print(f"{part}. {verdict.outcome:8s} {verdict.claim}: {verdict.evidence}")


if __name__ == "__main__":
    main()
