"""altopt suggest: which nodes are worth labelling next."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from altopt.cli.commands.predict import model_folder
from altopt.cli.console import show

if TYPE_CHECKING:
    from altopt import AltOpt


def suggest(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder written by altopt fit.")],
    n: Annotated[int, typer.Option("-n", min=1, help="Number of nodes.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line per node.")] = False,
) -> None:
    """List the nodes most worth labelling next.

    Best first, spread over the graph, with the number of wrong labels each is expected to correct.
    """
    from altopt import AltOpt
    from altopt.cli import stored
    from altopt.cli.stored import is_stored
    from altopt.fitted.explanation import plain

    folder = model_folder(model)
    rows = stored.suggest(folder, n) if is_stored(folder) else suggestions(AltOpt.load(folder), n)
    if as_json:
        for row in rows:
            show(json.dumps({name: plain(value) for name, value in row.items()}, default=str))
        return
    width = max([4, *(len(str(row["node"])) for row in rows)])
    show(f"{'':>4}  {'node':<{width}}  {'gain':>8}  {'label now':<12}  confidence")
    for row in rows:
        first = f"{row['rank']:>4}  {row['node']!s:<{width}}  {row['gain']:>8.2f}"
        show(f"{first}  {row['label']!s:<12}  {row['confidence']:.2f}")
    show("gain: wrong labels that this label is expected to correct, given those above it.")


def suggestions(fitted: "AltOpt", n: int) -> list[dict[str, Any]]:
    """Each node with its rank, gain, label and confidence."""
    rows = []
    for rank, (node, gain) in enumerate(fitted.suggest(n), 1):
        place = fitted.graph_.position(node)
        label, sure = fitted.transduction_[place], float(fitted.confidence_[place])
        rows.append({"rank": rank, "node": node, "gain": gain, "label": label, "confidence": sure})
    return rows
