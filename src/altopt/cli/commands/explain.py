"""altopt explain: the labels and features behind a prediction, with amounts that sum to its score."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from altopt.cli.commands.predict import model_folder

if TYPE_CHECKING:
    from altopt.arrays import Array


def explain(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder written by altopt fit.")],
    nodes: Annotated[list[str], typer.Argument(metavar="NODE...", help="Ids of the nodes to explain.")],
    against: Annotated[str | None, typer.Option(help="A class: why was it not predicted?")] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of labels and of features to list.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line per node.")] = False,
) -> None:
    """Show the evidence behind predictions.

    Lists the labels and features that a node's score comes from, with amounts that sum to it, and the strongest path.
    Exact for the score before the softmax, given the encoder's output.
    """
    from altopt import AltOpt
    from altopt.cli import stored
    from altopt.cli.stored import is_stored

    if is_stored(model_folder(model)):
        stored.explain(model_folder(model), nodes, against, top, as_json)
        return
    fitted = AltOpt.load(model_folder(model))
    names = [read_id(node, fitted.graph_.ids) for node in nodes]
    other = None if against is None else read_class(against, fitted.classes_)
    stored.show_explanations(fitted.explain_many(names), other, top, as_json)


def read_id(text: str, ids: "Array") -> Any:
    """A node's id in the type of the graph's own."""
    from altopt.graph.ids import is_text

    if is_text(ids):
        return text
    if ids.dtype.kind not in "iu":
        return next((name for name in ids.tolist() if str(name) == text), text)
    try:
        return int(text)
    except ValueError:
        return text  # which no node is called: the refusal says so


def read_class(text: str, classes: "Array") -> Any:
    """A class as it was written, in the classes' own type."""
    return next((name for name in classes.tolist() if str(name) == text), text)
