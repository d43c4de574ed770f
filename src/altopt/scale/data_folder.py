"""The large files of a stored model: a folder beside its head that is linked in whole, and checked by samples."""

import os
import re
import shutil
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from uuid import uuid4

from altopt.errors import InputError
from altopt.io.folder import HEAD
from altopt.scale.csr_file import checksum_of

NAME = re.compile(r"data-[0-9a-f]{16}")
SAMPLES, SAMPLE_BYTES = 64, 1 << 16  # of a file: one of no more bytes than all of these is read whole


def new_name() -> str:
    """A name that no other version of the model has."""
    return f"data-{uuid4().hex[:16]}"


def sample_of(path: Path) -> str:
    """The checksum of evenly spaced pieces of a file, the last one included, and of its size."""
    size = path.stat().st_size
    last = max(size - SAMPLE_BYTES, 0)
    starts = range(0, size, SAMPLE_BYTES)
    if size > SAMPLES * SAMPLE_BYTES:
        starts = [last * k // (SAMPLES - 1) for k in range(SAMPLES)]  # type: ignore[assignment]
    found = blake2b(str(size).encode(), digest_size=16)
    with path.open("rb") as file:
        for start in starts:
            file.seek(start)
            found.update(file.read(SAMPLE_BYTES))
    return found.hexdigest()


def refuse_other_samples(folder: Path, samples: dict[str, str]) -> None:
    """Refuse files that are not those of the model, as far as samples tell: all of small ones."""
    for name, expected in samples.items():
        if sample_of(folder / name) != expected:
            raise changed(folder / name)


def refuse_other_contents(folder: Path, checksums: dict[str, str]) -> None:
    """Refuse files that are not those of the model; every byte is read."""
    for name, expected in checksums.items():
        if checksum_of(folder / name) != expected:
            raise changed(folder / name)


def changed(path: Path) -> InputError:
    return InputError(f"{path} is not the file that {HEAD} vouches for: its checksum differs. Copy it again.")


def link(source: Path, target: Path) -> None:
    """The same file under another name; a copy, where the disk is another one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def remove_others(folder: Path, keep: str = "") -> None:
    """Remove the large files of former versions; what cannot be removed takes space and does no harm."""
    for name in os.listdir(folder):
        if NAME.fullmatch(name) and name != keep:
            with suppress(OSError):
                shutil.rmtree(folder / name)
