"""Planetoid's files, which are pickles of Python 2: read into numbers by an unpickler that can make nothing else."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph.matrices import csr_of

PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
N_VALIDATION = 500


class PickledType:
    """In the place of numpy's dtype: a code such as "f4" and a byte order."""

    def __init__(self, code: str, *_: Any) -> None:
        self.code, self.order = code, "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = {"<": "<", ">": ">", "|": "|"}[state[1]]

    def dtype(self) -> np.dtype[Any]:
        found = np.dtype(self.order + self.code)
        if found.kind not in "iuf":
            raise InputError(f"an array of {self.code!r}")
        return found


class PickledArray:
    """In the place of numpy's ndarray."""

    array: Array

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, by_column, data = state
        held = np.frombuffer(data.encode("latin1") if isinstance(data, str) else data, dtype=kind.dtype())
        self.array = held.reshape(shape, order="F" if by_column else "C")


class PickledMatrix:
    """In the place of scipy's csr_matrix."""

    array: Array

    def __setstate__(self, state: dict[str, Any]) -> None:
        data, indices, indptr = (state[name].array for name in ("data", "indices", "indptr"))
        self.array = csr_of(data, indices, indptr, tuple(state["_shape"]), "a matrix").toarray()


def new_array(kind: Any, *_: Any) -> PickledArray:
    return PickledArray()


def new_dict(*_: Any) -> dict[Any, Any]:
    return {}


def as_bytes(text: str, coding: str) -> bytes:
    if coding != "latin1":
        raise InputError(f"text in {coding!r}")
    return text.encode("latin1")


STAND_INS = {
    "numpy dtype": PickledType,
    "numpy ndarray": PickledArray,
    "numpy.core.multiarray _reconstruct": new_array,
    "numpy._core.multiarray _reconstruct": new_array,
    "scipy.sparse.csr csr_matrix": PickledMatrix,
    "scipy.sparse._csr csr_matrix": PickledMatrix,
    "collections defaultdict": new_dict,
    "__builtin__ list": list,
    "builtins list": list,
    "_codecs encode": as_bytes,
}


class Unpickler(pickle.Unpickler):
    """Makes numbers, texts, lists, dicts and the stand-ins above."""

    def find_class(self, module: str, name: str) -> Any:
        if f"{module} {name}" not in STAND_INS:
            raise InputError(f"it holds {module}.{name}, which is not data")
        return STAND_INS[f"{module} {name}"]


def unpickled(path: Path) -> Any:
    """What a file holds; an InputError where that is anything but arrays, matrices and lists of neighbours."""
    try:
        with path.open("rb") as file:
            held = Unpickler(file, encoding="latin1").load()
        if isinstance(held, dict):
            return held
        return held.array
    except Exception as cause:  # a pickle that is damaged or crafted may raise anything
        raise InputError(f"{path} is not a file of Planetoid: {cause}. Fetch it anew.") from cause


def read_files(folder: Path, name: str) -> tuple[sp.csr_array, Array, Array, dict[str, Array]]:
    """X, y, both ends of every edge, and the three parts of the split as node numbers."""
    held = {part: unpickled(folder / f"ind.{name}.{part}") for part in PARTS[:-1]}
    test = np.loadtxt(folder / f"ind.{name}.test.index", dtype=np.int64, ndmin=1)
    try:
        return assembled(held, test)
    except (AttributeError, IndexError, TypeError, ValueError) as cause:
        raise InputError(
            f"The files of Planetoid in {folder} do not fit together: {cause}. Fetch them anew."
        ) from cause


def assembled(held: dict[str, Any], test: Array) -> tuple[sp.csr_array, Array, Array, dict[str, Array]]:
    """Test nodes follow all others, in the order of test.index; those it leaves out have no features and no label."""
    order = np.sort(test)
    first, n_nodes = len(held["allx"]), int(order[-1]) + 1
    if order[0] != first:
        raise InputError(f"test nodes begin at {order[0]}, and {first} other nodes are there")
    both = []
    for known, tested in (("allx", "tx"), ("ally", "ty")):
        rows = np.zeros((n_nodes, held[known].shape[1]), dtype=np.float32)
        rows[:first] = held[known]
        rows[order] = held[tested]
        rows[test] = rows[order]
        both.append(rows)
    source = [node for node, others in held["graph"].items() for _ in others]
    target = [other for others in held["graph"].values() for other in others]
    ends = np.array([source, target], dtype=np.int64)
    if ends.size and (ends.min() < 0 or ends.max() >= n_nodes):
        raise InputError(f"an edge leads outside of the {n_nodes} nodes")
    n_train = len(held["y"])
    parts = {
        "train": np.arange(n_train),
        "validation": np.arange(n_train, n_train + N_VALIDATION),
        "test": test,
    }
    return sp.csr_array(both[0]), both[1].argmax(axis=1), ends[:, ends[0] != ends[1]], parts
