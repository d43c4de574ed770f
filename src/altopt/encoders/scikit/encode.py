"""A fitted classifier as JSON and arrays: classes by name from the table, everything else as plain data."""

import json
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.utils import check_array

from altopt.arrays import Array
from altopt.encoders.scikit.booster import stored_text
from altopt.encoders.scikit.table import FOR_TRAINING, LOSS_MODULE, LOSSES, is_known
from altopt.errors import InputError

PLAIN = (bool, int, float, str)
LEFT_OUT = {  # of use to training alone, or made again from the rest
    "HistGradientBoostingClassifier": {"_scorer", "_raw_predict"},
    "IsotonicRegression": {"f_"},
}
AS_FLOATS = {
    "dtype": [np.float64],
    "ensure_all_finite": False,
}  # how boosted trees read what has no categories
CACHES = ("memory", "_memory")  # names of folders that training would read


def to_state(estimator: Any) -> dict[str, Array]:
    """A classifier as named arrays; the tree of its parts is JSON, kept as bytes under "json"."""
    encoder = Encoder()
    head = {"scikit-learn": sklearn.__version__, "estimator": encoder.encode(estimator)}
    text = json.dumps(head).encode()
    return encoder.arrays | {"json": np.frombuffer(text, dtype=np.uint8)}


class Encoder:
    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self.numbers: dict[int, int] = {}  # of objects that are done, by id
        self.open: set[int] = set()
        self.kept: list[Any] = []  # keeps ids unique

    def put(self, array: Array) -> str:
        name = str(len(self.arrays))
        self.arrays[name] = np.ascontiguousarray(array)
        return name

    def encode(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in PLAIN:
            return value
        if isinstance(value, np.generic) and kind.__name__ in np.sctypeDict:
            return {"scalar": value.dtype.name, "value": value.item()}
        if kind is np.ndarray:
            return self.array(value)
        if kind in (list, tuple):
            return {kind.__name__: [self.encode(item) for item in value]}
        if isinstance(value, dict):  # Bunch and defaultdict too: read as dicts
            bunch = "bunch" if kind.__name__ == "Bunch" else "dict"
            return {bunch: [[self.encode(key), self.encode(item)] for key, item in value.items()]}
        if kind is slice:
            return {"slice": [self.encode(part) for part in (value.start, value.stop, value.step)]}
        if isinstance(value, np.dtype) and value.kind in "biufO":
            return {"dtype": value.name}
        if isinstance(value, type) and issubclass(value, np.number | np.bool_ | float | int):
            return {"type": value.__name__}
        if isinstance(value, sp.csr_matrix | sp.csr_array):
            parts = [self.put(part) for part in (value.data, value.indices, value.indptr)]
            return {"csr": parts, "shape": list(value.shape), "matrix": isinstance(value, sp.csr_matrix)}
        return self.thing(value)

    def array(self, array: Array) -> Any:
        if array.dtype.kind in "biuf":
            if array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous:
                return {"columns": self.put(array.T)}  # the order in memory decides how products are rounded
            return {"array": self.put(array)}
        if array.dtype.kind in "OU":
            items = [self.encode(item) for item in array.ravel().tolist()]
            return {"objects": items, "shape": list(array.shape), "text": array.dtype.kind == "U"}
        raise refusal(array.dtype)

    def thing(self, value: Any) -> Any:
        """An object of a class in the table; the second time it is met, its number."""
        if id(value) in self.numbers:
            return {"again": self.numbers[id(value)]}
        if id(value) in self.open:
            raise refusal(f"{type(value).__name__} inside itself")
        self.open.add(id(value))
        encoded = self.record(value)
        self.numbers[id(value)] = len(self.numbers)
        self.kept.append(value)
        return encoded

    def record(self, value: Any) -> Any:
        kind = type(value)
        if (kind.__module__, kind.__name__) in FOR_TRAINING:
            return {"unused": None}
        if kind is partial and value.func is check_array and not value.args and value.keywords == AS_FLOATS:
            return {"floats": None}
        if kind.__module__ == LOSS_MODULE and kind.__name__ in LOSSES:
            return {"loss": kind.__name__, "n_classes": int(value.n_classes or 0)}
        if kind.__module__ == "sklearn.tree._tree" and kind.__name__ == "Tree":
            _, (n_features, *_), state = value.__reduce__()
            nodes = state["nodes"].view(np.uint8)
            held = {"nodes": self.put(nodes), "values": self.put(state["values"])}
            return {"tree": held | {"n_features": int(n_features), "max_depth": int(state["max_depth"])}}
        if kind.__module__ == "lightgbm.basic" and kind.__name__ == "Booster":
            text = stored_text(value)
            return {
                "booster": self.put(np.frombuffer(text, dtype=np.uint8)),
                "best": int(value.best_iteration),
            }
        if not is_known(kind):
            raise refusal(f"{kind.__module__}.{kind.__qualname__}")
        left_out = LEFT_OUT.get(kind.__name__, set())
        state = {name: item for name, item in vars(value).items() if name not in left_out}
        if kind.__name__ == "TreePredictor":
            state["nodes"] = np.ascontiguousarray(state["nodes"]).view(np.uint8)
        state |= {name: None for name in CACHES if name in state}
        return {"class": kind.__name__, "state": {name: self.encode(item) for name, item in state.items()}}


def refusal(what: Any) -> InputError:
    return InputError(
        f"The encoder holds {what}, which is not loaded again for safety, so it is not stored either. "
        "Use parts of scikit-learn or LightGBM that altopt.encoders.scikit.table lists."
    )
