"""altopt report: the page about a stored model."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder that fit wrote.")],
    out: Annotated[Path | None, typer.Option(help="The file; by default report.html in that folder.")] = None,
) -> None:
    """Write one self-contained HTML page about a stored model."""
    from altopt import AltOpt
    from altopt.commands.predict import model_folder
    from altopt.report import model_report

    page = model / "report.html" if out is None else out
    model_report(AltOpt.load(model_folder(model)), page)
    typer.echo(f"Wrote {page}.")
