"""Writes docs/results.md from the records: `python -m altopt_lab.experiments.page RECORDS PAGE`."""

import argparse
import json
from pathlib import Path

from altopt.io.files import write_text
from altopt_lab.experiments import published
from altopt_lab.experiments.claims import cell_results, verdicts
from altopt_lab.experiments.tables import PAPER_TABLES
from altopt_lab.experiments.tables.paper_table import PaperTable, RecordIndex
from altopt_lab.records import Record, read_records
from altopt_lab.table import NOT_RUN, Shown, Table, as_table, markdown
from altopt_lab.verdict import outcome

HEAD = """# Results

Every table and figure of the paper, from runs on record beside the paper's own numbers. `altopt reproduce NAME` makes
the runs of one of them, `altopt reproduce all` of all; this page is written by `make results` from
`results/runs.jsonl`, one JSON line a run with its settings, seeds and versions.

Accuracies are in %, mean ± standard deviation over runs (splits x runs of each). Splits follow the paper's rules and
are the same for every method, so that methods can be compared on this page; single figures also differ from the
paper's because the splits do. Settings were chosen by validation accuracy alone, on splits that are never reported
(seeds from 1000 on): those of ALT-OPT for each data set and label rate, those of a baseline for each data set at 20
labels per class and, where its file says "by share", at 30 % of the nodes. The search space is that of the paper's
appendix. For ALT-OPT it also covers what the paper leaves open: a linear encoder beside the MLP, the leading
directions of the diffused features as its input, hops beside them (`inputs`), and the mean of five MLPs
(`n_members`). Settings under which a fit takes more than a few seconds were left out. Chosen settings are files in
`lab/altopt_lab/experiments/settings`; every trial is in `results/tuning.jsonl`. In a run validation labels choose the
best round or epoch and nothing else. `AltOpt()` is the library's default: no validation labels, nothing tuned. Where
the encoder of ALT-OPT is linear, runs that differ only by their seed are identical: nothing is random. `not run`
means that there are no runs yet, unless a note says otherwise; the command under the heading makes them.
"""
NOTES = Path(__file__).parent / "notes.json"


def page(records: list[Record]) -> str:
    """The whole page."""
    index = RecordIndex(records)
    parts = [HEAD, block(claims_table(index)), block(cells_table(index))]
    parts += [section(paper_table, index) for paper_table in PAPER_TABLES.values()]
    return "\n".join(parts)


def claims_table(index: RecordIndex) -> Table:
    rows = [(verdict.claim, verdict.outcome, verdict.evidence) for verdict in verdicts(index)]
    return Table("Claims of the paper", ("claim", "here", "by"), rows)


def cells_table(index: RecordIndex) -> Table:
    rows = []
    for result in cell_results(index):
        ours = NOT_RUN if result.ours is None else f"{result.ours:.2f}"
        target = NOT_RUN if result.target is None else f"{result.target:.2f}"
        gap = "" if result.ours is None else f"{result.ours - result.paper:+.2f}"
        met = outcome(result.met)
        rows.append((str(result.cell), ours, target, met, str(result.n_splits), f"{result.paper:.2f}", gap))
    columns = ("cell", "ALT-OPT", "target", "", "splits", "paper", "difference")
    note = "Target: APPNP on the same splits, plus what ALT-OPT was ahead by in the paper, minus 0.5."
    return Table("ALT-OPT by cell", columns, rows, (note, *remarks("cells")))


def remarks(name: str) -> tuple[str, ...]:
    """What was tried where a figure falls short, from notes.json."""
    notes = json.loads(NOTES.read_text(encoding="utf-8")) if NOTES.exists() else {}
    return tuple(notes.get(name, ()))


def section(paper_table: PaperTable, index: RecordIndex) -> str:
    parts = [f"## {paper_table.title}\n", f"`altopt reproduce {paper_table.name}`{origin(paper_table)}\n"]
    for shown in paper_table.show(index):
        parts.append(block(shown, "###"))
    parts += [f"- {note}" for note in remarks(paper_table.name)]
    return "\n".join(parts) + "\n"


def origin(paper_table: PaperTable) -> str:
    try:
        return f"; beside the paper's {published.source(paper_table.name)}."
    except KeyError:
        return "."


def block(shown: Shown, level: str = "##") -> str:
    """A table with its heading and notes; a chart as the table of its numbers."""
    table = as_table(shown)
    grid = markdown(table) if table.rows else f"{NOT_RUN.capitalize()}."
    lines = [f"{level} {table.title}\n", grid, "", *(f"- {note}" for note in table.notes)]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "records", type=Path, help="file of JSON lines, as `altopt reproduce --out` appends them"
    )
    parser.add_argument("page", type=Path, help="the Markdown file to write")
    arguments = parser.parse_args()
    write_text(arguments.page, page(read_records(arguments.records)))


if __name__ == "__main__":
    main()
