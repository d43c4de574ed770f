"""altopt bench: time and memory beside other libraries, taken in turns in one run."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer


def bench(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="propagate, diffuse, solve, encoder, fit, memory, growth, update, all of these, or scale.",
        ),
    ],
    size: Annotated[str, typer.Option(help="Size of the generated graph; a wrong one lists them.")] = "arxiv",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line a benchmark, no tables.")] = False,
    repeats: Annotated[int | None, typer.Option(min=1, help="Rounds; by default each its own.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="One round, one trial of each kind.")] = False,
    parts: Annotated[
        str | None,
        typer.Option(help="Of scale: some of steps,widths,ingestion,workers,raylets,kills; by default all."),
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="Append one JSON line a benchmark to this file.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Ratios against every peer that is installed, with the machine's bandwidth in the same run."""
    from altopt.io.files import check_output
    from altopt_lab.bench.formatting import as_text
    from altopt_lab.bench.graphs import find
    from altopt_lab.bench.registry import chosen, run
    from altopt_lab.bench.targets import judge
    from altopt_lab.records import append_record

    names, wanted = chosen(what), find(size)
    if record is not None:
        check_output(record, "--record")

    def log(line: str) -> None:
        if not quiet:
            print(line, file=sys.stderr, flush=True)

    some = None if parts is None else [part.strip() for part in parts.split(",")]
    for result in run(names, wanted, 1 if quick else repeats, log, some):
        if record is not None:
            append_record(record, result)
        verdicts = judge([result], only=(result["bench"], result["size"]))
        typer.echo(json.dumps(result, allow_nan=False) if as_json else as_text(result, verdicts))
