"""Values as JSON and named arrays, and back: settings, parts, ids, graphs. Nothing in a file is ever run."""

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple, get_args
from uuid import UUID

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.encoders.network import TorchEncoder, makes_module
from altopt.encoders.scikit.decode import from_state
from altopt.encoders.scikit.encode import to_state
from altopt.errors import InputError
from altopt.graph import Graph
from altopt.graph.edge_kinds import of_kinds
from altopt.io.array_io import from_arrays, required, to_arrays, with_prefix
from altopt.io.types import check_fields

MICROSECOND = timedelta(microseconds=1)
# what may stand in a list of ids or classes beside numbers and text: how it is written and read
SCALARS: dict[type, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    bytes: (bytes.hex, bytes.fromhex),
    Decimal: (str, Decimal),
    date: (date.isoformat, date.fromisoformat),
    datetime: (datetime.isoformat, datetime.fromisoformat),
    time: (time.isoformat, time.fromisoformat),
    timedelta: (lambda t: str(t // MICROSECOND), lambda text: int(text) * MICROSECOND),
    UUID: (lambda value: value.hex, UUID),
}
GRAPH_COUNTS = ("n_self_loops", "n_duplicates", "n_one_way")


class Given(NamedTuple):
    """What the user hands over, because no file can: classes of parts, and the module of a TorchEncoder."""

    parts: Sequence[type] = ()
    encoder: Any = None


NOTHING_GIVEN = Given()


@cache
def known_parts() -> dict[str, type]:
    """The classes that a file may name: altopt's own parts and results, all of them records of plain fields."""
    from altopt import encoders, inputs, solvers, views
    from altopt.defaults import Defaults
    from altopt.fitted.model import PlainReadout
    from altopt.operator.columns import Columns
    from altopt.operator.knn import Neighbours
    from altopt.selection.calibration import TemperedShares
    from altopt.selection.candidates import Candidate
    from altopt.selection.graph_help import GraphHelp, KindHelp
    from altopt.selection.leave_one_out import LeaveOneOut, Margins
    from altopt.table import columns as table_columns
    from altopt.table.reader import TableReader
    from altopt.training.pseudo_labels import (
        ClassBalanced,
        ConfidenceThreshold,
        NoPseudoLabels,
        TopPerClass,
    )

    rooms = (encoders, inputs, solvers, views)
    parts = [getattr(room, name) for room in rooms for name in room.__all__]
    parts += [ClassBalanced, ConfidenceThreshold, NoPseudoLabels, TopPerClass, TemperedShares, PlainReadout]
    parts += [
        Candidate,
        Columns,
        Defaults,
        GraphHelp,
        KindHelp,
        LeaveOneOut,
        Margins,
        Neighbours,
        TableReader,
    ]
    parts += [*get_args(table_columns.Column)]
    return {part.__name__: part for part in parts if isinstance(part, type)}


def encode(value: Any, arrays: dict[str, Array], name: str) -> Any:
    """A value as JSON; what JSON cannot hold goes to `arrays` under `name`."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return encode(value.item(), arrays, name)
    if isinstance(value, np.ndarray):
        return encode_array(value, arrays, name)
    if sp.issparse(value):
        arrays |= to_arrays(value, name)
        return {"matrix": name}
    if isinstance(value, Graph):
        return encode_graph(value, arrays, name)
    if isinstance(value, dict):
        return {
            "dict": [[encode(k, arrays, name), encode(v, arrays, f"{name}.{k}")] for k, v in value.items()]
        }
    if makes_module(value):
        return {"module": getattr(value, "__qualname__", type(value).__qualname__)}
    if isinstance(value, type):
        return {"class": path_of(value)}
    record = fields_of(value)
    if record is not None:
        held = {key: encode(item, arrays, f"{name}.{key}") for key, item in record.items()}
        return {"part": path_of(type(value)), "fields": held}
    if isinstance(value, (list, tuple)):
        items = [encode(item, arrays, f"{name}.{k}") for k, item in enumerate(value)]
        return {"tuple": items} if isinstance(value, tuple) else items
    if type(value) in SCALARS:
        return {"scalar": type(value).__name__, "text": SCALARS[type(value)][0](value)}
    if hasattr(value, "get_params"):  # a scikit-learn estimator
        arrays |= {f"{name}.{key}": held for key, held in to_state(value).items()}
        return {"estimator": name}
    raise InputError(
        f"The setting {name}={value!r} cannot be stored: it is neither data nor a part of altopt."
    )


def fields_of(value: Any) -> dict[str, Any] | None:
    """The fields of a dataclass or a named tuple; None for anything else."""
    if is_dataclass(value):
        return {entry.name: getattr(value, entry.name) for entry in fields(value) if entry.init}
    return value._asdict() if isinstance(value, tuple) and hasattr(value, "_asdict") else None


def path_of(part: type) -> str:
    """The name of a part of altopt; of any other class its module and name."""
    own = known_parts().get(part.__name__)
    return part.__name__ if own is part else f"{part.__module__}:{part.__qualname__}"


def decode(value: Any, arrays: dict[str, Array], name: str, given: Given = NOTHING_GIVEN) -> Any:
    """The inverse of `encode`; classes come from `known_parts` and what is given, nothing is imported."""
    if isinstance(value, list):
        return [decode(item, arrays, name, given) for item in value]
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(decode(value["tuple"], arrays, name, given))
    if "dict" in value:
        return {decode(k, arrays, name, given): decode(v, arrays, name, given) for k, v in value["dict"]}
    if "class" in value:
        return known_part(value["class"], name, given)
    if "part" in value:
        part = known_part(value["part"], name, given)
        if not is_dataclass(part) and not hasattr(part, "_fields"):
            raise InputError(
                f"The stored setting {name} names {value['part']}, which is not a record. Fit again."
            )
        values = {k: decode(v, arrays, f"{name}.{k}", given) for k, v in value["fields"].items()}
        if part in known_parts().values():
            check_fields(part, values, name)
        if part is TorchEncoder and isinstance(given.encoder, TorchEncoder):
            return given.encoder
        return part(**values)
    if "module" in value:
        return own_module(value["module"], given.encoder)
    if "graph" in value:
        return decode_graph(value["graph"], arrays, name)
    if "matrix" in value:
        return from_arrays(arrays, value["matrix"])
    if "scalar" in value:
        reader = {kind.__name__: read for kind, (_, read) in SCALARS.items()}[value["scalar"]]
        return reader(value["text"])
    if "estimator" in value:
        return from_state(with_prefix(arrays, f"{value['estimator']}."))
    return decode_array(value, arrays)


def own_module(name: Any, encoder: Any) -> Any:
    """The torch module, or the function that makes one, in whose place the file has a name."""
    if encoder is None:
        raise InputError(
            f"Its encoder is your own torch module, {name}, of which a file holds the weights alone. Hand over the "
            "module or function that it was fitted with: AltOpt.load(path, encoder=...)."
        )
    if isinstance(encoder, TorchEncoder):
        return encoder.module
    if not makes_module(encoder):
        raise InputError(f"encoder must be a torch module or a function that makes one, but is {encoder!r}.")
    return encoder


def known_part(path: str, name: str, given: Given) -> Any:
    """The class of this name among altopt's own, or among those given."""
    if path in known_parts():
        return known_parts()[path]
    qualname = path.partition(":")[2]
    # by name alone: a script's own class is in __main__ there, in a module elsewhere
    for part in given.parts:
        if part.__qualname__ == qualname:
            return part
    raise InputError(
        f"The stored setting {name} is {path}, which is not a part of altopt and is not imported for safety. "
        f"Import it yourself and hand it over: AltOpt.load(path, parts=[{qualname or path}])."
    )


def encode_array(array: Array, arrays: dict[str, Array], name: str) -> Any:
    """Numbers as they are, text as UTF-8 bytes, the rest as JSON."""
    if array.dtype.kind in "iufb":
        arrays[name] = array
        return {"array": name}
    if array.dtype.kind in "Mm":
        arrays[name] = array.view(np.int64)
        return {"times": name, "dtype": array.dtype.str[1:]}
    values = array.tolist()
    if array.ndim == 1 and all(isinstance(value, str) for value in values):
        words = [in_bytes(value) for value in values]
        arrays[f"{name}.ends"] = np.cumsum([len(word) for word in words], dtype=np.int64)
        arrays[name] = np.frombuffer(b"".join(words), dtype=np.uint8)
        return {"text": name, "object": array.dtype == object}
    return {"values": encode(values, arrays, name)}


def in_bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"the text {text!r} cannot be stored: {error.reason}. Give it another name."
        ) from error


def decode_array(value: Any, arrays: dict[str, Array]) -> Array:
    if "array" in value:
        return required(arrays, value["array"])
    if "times" in value:
        if re.fullmatch(r"[Mm]8\[(Y|M|W|D|h|m|s|ms|us|ns)\]", str(value["dtype"])) is None:
            raise InputError(f"The stored times {value['times']} have the unit {value['dtype']!r}.")
        times: Array = required(arrays, value["times"]).astype(np.int64, casting="equiv").view(value["dtype"])
        return times
    if "text" in value:
        return decode_text(required(arrays, value["text"]), required(arrays, f"{value['text']}.ends"), value)
    items = decode(value["values"], arrays, "ids")
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def decode_text(data: Array, ends: Array, value: dict[str, Any]) -> Array:
    """Texts, one after the other in `data`, each up to its end."""
    right = data.dtype == np.uint8 and ends.dtype == np.int64 and data.ndim == ends.ndim == 1
    starts = np.concatenate([[0], ends[:-1]])
    if not right or (ends < starts).any() or (ends[-1] if len(ends) else 0) != len(data):
        raise InputError(f"The stored texts {value['text']} do not end where they should.")
    held = data.tobytes()
    words = [held[a:b].decode() for a, b in zip(starts.tolist(), ends.tolist())]
    return np.array(words, dtype=object if value["object"] else str)


def encode_graph(graph: Graph, arrays: dict[str, Array], name: str) -> dict[str, Any]:
    """The edges of the graph; of one with kinds, those of each kind, and how they are summed."""
    head: dict[str, Any] = {}
    if not graph.positional:
        head["ids"] = encode_array(graph.ids, arrays, f"{name}.ids")
    if not graph.kinds:
        return {"graph": head | encode_edges(graph, arrays, name)}
    kinds = [
        {"name": kind, "weight": graph.edge_weights[kind], "factor": graph.edge_factors[kind]}
        | encode_edges(graph.kinds[kind], arrays, f"{name}.{k}")
        for k, kind in enumerate(graph.kinds)
    ]
    return {"graph": head | {"kinds": kinds}}


def encode_edges(graph: Graph, arrays: dict[str, Array], name: str) -> dict[str, Any]:
    directed = graph.directed_adjacency is not None
    arrays |= to_arrays(graph.directed_adjacency if directed else graph.adjacency, name)
    return {count: getattr(graph, count) for count in GRAPH_COUNTS} | {"directed": directed}


def decode_graph(head: dict[str, Any], arrays: dict[str, Array], name: str) -> Graph:
    ids = decode_array(head["ids"], arrays) if "ids" in head else None
    if "kinds" not in head:
        return decode_edges(head, arrays, name, ids)
    kinds, weights, factors = {}, {}, {}
    for k, part in enumerate(head["kinds"]):
        kind = part["name"]
        weights[kind], factors[kind] = part["weight"], part["factor"]
        kinds[kind] = decode_edges(part, arrays, f"{name}.{k}", ids)
    numbers = [*weights.values(), *factors.values()]
    if not kinds or len(kinds) < len(head["kinds"]) or not all(isinstance(kind, str) for kind in kinds):
        raise InputError(f"The stored kinds of edges of the graph {name} have no names of their own.")
    if not all(type(value) is float and 0 <= value < np.inf for value in numbers) or not any(
        factors.values()
    ):
        raise InputError(
            f"The stored weights of the kinds of edges of the graph {name} are {numbers!r:.200}."
        )
    if len({kind.n_nodes for kind in kinds.values()}) > 1:
        raise InputError(f"The stored kinds of edges of the graph {name} are not of the same nodes.")
    return of_kinds(kinds, weights, factors)


def decode_edges(head: dict[str, Any], arrays: dict[str, Array], name: str, ids: Array | None) -> Graph:
    directed = head["directed"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about edges without their reverse, which are refused here
        graph = Graph(from_arrays(arrays, name), directed=directed, nodes=ids)
    if graph.n_self_loops or graph.n_duplicates or (graph.n_one_way and not directed):
        raise InputError(f"The stored graph {name} is not symmetric or has self-loops.")
    for count in GRAPH_COUNTS:
        if type(head[count]) is not int or head[count] < 0:
            raise InputError(f"The stored {count} of the graph {name} is {head[count]!r}.")
        setattr(graph, count, head[count])
    return graph
