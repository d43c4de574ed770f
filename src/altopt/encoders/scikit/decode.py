"""A stored classifier back from JSON and arrays; every class comes from the table, every array is checked."""

import json
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.utils import Bunch, check_array

from altopt.arrays import Array
from altopt.encoders.scikit.booster import booster_of
from altopt.encoders.scikit.checks import CHECKS, require, tree_of
from altopt.encoders.scikit.encode import AS_FLOATS, CACHES
from altopt.encoders.scikit.table import class_of, loss_of
from altopt.errors import InputError
from altopt.graph.matrices import csr_of

SCALARS: dict[str, Any] = {
    name: getattr(np, name)
    for name in [
        "bool",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
    ]
}
TYPES = SCALARS | {"bool_": np.bool_, "float": float, "int": int}


def from_state(state: dict[str, Array]) -> Any:
    """The inverse of `to_state`; an InputError for everything that `to_state` does not write."""
    try:
        head = json.loads(state["json"].tobytes())
        return checked(head, Decoder(state))
    except InputError as cause:
        raise InputError(f"The stored encoder cannot be loaded: {cause}. Fit and save again.") from cause
    except Exception as cause:  # whatever a crafted file makes numpy or scikit-learn say
        raise InputError(
            f"The stored encoder is damaged: {repr(cause)[:100]}. Fit and save again."
        ) from cause


def checked(head: dict[str, Any], decoder: "Decoder") -> Any:
    stored, here = str(head["scikit-learn"]), sklearn.__version__
    if stored.split(".")[:2] != here.split(".")[:2]:
        warnings.warn(
            f"The encoder was stored with scikit-learn {stored}, and this is {here}. Fit again if in doubt.",
            UserWarning,
            stacklevel=4,
        )
    return decoder.decode(head["estimator"])


class Decoder:
    def __init__(self, arrays: dict[str, Array]) -> None:
        self.arrays = arrays
        self.done: list[Any] = []
        self.readers: dict[str, Callable[[dict[str, Any]], Any]] = {
            "list": lambda node: self.items(node["list"]),
            "tuple": lambda node: tuple(self.items(node["tuple"])),
            "dict": lambda node: self.pairs(node["dict"]),
            "bunch": lambda node: Bunch(**self.pairs(node["bunch"])),
            "slice": lambda node: self.slice(*self.items(node["slice"])),
            "scalar": lambda node: SCALARS[node["scalar"]](node["value"]),
            "dtype": lambda node: np.dtype(object if node["dtype"] == "object" else TYPES[node["dtype"]]),
            "type": lambda node: TYPES[node["type"]],
            "array": lambda node: self.array(node["array"]),
            "columns": lambda node: self.array(node["columns"]).T,
            "objects": self.objects,
            "csr": self.csr,
            "again": lambda node: self.done[number(node["again"], len(self.done))],
        }
        self.makers: dict[str, Callable[[dict[str, Any]], Any]] = {
            "unused": lambda node: None,
            "floats": lambda node: partial(check_array, **AS_FLOATS),
            "loss": lambda node: loss_of(node["loss"], number(node["n_classes"], 1 << 31)),
            "tree": lambda node: tree_of(
                **(node["tree"] | {key: self.array(node["tree"][key]) for key in ("nodes", "values")})
            ),
            "booster": lambda node: booster_of(
                self.array(node["booster"]).tobytes(), number(node["best"], 1 << 31, -1)
            ),
            "class": self.instance,
        }

    def decode(self, node: Any) -> Any:
        if node is None or isinstance(node, bool | int | float | str):
            return node
        require(isinstance(node, dict) and len(node) > 0, "a node of it is no record")
        kind = next(iter(node))
        if kind in self.makers:
            made = self.makers[kind](node)
            self.done.append(made)
            return made
        require(kind in self.readers, f"it holds a node {kind!r}")
        return self.readers[kind](node)

    def items(self, nodes: Any) -> list[Any]:
        require(isinstance(nodes, list), "a list of it is none")
        return [self.decode(node) for node in nodes]

    def pairs(self, nodes: Any) -> dict[Any, Any]:
        return {self.decode(key): self.decode(item) for key, item in nodes}

    def slice(self, start: Any, stop: Any, step: Any) -> slice:
        require(
            all(part is None or isinstance(part, int | str) for part in (start, stop, step)),
            "a slice is wrong",
        )
        return slice(start, stop, step)

    def array(self, name: Any) -> Array:
        require(isinstance(name, str) and name in self.arrays, f"it has no array {name!r}")
        return self.arrays[name]

    def objects(self, node: dict[str, Any]) -> Array:
        items, shape = self.items(node["objects"]), tuple(number(size, 1 << 31) for size in node["shape"])
        require(len(items) == int(np.prod(shape, dtype=np.float64)), "an array of it has another size")
        array = np.empty(len(items), dtype=object)
        array[:] = items
        if node["text"]:
            require(all(isinstance(item, str) for item in items), "a text of it is none")
            array = array.astype(str)
        return array.reshape(shape)

    def csr(self, node: dict[str, Any]) -> Any:
        data, indices, indptr = (self.array(name) for name in node["csr"])
        shape = tuple(number(size, 1 << 31) for size in node["shape"])
        matrix = csr_of(data, indices, indptr, shape, "a matrix of it")
        return sp.csr_matrix(matrix) if node["matrix"] else matrix

    def instance(self, node: dict[str, Any]) -> Any:
        """An object of a class in the table, with attributes that hide none of its methods."""
        kind = class_of(node["class"])
        state = {name: self.decode(item) for name, item in node["state"].items()}
        for name in state:
            hidden = name.startswith("__") or callable(getattr(kind, name, None))
            require(name.isidentifier() and not hidden, f"{kind.__name__} has an attribute {name!r}")
        require(all(state.get(name) is None for name in CACHES), "it names a folder to read from")
        made: Any = object.__new__(kind)
        check = CHECKS.get(kind.__name__)
        if check is not None:
            check(state)
        vars(made).update(state)
        if kind.__name__ == "IsotonicRegression" and "X_thresholds_" in state:
            made.__setstate__({"_sklearn_version": sklearn.__version__})  # rebuilds f_
        return made


def number(value: Any, below: int, least: int = 0) -> int:
    require(type(value) is int and least <= value < below, f"a number of it is {value!r}")
    return int(value)
