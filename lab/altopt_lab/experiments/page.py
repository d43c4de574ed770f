"""docs/results.md from the records: `python -m altopt_lab.experiments.page RECORDS PAGE`."""

import argparse
import json
from pathlib import Path

from altopt_lab.experiments import published
from altopt_lab.experiments.claims import cell_verdicts, verdicts
from altopt_lab.experiments.tables import PAPER_TABLES
from altopt_lab.experiments.tables.paper_table import NOT_RUN, Chart, PaperTable, RecordIndex, Shown, Table
from altopt_lab.records import read_records

HEAD = """# Results

Every table and figure of the paper, from runs on record beside the paper's own numbers. `altopt reproduce NAME` makes
the runs of one of them, `altopt reproduce all` of all; this page is written by `make results` from
`results/runs.jsonl`, one JSON line a run with its settings, seeds and versions.

Accuracies are in %, mean ± standard deviation over runs (splits x runs of each). Our splits are drawn anew under the
paper's rules, the same for every method, so that methods compare on this page; single figures differ from the
paper's by the splits too. Settings were chosen by validation accuracy alone, on splits of their own (seeds from 1000
on) that are never reported: ALT-OPT's for each data set and label rate, a peer's for each data set at 20 labels
per class and, where the files say "by share", at 30 % of the nodes, from the search space of the paper's appendix.
For ALT-OPT that space also holds what the paper leaves open (a linear encoder beside the MLP, the leading directions
of the diffused features as its input, hops beside them where settings name `inputs`, the mean of five MLPs where they
name `n_members`); settings under which a fit takes more than a few seconds were left out. They are files in
`lab/altopt_lab/experiments/settings`; every trial is in `results/tuning.jsonl`. In a run validation labels keep the
best round or epoch and nothing else. `AltOpt()` is the library's default: no validation label, nothing tuned. Runs that
differ only by their seed come out alike where ALT-OPT's encoder is linear: nothing in it is drawn at random. `not run`
means that there was no time for it yet, unless a note says otherwise; the command under the heading runs it.
"""
NOTES = Path(__file__).parent / "notes.json"


def page(records: list[dict[str, object]]) -> str:
    """The whole page."""
    index = RecordIndex(records)
    parts = [HEAD, markdown(claims_table(index)), markdown(cells_table(index))]
    parts += [section(paper_table, index) for paper_table in PAPER_TABLES.values()]
    return "\n".join(parts)


def claims_table(index: RecordIndex) -> Table:
    rows = [(verdict.claim, verdict.outcome, verdict.evidence) for verdict in verdicts(index)]
    return Table("What the paper claims", ("claim", "here", "by"), rows)


def cells_table(index: RecordIndex) -> Table:
    rows = []
    for found in cell_verdicts(index):
        ours = NOT_RUN if found.ours is None else f"{found.ours:.2f}"
        asked = NOT_RUN if found.asked is None else f"{found.asked:.2f}"
        gap = "" if found.ours is None else f"{found.ours - found.paper:+.2f}"
        rows.append(
            (str(found.cell), ours, asked, found.outcome, str(found.n_splits), f"{found.paper:.2f}", gap)
        )
    columns = ("cell", "ALT-OPT", "asked", "", "splits", "paper", "difference")
    note = "Asked: APPNP on the same splits, plus what ALT-OPT was ahead by in the paper, minus 0.5."
    return Table("ALT-OPT cell by cell", columns, rows, (note, *said("cells")))


def said(name: str) -> tuple[str, ...]:
    """Remarks on what was tried where something falls short."""
    notes = json.loads(NOTES.read_text(encoding="utf-8")) if NOTES.exists() else {}
    return tuple(notes.get(name, ()))


def section(paper_table: PaperTable, index: RecordIndex) -> str:
    parts = [f"## {paper_table.title}\n", f"`altopt reproduce {paper_table.name}`{origin(paper_table)}\n"]
    for shown in paper_table.show(index):
        parts.append(markdown(shown, "###"))
    parts += [f"- {note}" for note in said(paper_table.name)]
    return "\n".join(parts) + "\n"


def origin(paper_table: PaperTable) -> str:
    try:
        return f"; beside the paper's {published.source(paper_table.name)}."
    except KeyError:
        return "."


def markdown(shown: Shown, level: str = "##") -> str:
    """A table; a chart as the table of its numbers."""
    table = shown if isinstance(shown, Table) else as_table(shown)
    lines = [f"{level} {table.title}\n"]
    if table.rows:
        lines += [row(table.columns), "|" + "---|" * len(table.columns), *map(row, table.rows)]
    else:
        lines.append(f"{NOT_RUN[0].upper()}{NOT_RUN[1:]}.")
    lines += ["", *(f"- {note}" for note in table.notes)]
    return "\n".join(lines).rstrip() + "\n"


def row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"


def as_table(chart: Chart) -> Table:
    places = list(dict.fromkeys(x for series in chart.series for x in series.x))
    rows = []
    for x in places:
        cells = []
        for series in chart.series:
            k = series.x.index(x) if x in series.x else None
            spread = f" ± {series.spread[k]:.2f}" if k is not None and series.spread else ""
            cells.append(NOT_RUN if k is None else f"{series.y[k]:.2f}{spread}")
        rows.append((str(x), *cells))
    return Table(chart.title, (chart.x, *(series.name for series in chart.series)), rows, chart.notes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "records", type=Path, help="file of JSON lines, as `altopt reproduce --out` appends them"
    )
    parser.add_argument("page", type=Path, help="the Markdown file to write")
    arguments = parser.parse_args()
    arguments.page.write_text(page(read_records(arguments.records)), encoding="utf-8")


if __name__ == "__main__":
    main()
