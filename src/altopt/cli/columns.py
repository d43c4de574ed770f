"""Options that say what the columns of files are called."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from altopt.graph.files import ColumnNames

Node = Annotated[
    str, typer.Option("--node", metavar="<column>", help="Column of node ids, in features and labels.")
]
Source = Annotated[str, typer.Option("--source", metavar="<column>", help="Column where an edge begins.")]
Target = Annotated[str, typer.Option("--target", metavar="<column>", help="Column where an edge ends.")]
Weight = Annotated[str, typer.Option("--weight", metavar="<column>", help="Column of edge weights.")]
Label = Annotated[str, typer.Option("--label", metavar="<column>", help="Column of labels.")]


def column_names(
    node: str = "node",
    source: str = "source",
    target: str = "target",
    weight: str = "weight",
    label: str = "label",
) -> "ColumnNames":
    from altopt.graph.files import ColumnNames

    return ColumnNames(node, source, target, label, weight)
