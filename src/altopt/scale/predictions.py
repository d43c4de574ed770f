"""The dataset of predictions beside a model of files: whose its files are, and how new ones take their place."""

import os
import re
import shutil
from pathlib import Path

from altopt.errors import InputError
from altopt.io.files import disk_errors
from altopt.scale.model import ModelOfFiles

PREDICTIONS, DRAFT = "predictions", ".predictions.draft"
PART = re.compile(r"part-\d{5}\.parquet")
COLUMNS = ["node", "label", "confidence"]


def replace_predictions(model: ModelOfFiles, out: Path) -> Path:
    """Write the predictions into `out`, in place of those of an earlier fit; files of others stay where they are."""
    folder, draft = out / PREDICTIONS, out / DRAFT
    with disk_errors(folder):
        shutil.rmtree(draft, ignore_errors=True)
        fresh = [path.name for path in model.write_predictions(draft)]
        folder.mkdir(exist_ok=True)
        for name in fresh:
            os.replace(draft / name, folder / name)
        for path in folder.iterdir():
            if path.name not in fresh and is_part(path):
                path.unlink()
        draft.rmdir()
    return folder


def refuse_foreign_predictions(out: Path) -> None:
    """Refuse a folder of predictions that holds anything but what altopt wrote."""
    for path in (out / PREDICTIONS, out / DRAFT):
        if os.path.lexists(path) and foreign_predictions(path):
            raise InputError(
                f"{path} exists and was not written by altopt, or holds files of others. Move it, or name another "
                "--out: nothing was overwritten."
            )


def foreign_predictions(folder: Path) -> bool:
    """Whether a folder is none of predictions, by the names and columns of its files."""
    return not folder.is_dir() or not all(map(is_part, folder.iterdir()))


def is_part(path: Path) -> bool:
    """Whether altopt wrote this file, whole or not, as predictions."""
    import pyarrow as pa
    from pyarrow.parquet import read_schema

    if path.name.startswith(".part-") and path.name.endswith(".draft"):
        return True
    try:
        names = read_schema(path).names if PART.fullmatch(path.name) else []
    except (OSError, pa.ArrowException):
        return False
    more = names[len(COLUMNS) :]
    return names[: len(COLUMNS)] == COLUMNS and bool(more) and all(name.startswith("p_") for name in more)
