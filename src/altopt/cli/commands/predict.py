"""altopt predict: labels of new nodes, from a stored model."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from altopt.cli.columns import Node, Source, Target, Weight, column_names
from altopt.cli.console import show
from altopt.cli.edge_files import EdgeFiles, EdgeOption, by_kind, edge_files
from altopt.cli.paths import Output

if TYPE_CHECKING:
    from altopt import AltOpt
    from altopt.arrays import Array
    from altopt.graph.files import ColumnNames


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder written by altopt fit.")],
    out: Annotated[Path, Output("File for the predictions, .parquet or .csv.")],
    features: Annotated[
        Path | None,
        typer.Option(
            help="Table of the nodes, with the columns that the model was fitted on, in any order. Nodes that the "
            "model knows are answered for as they stand in it."
        ),
    ] = None,
    edges: Annotated[
        list[str] | None,
        EdgeOption("Table with columns source and target, between new and known nodes or among new ones."),
    ] = None,
    node: Node = "node",
    source: Source = "source",
    target: Target = "target",
    weight: Weight = "weight",
    quiet: Annotated[bool, typer.Option("--quiet", help="Print errors and warnings only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON line.")] = False,
) -> None:
    """Label nodes with a stored model, most of all new ones."""
    from altopt import AltOpt
    from altopt.arrays import certainty
    from altopt.cli import stored
    from altopt.cli.stored import is_stored
    from altopt.errors import InputError
    from altopt.fitted.known import answers
    from altopt.fitted.source import features_later
    from altopt.graph import tables
    from altopt.graph.ids import is_text, lookup
    from altopt.io.files import check_output
    from altopt.table.files import read_rows

    if out.suffix.lower() not in (".parquet", ".csv"):
        raise InputError(f"--out {out} ends in neither .parquet nor .csv. Name the output with one of them.")
    check_output(out, "--out")
    if is_stored(model_folder(model)):
        told = column_names(node, source, target, weight)
        ids, labels, n_known = stored.predict(model_folder(model), features, edge_files(edges), told, out)
        tell(ids, labels, n_known, out, quiet, as_json)
        return
    fitted = AltOpt.load(model_folder(model))
    text = is_text(fitted.graph_.ids)
    names, files = column_names(node, source, target, weight), edge_files(edges)
    if features is not None:
        ids, X, _ = read_rows(features, node, text_ids=text)
    elif fitted.fitted_.has_features:
        raise InputError("give --features: the model was fitted with them.")
    elif not files:
        raise InputError("give --edges of new nodes: the model goes by the graph alone.")
    else:
        ids, X = new_ends(files, names, text, fitted), None
    known = lookup(fitted.graph_.ids, ids) >= 0
    table = by_kind(files, lambda path: read_new_edges(path, names, text, ids, fitted, features))
    if known.all() and table is not None:
        show(
            f"{', '.join(map(str, files.values()))} was not used: the model knows all nodes, and altopt update "
            "takes edges between them.",
            err=True,
        )
        table = None
    found = answers(
        fitted.fitted_, *features_later(fitted, X, ids), table, named=not fitted.fitted_.positional
    )
    labels, P = fitted.classes_[found.codes], found.probabilities
    tables.write_predictions(out, ids, labels, certainty(P), P, fitted.classes_)
    tell(ids, labels, int(known.sum()) if not fitted.fitted_.positional else 0, out, quiet, as_json)


def tell(ids: "Array", labels: "Array", n_known: int, out: Path, quiet: bool, as_json: bool) -> None:
    """What was written."""
    import numpy as np

    if as_json:
        counts = {str(name): int(n) for name, n in zip(*np.unique(labels.astype(str), return_counts=True))}
        record = {"nodes": len(ids), "known": n_known, "labels": counts, "written": [str(out)]}
        show(json.dumps(record))
    elif not quiet:
        of_known = f", and as they stand in the model for {n_known:,} that it knows" if n_known else ""
        show(f"Wrote {out}: labels for {len(ids) - n_known:,} new nodes{of_known}.")


def model_folder(path: Path) -> Path:
    """The stored model itself, given it or the folder of the fit that holds it."""
    return path / "model" if (path / "model").is_dir() else path


def new_ends(files: EdgeFiles, names: "ColumnNames", text_ids: bool, fitted: "AltOpt") -> "Array":
    """The ends of edges that the model does not know."""
    import numpy as np

    from altopt.graph.files import read_edges
    from altopt.graph.ids import distinct, lookup

    ends = [read_edges(path, names, text_ids=text_ids) for path in files.values()]
    ids = distinct(*(np.concatenate([part[name] for part in ends]) for name in ("source", "target")))
    return ids[lookup(fitted.graph_.ids, ids) < 0]


def read_new_edges(
    path: Path, names: "ColumnNames", text_ids: bool, ids: "Array", fitted: "AltOpt", features: Path | None
) -> Any:
    """The edges as a table; each end must be a new or a known node."""
    import numpy as np
    import pyarrow as pa

    from altopt.errors import InputError
    from altopt.graph import tables
    from altopt.graph.files import read_edges

    ends = read_edges(path, names, text_ids=text_ids)
    nodes = np.array([*fitted.graph_.ids.tolist(), *ids.tolist()], dtype=object)
    for key, name in (("source", names.source), ("target", names.target)):
        try:
            tables.match(nodes, ends[key], f"{path}, column {name!r},")
        except InputError as error:
            raise InputError(f"{error} Known are the fitted nodes and those of {features}.") from error
    return pa.table(ends)
