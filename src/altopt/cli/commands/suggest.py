"""altopt suggest: which nodes are worth labelling next."""

import json
from pathlib import Path
from typing import Annotated

import typer

from altopt.cli.commands.predict import model_folder


def suggest(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder that fit wrote.")],
    n: Annotated[int, typer.Option("-n", min=1, help="How many nodes to name.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line a node, no table.")] = False,
) -> None:
    """Name the nodes whose labels would help most, best first, spread over the graph."""
    from altopt import AltOpt
    from altopt.fitted.explanation import plain

    fitted = AltOpt.load(model_folder(model))
    found = fitted.suggest(n)
    if as_json:
        for rank, (node, gain) in enumerate(found, 1):
            typer.echo(json.dumps({"rank": rank, "node": plain(node), "gain": gain}, default=str))
        return
    wide = max([4, *(len(str(node)) for node, _ in found)])
    typer.echo(f"{'':>4}  {'node':<{wide}}  {'gain':>8}  {'label now':<12}  confidence")
    for rank, (node, gain) in enumerate(found, 1):
        place = fitted.graph_.position(node)
        label, sure = fitted.transduction_[place], fitted.confidence_[place]
        typer.echo(f"{rank:>4}  {node!s:<{wide}}  {gain:>8.2f}  {label!s:<12}  {sure:.2f}")
    typer.echo("gain: wrong labels that this one is expected to put in reach, given those above it.")
