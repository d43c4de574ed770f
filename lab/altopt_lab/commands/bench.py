"""altopt bench: time and memory beside other libraries, by turns in one run."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer


def bench(
    what: Annotated[
        str,
        typer.Argument(metavar="WHAT", help="propagate, solve, encoder, fit, memory, growth, update or all."),
    ],
    size: Annotated[str, typer.Option(help="Size of the generated graph; a wrong one lists them.")] = "arxiv",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line a benchmark, no tables.")] = False,
    repeats: Annotated[int | None, typer.Option(min=1, help="Rounds; by default each its own.")] = None,
    record: Annotated[
        Path | None, typer.Option(help="Append one JSON line a benchmark to this file.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Ratios against every peer that is installed, with the machine's bandwidth in the same run."""
    from altopt_lab.bench.formatting import as_text
    from altopt_lab.bench.graphs import find
    from altopt_lab.bench.registry import chosen, run
    from altopt_lab.bench.targets import judge

    names, wanted = chosen(what), find(size)
    if record is not None:
        prepare_file(record)

    def log(line: str) -> None:
        if not quiet:
            print(line, file=sys.stderr, flush=True)

    for found in run(names, wanted, repeats, log):
        line = json.dumps(found, allow_nan=False)
        if record is not None:
            with record.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        verdicts = judge([found], only=(found["bench"], found["size"]))
        typer.echo(line if as_json else as_text(found, verdicts))


def prepare_file(path: Path) -> None:
    """Refuse before the work what could not be written after it."""
    from altopt.errors import InputError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("a").close()
    except OSError as cause:
        raise InputError(
            f"--record {path} cannot be written: {cause.strerror}. Name another file."
        ) from cause
