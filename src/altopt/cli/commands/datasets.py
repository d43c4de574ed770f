"""altopt datasets: what can be loaded, what is on disk, where it is looked for, and how to get it."""

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
    if not all(there.values()):
        typer.echo(
            "altopt datasets get NAME fetches raw files; altopt datasets path says where they are looked for."
        )


@app.command()
def path(data: Data = None) -> None:
    """Print the folder where raw files are looked for."""
    from altopt.datasets import data_folder

    typer.echo(data_folder(data).resolve())


@app.command()
def get(name: Annotated[str, typer.Argument(metavar="NAME")], data: Data = None) -> None:
    """Fetch a data set's raw files, unless they are there, through torch_geometric or ogb."""
    from altopt.datasets import load

    found = load(name, data, download=True)
    typer.echo(f"{found.name} is there: {found.X.shape[0]:,} nodes. {found.note}")
