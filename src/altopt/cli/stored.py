"""The commands about a stored model, for a model of files: explain, suggest, update, predict, export and report."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array, certainty
from altopt.cli.console import show
from altopt.cli.edge_files import EdgeFiles
from altopt.cli.outputs import NOTE, NOTE_TEXT, held, is_report, mark_report
from altopt.errors import DiskError, InputError
from altopt.fitted.explanation import plain
from altopt.fitted.ledger import in_words
from altopt.graph.files import ColumnNames, read_edges, read_labels
from altopt.graph.tables import write_predictions
from altopt.io.files import write_text
from altopt.io.folder import FILES, kind_of
from altopt.scale.export import export, rewrite_predictions
from altopt.scale.model import PREDICTION_ROWS, ModelOfFiles
from altopt.scale.predictions import PREDICTIONS, is_part
from altopt.scale.stored import StoredModel
from altopt.table.files import read_rows
from altopt.table.frame import Frame


def is_stored(folder: Path) -> bool:
    """Whether the folder holds a model of files."""
    return kind_of(folder) == FILES


def refuse_stored(folder: Path, command: str) -> None:
    """Refuse a model of files where a command needs all of it in memory."""
    if is_stored(folder):
        raise InputError(
            f"{command} holds a model in memory, and {folder} was fitted with --memory. altopt explain, suggest, "
            "update, predict, export and report read it from disk."
        )


def refuse(given: dict[str, Any]) -> None:
    """Refuse options that a model of files has no answer to."""
    for option, value in given.items():
        if value:
            raise InputError(
                f"{option} is not for a model that was fitted with --memory. Leave it out, or fit again."
            )


def text_ids(model: StoredModel) -> bool:
    return model.graph.id_kind == "text"


def read_id(text: str, model: StoredModel) -> Any:
    """A node's id in the type of the graph's own."""
    try:
        return text if text_ids(model) else int(text)
    except ValueError:
        return text  # which no node is called: the refusal says so


def explain(folder: Path, nodes: list[str], against: str | None, top: int, as_json: bool) -> None:
    model = StoredModel.load(folder)
    other = against
    if against is not None:
        other = next((name for name in model.classes.tolist() if str(name) == against), against)
    show_explanations(model.explain_many([read_id(node, model) for node in nodes]), other, top, as_json)


def show_explanations(explanations: Iterable[Any], other: Any, top: int, as_json: bool) -> None:
    """Each explanation in words or as a line of JSON, beside what speaks for another class where one is named."""
    for k, explanation in enumerate(explanations):
        contrast = None if other is None else explanation.against(other)
        if as_json:
            record = explanation.record(top)
            if contrast is not None:
                record["against"] = contrast.record(top)
            show(json.dumps(record, default=str))
        else:
            show(*([""] if k else []), *in_words(explanation, contrast, top))


def suggest(folder: Path, n: int) -> list[dict[str, Any]]:
    """What altopt suggest lists."""
    model = StoredModel.load(folder)
    picked = model.suggest(n)
    found = model.rows([node for node, _ in picked])
    return [
        {"rank": k + 1, "node": node, "gain": gain, "label": plain(label), "confidence": float(sure)}
        for k, ((node, gain), label, sure) in enumerate(
            zip(picked, model.classes[found.codes], found.confidence)
        )
    ]


def update(
    folder: Path, labels: Path | None, names: ColumnNames, dry_run: bool, wait: float
) -> tuple[Any, list[str]]:
    """The change, and what to tell of what was written."""
    if labels is None:
        raise InputError(
            "nothing to update: give --labels, which a model that was fitted with --memory takes alone."
        )
    with held(folder, wait):
        model = StoredModel.load(folder)
        columns = read_labels(labels, names, text_ids=text_ids(model))
        given = list(zip(*(column.tolist() for column in columns)))
        if dry_run:
            return model.what_if(labels=given), []
        mend(folder)
        with noted(folder):
            change = model.update(labels=given)
            predictions, report, written = *beside(folder), [folder]
            if change.nodes and predictions is not None:
                places = model.graph.positions(change.nodes)
                written += rewrite_predictions(model.files, predictions, places)
            if change.nodes and report is not None:
                mark_report(report)
    return change, [f"Wrote {', '.join(map(str, written[:5]))}{' and others' if len(written) > 5 else ''}."]


def beside(folder: Path) -> tuple[Path | None, Path | None]:
    """The predictions and the report that altopt fit wrote beside a model."""
    predictions, report = folder.parent / PREDICTIONS, folder.parent / "report.html"
    own = is_part(predictions / "part-00000.parquet")
    return predictions if own else None, report if is_report(report) else None


@contextmanager
def noted(folder: Path) -> Iterator[None]:
    """A note beside the model says that what is beside it may be older, for as long as the block runs or was killed."""
    note, known = folder.parent / NOTE, any(beside(folder))
    if known:
        write_text(note, NOTE_TEXT)
    try:
        yield
    except InputError as error:
        if not isinstance(error, DiskError):  # the model is as it was
            note.unlink(missing_ok=True)
        raise
    note.unlink(missing_ok=True)


def mend(folder: Path) -> None:
    """Write predictions anew that an interrupted command left older than the model."""
    note = folder.parent / NOTE
    if not note.is_file():
        return
    with held(folder):
        model, (predictions, report) = ModelOfFiles.open(folder), beside(folder)
        if predictions is not None:
            rewrite_predictions(model, predictions, np.arange(0, model.n_nodes, PREDICTION_ROWS))
        if report is not None:
            mark_report(report)
        note.unlink(missing_ok=True)


def predict(
    folder: Path, features: Path | None, edges: EdgeFiles, names: ColumnNames, out: Path
) -> tuple[Array, Array, int]:
    """Ids, labels and how many of them the model knew; the table is written."""
    model = StoredModel.load(folder)
    if features is None:
        raise InputError("give --features: the model was fitted with them.")
    ids, X, _ = read_rows(features, names.node, text_ids=text_ids(model))
    places = known_places(model, ids)
    new = np.flatnonzero(places < 0)
    P, codes = np.empty((len(ids), len(model.classes))), np.empty(len(ids), np.int64)
    found = model.at(places[places >= 0])
    P[places >= 0], codes[places >= 0] = found.probabilities, found.codes
    if len(new):
        P[new] = model.predict_proba(
            matrix(X, model, features)[new], new_edges(edges, names, model), ids[new]
        )
        codes[new] = P[new].argmax(axis=1)
    labels = model.classes[codes]
    write_predictions(out, ids, labels, certainty(P), P, model.classes)
    return ids, labels, len(ids) - len(new)


def known_places(model: StoredModel, ids: Array) -> Array:
    """The position of each node, -1 where it is new; rows of an array are always new."""
    if model.graph.id_kind == "positions":
        return np.full(len(ids), -1)
    return model.graph.positions(ids.tolist(), absent=-1)


def matrix(X: Any, model: StoredModel, path: Path) -> Array:
    """The columns of the fit, in their order."""
    if not isinstance(X, Frame):
        return np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    lacking = [name for name in model.column_names if name not in X.names]
    if lacking:
        raise InputError(f"{path} has no column {lacking[0]!r}, which the model was fitted on.")
    by_name = dict(zip(X.names, X.columns))
    try:
        columns = [by_name[name].cast("double").to_numpy(zero_copy_only=False) for name in model.column_names]
    except ValueError as error:
        raise InputError(f"{path} must hold numbers in the columns of the fit: {error}.") from error
    return np.column_stack(columns)


def new_edges(edges: EdgeFiles, names: ColumnNames, model: StoredModel) -> Any:
    """The edges of new nodes as a table."""
    import pyarrow as pa

    if not edges:
        return None
    if list(edges) != [""]:
        raise InputError("a model that was fitted with --memory has one kind of edges: --edges PATH.")
    return pa.table(read_edges(edges[""], names, text_ids=text_ids(model)))


def export_to(folder: Path, out: Path) -> tuple[list[Path], int, int]:
    """The files written, nodes and edges."""
    model = StoredModel.load(folder).files
    model.verify()
    return export(model, out), model.n_nodes, model.graph.csr.n_entries // 2
