"""altopt reproduce: the paper's tables and figures, and AltOpt() beside simple peers, from runs made now."""

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_OUT = Path("reproduced") / "runs.jsonl"
BREADTH = "breadth"


def reproduce(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="transductive, equal-effort, peers, own-labels, apart, ablation, top-k, layers, best-epochs, "
            "epoch-time, in-turns, efficiency, complexity, layer-memory, heterophily, choice, inductive, normalised, "
            "promises, options, sensitivity, statistics or all; tuning chooses the settings that are not chosen yet; "
            "breadth is AltOpt() beside simple peers on data of many kinds.",
        ),
    ],
    dataset: Annotated[str | None, typer.Option(help="Only this data set.")] = None,
    method: Annotated[str | None, typer.Option(help="Only this row, e.g. APPNP or 'AltOpt()'.")] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            help="Only this rate: 5, 10, 20, 60, 30%, 60%, given or inductive; of breadth given, 50/25/25, "
            "'random 50' or 'class 20', say."
        ),
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
        Path | None,
        typer.Option(
            help="File of records, one JSON line a run; what is there is not run again. By default "
            "reproduced/runs.jsonl, for breadth reproduced/breadth.jsonl."
        ),
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Try again what failed before.")] = False,
    renew: Annotated[bool, typer.Option("--renew", help="Run again what other code made.")] = False,
    figures: Annotated[
        bool,
        typer.Option(
            "--figures",
            help="Draw ablation, top-k, sensitivity and inductive as PNG and SVG, into a folder figures beside the "
            "records.",
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Make the runs of a table or figure of the paper, or of breadth, that are not on record yet, and print it.

    Stopped at any time, the same command goes on. Several may work on one file of records at once.
    """
    from altopt.cli.progress import Works
    from altopt_lab.experiments.figures import with_figures
    from altopt_lab.experiments.reproduce import find, read_budget, request, results, tuning

    seconds = read_budget(budget)
    if figures and what in (BREADTH, "tuning"):
        with_figures([what])  # refuses: neither has a figure
    if what == BREADTH:
        from altopt_lab.breadth import matrix

        place = out or DEFAULT_OUT.with_name("breadth.jsonl")
        part = matrix.request(dataset, rate, method, splits)
        with Works(quiet) as works:
            text = matrix.results(part, place, data, seconds, retry, works)
        typer.echo(text)
        return
    out = out or DEFAULT_OUT
    only = request(dataset, rate, splits, runs, method)
    with Works(quiet) as works:
        if what == "tuning":
            typer.echo(tuning(only, out, data, seconds, works.say))
            return
        names = find(what)
        drawn = out.parent / "figures" if figures else None
        text = results(names, only, out, data, seconds, retry, works, drawn, renew)
    typer.echo(text)
