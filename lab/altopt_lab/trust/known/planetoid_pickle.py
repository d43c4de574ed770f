"""Raw files of a data set that are pickles of commands: reading the data set must run none."""

import io
import os
import pickle
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from altopt import datasets
from altopt.errors import InputError
from altopt_lab.trust.doors import command_line
from altopt_lab.trust.known.case import FINE, Case, fault
from altopt_lab.trust.part import Outcome

PRELOAD = ("torch_geometric.io",)
PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
Payload = Callable[[Path], bytes]


class Calls:
    """Unpickled, it calls."""

    def __init__(self, called: Any, *arguments: Any) -> None:
        self.reduced = called, arguments

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self.reduced


def system(mark: Path, protocol: int = 2) -> bytes:
    return pickle.dumps(Calls(os.system, f"touch {mark}"), protocol)


def code(mark: Path) -> bytes:
    return pickle.dumps(Calls(exec, f"open({str(mark)!r}, 'w').close()"))


def dotted(mark: Path) -> bytes:
    """A function of another module, by an attribute of one of numpy's."""
    text = f"touch {mark}".encode()
    called = short(b"numpy.testing._private.utils") + short(b"os.system") + b"\x93"
    return b"\x80\x04" + called + short(text) + b"\x85R."


def runstring(mark: Path) -> bytes:
    """exec by a function of numpy's own."""
    text = f"open({str(mark)!r}, 'w').close()".encode()
    called = short(b"numpy.testing._private.utils") + short(b"runstring") + b"\x93"
    return b"\x80\x04" + called + b"(" + short(text) + b"}tR."


def within_an_array(mark: Path) -> bytes:
    """A numpy array of objects, one of which calls."""
    held = np.empty(2, dtype=object)
    held[:] = [1, Calls(os.system, f"touch {mark}")]
    return pickle.dumps(held)


def short(text: bytes) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text


def planetoid(
    folder: Path, payload: Payload, parts: tuple[str, ...] = PARTS[:-1], by_command: bool = False
) -> Outcome:
    raw, mark = folder / "planetoid/Cora/raw", folder / "mark"
    raw.mkdir(parents=True)
    for part in PARTS:
        harmless = b"1\n" if part == "test.index" else pickle.dumps(np.zeros((2, 2)), 2)
        (raw / f"ind.cora.{part}").write_bytes(payload(mark) if part in parts else harmless)
    if by_command:
        os.environ["ALTOPT_DATA"] = str(folder)
        command_line(["datasets", "show", "Cora"])
        command_line(["datasets", "list"])
        return fault("the command ran") if mark.exists() else FINE
    return read("Cora", folder, mark)


def objects_in_npz(folder: Path, name: str, place: str, keys: tuple[str, ...]) -> Outcome:
    """Object arrays, which numpy stores as pickles, where numbers belong."""
    mark = folder / "mark"
    held = np.empty(3, dtype=object)
    held[:] = [Calls(os.system, f"touch {mark}")] * 3
    target = folder / place
    target.parent.mkdir(parents=True)
    data = io.BytesIO()
    arrays: Any = dict.fromkeys(keys, held)
    np.savez(data, **arrays)
    target.write_bytes(data.getvalue())
    return read(name, folder, mark)


def read(name: str, folder: Path, mark: Path) -> Outcome:
    said = ""
    try:
        datasets.load(name, folder)
    except InputError as error:
        said = str(error)
    except Exception as error:
        return fault("the command ran" if mark.exists() else f"{type(error).__name__}: {error}")
    return fault("the command ran") if mark.exists() else Outcome("refused" if said else "fine", said)


CSR = (
    "adj_data",
    "adj_indices",
    "adj_indptr",
    "adj_shape",
    "attr_data",
    "attr_indices",
    "attr_indptr",
    "attr_shape",
    "labels",
)
MASKS = ("node_features", "node_labels", "edges", "train_masks", "val_masks", "test_masks")
CASES = [
    Case("a shell command in every file", partial(planetoid, payload=system)),
    Case("in the graph alone", partial(planetoid, payload=system, parts=("graph",)), False),
    Case(
        "in y, by the oldest protocol",
        partial(planetoid, payload=partial(system, protocol=0), parts=("y",)),
        False,
    ),
    Case("exec", partial(planetoid, payload=code), False),
    Case("a function by a dotted name of numpy", partial(planetoid, payload=dotted), False),
    Case("exec by a function of numpy", partial(planetoid, payload=runstring), False),
    Case("inside an array of objects", partial(planetoid, payload=within_an_array, parts=("x",)), False),
    Case(
        "objects in an npz of Amazon",
        partial(
            objects_in_npz, name="Photo", place="amazon/Photo/raw/amazon_electronics_photo.npz", keys=CSR
        ),
        False,
    ),
    Case(
        "objects in an npz of Wikipedia",
        partial(
            objects_in_npz,
            name="chameleon-filtered",
            place="heterophilous/chameleon_filtered/raw/chameleon_filtered.npz",
            keys=MASKS,
        ),
        False,
    ),
]
