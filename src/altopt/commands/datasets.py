"""altopt datasets: what can be loaded, what is on disk and where it is looked for."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="What can be loaded, and what is on disk.", rich_markup_mode=None)
Data = Annotated[Path | None, typer.Option("--data", help="Folder of raw files; else ALTOPT_DATA or ./data.")]


@app.callback(invoke_without_command=True)
def datasets(context: typer.Context) -> None:
    """What can be loaded, and what is on disk."""
    if context.invoked_subcommand is None:
        show(None)


@app.command("list")
def show(data: Data = None) -> None:
    """Name every data set and say whether its files are there."""
    from altopt.datasets import available

    there = available(data)
    width = max(map(len, there))
    for name, found in there.items():
        typer.echo(f"{name:<{width}}  {'ready' if found else 'raw files not found'}")


@app.command()
def path(data: Data = None) -> None:
    """Print the folder where raw files are looked for."""
    from altopt.datasets import data_folder

    typer.echo(data_folder(data).resolve())


@app.command()
def get(name: Annotated[str, typer.Argument(metavar="NAME")], data: Data = None) -> None:
    """Say where a data set's raw files belong: this version does not download."""
    from altopt.datasets import load
    from altopt.datasets.raw import SOURCES, data_folder
    from altopt.errors import InputError

    for source in SOURCES:
        if source.name.lower() == name.lower().replace("_", "-") and source.missing(data_folder(data)):
            raise InputError(
                f"altopt does not download data yet. Put the raw files of {source.name} "
                f"({', '.join(source.files)}) into {data_folder(data) / source.folder}."
            )
    found = load(name, data)
    typer.echo(f"{found.name} is there: {found.X.shape[0]:,} nodes. {found.note}")
