"""altopt report: the HTML page about a stored model, or about records of another package."""

from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder written by altopt fit or by altopt reproduce.")
    ],
    out: Annotated[Path | None, typer.Option(help="The page to write. Default: report.html in DIR.")] = None,
) -> None:
    """Write an HTML report.

    One self-contained page about a stored model, or about the runs of altopt reproduce.
    """
    from altopt import AltOpt
    from altopt.cli.commands.predict import model_folder
    from altopt.cli.report import model_report

    for entry in entry_points(group="altopt.reports"):  # each named by the file that it reports on
        records = folder if folder.name == entry.name else folder / entry.name
        if records.is_file():
            page = out or records.parent / "report.html"
            entry.load()(records, page)
            break
    else:
        page = out or folder / "report.html"
        model_report(AltOpt.load(model_folder(folder)), page)
    typer.echo(f"Wrote {page}.")
