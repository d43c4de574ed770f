"""altopt predict: labels of new nodes, from a stored model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from altopt.cli.console import show
from altopt.cli.paths import Output

if TYPE_CHECKING:
    from altopt import AltOpt
    from altopt.arrays import Array


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder written by altopt fit.")],
    features: Annotated[
        Path, typer.Option(help="Table of the new nodes, with the columns that the model was fitted on.")
    ],
    out: Annotated[Path, Output("File for the predictions, .parquet or .csv.")],
    edges: Annotated[
        Path | None,
        typer.Option(
            help="Table with columns source and target, between new and known nodes or among new ones."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print errors and warnings only.")] = False,
) -> None:
    """Label new nodes with a stored model."""
    import warnings

    from altopt import AltOpt
    from altopt.arrays import certainty
    from altopt.errors import InputError
    from altopt.graph import tables
    from altopt.graph.ids import is_text
    from altopt.io.files import check_output

    if out.suffix.lower() not in (".parquet", ".csv"):
        raise InputError(f"--out {out} ends in neither .parquet nor .csv. Name the output with one of them.")
    check_output(out, "--out")
    fitted = AltOpt.load(model_folder(model))
    text = is_text(fitted.graph_.ids)
    ids, X, names = tables.read_features(features, text_ids=text)
    if features.suffix.lower() not in (".npy", ".npz") and hasattr(fitted, "feature_names_in_"):
        X = X[:, in_order(names, fitted.feature_names_in_.tolist(), features)]
    table = None if edges is None else read_new_edges(edges, text, ids, fitted, features)
    with warnings.catch_warnings():  # the columns are in order, so their names are not needed
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        probabilities = fitted.predict_proba(X, edges=table, ids=ids)
    labels = fitted.classes_[probabilities.argmax(axis=1)]
    tables.write_predictions(out, ids, labels, certainty(probabilities), probabilities, fitted.classes_)
    if not quiet:
        show(f"Wrote {out}: labels for {len(ids):,} new nodes.")


def model_folder(path: Path) -> Path:
    """The stored model itself, given it or the folder of the fit that holds it."""
    return path / "model" if (path / "model").is_dir() else path


def in_order(names: list[str], wanted: list[str], path: Path) -> list[int]:
    """The position of each column of the fit among the new ones."""
    from altopt.errors import InputError

    place = {name: column for column, name in enumerate(names)}
    for name in wanted:
        if name not in place:
            raise InputError(f"{path} has no column {name!r}, which the model was fitted on. Add it.")
    extra = [name for name in names if name not in set(wanted)]
    if extra:
        raise InputError(f"{path} has a column {extra[0]!r}, unknown to the model. Leave it out.")
    return [place[name] for name in wanted]


def read_new_edges(path: Path, text_ids: bool, ids: "Array", fitted: "AltOpt", features: Path) -> Any:
    """The edges as a table; each end must be a new or a known node."""
    import numpy as np
    import pyarrow as pa

    from altopt.errors import InputError
    from altopt.graph import tables
    from altopt.graph.ids import lookup

    known = lookup(fitted.graph_.ids, ids)
    if known.max() >= 0:
        node = ids[known >= 0].tolist()[0]
        raise InputError(
            f"{features} names node {node!r}, which the model was fitted on. With --edges every "
            "new node needs an id of its own."
        )
    ends = tables.read_edges(path, text_ids=text_ids)
    nodes = np.array([*fitted.graph_.ids.tolist(), *ids.tolist()], dtype=object)
    for name in ("source", "target"):
        try:
            tables.match(nodes, ends[name], f"{path}, column {name!r},")
        except InputError as error:
            raise InputError(f"{error} Known are the fitted nodes and those of {features}.") from error
    return pa.table(ends)
