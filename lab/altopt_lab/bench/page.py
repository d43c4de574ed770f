"""docs/performance.md from recorded benchmarks: `python -m altopt_lab.bench.page RECORDS PAGE`.

Of each benchmark at each size the last record counts.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from altopt_lab.bench.formatting import as_markdown
from altopt_lab.bench.graphs import SIZES
from altopt_lab.bench.registry import BENCHES
from altopt_lab.bench.targets import judge

HEAD = """# Performance

Time and memory beside other libraries. This page is written by `make performance` from the runs recorded in
`results/bench.jsonl`; `altopt bench` makes the same tables anywhere. In each table all contestants took turns in one
run on one machine, so compare ratios, not seconds: best and median wall time and the CPU time of all threads.
Graphs are generated from a seed, after well-known ones in size: see `altopt_lab.bench.graphs`.
"""

TITLES = {
    "propagate": "One propagation step",
    "solve": "F to a given error",
    "encoder": "An epoch of the encoder",
    "fit": "Whole fits",
    "memory": "Peak memory",
    "growth": "Growth",
    "update": "Updates and explanations",
}


def read_records(path: Path) -> list[dict[str, Any]]:
    """The runs on record, oldest first."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def page(records: list[dict[str, Any]]) -> str:
    """The whole page."""
    last = {(record["bench"], record["size"]): record for record in records}
    parts = [HEAD, goals(records), roofs(last), machines(last)]
    for bench in BENCHES:
        found = [last[bench, size] for size in SIZES if (bench, size) in last]
        if found:
            parts.append(f"## {TITLES[bench]}\n")
            parts += [section(record) for record in found]
    return "\n".join(part for part in parts if part)


def goals(records: list[dict[str, Any]]) -> str:
    lines = [
        "## Targets\n",
        "| target | size | bound | measured | |",
        "|---|---|--:|--:|---|",
    ]
    for verdict in judge(records):
        target = verdict.target
        lines.append(
            f"| {target.words} | {target.size} | {target.asks()} | {verdict.value_in_words()} | {verdict.outcome()} |"
        )
    return "\n".join(lines) + "\n"


def roofs(last: dict[tuple[str, str], dict[str, Any]]) -> str:
    """What the machine can do at most, beside what a step and an epoch make of it."""
    lines = []
    for (bench, size), record in last.items():
        found = record["measures"]
        if bench == "propagate":
            stream = found["stream_gb_s"]
            for storage, key in (("float32", "step_gb_s"), ("float16", "step_float16_gb_s")):
                if key in found:
                    share = found[key] / stream
                    lines.append(
                        f"| step, {storage}, {size} | {found[key]:.1f} GB/s of logical traffic | "
                        f"STREAM triad {stream:.1f} GB/s | {share:.2f} |"
                    )
        if bench == "encoder":
            best = max(
                (row.get("gflops") or 0.0)
                for row in record["tables"][0]["rows"]
                if row["kind"] == "ours" and row["who"].endswith(", dropout")
            )
            peak = found["sgemm_gflops"]
            lines.append(
                f"| encoder epoch with dropout, {size} | {best:.0f} GFLOP/s | sgemm {peak:.0f} GFLOP/s | "
                f"{best / peak:.2f} |"
            )
    if not lines:
        return ""
    head = [
        "## Roofs\n",
        "A step's logical bytes are a row of F and an index for each nonzero, and F, the remainder and the result "
        "once; rows that stay in cache are counted all the same, so the share can pass 1.\n",
        "| what | reaches | roof in the same run | share |",
        "|---|--:|--:|--:|",
    ]
    return "\n".join(head + lines) + "\n"


def machines(last: dict[tuple[str, str], dict[str, Any]]) -> str:
    """What the runs were made on; one line where all were made on the same."""
    said: dict[str, list[str]] = {}
    for (bench, size), record in last.items():
        machine = record["machine"]
        versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
        words = (
            f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB of memory, "
            f"{machine['system']}; {machine['kernels']}; {versions}."
        )
        said.setdefault(words, []).append(f"{bench} {size}")
    if not said:
        return "Nothing has been recorded yet.\n"
    lines = ["## The machine\n"]
    lines += [words if len(said) == 1 else f"- {', '.join(runs)}: {words}" for words, runs in said.items()]
    return "\n".join(lines) + "\n"


def section(record: dict[str, Any]) -> str:
    """One benchmark at one size."""
    parts = [
        f"### {TITLES[record['bench']]}: {record['size']}\n",
        f"{record['facts']}. Made {record['made']} UTC.\n",
    ]
    for table in record["tables"]:
        parts += [f"{table['title'][0].upper()}{table['title'][1:]}.\n", as_markdown(table)]
    if record["not_installed"]:
        parts.append(f"Not installed: {', '.join(record['not_installed'])}.\n")
    parts.append("\n".join(f"- {note}" for note in record["notes"]) + "\n")
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "records", type=Path, help="file of JSON lines, as `altopt bench --record` appends them"
    )
    parser.add_argument("page", type=Path, help="the Markdown file to write")
    arguments = parser.parse_args()
    arguments.page.write_text(page(read_records(arguments.records)))


if __name__ == "__main__":
    main()
