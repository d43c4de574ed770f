"""Damage to a stored model: bytes, cuts, missing, swapped and odd files, with checksums as they were."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from altopt_lab.trust.doors import arrays_file
from altopt_lab.trust.forgery import change_leaf
from altopt_lab.trust.stored_models import MODELS, stored

Chance = np.random.Generator
Mutation = Callable[[Path, Chance], object]


def some_file(folder: Path, chance: Chance) -> Path:
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.stat().st_size)
    return files[chance.integers(len(files))]


def bytes_changed(folder: Path, chance: Chance) -> None:
    path = some_file(folder, chance)
    data = bytearray(path.read_bytes())
    for _ in range(int(chance.integers(1, 4))):
        data[chance.integers(len(data))] ^= int(chance.integers(1, 256))
    path.write_bytes(data)


def cut(folder: Path, chance: Chance) -> None:
    path = some_file(folder, chance)
    path.write_bytes(path.read_bytes()[: chance.integers(path.stat().st_size)])


def inserted(folder: Path, chance: Chance) -> None:
    path = some_file(folder, chance)
    data, at = path.read_bytes(), int(chance.integers(path.stat().st_size + 1))
    path.write_bytes(data[:at] + chance.bytes(int(chance.integers(1, 40))) + data[at:])


def block_zeroed(folder: Path, chance: Chance) -> None:
    """As after a power cut: a block of zeros."""
    path = some_file(folder, chance)
    data = bytearray(path.read_bytes())
    at = int(chance.integers(len(data)))
    end = min(len(data), at + 512)
    data[at:end] = bytes(end - at)
    path.write_bytes(data)


def file_missing(folder: Path, chance: Chance) -> None:
    some_file(folder, chance).unlink()


def file_of_another(folder: Path, chance: Chance) -> None:
    """One of the two files is another model's."""
    other = stored(sorted(MODELS)[chance.integers(len(MODELS))])
    if chance.random() < 0.5:
        shutil.copy(other / "model.json", folder / "model.json")
    else:
        shutil.copy(arrays_file(other), arrays_file(folder))


def number_changed_by_hand(folder: Path, chance: Chance) -> None:
    """One value of model.json, without its checksum."""
    head = json.loads((folder / "model.json").read_text())
    change_leaf(head, chance)
    (folder / "model.json").write_text(json.dumps(head))


def extra_files(folder: Path, chance: Chance) -> None:
    """Files of somebody else's, and of a write that was killed."""
    (folder / "notes.txt").write_text("notes")
    (folder / f"model-{chance.bytes(8).hex()}.safetensors").write_bytes(chance.bytes(20))
    (folder / ".altopt-draft").mkdir()
    (folder / ".altopt-draft" / "model.json").write_text("{")


def moved_and_linked(folder: Path, chance: Chance) -> None:
    """Files that are links to where they went."""
    path = some_file(folder, chance)
    away = folder.parent / f"away-{path.name}"
    path.rename(away)
    path.symlink_to(away if chance.random() < 0.7 else folder / "nowhere")


def odd_file(folder: Path, chance: Chance) -> None:
    """A pipe, a device, a folder or a loop where a file should be."""
    path = some_file(folder, chance)
    path.unlink()
    makers: list[Callable[[], object]] = [
        lambda: os.mkfifo(path),
        lambda: path.symlink_to("/dev/zero"),
        path.mkdir,
        lambda: path.symlink_to(path.name),
    ]
    makers[chance.integers(len(makers))]()


def not_text(folder: Path, chance: Chance) -> None:
    """model.json in another encoding, nested beyond reason, or another kind of value."""
    path, head = folder / "model.json", (folder / "model.json").read_text()
    forms = [
        head.encode("utf-16"),
        b"\xef\xbb\xbf" + head.encode(),
        b"[" * 100_000,
        b'{"a":' * 5_000,
        b"[]",
        b"null",
        b"1" * 5_000,
        b'"altopt-model"',
        b"",
        head.replace('"version": 2', '"version": true').encode(),
        head.replace('"version": 2', '"version": 1').encode(),
        head.replace('"version": 2', '"version": "2"').encode(),
        head.replace('"kind": "model"', '"kind": "checkpoint"').encode(),
    ]
    path.write_bytes(forms[chance.integers(len(forms))])


DAMAGE: dict[str, Mutation] = {
    change.__name__: change
    for change in (
        bytes_changed,
        cut,
        inserted,
        block_zeroed,
        file_missing,
        file_of_another,
        number_changed_by_hand,
        extra_files,
        moved_and_linked,
        odd_file,
        not_text,
    )
}
