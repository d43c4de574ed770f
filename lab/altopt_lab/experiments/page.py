"""Writes docs/results.md from the records: `python -m altopt_lab.experiments.page RECORDS PAGE`."""

import argparse
import json
import re
from pathlib import Path

from altopt.io.files import write_text
from altopt_lab import provenance
from altopt_lab.experiments import published
from altopt_lab.experiments.claims import cell_results, verdicts
from altopt_lab.experiments.recheck import SPREAD, stands
from altopt_lab.experiments.tables import PAPER_TABLES
from altopt_lab.experiments.tables.paper_table import STALE, PaperTable, RecordIndex, RunFilter
from altopt_lab.records import Record, read_records
from altopt_lab.table import NOT_RUN, Shown, Table, as_table, markdown
from altopt_lab.verdict import Verdict, outcome

HEAD = """# Results

The tables and figures of the paper beside its own numbers, from runs on record; what was not run says so. First what
holds and what does not, then how the figures were made, then all of them.
"""
METHOD = """## How the figures were made

`altopt reproduce NAME` makes the runs of one table, `altopt reproduce all` of all; `make results` writes this page from
`results/runs.jsonl`, one JSON line a run with its settings, seeds and versions. A test holds the page to the records.
`not run` means that there are no runs yet; the command under the heading makes them. Which code made a run is judged by
the sum of the sources alone that its record carries: the commit that it names beside that need not be in this history.

Accuracies are in %, mean ± standard deviation over runs (splits x runs of each). Splits follow the paper's rules and
are the same for every method, so that methods can be compared on this page; single figures also differ from the
paper's because the splits do. Settings were chosen by validation accuracy alone, on splits that are never reported
(seeds from 1000 on): those of ALT-OPT for each data set and label rate, those of a baseline for each data set at 20
labels per class and, where its file says "by share", at 30 % of the nodes. The search space is that of the paper's
appendix. For ALT-OPT it also covers what the paper leaves open: a linear encoder beside the MLP, the leading
directions of the diffused features as its input, hops beside them (`inputs`), and the mean of five MLPs
(`n_members`). Settings under which a fit takes more than a few seconds were left out. Chosen settings are files in
`lab/altopt_lab/experiments/settings`; every trial is in `results/tuning.jsonl`. In a run validation labels choose the
best round or epoch and nothing else. `AltOpt()` is the library's default: no validation labels, and nothing chosen for
a data set; the numbers of its recipe were found on these graphs (`docs/defaults.md`), so that its fair test is on
graphs that took no part in that. Where the encoder of ALT-OPT is linear, runs that differ only by their seed are
identical: nothing is random.
"""
NOTES = Path(__file__).parent / "notes.json"


def page(records: list[Record], rechecks: list[Record], code: dict[str, str]) -> str:
    """The whole page; `code` are the sums of sources that it is written by."""
    index = RecordIndex(records, code)
    parts = [HEAD, first_screen(index, rechecks), block(claims_table(index)), METHOD]
    parts += [block(recheck_table(rechecks)), block(cells_table(index))]
    parts += [section(paper_table, index) for paper_table in PAPER_TABLES.values()]
    return "\n".join(parts)


def first_screen(index: RecordIndex, rechecks: list[Record]) -> str:
    """What a newcomer needs to know, in a few sentences."""
    judged = verdicts(index)
    runs = index.fits
    fresh = sum(not index.is_stale(line) for line in runs)
    sums = ", ".join(f"{name} `{value}`" for name, value in (index.code or {}).items())
    sentences = [
        *(
            f"**{words}** ({len(claims)} of {len(judged)} claims of the paper): {'; '.join(claims)}."
            for words, outcome in (
                ("Does not hold here", "not met"),
                ("Holds", "met"),
                ("Nothing against it, but not all was run", "partly run"),
                ("Not run yet", NOT_RUN),
            )
            if (
                claims := [
                    f"{verdict.claim} ({verdict.partly})" if verdict.partly else verdict.claim
                    for verdict in judged
                    if verdict.outcome == outcome
                ]
            )
        ),
        "**Rows**: `ALT-OPT` is tuned in a wider space than the paper's (encoders, inputs, decay), for longer than its "
        "peers; the paper's own method and all others with equal effort have rows under `equal-effort`. `AltOpt()` is "
        "the library's default: no validation label, no setting chosen for a data set; its fair test is the table of "
        "graphs that took no part in making it.",
        f"**Code**: {fresh:,} of {len(runs):,} runs were made by the code that this page was written by ({sums}: "
        f"sums of the sources that a figure depends on). A figure with {STALE} has runs by other code, or by code "
        "that its record does not name.",
        f"**Run again**: {rechecked(rechecks)}",
    ]
    return "\n".join(f"- {sentence}" for sentence in sentences) + "\n"


def rechecked(rechecks: list[Record]) -> str:
    done = [line for line in rechecks if "now" in line]
    if not done:
        return "no record was run again yet; `python -m altopt_lab.experiments.recheck --n 10 --seed 0` does."
    exact = sum(line["now"] == line["was"] for line in done)
    good = sum(map(stands, done))
    return (
        f"of {len(done)} records picked at random {exact} came out the same to the last digit and {good - exact} "
        f"more, of networks, within {SPREAD:g} point; {len(done) - good} differ."
    )


def stated_code(text: str) -> dict[str, str]:
    """The sums of sources that a page says it was written by."""
    return dict(re.findall(r"(\w+) `([0-9a-f]{10})`", text))


def recheck_table(rechecks: list[Record]) -> Table:
    rows = [
        (
            line["key"].removeprefix("again: "),
            line["was_made"],
            f"{100 * line['was']:.2f}",
            f"{100 * line['now']:.2f}" if "now" in line else "failed",
            ("same" if line["now"] == line["was"] else "within the spread" if stands(line) else "differs")
            if "now" in line
            else line["failed"][:60],
        )
        for line in rechecks
    ]
    notes = (
        "`python -m altopt_lab.experiments.recheck --n 10 --seed S` picks records at random, fits anew under the "
        "settings, split and seed that each names, and compares test accuracy. What a network learns depends on the "
        f"order in which threads add up, so that it may differ by {SPREAD:g} point; all else must be the same to the "
        "last digit. What differs was made by code that has changed since.",
    )
    return Table("Records run again", ("run", "made", "was", "now", ""), rows, notes)


def claims_table(index: RecordIndex) -> Table:
    """What does not hold first."""
    order = ("not met", "met", "partly run", NOT_RUN)
    found = sorted(verdicts(index), key=lambda verdict: order.index(verdict.outcome))
    rows = [(verdict.claim, outcome_text(verdict), verdict.evidence) for verdict in found]
    note = (
        "Met: in all that a claim speaks of. Not met: as soon as a figure is against it. Partly run: nothing is "
        "against it, but not all was run."
    )
    return Table("Claims of the paper", ("claim", "here", "by"), rows, (note,))


def outcome_text(verdict: Verdict) -> str:
    return f"{verdict.outcome} ({verdict.partly})" if verdict.partly else verdict.outcome


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
    if paper_table.progress is None:
        command = (
            f"`altopt reproduce {paper_table.name}`{origin(paper_table)} {on_record(paper_table, index)}"
        )
    else:
        command = paper_table.progress(index)
    parts = [f"## {paper_table.title}\n", f"{command}\n"]
    for shown in paper_table.show(index):
        parts.append(block(shown, "###"))
    parts += [f"- {note}" for note in remarks(paper_table.name)]
    return "\n".join(parts) + "\n"


def on_record(paper_table: PaperTable, index: RecordIndex) -> str:
    """How many of a table's runs there are, and how many of them this code made."""
    works = {scheduled.work.key: scheduled.work for scheduled in paper_table.plan(RunFilter())}
    if not works:
        return ""
    lines = [line for key in works if (line := index.get(key)) is not None]
    fresh = sum(not index.is_stale(line) for line in lines)
    return f"{len(lines):,} of {len(works):,} runs are on record, {fresh:,} of them by the code of this page."


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


def written(records: Path, code: dict[str, str]) -> str:
    """The page of a file of records and of the file beside it that says which were run again."""
    return page(read_records(records), read_records(records.with_name("recheck.jsonl")), code)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "records", type=Path, help="file of JSON lines, as `altopt reproduce --out` appends them"
    )
    parser.add_argument("page", type=Path, help="the Markdown file to write")
    arguments = parser.parse_args()
    write_text(arguments.page, written(arguments.records, provenance.code()))


if __name__ == "__main__":
    main()
