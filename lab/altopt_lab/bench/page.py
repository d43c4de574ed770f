"""Writes docs/performance.md from recorded benchmarks: `python -m altopt_lab.bench.page RECORDS... PAGE`.

Of each benchmark at each size the last record counts, of one that is run in parts the last of each part.
"""

import argparse
from pathlib import Path

from altopt.io.files import write_text
from altopt_lab.bench.formatting import formatted
from altopt_lab.bench.graphs import SIZES
from altopt_lab.bench.registry import BENCHES
from altopt_lab.bench.scale_page import in_words
from altopt_lab.bench.targets import judge, latest
from altopt_lab.records import Record, read_records
from altopt_lab.table import Table, markdown

HEAD = """# Performance

Time and memory beside other libraries. This page is written by `make performance` from the runs recorded in
`results/bench.jsonl` and `results/scale.jsonl`; `altopt bench` makes the same tables anywhere. In each table all
contestants took turns in one run on one machine, so compare ratios, not seconds: best and median wall time and the
CPU time of all threads.
Graphs are generated from a seed, after well-known ones in size: see `altopt_lab.bench.graphs`.
"""

TITLES = {
    "propagate": "One propagation step",
    "diffuse": "Diffusion as it is called",
    "solve": "F to a given error",
    "encoder": "An epoch of the encoder",
    "fit": "Whole fits",
    "memory": "Peak memory",
    "growth": "Growth",
    "update": "Updates and explanations",
    "scale": "Past memory, past one machine",
}


def page(records: list[Record]) -> str:
    """The whole page."""
    last = {place: record for place, record in latest(records).items() if place[0] in BENCHES}
    parts = [HEAD, targets(records), machine_limits(last), machines(last)]
    for bench in BENCHES:
        recorded = [last[bench, size] for size in SIZES if (bench, size) in last]
        if recorded:
            parts.append(f"## {TITLES[bench]}\n")
            parts += [section(record) for record in recorded]
    of_files = in_words(records)
    if of_files:
        parts.append(f"## Whole fits on files\n\n{of_files}\n")
    return "\n".join(part for part in parts if part)


def targets(records: list[Record]) -> str:
    rows = [
        (target.claim, target.size, target.bound_text(), verdict.evidence, verdict.outcome)
        for target, verdict in judge(records)
    ]
    table = Table("Targets", ("target", "size", "bound", "measured", ""), rows, right=(2, 3))
    return f"## {table.title}\n\n{markdown(table)}\n"


def machine_limits(last: dict[tuple[str, str], Record]) -> str:
    """What the machine can do at most, beside what a step and an epoch reach."""
    rows = []
    for (bench, size), record in last.items():
        measures = record["measures"]
        if bench == "propagate":
            stream = measures["stream_gb_s"]
            for storage, key in (("float32", "step_gb_s"), ("float16", "step_float16_gb_s")):
                if key in measures:
                    reached = f"{measures[key]:.1f} GB/s of logical traffic"
                    share = f"{measures[key] / stream:.2f}"
                    rows.append(
                        (f"step, {storage}, {size}", reached, f"STREAM triad {stream:.1f} GB/s", share)
                    )
        if bench == "encoder":
            best = max(
                (row.get("gflops") or 0.0)
                for row in record["tables"][0]["rows"]
                if row["kind"] == "ours" and row["who"].endswith(", dropout")
            )
            peak = measures["sgemm_gflops"]
            name = f"encoder epoch with dropout, {size}"
            rows.append((name, f"{best:.0f} GFLOP/s", f"sgemm {peak:.0f} GFLOP/s", f"{best / peak:.2f}"))
    if not rows:
        return ""
    columns = ("what", "reaches", "limit in the same run", "share")
    lines = [
        "## Limits of the machine\n",
        "A step's logical bytes are a row of F and an index for each nonzero, and F, the remainder and the result "
        "once; rows that stay in cache are counted all the same, so the share can pass 1.\n",
        markdown(Table("", columns, rows, right=(1, 2, 3))),
    ]
    return "\n".join(lines) + "\n"


def machines(last: dict[tuple[str, str], Record]) -> str:
    """What the runs were made on; one line where all were made on the same."""
    benches_on: dict[str, list[str]] = {}
    for (bench, size), record in last.items():
        machine = record["machine"]
        versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
        description = (
            f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB of memory, "
            f"{machine['system']}; {machine['kernels']}; {versions}."
        )
        benches_on.setdefault(description, []).append(f"{bench} {size}")
    if not benches_on:
        return "Nothing has been recorded yet.\n"
    lines = ["## The machine\n"]
    single = len(benches_on) == 1
    lines += [text if single else f"- {', '.join(benches)}: {text}" for text, benches in benches_on.items()]
    return "\n".join(lines) + "\n"


def section(record: Record) -> str:
    """One benchmark at one size."""
    parts = [
        f"### {TITLES[record['bench']]}: {record['size']}\n",
        f"{record['facts']}. Made {record['made']} UTC.\n",
    ]
    for table in map(formatted, record["tables"]):
        parts += [f"{table.title[0].upper()}{table.title[1:]}.\n", markdown(table) + "\n"]
    if record["not_installed"]:
        parts.append(f"Not installed: {', '.join(record['not_installed'])}.\n")
    parts.append("\n".join(f"- {note}" for note in record["notes"]) + "\n")
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "records",
        type=Path,
        nargs="+",
        help="files of JSON lines, as `altopt bench --record` and scale_whole write them",
    )
    parser.add_argument("page", type=Path, help="the Markdown file to write")
    arguments = parser.parse_args()
    records = [record for path in arguments.records for record in read_records(path)]
    write_text(arguments.page, page(records))


if __name__ == "__main__":
    main()
