"""altopt report: the page about a stored model, or about recorded runs."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    model: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder that fit wrote, or one that reproduce wrote.")
    ],
    out: Annotated[Path | None, typer.Option(help="The file; by default report.html in that folder.")] = None,
) -> None:
    """Write one self-contained HTML page about a stored model, or about the runs of altopt reproduce."""
    from altopt import AltOpt
    from altopt.cli.commands.predict import model_folder
    from altopt.cli.report import model_report

    if model.name == "runs.jsonl" and model.is_file():  # the records by themselves
        model = model.parent
    page = model / "report.html" if out is None else out
    if (model / "runs.jsonl").is_file():
        from altopt_lab.experiments.html import results_report
        from altopt_lab.records import read_records

        results_report(read_records(model / "runs.jsonl"), page)
        typer.echo(f"Wrote {page}.")
        return
    model_report(AltOpt.load(model_folder(model)), page)
    typer.echo(f"Wrote {page}.")
