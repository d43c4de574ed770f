"""A folder of one JSON and one safetensors file, replaced whole, and checked before it is used."""

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError

FORMAT = "altopt-model"
VERSION = 1


def write_folder(path: Path, head: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Both files, written beside and then moved into place: a reader sees the old folder or the new, whole."""
    from safetensors.numpy import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not (path / "model.json").exists() and (path.is_file() or any(path.iterdir())):
        raise InputError(
            f"{path} exists and is not a stored model. Name another folder: nothing was overwritten."
        )
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    save_file({name: np.ascontiguousarray(a) for name, a in arrays.items()}, fresh / "model.safetensors")
    head = head | {"sha256": digest(fresh / "model.safetensors")}
    (fresh / "model.json").write_text(json.dumps(head, indent=1, allow_nan=True) + "\n")
    old = path.with_name(f".{path.name}.{os.getpid()}.old")
    if path.exists():
        path.rename(old)
    fresh.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def read_folder(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Both files, after every check that tells a good folder from a damaged, foreign or newer one."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    for name in ("model.json", "model.safetensors"):
        if not (path / name).is_file():
            raise InputError(
                f"{path} is not a stored {kind}: it has no {name}. Give the folder that save() wrote."
            )
    try:
        head = json.loads((path / "model.json").read_text())
    except ValueError as cause:
        raise InputError(f"{path / 'model.json'} is damaged: it is not JSON. Fit and save again.") from cause
    if not isinstance(head, dict) or head.get("format") != FORMAT or head.get("kind") != kind:
        raise InputError(f"{path / 'model.json'} was not written by altopt as a {kind}. Give another folder.")
    if head["version"] > VERSION:
        raise InputError(
            f"{path} has format version {head['version']}, but this altopt reads up to {VERSION}. Upgrade altopt."
        )
    if digest(path / "model.safetensors") != head.get("sha256"):
        raise InputError(
            f"{path / 'model.safetensors'} is damaged: its checksum is wrong. Fit and save again."
        )
    try:
        return head, load_file(path / "model.safetensors")
    except SafetensorError as cause:
        raise InputError(
            f"{path / 'model.safetensors'} is not a safetensors file. Fit and save again."
        ) from cause


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
