"""Options that name an output: an empty name is refused, where Path("") would mean the current folder."""

from pathlib import Path
from typing import Any

import typer


def output_path(text: str | Path) -> Path:
    """The path of an output."""
    if not str(text).strip():
        raise typer.BadParameter("it is empty. Name a file or folder.")
    return Path(text)


def Output(about: str) -> Any:
    """An option that takes the path of an output."""
    return typer.Option(parser=output_path, metavar="<path>", help=about)
