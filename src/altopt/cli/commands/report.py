"""altopt report: the HTML page about a stored model, or about records of another package."""

import json
from contextlib import nullcontext
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from altopt.cli.console import show
from altopt.cli.paths import Output


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder written by altopt fit or by altopt reproduce.")
    ],
    out: Annotated[Path | None, Output("The page to write. Default: report.html in DIR.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON line.")] = False,
) -> None:
    """Write an HTML report.

    One self-contained page about a stored model, or about the runs of altopt reproduce.
    """
    from altopt import AltOpt
    from altopt.cli import outputs
    from altopt.cli.commands.predict import model_folder
    from altopt.cli.report.stored import stored_report
    from altopt.cli.stored import is_stored, mend
    from altopt.io.files import check_output
    from altopt.io.folder import read_head
    from altopt.scale.stored import StoredModel

    if out is not None:
        check_output(out, "--out")
    for entry in entry_points(group="altopt.reports"):  # each named by the file that it reports on
        records = folder if folder.name == entry.name else folder / entry.name
        if records.is_file():
            page = out or records.parent / "report.html"
            check_output(page, "the page")
            entry.load()(records, page)
            break
    else:
        page = out or folder / "report.html"
        check_output(page, "the page")
        model = model_folder(folder)
        if is_stored(model):
            mend(model)
            stored_report(StoredModel.load(model), page)
            show(json.dumps({"written": [str(page)]}) if as_json else f"Wrote {page}.")
            return
        read_head(model, "model")  # no lock where no model is
        with outputs.held(model) if outputs.same_file(page.parent, model.parent) else nullcontext():
            outputs.report(AltOpt.load(model), model, page)
    show(json.dumps({"written": [str(page)]}) if as_json else f"Wrote {page}.")
