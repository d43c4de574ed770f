"""altopt datasets: list, locate and download data sets."""

from pathlib import Path
from typing import Annotated

import typer

from altopt.cli import console

app = typer.Typer(help="List, locate and download data sets.", rich_markup_mode=None)
Data = Annotated[
    Path | None, typer.Option("--data", help="Folder of the raw files. Default: $ALTOPT_DATA, else ./data.")
]


@app.callback(invoke_without_command=True)
def datasets(context: typer.Context) -> None:
    """List, locate and download data sets."""
    if context.invoked_subcommand is None:
        show(None)


@app.command("list")
def show(data: Data = None) -> None:
    """List every data set and whether its files are on disk."""
    from altopt.datasets import available

    on_disk = available(data)
    width = max(map(len, on_disk))
    for name, ready in on_disk.items():
        console.show(f"{name:<{width}}  {'ready' if ready else 'raw files not found'}")
    if not all(on_disk.values()):
        console.show(
            "altopt datasets get NAME downloads raw files; altopt datasets path prints their folder."
        )


@app.command()
def path(data: Data = None) -> None:
    """Print the folder of the raw files."""
    from altopt.datasets import data_folder

    console.show(str(data_folder(data).resolve()))


@app.command()
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As altopt datasets lists it, in any case.")],
    data: Data = None,
) -> None:
    """Download the raw files of a data set.

    Through torch_geometric or ogb; files that are on disk are not downloaded again.
    """
    from altopt.datasets import load

    dataset = load(name, data, download=True)
    console.show(f"{dataset.name} is on disk: {dataset.X.shape[0]:,} nodes. {dataset.note}")
