"""altopt update: new labels, edges and nodes taken into a stored model without a refit."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from altopt.cli.commands.predict import in_order, model_folder


def update(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder that fit wrote.")],
    labels: Annotated[
        Path | None, typer.Option(help="Table with node and label; an empty label withdraws it.")
    ] = None,
    edges: Annotated[
        Path | None, typer.Option(help="Table with source, target and maybe weight; weight 0 removes.")
    ] = None,
    features: Annotated[
        Path | None, typer.Option(help="Table of new nodes, with node and the columns of the fit.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the updated model; else MODEL itself.")] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="File for all nodes' labels now, .parquet or .csv.")
    ] = None,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Renew what the encoder says where edges changed.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change; store nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line, no table.")] = False,
) -> None:
    """Take in new labels, edges and nodes at once, and say whose label moved."""
    import warnings

    from altopt import AltOpt
    from altopt.errors import InputError
    from altopt.graph import tables
    from altopt.graph.ids import is_text

    if labels is None and edges is None and features is None:
        raise InputError("nothing to take in: give --labels, --edges or --features.")
    if predictions is not None and predictions.suffix.lower() not in (".parquet", ".csv"):
        raise InputError(f"--predictions {predictions} ends in neither .parquet nor .csv. Use one of them.")
    folder = model_folder(model)
    fitted = AltOpt.load(folder)
    text = is_text(fitted.graph_.ids)
    asked: dict[str, Any] = {}
    if labels is not None:
        asked["labels"] = list(
            zip(*(column.tolist() for column in tables.read_labels(labels, text_ids=text)))
        )
    if edges is not None:
        columns = tables.read_edges(edges, text_ids=text)
        asked["edges"] = list(zip(*(column.tolist() for column in columns.values())))
    if features is not None:
        ids, X, names = tables.read_features(features, text_ids=text)
        if features.suffix.lower() not in (".npy", ".npz") and hasattr(fitted, "feature_names_in_"):
            X = X[:, in_order(names, fitted.feature_names_in_.tolist(), features)]
        asked |= {"nodes": ids, "features": X}
    with warnings.catch_warnings():  # the columns are in order, so their names are not needed
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        change = fitted.update(**asked, refresh=refresh)
    if not dry_run:
        fitted.save(out or folder)
    if predictions is not None and not dry_run:
        predictions.parent.mkdir(parents=True, exist_ok=True)
        values = (fitted.transduction_, fitted.confidence_, fitted.label_distributions_, fitted.classes_)
        tables.write_predictions(predictions, fitted.graph_.ids, *values)
    if as_json:
        typer.echo(json.dumps(change.record() | {"stored": not dry_run}, default=str))
    else:
        typer.echo("\n".join(in_words(change, None if dry_run else out or folder)))


def in_words(change: Any, stored: Path | None) -> list[str]:
    """What changed, as lines of text."""
    known = [move for move in change.moved if move[1] is not None]
    new = [move for move in change.moved if move[1] is None]
    lines = [f"  {node}: {before} -> {now}" for node, before, now in known[:50]]
    lines += [f"  and {len(known) - 50:,} more"] if len(known) > 50 else []
    said = f"{len(known):,} node{'' if len(known) == 1 else 's'} changed label" + (":" if known else ".")
    lines = [said, *lines]
    if new:
        lines += [f"{len(new):,} new:", *(f"  {node}: {now}" for node, _, now in new[:50])]
        lines += [f"  and {len(new) - 50:,} more"] if len(new) > 50 else []
    bound = (
        ""
        if change.error_bound is None
        else f", F within {change.error_bound:.1e} sqrt(degree) of the solution"
    )
    lines.append(f"{change.n_changed:,} rows of F moved, {change.n_touched:,} nodes looked at{bound}.")
    lines.append("Nothing was stored." if stored is None else f"Wrote {stored}.")
    return lines
