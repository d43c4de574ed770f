"""The passages of methods whose figures depend on little of altopt, found by running them.

`python -m altopt_lab.passages` adds what small fits pass through, and fits on real data where it is on disk, to
passages.json; a test holds that file to what small fits pass through.
"""

import argparse
import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from altopt.datasets import available, communities
from altopt.io.files import write_text
from altopt_lab import provenance
from altopt_lab.equal.contest import BY_COST, OURS, PAPER, SQUARED, SQUARED_GCN
from altopt_lab.equal.paper_method import USUAL
from altopt_lab.equal.splits import contest_split
from altopt_lab.experiments.context import DatasetContext, DatasetContexts
from altopt_lab.experiments.method import Settings
from altopt_lab.experiments.methods import find_method
from altopt_lab.experiments.protocols import INDUCTIVE, Cell
from altopt_lab.metrics import accuracy
from altopt_lab.passage import Passage, passage_of, standing, union

THIS = "altopt_lab.passages"
SHORT: Settings = {"total_epochs": 10, "n_rounds": 2}
MANY_LABELS = {"n_pseudo": 5000, "restart": 0.5, "scale_rows": False}
MLP: Settings = {"encoder": "mlp", "total_epochs": 10, "n_rounds": 2}
# settings of the wider search, each choice of its space that takes another way in one of them
WIDER: tuple[Settings, ...] = (
    {},
    {"inputs": "hops", "C": None, "root": True, "n_steps": 10},
    {"n_pseudo": 100, "row_exponent": 0.0, "n_components": 512},
    MLP | {"inputs": "plain", "loss": "mse", "dropout": 0.0},
    MLP | {"n_members": 5, "row_exponent": 1.0, "n_pseudo": 5000},
)


@dataclass(frozen=True)
class Sample:
    """A fit that stands for a kind of figures.

    Parameters
    ----------
    kind : str
        As in `provenance`.
    method : str
    cell : Cell
    settings : dict
    words : bool
        Whether the small graph's features are sparse.
    """

    kind: str
    method: str
    cell: Cell
    settings: Settings
    words: bool = True

    def passed(self, context: DatasetContext) -> Passage:
        """What it passes through, from the drawing of its split to the count of right labels."""
        method, data = find_method(self.method), context.dataset

        def run() -> None:
            split = contest_split(data, self.cell, 900)
            fit = method.fit_inductively if self.cell.rate == INDUCTIVE else method.fit
            labels = fit(context, split, self.settings, 0).labels
            accuracy(labels, np.asarray(data.y), split.test)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            passed = passage_of(run)
        passed.pop(THIS, None)
        return passed


def samples() -> Iterator[Sample]:
    few, many, share, alone = (
        Cell("Cora", "5"),
        Cell("Photo", "20"),
        Cell("Cora", "30%"),
        Cell("CS", INDUCTIVE),
    )
    usual = USUAL | SHORT
    for words, cell in ((True, few), (False, many), (True, share)):
        for method in (*PAPER, "ALT-OPT-N (paper)", SQUARED):
            yield Sample(provenance.PAPER, method, cell, usual, words)
        yield Sample(provenance.PAPER, PAPER[0], cell, usual | MANY_LABELS, words)
        yield Sample(provenance.PAPER_ON_GRAPH, SQUARED_GCN, cell, usual, words)
        for settings in WIDER:
            yield Sample(provenance.SEARCHED, OURS, cell, settings, words)
    yield Sample(provenance.PAPER, PAPER[0], alone, usual)
    yield Sample(provenance.SEARCHED, "ALT-OPT", alone, WIDER[0])
    for method in ("ALT-OPT-H on links", "ALT-OPT-N"):
        yield Sample(provenance.SEARCHED, method, few, WIDER[0])


def small(sample: Sample) -> DatasetContext:
    """A generated graph, large enough for the split, under the name of the cell's data set."""
    data = communities(1700, 3, n_features=200, features="words" if sample.words else "dense", seed=1)
    return DatasetContext(replace(data, name=sample.cell.dataset))


def found() -> dict[str, Passage]:
    """By kind, what small fits pass through."""
    passed: dict[str, Passage] = {}
    for sample in samples():
        passed[sample.kind] = union(passed.get(sample.kind, {}), sample.passed(small(sample)))
    return passed


def on_real_data(folder: Path | None) -> dict[str, Passage]:
    """The same of fits on the data sets of the paper's cells that are on disk, where size leads elsewhere."""
    passed: dict[str, Passage] = {}
    contexts, on_disk = DatasetContexts(folder), available(folder)
    for name in filter(on_disk.get, BY_COST):
        for kind, method, settings in (
            (provenance.PAPER, PAPER[0], USUAL | SHORT),
            (provenance.PAPER_ON_GRAPH, SQUARED_GCN, USUAL | SHORT),
            (provenance.SEARCHED, OURS, WIDER[0]),
            (provenance.SEARCHED, OURS, WIDER[1]),
        ):
            sample = Sample(kind, method, Cell(name, "20"), settings)
            passed[kind] = union(passed.get(kind, {}), sample.passed(contexts(name)))
    return passed


def as_json(passed: dict[str, Passage]) -> str:
    """A line for each module."""
    kinds = (
        f"{json.dumps(kind)}: {{\n"
        + ",\n".join(f" {json.dumps(module)}: {json.dumps(names)}" for module, names in passage.items())
        + "\n}"
        for kind, passage in passed.items()
    )
    return "{\n" + ",\n".join(kinds) + "\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of raw files; else ALTOPT_DATA or ./data")
    asked = parser.parse_args()
    known, new, real = provenance.passages(), found(), on_real_data(asked.data)
    passed = {
        kind: union(standing(known.get(kind, {})), new[kind], real.get(kind, {})) for kind in sorted(new)
    }
    write_text(provenance.PASSAGES, as_json(passed))
    for kind, passage in passed.items():
        print(f"{kind}: {sum(map(len, passage.values())):,} functions of {len(passage)} modules")


if __name__ == "__main__":
    main()
