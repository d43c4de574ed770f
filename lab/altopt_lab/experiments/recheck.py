"""Runs some records again and compares the figures.

    python -m altopt_lab.experiments.recheck --n 10 --seed 0

Picks records at random among those that the page of results shows, fits anew under the settings, split and seed that
each names, and compares test accuracy to the last digit. What a network learns depends on the order in which threads
add up, so that a network may differ by SPREAD. What came of it goes to results/recheck.jsonl, which the page shows.
"""

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from altopt.datasets import available
from altopt_lab import provenance
from altopt_lab.equal.paper_method import PaperMethod
from altopt_lab.equal.splits import contest_split
from altopt_lab.experiments.baseline_methods import BaselineMethod
from altopt_lab.experiments.context import DatasetContexts
from altopt_lab.experiments.methods import METHODS, find_method
from altopt_lab.experiments.protocols import INDUCTIVE, Cell, split_of
from altopt_lab.experiments.tables.paper_table import RecordIndex
from altopt_lab.experiments.work import Contexts, Work
from altopt_lab.metrics import accuracy
from altopt_lab.records import Record, append_record, read_records

SPREAD = 1.0  # points that two runs of one network under one seed may differ by


@dataclass(frozen=True)
class Recheck(Work):
    """The run of a record, made again.

    Parameters
    ----------
    number : int
        Of the sample.
    record : dict
        As it stands on file.
    """

    number: int
    record: Record

    @property
    def key(self) -> str:
        return f"again: {self.record['key']}"

    @property
    def depends_on(self) -> str:
        return find_method(self.record["method"]).depends_on

    @property
    def fit_code(self) -> str:
        fresh = "fresh_split" in self.record
        return provenance.in_contest(provenance.code(), self.depends_on) if fresh else super().fit_code

    def identity(self) -> Record:
        kept = ("method", "dataset", "rate", "split_seed", "fresh_split", "seed", "changed")
        return {name: self.record[name] for name in kept if name in self.record} | {
            "sample": self.number,
            "was": self.record["test_accuracy"],
            "was_made": self.record["made"],
            "was_commit": self.record.get("commit"),
            "network": is_network(self.record),
        }

    def measure(self, contexts: Contexts) -> Record:
        line, context = self.record, contexts(self.record["dataset"])
        method, cell = find_method(line["method"]), Cell(line["dataset"], line["rate"])
        if "fresh_split" in line:
            seed, settings = line["fresh_split"], line["chosen"]
            split = contest_split(context.dataset, cell, seed)
        else:
            seed, settings = line["seed"], line["settings"]
            split = split_of(context.dataset, cell.rate, line["split_seed"])
        fit = method.fit_inductively if cell.rate == INDUCTIVE else method.fit
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = fit(context, split, settings, seed)
        return {"now": round(accuracy(fitted.labels, np.asarray(context.dataset.y), split.test), 6)}


def is_network(record: Record) -> bool:
    """Whether something is trained by torch, where the order of sums is not fixed."""
    method = METHODS[record["method"]]
    if isinstance(method, BaselineMethod):
        return bool(method.kind.method != "LP")
    settings = record["chosen"] if "fresh_split" in record else record["settings"]
    return isinstance(method, PaperMethod) or settings.get("encoder") == "mlp"


def stands(line: Record) -> bool:
    """The same to the last digit, or within the spread of networks."""
    off = abs(100 * (line["now"] - line["was"]))
    return bool(off <= SPREAD if line["network"] else off == 0)


def sample(records: Sequence[Record], n: int, seed: int, data: Path | None, longest: float) -> list[Record]:
    """Records of runs at random, whose data are on disk and that took no longer than so many seconds."""
    on_disk = available(data)
    runs = [line for line in RecordIndex(records).fits if "test_accuracy" in line]
    able = [
        line
        for line in runs
        if line["method"] in METHODS
        and on_disk.get(Cell(line["dataset"], line["rate"]).source, False)
        and line["seconds"] <= longest
    ]
    chosen = np.random.default_rng(seed).choice(len(able), min(n, len(able)), replace=False)
    return [able[k] for k in chosen]


def said(line: Record) -> str:
    """One line about a record that was run again."""
    if "now" not in line:
        return f"failed     {line['key'].removeprefix('again: ')}: {line['failed']}"
    same = "same" if line["now"] == line["was"] else "in spread" if stands(line) else "DIFFERS"
    figures = f"{100 * line['was']:.4f} -> {100 * line['now']:.4f}"
    return f"{same:10s} {figures}  {line['key'].removeprefix('again: ')}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=10, help="how many")
    parser.add_argument("--seed", type=int, required=True, help="which")
    parser.add_argument("--records", type=Path, default=Path("results/runs.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("results/recheck.jsonl"))
    parser.add_argument("--data", type=Path, help="folder of raw files; else ALTOPT_DATA or ./data")
    parser.add_argument("--longest", type=float, default=120.0, help="leave out runs that took more seconds")
    asked = parser.parse_args()
    contexts, lines = DatasetContexts(asked.data), []
    for record in sample(read_records(asked.records), asked.n, asked.seed, asked.data, asked.longest):
        lines.append(Recheck(asked.seed, record).perform(contexts))
        append_record(asked.out, lines[-1])
        print(said(lines[-1]), flush=True)
    good = sum("now" in line and stands(line) for line in lines)
    exact = sum(line.get("now") == line["was"] for line in lines)
    print(f"{good} of {len(lines)} stand, {exact} of them to the last digit.")
    raise SystemExit(0 if good == len(lines) else 1)


if __name__ == "__main__":
    main()
