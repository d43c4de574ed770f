"""The predictions and the report beside a model: when it changes, these are written anew and that is marked."""

import csv
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from altopt.cli.console import show
from altopt.errors import DiskError, InputError
from altopt.io.files import new_folder, replacing, write_text
from altopt.io.folder import HEAD, folder_lock, remove_folder

if TYPE_CHECKING:
    from altopt import AltOpt

COLUMNS = ["node", "label", "confidence"]
NOTE = "ALTOPT-OUT-OF-DATE.txt"
NOTE_TEXT = (
    "The predictions and the report in this folder may be older than the model: a command that changed the\n"
    "model was interrupted. altopt update and altopt report on this folder bring them up to date.\n"
)
TITLE, BODY = b"<title>AltOpt ", b"<body>\n"
BANNER = (
    b'<p role="alert" style="border: 2px solid #b00020; padding: 0.5em 1em"><strong>Out of date.</strong> The model '
    b"was updated after this page was written. The command <code>altopt report</code> writes the page anew.</p>\n"
)


@contextmanager
def held(folder: Path, wait: float = 600.0) -> Iterator[None]:
    """Keep other processes from changing a model, from its load until all that follows from it is written."""
    notice = f"Waiting for another process that is writing {folder}."
    with folder_lock(folder, wait, on_wait=lambda: show(notice, err=True)):
        yield


def store(model: "AltOpt", folder: Path, also: Path | None = None) -> list[str]:
    """Store an updated model; predictions beside it and in the file `also` are written anew, a report is marked.

    Until all is done a note beside the model says so, for whoever comes after a kill. Returns what to tell the user.
    """
    with held(folder) if (folder / HEAD).is_file() else nullcontext():
        predictions, report, note = outputs_beside(folder)
        if predictions or report is not None:
            write_text(note, NOTE_TEXT)
        try:
            model.save(folder)
        except InputError:  # the model is as it was
            note.unlink(missing_ok=True)
            raise
        if also is not None and not any(same_file(also, path) for path in predictions):
            predictions = [*predictions, also]
        try:
            for path in predictions:
                write_predictions(model, path)
            if report is not None:
                mark_report(report)
        except DiskError as error:
            raise DiskError(f"{error} The model itself was updated and stored in {folder}.") from error
        note.unlink(missing_ok=True)
    told = [f"Wrote {', '.join(map(str, [folder, *predictions]))}."]
    marked = f"{report} is out of date and says so; altopt report {folder.parent} writes it anew."
    return told if report is None else [*told, marked]


@contextmanager
def replaced_by_a_fit(out: Path) -> Iterator[None]:
    """Hold the model's folder in `out` while the block writes a fit's results in place of those of an earlier one."""
    folder, note = out / "model", out / NOTE
    with new_folder(folder), held(folder):
        if (folder / HEAD).is_file():
            write_text(note, NOTE_TEXT)
        try:
            yield
        finally:
            if not (folder / HEAD).is_file():
                remove_folder(folder, "model")
        note.unlink(missing_ok=True)


def refuse_foreign_outputs(out: Path, predictions: Path) -> None:
    """Refuse to replace predictions or a report that altopt did not write."""
    refuse_foreign(predictions, are_predictions)
    refuse_foreign_report(out / "report.html")


def refuse_foreign_report(page: Path) -> None:
    """Refuse to replace a page that altopt did not write."""
    refuse_foreign(page, is_report)


def refuse_foreign(path: Path, is_own: Callable[[Path], bool]) -> None:
    if path.exists() and not is_own(path):
        raise InputError(
            f"{path} exists and was not written by altopt. Move it, or name another --out: nothing was overwritten."
        )


def report(model: "AltOpt", folder: Path, page: Path) -> None:
    """Write the report on the model stored in `folder`; with it goes what an interrupted command left out of date."""
    from altopt.cli.report import model_report

    predictions, _, note = outputs_beside(folder)
    model_report(model, page)
    if same_file(page.parent, note.parent) and note.exists():
        for path in predictions:
            write_predictions(model, path)
        note.unlink()


def outputs_beside(folder: Path) -> tuple[list[Path], Path | None, Path]:
    """The predictions and the report that altopt fit wrote beside a model, and the place of the note about them."""
    folder = folder if folder.name == "model" else Path(os.path.abspath(folder))
    out = folder.parent
    if folder.name != "model":  # the name that altopt fit gives it
        return [], None, out / NOTE
    predictions = [out / name for name in ("predictions.parquet", "predictions.csv")]
    report = out / "report.html"
    return (
        [path for path in predictions if are_predictions(path)],
        report if is_report(report) else None,
        out / NOTE,
    )


def are_predictions(path: Path) -> bool:
    """Whether altopt wrote this file, by its columns: one that someone else put there is left alone."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        if path.suffix == ".parquet":
            names = pyarrow.parquet.read_schema(path).names
        else:
            with path.open(encoding="utf-8", newline="") as file:
                names = next(csv.reader(file), [])
    except (OSError, ValueError, csv.Error, pa.ArrowException):
        return False
    n = len(COLUMNS)
    return names[:n] == COLUMNS and len(names) > n and all(name.startswith("p_") for name in names[n:])


def is_report(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return TITLE in file.read(1000)
    except OSError:
        return False


def same_file(a: Path, b: Path) -> bool:
    return os.path.realpath(a) == os.path.realpath(b)


def write_predictions(model: "AltOpt", path: Path) -> None:
    """The labels of all nodes of a model, with their probabilities."""
    from altopt.graph import tables

    values = (model.transduction_, model.confidence_, model.label_distributions_, model.classes_)
    tables.write_predictions(path, model.graph_.ids, *values)


def mark_report(path: Path) -> None:
    """Let the page say, at its top, that it is out of date."""
    page = path.read_bytes()
    if BANNER not in page:
        with replacing(path) as draft:
            draft.write_bytes(page.replace(BODY, BODY + BANNER, 1))
