"""Writes docs/reliability.md: trials, faults, what was found before, and what remains."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from altopt_lab.records import Record, read_records
from altopt_lab.table import Table, markdown
from altopt_lab.trust.part import KINDS
from altopt_lab.trust.registry import PARTS

CORPUS = Path(__file__).with_name("corpus.jsonl")
COSTS = Path("results/cost.jsonl")
LONGEST_CASE = 300

HEAD = """# Reliability

What happens to altopt when its input is wrong, its disk full, its process killed. `make trust` tries generated cases
through every way in, each batch in a process of its own, and writes this page from the records in
`results/trust.jsonl`. `make test` tries a few of each kind, and everything that was found before.

A case is **fine** when a valid, finite answer comes, and **refused** when an error says in one sentence what was wrong
and what to do. Everything else is a **fault**: another exception, a number that is not finite, a promise about the
answer that does not hold, a traceback, a hang, death by a signal.
"""


MODELS = """A stored model is changed in three ways. *Damage* leaves its checksums as they were. A *forgery* makes them
right again but holds what no save writes. Both must be refused, or change no answer. An *edit* makes them right and
holds values that a save could have written: that is simply another model. A checksum tells damage, not authorship, so
an edit is fine as long as its answers are finite; whoever needs more signs the folder.
"""


def page(records: list[Record]) -> str:
    """The whole page."""
    parts = [trials(records), remains(records), found(read_records(CORPUS)), costs(read_records(COSTS))]
    return "\n".join([HEAD, MODELS, *parts])


def last_runs(records: list[Record]) -> dict[str, list[Record]]:
    """Of each part the batches at the commit that it was last tried at."""
    commits = {record["part"]: record["commit"] for record in records}
    return {
        name: [record for record in records if record["part"] == name and record["commit"] == commits[name]]
        for name in PARTS
        if name in commits
    }


def trials(records: list[Record]) -> str:
    runs = last_runs(records)
    if not runs:
        return "## Trials\n\nNothing has been recorded yet; `make trust` does it.\n"
    rows = []
    for name, part in PARTS.items():
        run = runs.get(name, [])
        counts = [sum(record["counts"][kind] for record in run) for kind in KINDS]
        made = f"{run[-1]['commit']}, {run[-1]['made']}" if run else "not run"
        minutes = sum(record["seconds"] for record in run) / 60
        rows.append((name, part.what, *(f"{n:,}" for n in (sum(counts), *counts)), f"{minutes:.1f}", made))
    total = [sum(int(row[k].replace(",", "")) for row in rows) for k in range(2, 6)]
    minutes = sum(float(row[6]) for row in rows)
    rows.append(("all", "", *(f"{n:,}" for n in total), f"{minutes:.1f}", ""))
    columns = ("part", "what is tried", "trials", *KINDS, "minutes", "commit and time (UTC)")
    text = "Minutes are those of one worker process; two work side by side."
    return f"## Trials\n\n{markdown(Table('', columns, rows, right=(2, 3, 4, 5, 6)))}\n\n{text}\n"


def remains(records: list[Record]) -> str:
    """The faults of the last runs, the same ones counted together."""
    faults = [
        (name, fault)
        for name, run in last_runs(records).items()
        for record in run
        for fault in record["faults"]
    ]
    lines = ["## Faults of these runs\n"]
    if not faults:
        return "\n".join([*lines, "No fault in the runs above.\n" if records else "Not known yet.\n"])
    mended = [(entry["part"], entry["case"]) for entry in read_records(CORPUS)]
    kinds = Counter((name, one_line(fault["detail"])) for name, fault in faults)
    first = {(name, one_line(fault["detail"])): fault["case"] for name, fault in reversed(faults)}
    for (name, detail), n in kinds.most_common():
        times = "once" if n == 1 else f"{n:,} times"
        case = first[name, detail]
        since = " Mended since: `make test` tries this case." if (name, case) in mended else ""
        lines.append(f"- {name}, {times}: `{detail}`, first with `{short(case)}`.{since}")
    return "\n".join([*lines, ""])


def found(corpus: list[Record]) -> str:
    """What broke before; each case is tried again by the tests."""
    lines = ["## What was found\n", "Each of these is mended, and `make test` tries it again.\n"]
    findings = Counter((entry["part"], entry["found"]) for entry in corpus)
    rows = [(name, text, f"{n:,}") for (name, text), n in sorted(findings.items())]
    return "\n".join([*lines, markdown(Table("", ("part", "what it did", "cases"), rows, right=(2,))), ""])


def costs(records: list[Record]) -> str:
    """What safety costs: the code before and now by turns, the last comparison of each graph."""
    text = ["## What it costs\n"]
    if not records:
        return "\n".join([*text, "Not measured yet; `python -m altopt_lab.experiments.cost` does it.\n"])
    last = {(record["graph"], record["job"]): record for record in records}
    rows = []
    for (graph, job), told in last.items():
        seconds = [f"{1000 * told[key]:,.1f}" for key in ("before", "now")]
        spread = " to ".join(f"{ratio:.2f}" for ratio in told["quartiles"])
        ratios = (f"{told['ratio']:.2f}", f"{told['fastest']:.2f}", spread, f"{told['limit']:.2f}")
        rows.append((graph, job, f"{told['turns']}", *seconds, *ratios, " and ".join(told["of"])))
    columns = (
        "graph",
        "job",
        "turns",
        "before, ms",
        "now, ms",
        "ratio",
        "of the fastest",
        "quartiles",
        "limit",
        "commits",
    )
    about = "Medians over turns; a sample of model.update is 50 updates, altopt update is a whole process.\n"
    return "\n".join([*text, about, markdown(Table("", columns, rows, right=tuple(range(2, 9)))), ""])


def one_line(text: str) -> str:
    return " ".join(text.split())[:LONGEST_CASE].replace("`", "'")


def short(case: Any) -> str:
    text = json.dumps(case).replace("`", "'")
    return text if len(text) <= LONGEST_CASE else text[:LONGEST_CASE] + " ..."
