"""Writes docs/breadth.md from the records: `python -m altopt_lab.breadth.page RECORDS PAGE`."""

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from altopt.io.files import write_text
from altopt_lab.breadth.cells import Cell, Comparison, cells_of, honesty_of
from altopt_lab.breadth.data import GENERATED, GRAPHS, LOGNORMAL, NAMES, TABLES
from altopt_lab.breadth.run import METHODS, OURS
from altopt_lab.records import Record, read_records
from altopt_lab.table import NOT_RUN, Table, aligned, markdown

HEAD = """# Breadth

`AltOpt()` as it comes beside simple peers, on data of many kinds and under several kinds of draw. `altopt reproduce
breadth --out results/breadth.jsonl` makes the runs, one JSON line each, and goes on where it was stopped; `make
breadth` does that and writes this page from the records.

- **Draws.** `given`: the ten splits that come with the data. `50/25/25`: ten random ones. `random k`: k labels drawn
  at random. `class k`: k labels of each class. Draws of which the data has not enough, or that leave less than 30 %
  of the nodes without a label, are left out. Test nodes are those of the split, else all others.
- **Labels.** Every method gets the same training labels. LINKX, GCN and APPNP also get the validation labels of a
  split that has some, to choose the epoch (by accuracy); where there are none, the last of 500 epochs counts.
  `AltOpt()` and all others never see a validation label.
- **Peers** come with the settings that their library or paper gives them. Dense columns are standardised for them,
  sparse rows scaled to length one (logistic regression has C = 10 there), for GCN and APPNP to sum one, for LINKX not
  at all; boosted trees are scikit-learn's
  HistGradientBoosting on X, its means over neighbours and over theirs, and degrees, with 64 leading directions in the
  place of more than 256 columns. Label propagation runs on the graph, or on both its kernels where there is none.
- **Figures** are accuracy in %, ROC AUC where one of two classes has less than 30 % of the nodes, as mean ± standard
  deviation over the draws, ten at the most: planned are three for LINKX, GCN and APPNP, and for boosted trees and
  self-training where X has more than 256 columns (one on CS and Physics). The number of shared draws stands beside each
  difference. Seconds are of one core, with all preparation of inputs, medians.
- **The best peer** is chosen by test labels, cell by cell, on the draws that it shares with `AltOpt()`: an advantage
  that no user of a single peer has. Ahead or behind means by half a point and one standard error of the paired
  difference.
"""
GROUPS: dict[str, tuple[str, ...]] = {
    "Graphs": GRAPHS,
    "Generated graphs": tuple(GENERATED),
    "Tables without a graph": tuple(TABLES),
    "An irrelevant lognormal column": tuple(LOGNORMAL),
}


def page(records: Iterable[Record]) -> str:
    """The whole page."""
    cells = in_order(cells_of(records))
    parts = [HEAD, "## What wins where\n", standing(cells), "", behind(cells)]
    parts.append("## What AltOpt() says of itself\n")
    parts.append(markdown(honesty_table(cells)) + "\n")
    for title, names in GROUPS.items():
        mine = [cell for cell in cells if cell.dataset in names]
        parts.append(f"## {title}\n")
        if not mine:
            parts.append(f"{NOT_RUN.capitalize()}.\n")
            continue
        parts.append(markdown(winners_table(mine)) + "\n")
        parts.append(f"### {title}: every method\n")
        parts.append(markdown(methods_table(mine)) + "\n")
        parts.append(f"### {title}: seconds\n")
        parts.append(markdown(seconds_table(mine)) + "\n")
    return "\n".join(parts).rstrip() + "\n"


def in_order(cells: list[Cell]) -> list[Cell]:
    kinds = ("given", "50/25/25", "random", "class")
    known = [cell for cell in cells if cell.dataset in NAMES]
    return sorted(known, key=lambda c: (NAMES.index(c.dataset), kinds.index(c.draw.kind), c.draw.count))


def compared(cells: list[Cell]) -> list[tuple[Cell, Comparison]]:
    return [(cell, found) for cell in cells if (found := cell.best_peer())]


def standing(cells: list[Cell]) -> str:
    """How often AltOpt() is ahead of the best peer, level and behind; and how often each peer is the best."""
    found = compared(cells)
    if not found:
        return f"No draw is on record on which {OURS} and a peer were both run."
    words = ("ahead", "level", "behind", "one draw")
    count = {word: sum(one.verdict == word for _, one in found) for word in words}
    best = [one.peer for _, one in found]
    often = ", ".join(
        f"{peer} {best.count(peer)}" for peer in sorted(set(best), key=lambda name: (-best.count(name), name))
    )
    gap = float(np.mean([one.gap for _, one in found]))
    return (
        f"Cells: {len(found)}. {OURS} is ahead of the best peer of the cell in {count['ahead']}, level in "
        f"{count['level']}, behind in {count['behind']}; in {count['one draw']} the peer was run on one draw alone, "
        f"which tells little. On average it is {gap:+.1f} points from the best peer. How often a peer is the best: "
        f"{often}."
    )


def behind(cells: list[Cell]) -> str:
    """Where AltOpt() is behind, the widest gap first."""
    lost = sorted(
        (
            (cell, one)
            for cell, one in compared(cells)
            if one.verdict == "behind" or (one.verdict == "one draw" and one.gap < -0.5)
        ),
        key=lambda pair: pair[1].gap,
    )
    if not lost:
        return ""
    rows = [(cell.dataset, str(cell.draw), one.peer, gap_text(one)) for cell, one in lost]
    table = Table("Behind", ("data", "draw", "best peer", "difference"), rows, right=(3,))
    return f"Where {OURS} is behind (of one draw, by more than half a point):\n\n{markdown(table)}\n"


def gap_text(one: Comparison) -> str:
    error = "" if np.isinf(one.error) else f" ± {one.error:.1f}"
    return f"{one.gap:+.1f}{error} ({one.n_draws})"


def winners_table(cells: list[Cell]) -> Table:
    rows = []
    for cell in cells:
        one = cell.best_peer()
        peer, theirs, gap, verdict = leader(cell)
        if one is not None:
            peer, theirs, gap, verdict = one.peer, f"{one.theirs:.1f}", gap_text(one), one.verdict
        metric = "AUC" if cell.metric == "auc" else "accuracy"
        ours = cell.text(OURS) if cell.scores(OURS) else NOT_RUN
        rows.append((cell.dataset, str(cell.draw), metric, ours, peer, theirs, gap, verdict))
    columns = ("data", "draw", "metric", OURS, "best peer", "its figure", "difference (draws)", "")
    return Table("Winners", columns, rows, n_labels=3, right=(3, 5, 6))


def leader(cell: Cell) -> tuple[str, str, str, str]:
    """The peer with the largest mean, where there is nothing to compare it with."""
    means = {who: np.mean(list(cell.scores(who).values())) for who in METHODS[1:] if cell.scores(who)}
    best = max(means, key=lambda who: float(means[who]), default="")
    return best, f"{means[best]:.1f}" if best else NOT_RUN, "", ""


def run_methods(cells: list[Cell]) -> list[str]:
    return [method for method in METHODS if any(cell.scores(method) for cell in cells)]


def methods_table(cells: list[Cell]) -> Table:
    methods = run_methods(cells)
    rows = [(cell.dataset, str(cell.draw), *(cell.text(method) for method in methods)) for cell in cells]
    right = tuple(range(2, len(methods) + 2))
    return Table("Methods", ("data", "draw", *methods), rows, n_labels=2, right=right)


def seconds_table(cells: list[Cell]) -> Table:
    methods = run_methods(cells)
    rows = []
    for cell in cells:
        taken = [cell.seconds(method) for method in methods]
        rows.append((cell.dataset, str(cell.draw), *("-" if s is None else f"{s:.2f}" for s in taken)))
    right = tuple(range(2, len(methods) + 2))
    return Table("Seconds", ("data", "draw", *methods), rows, n_labels=2, right=right)


def honesty_table(cells: list[Cell]) -> Table:
    """Estimate and interval beside the truth, by kind and size of draw, then by data set."""
    groups: dict[str, list[Record]] = {}
    by_draw = sorted(cells, key=lambda cell: cell.draw)
    for name, cell in [(str(cell.draw), cell) for cell in by_draw] + [(cell.dataset, cell) for cell in cells]:
        groups.setdefault(name, []).extend(cell.runs.get(OURS, {}).values())
    rows = [honesty_row(name, runs) for name, runs in groups.items() if runs]
    ranked = [run for cell in cells for run in cell.runs.get(OURS, {}).values() if "auc_holds" in run]
    rows += [honesty_row("ROC AUC of two classes", ranked, "auc_")] if ranked else []
    columns = ("", "runs", "estimate - truth", "interval holds", "its width", "calibration error")
    return Table("Honesty", columns, rows or [(NOT_RUN, *[""] * 5)], right=(1, 2, 3, 4, 5))


def honesty_row(name: str, runs: list[Record], what: str = "") -> tuple[str, ...]:
    one = honesty_of(runs, what)
    figures = (f"{one.error:+.1f}", f"{one.holds:.0f} %", f"{one.width:.1f}", f"{one.calibration:.3f}")
    return name, str(one.n_runs), *figures


def summary(records: Iterable[Record]) -> str:
    """What wins where, in plain columns."""
    cells = in_order(cells_of(records))
    if not cells:
        return "No run of the matrix is on record."
    return f"{aligned(winners_table(cells))}\n\n{standing(cells)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "records", type=Path, help="file of JSON lines, as `altopt reproduce breadth` makes it"
    )
    parser.add_argument("page", type=Path, help="the Markdown file to write")
    arguments = parser.parse_args()
    write_text(arguments.page, page(read_records(arguments.records)))


if __name__ == "__main__":
    main()
