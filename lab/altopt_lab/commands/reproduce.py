"""altopt reproduce: the paper's tables and figures from runs made now, beside the paper's own numbers."""

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_OUT = Path("reproduced") / "runs.jsonl"


def reproduce(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="transductive, peers, own-labels, ablation, top-k, layers, best-epochs, epoch-time, efficiency, "
            "complexity, layer-memory, heterophily, choice, inductive, normalised, sensitivity, statistics or all; "
            "tuning chooses the settings that are not chosen yet.",
        ),
    ],
    dataset: Annotated[str | None, typer.Option(help="Only this data set.")] = None,
    method: Annotated[str | None, typer.Option(help="Only this row, e.g. APPNP or 'AltOpt()'.")] = None,
    rate: Annotated[
        str | None, typer.Option(help="Only this rate: 5, 10, 20, 60, 30%, 60%, given or inductive.")
    ] = None,
    splits: Annotated[int | None, typer.Option(min=1, help="Splits; by default as many as it takes.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Runs of each split.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="Begin nothing after this long, e.g. 30m or 2h; first things come first."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder of raw files; else ALTOPT_DATA or ./data.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="File of records, one JSON line a run; what is there is not run again.")
    ] = DEFAULT_OUT,
    retry: Annotated[bool, typer.Option("--retry", help="Try again what failed before.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Make the runs of a table or figure of the paper that are not on record yet, and print it.

    Stopped at any time, the same command goes on. Several may work on one file of records at once.
    """
    from altopt.cli.progress import Works
    from altopt_lab.experiments.reproduce import find, read_budget, request, results, tuning

    seconds, only = read_budget(budget), request(dataset, rate, splits, runs, method)
    with Works(quiet) as works:
        if what == "tuning":
            typer.echo(tuning(only, out, data, seconds, works.say))
            return
        names = find(what)
        text = results(names, only, out, data, seconds, retry, works)
    typer.echo(text)
