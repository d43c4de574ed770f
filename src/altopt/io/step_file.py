"""One finished step of a fit as a file: a line of names and shapes, the numbers, and a checksum of both."""

import hashlib
import json
import math
import os
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array, allocate

N_DIGEST = hashlib.sha256().digest_size
READ_BYTES = 2**20


def write_step(path: Path, arrays: dict[str, Array]) -> None:
    """Write beside and move into place. Nothing is copied or forced to disk: a torn file shows by its checksum."""
    ordered = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    entries = [[name, array.dtype.str, array.shape] for name, array in ordered.items()]
    hashed = hashlib.sha256()
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            for part in (json.dumps(entries).encode() + b"\n", *map(bytes_of, ordered.values())):
                file.write(part)
                hashed.update(part)
            file.write(hashed.digest())
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def read_step(path: Path) -> dict[str, Array] | None:
    """What `write_step` wrote; None where there is no such file, or a damaged one."""
    try:
        with path.open("rb") as file:
            n_bytes = os.fstat(file.fileno()).st_size - N_DIGEST
            if not is_whole(file, n_bytes):
                return None
            file.seek(0)
            head = [(name, np.dtype(kind), tuple(shape)) for name, kind, shape in json.loads(file.readline())]
            if file.tell() + sum(kind.itemsize * math.prod(shape) for _, kind, shape in head) != n_bytes:
                return None
            arrays = {name: allocate(shape, kind) for name, kind, shape in head}
            for array in arrays.values():
                file.readinto(bytes_of(array))
            return arrays
    except (OSError, ValueError, TypeError):
        return None


def is_whole(file: BufferedReader, n_bytes: int) -> bool:
    """Whether the checksum after so many bytes is theirs."""
    hashed = hashlib.sha256()
    while n_bytes > 0 and (part := file.read(min(READ_BYTES, n_bytes))):
        hashed.update(part)
        n_bytes -= len(part)
    return n_bytes == 0 and file.read() == hashed.digest()


def bytes_of(array: Array) -> Any:
    """The memory of a contiguous array, byte by byte."""
    return array.reshape(-1).view(np.uint8).data
