"""One finished step of a fit as a file: a line of names and shapes, the numbers, and a checksum of both."""

import hashlib
import json
import os
from contextlib import suppress
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
            n_hashed = os.fstat(file.fileno()).st_size - N_DIGEST
            hashed, n_left = hashlib.sha256(), n_hashed
            while n_left > 0 and (part := file.read(min(READ_BYTES, n_left))):
                hashed.update(part)
                n_left -= len(part)
            if n_left or file.read() != hashed.digest():
                return None
            file.seek(0)
            arrays = {}
            for name, dtype, shape in json.loads(file.readline()):
                arrays[name] = allocate(tuple(shape), np.dtype(dtype))
                file.readinto(bytes_of(arrays[name]))
            return arrays
    except FileNotFoundError:
        return None


def bytes_of(array: Array) -> Any:
    """The memory of a contiguous array, byte by byte."""
    return array.reshape(-1).view(np.uint8).data
