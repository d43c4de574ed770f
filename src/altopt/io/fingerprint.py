"""A hash of settings and data that tells one fit from another, the same in every process."""

import hashlib
import re
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import row_blocks

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # of an object in memory: another one in each process


def fingerprint(*values: Any) -> str:
    """A hash of the values: settings, parts, arrays and matrices, and tuples, lists and dicts of these.

    >>> fingerprint(1, "a") == fingerprint(1, "a"), fingerprint(1, "a") == fingerprint("1", "a")
    (True, False)
    """
    hashed = hashlib.sha256()
    feed(hashed, values, ())
    return hashed.hexdigest()


def feed(hashed: Any, value: Any, around: tuple[int, ...]) -> None:
    """Add a value to the hash; `around` are the ids of the objects that it is part of."""
    if value is None or isinstance(value, (bool, int, float, str, bytes, np.generic)):
        hashed.update(f"{type(value).__name__} {value!r};".encode())
    elif isinstance(value, np.ndarray):
        feed_array(hashed, value)
    elif sp.issparse(value):
        rows = sp.csr_array(value)
        for part in (np.array(rows.shape), rows.indptr, rows.indices, rows.data):
            feed_array(hashed, part)
    elif id(value) not in around:
        parts = parts_of(value)
        hashed.update(f"{name_of(value)} {len(parts)}:".encode())
        for part in parts:
            feed(hashed, part, (*around, id(value)))


def feed_array(hashed: Any, array: Any) -> None:
    """Type, shape and numbers; rows one block after the other, since they may be a file larger than memory."""
    hashed.update(f"{array.dtype.str} {array.shape}:".encode())
    if array.dtype.kind not in "iufbcSU" or not array.ndim:
        hashed.update(repr(array.tolist()).encode())
        return
    for block in row_blocks(len(array)):
        hashed.update(np.ascontiguousarray(array[block]).reshape(-1).view(np.uint8).data)


def name_of(value: Any) -> str:
    named = (
        value
        if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__"))
        else type(value)
    )
    return f"{named.__module__}:{named.__qualname__}"


def parts_of(value: Any) -> list[Any]:
    """What an object consists of."""
    if isinstance(value, dict):
        return [part for item in value.items() for part in item]
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, type):
        return []
    if is_dataclass(value):
        return [part for entry in fields(value) for part in (entry.name, getattr(value, entry.name))]
    if hasattr(value, "get_params"):  # a scikit-learn estimator: its fitted attributes play no part
        return [value.get_params(deep=False)]
    code = getattr(value, "__code__", None)  # of a function: another body is another fit
    if code is not None:
        held = [cell.cell_contents for cell in value.__closure__ or ()]
        return [code.co_code, code.co_names, ADDRESS.sub("", repr(code.co_consts)), held, value.__defaults__]
    return [vars(value)] if getattr(value, "__dict__", None) else [ADDRESS.sub("", repr(value))]
