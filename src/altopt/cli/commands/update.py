"""altopt update: new labels, edges and nodes taken into a stored model without a refit."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from altopt.cli.columns import Label, Node, Source, Target, Weight, column_names
from altopt.cli.commands.predict import model_folder, new_ends
from altopt.cli.console import show
from altopt.cli.edge_files import EdgeFiles, EdgeOption, by_kind, edge_files
from altopt.cli.paths import Output

if TYPE_CHECKING:
    from altopt import AltOpt
    from altopt.arrays import Array
    from altopt.fitted.request import Change
    from altopt.graph.files import ColumnNames


def update(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder written by altopt fit.")],
    labels: Annotated[
        Path | None,
        typer.Option(help="Table with columns node and label; an empty label withdraws a given one."),
    ] = None,
    edges: Annotated[
        list[str] | None,
        EdgeOption("Table with columns source, target and optionally weight; weight 0 removes an edge."),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(help="Table of new nodes, with a column node and those that the model was fitted on."),
    ] = None,
    node: Node = "node",
    label: Label = "label",
    source: Source = "source",
    target: Target = "target",
    weight: Weight = "weight",
    out: Annotated[Path | None, Output("Folder for the updated model. Default: MODEL is replaced.")] = None,
    predictions: Annotated[
        Path | None, Output("File for the new labels of all nodes, .parquet or .csv.")
    ] = None,
    refresh: Annotated[
        bool,
        typer.Option("--refresh", help="Also recompute the encoder's inputs and output where edges changed."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change; store nothing.")
    ] = False,
    wait: Annotated[
        float,
        typer.Option(min=0, help="How many seconds to wait for another process that is updating MODEL."),
    ] = 600,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
) -> None:
    """Add labels, edges or nodes without a refit.

    Prints the nodes whose label changed, and stores the updated model. Predictions that altopt fit wrote beside it
    are written anew, and its report is marked as out of date. Updates of one model at the same time wait for each
    other.
    """
    from altopt import AltOpt  # takes long, so not while the model is held
    from altopt.cli import outputs, stored
    from altopt.cli.stored import is_stored
    from altopt.errors import InputError
    from altopt.io.files import check_output
    from altopt.io.folder import read_head, refuse_foreign

    files = edge_files(edges)
    if labels is None and not files and features is None:
        raise InputError("nothing to update: give --labels, --edges or --features.")
    if predictions is not None and predictions.suffix.lower() not in (".parquet", ".csv"):
        raise InputError(f"--predictions {predictions} ends in neither .parquet nor .csv. Use one of them.")
    if out is not None:
        check_output(out, "--out", folder=True)
        refuse_foreign(out, "model")
    if predictions is not None:
        check_output(predictions, "--predictions")
    folder = model_folder(model)
    if is_stored(folder):
        stored.refuse(
            {
                "--edges": files,
                "--features": features,
                "--out": out,
                "--predictions": predictions,
                "--refresh": refresh,
            }
        )
        told = column_names(node, source, target, weight, label)
        change, written = stored.update(folder, labels, told, dry_run, wait)
        tell(change, written, dry_run, as_json)
        return
    read_head(folder, "model")  # no lock where no model is
    place = out or folder
    in_place = not dry_run and outputs.same_file(place, folder)
    with outputs.held(folder, wait) if in_place else nullcontext():
        fitted = AltOpt.load(folder)
        names = column_names(node, source, target, weight, label)
        change = take_in(fitted, labels, files, features, names, refresh)
        written = [] if dry_run else outputs.store(fitted, place, predictions)
    tell(change, written, dry_run, as_json)


def tell(change: "Change", written: list[str], dry_run: bool, as_json: bool) -> None:
    """What changed, and what was written."""
    if as_json:
        show(json.dumps(change.record() | {"stored": not dry_run}, default=str))
    else:
        show(*in_words(change), *(written or ["Nothing was stored."]))


def take_in(
    fitted: "AltOpt",
    labels: Path | None,
    edges: EdgeFiles,
    features: Path | None,
    names: "ColumnNames",
    refresh: bool,
) -> "Change":
    """Update a model by what the tables hold."""
    from altopt.graph.files import read_edges, read_labels
    from altopt.graph.ids import is_text
    from altopt.table.files import read_rows

    text = is_text(fitted.graph_.ids)
    request: dict[str, Any] = {}
    if labels is not None:
        columns = read_labels(labels, names, text_ids=text)
        request["labels"] = list(zip(*(column.tolist() for column in columns)))
    if edges:
        request["edges"] = by_kind(edges, lambda path: rows(read_edges(path, names, text_ids=text)))
        if not fitted.fitted_.has_features:
            new = new_ends(edges, names, text, fitted)
            request |= {"nodes": new} if len(new) else {}
    if features is not None:
        ids, X, _ = read_rows(features, names.node, text_ids=text)
        request |= {"nodes": ids, "features": X}
    return fitted.update(**request, refresh=refresh)


def rows(columns: "dict[str, Array]") -> list[Any]:
    return list(zip(*(column.tolist() for column in columns.values())))


def in_words(change: "Change") -> list[str]:
    """What changed, as lines of text."""
    known = [move for move in change.moved if move[1] is not None]
    new = [move for move in change.moved if move[1] is None]
    lines = [f"  {node}: {before} -> {now}" for node, before, now in known[:50]]
    lines += [f"  and {len(known) - 50:,} more"] if len(known) > 50 else []
    summary = f"{len(known):,} node{'' if len(known) == 1 else 's'} changed label" + (":" if known else ".")
    lines = [summary, *lines]
    if new:
        lines += [f"{len(new):,} new:", *(f"  {node}: {now}" for node, _, now in new[:50])]
        lines += [f"  and {len(new) - 50:,} more"] if len(new) > 50 else []
    bound = (
        ""
        if change.error_bound is None
        else f", F within {change.error_bound:.1e} sqrt(degree) of the solution"
    )
    lines.append(f"{change.n_changed:,} rows of F changed, {change.n_touched:,} nodes visited{bound}.")
    return lines
