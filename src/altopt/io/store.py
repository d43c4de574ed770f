"""A fitted model, or a fit on its way, on disk: safetensors for arrays, JSON for the rest, no pickle."""

import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import asdict, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, row_blocks
from altopt.encoders.encoder import Learner
from altopt.encoders.tabular import from_skops, to_skops
from altopt.errors import InputError, MissingExtra
from altopt.graph import Graph
from altopt.graph.knn import Neighbours
from altopt.io.array_io import from_arrays, to_arrays, with_prefix
from altopt.selection.evaluation import GraphHelp
from altopt.selection.leave_one_out import NOT_HELD_BACK, LeaveOneOut, Margins
from altopt.solvers.solver import Steps
from altopt.training.alternate import Best, Problem, Round, State

FORMAT = "altopt-model"
VERSION = 1
Model = TypeVar("Model")


# values that are not arrays


def encode(value: Any, arrays: dict[str, Array], name: str) -> Any:
    """A setting as JSON; what JSON cannot hold goes to `arrays` under `name`."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return encode(value.item(), arrays, name)
    if isinstance(value, np.ndarray):
        return encode(value.tolist(), arrays, name)
    if isinstance(value, (list, tuple)):
        items = [encode(item, arrays, f"{name}.{k}") for k, item in enumerate(value)]
        return {"tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, type):
        return {"class": f"{value.__module__}:{value.__qualname__}"}
    if is_dataclass(value):
        held = {f.name: encode(getattr(value, f.name), arrays, f"{name}.{f.name}") for f in fields(value)}
        return {"part": f"{type(value).__module__}:{type(value).__qualname__}", "fields": held}
    if hasattr(value, "get_params"):
        arrays[name] = to_skops(value)
        return {"skops": name}
    raise InputError(
        f"The setting {name}={value!r} cannot be stored: it is neither data nor a part of altopt."
    )


def decode(value: Any, arrays: dict[str, Array], name: str, parts: Sequence[type] = ()) -> Any:
    """The inverse of `encode`; only altopt's own classes are ever imported, others must be among `parts`."""
    if isinstance(value, list):
        return [decode(item, arrays, name, parts) for item in value]
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(decode(value["tuple"], arrays, name, parts))
    if "class" in value:
        return known_class(value["class"], name, parts)
    if "part" in value:
        held = {key: decode(item, arrays, f"{name}.{key}", parts) for key, item in value["fields"].items()}
        return known_class(value["part"], name, parts)(**held)
    return from_skops(arrays[value["skops"]])


def known_class(path: str, name: str, parts: Sequence[type]) -> Any:
    """A class of altopt's own, or the one of this name among those given."""
    module, _, qualname = path.partition(":")
    if module.split(".")[0] == "altopt":
        return getattr(import_module(module), qualname)
    for part in parts:  # by name alone: a script's own class is in __main__ there, in a module elsewhere
        if part.__qualname__ == qualname:
            return part
    raise InputError(
        f"The stored setting {name} is {path}, which is not a part of altopt and is not imported for safety. "
        f"Import it yourself and hand it over: AltOpt.load(path, parts=[{qualname}])."
    )


def encode_ids(ids: Array, arrays: dict[str, Array], name: str) -> Any:
    """Ids or labels of any plain type: numbers as they are, text as UTF-8 bytes, the rest as JSON."""
    if ids.dtype.kind in "iufb":
        arrays[name] = ids
        return {"array": name}
    values = ids.tolist()
    if all(isinstance(value, str) for value in values):
        words = [value.encode() for value in values]
        arrays[f"{name}.ends"] = np.cumsum([len(word) for word in words], dtype=np.int64)
        arrays[name] = np.frombuffer(b"".join(words), dtype=np.uint8)
        return {"text": name, "object": ids.dtype == object}
    return {"values": encode(values, arrays, name)}


def decode_ids(value: Any, arrays: dict[str, Array]) -> Array:
    if "array" in value:
        return arrays[value["array"]]
    if "text" in value:
        data, ends = arrays[value["text"]].tobytes(), arrays[value["text"] + ".ends"]
        starts = np.concatenate([[0], ends[:-1]])
        words = [data[a:b].decode() for a, b in zip(starts, ends)]
        return np.array(words, dtype=object if value["object"] else str)
    items = decode(value["values"], arrays, "ids")
    held = np.empty(len(items), dtype=object)
    held[:] = items
    return held


# folders and files


def write_folder(path: Path, head: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Both files, written beside and then moved into place: a reader sees the old folder or the new, whole."""
    from safetensors.numpy import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not (path / "model.json").exists() and (path.is_file() or any(path.iterdir())):
        raise InputError(
            f"{path} exists and is not a stored model. Name another folder: nothing was overwritten."
        )
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    save_file({name: np.ascontiguousarray(a) for name, a in arrays.items()}, fresh / "model.safetensors")
    head = head | {"sha256": digest(fresh / "model.safetensors")}
    (fresh / "model.json").write_text(json.dumps(head, indent=1, allow_nan=True) + "\n")
    old = path.with_name(f".{path.name}.{os.getpid()}.old")
    if path.exists():
        path.rename(old)
    fresh.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def read_folder(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Both files, after every check that tells a good folder from a damaged, foreign or newer one."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    for name in ("model.json", "model.safetensors"):
        if not (path / name).is_file():
            raise InputError(
                f"{path} is not a stored {kind}: it has no {name}. Give the folder that save() wrote."
            )
    try:
        head = json.loads((path / "model.json").read_text())
    except ValueError as cause:
        raise InputError(f"{path / 'model.json'} is damaged: it is not JSON. Fit and save again.") from cause
    if not isinstance(head, dict) or head.get("format") != FORMAT or head.get("kind") != kind:
        raise InputError(f"{path / 'model.json'} was not written by altopt as a {kind}. Give another folder.")
    if head["version"] > VERSION:
        raise InputError(
            f"{path} has format version {head['version']}, but this altopt reads up to {VERSION}. Upgrade altopt."
        )
    if digest(path / "model.safetensors") != head.get("sha256"):
        raise InputError(
            f"{path / 'model.safetensors'} is damaged: its checksum is wrong. Fit and save again."
        )
    try:
        return head, load_file(path / "model.safetensors")
    except SafetensorError as cause:
        raise InputError(
            f"{path / 'model.safetensors'} is not a safetensors file. Fit and save again."
        ) from cause


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# a fitted model

ARRAYS = ("scores_", "encoder_output_", "confidence_", "reached_", "labelled_", "Y_")
OPTIONAL = ("start_", "featureless_")  # arrays that some models have
PLAIN = ("seed_", "restart_", "temperature_", "choice_", "outcome_", "trace_", "n_iter_", "n_features_in_")


def save(model: Any, path: Path) -> None:
    """Write the fitted model into the folder `path`."""
    arrays: dict[str, Array] = {name: getattr(model, name) for name in ARRAYS}
    arrays |= {name: getattr(model, name) for name in OPTIONAL if getattr(model, name, None) is not None}
    arrays |= {f"inputs.{name}": value for name, value in model.inputs_.state().items()}
    arrays |= {f"encoder.{name}": value for name, value in model.encoder_.state().items()}
    head: dict[str, Any] = {"format": FORMAT, "kind": "model", "version": VERSION}
    head["settings"] = {key: encode(v, arrays, key) for key, v in model.get_params(deep=False).items()}
    head["plan"] = encode(model.plan_, arrays, "plan")
    head["plain"] = {name: getattr(model, name) for name in PLAIN}
    head["classes"] = encode_ids(model.classes_, arrays, "classes")
    head["transduction"] = encode_ids(model.transduction_, arrays, "transduction")
    head["columns"] = list(getattr(model, "feature_names_in_", []))
    head["graph"] = save_graph(model.graph_, arrays)
    head["leave_one_out"] = save_leave_one_out(model._leave_one_out, arrays)
    head["graph_help"] = save_graph_help(getattr(model, "graph_help_", None), model.classes_)
    if model.neighbours_ is not None:
        arrays |= to_arrays(model.neighbours_.X, "neighbours")
    write_folder(path, head, arrays)


def load(cls: type[Model], path: Path, parts: Sequence[type] = ()) -> Model:
    """Read what `save` wrote; `parts` are classes that are not altopt's."""
    head, arrays = read_folder(path, "model")
    try:
        return rebuild(cls, head, arrays, parts)
    except (KeyError, TypeError, AttributeError, IndexError) as cause:
        raise InputError(
            f"{path / 'model.json'} is damaged: {cause!r} while reading it. Fit and save again."
        ) from cause


def rebuild(
    cls: type[Model], head: dict[str, Any], arrays: dict[str, Array], parts: Sequence[type] = ()
) -> Model:
    """A fitted model out of its settings and arrays."""
    settings = {key: decode(value, arrays, key, parts) for key, value in head["settings"].items()}
    model: Any = cls(**settings)
    for name in ARRAYS:
        setattr(model, name, arrays[name])
    for name in OPTIONAL:
        setattr(model, name, arrays.get(name))
    for name in PLAIN:
        setattr(model, name, head["plain"][name])
    model.classes_ = decode_ids(head["classes"], arrays)
    model.transduction_ = decode_ids(head["transduction"], arrays)
    if head["columns"]:
        model.feature_names_in_ = np.array(head["columns"], dtype=object)
    model.graph_ = load_graph(head["graph"], arrays)
    model._leave_one_out = load_leave_one_out(head.get("leave_one_out", NOT_HELD_BACK), arrays)
    model.graph_help_ = load_graph_help(head.get("graph_help"), model.classes_)
    model.neighbours_ = None
    if any(name.startswith("neighbours") for name in arrays):
        model.neighbours_ = Neighbours(from_arrays(arrays, "neighbours"), model.n_neighbors)
    model.plan_ = decode(head["plan"], arrays, "plan", parts)
    model.inputs_ = model.plan_.inputs.restore(with_prefix(arrays, "inputs."))
    width = model.inputs_.rows(model.inputs_.Z[:1]).shape[1]
    model.encoder_ = model.plan_.encoder.begin(width, len(model.classes_), model.seed_)
    model.encoder_.restore(with_prefix(arrays, "encoder."))
    return model  # type: ignore[no-any-return]


GRAPH_COUNTS = ("n_self_loops", "n_duplicates", "n_one_way")


def save_graph(graph: Graph, arrays: dict[str, Array]) -> dict[str, Any]:
    directed = graph.directed_adjacency is not None
    arrays |= to_arrays(graph.directed_adjacency if directed else graph.adjacency, "adjacency")
    head: dict[str, Any] = {name: getattr(graph, name) for name in GRAPH_COUNTS} | {"directed": directed}
    if not graph.positional:
        head["ids"] = encode_ids(graph.ids, arrays, "ids")
    return head


def load_graph(head: dict[str, Any], arrays: dict[str, Array]) -> Graph:
    ids = decode_ids(head["ids"], arrays) if "ids" in head else None
    graph = Graph(from_arrays(arrays, "adjacency"), directed=head["directed"], nodes=ids)
    for name in GRAPH_COUNTS:
        setattr(graph, name, head[name])
    return graph


# what labels that were held back said of the fit


def save_leave_one_out(found: LeaveOneOut | str, arrays: dict[str, Array]) -> Any:
    if isinstance(found, str):
        return found
    arrays["leave_one_out.scores"] = found.scores
    numbers = [found.accuracy, *found.interval, found.calibration_error]
    return {
        "numbers": numbers,
        "judged": save_margins(found.judged, arrays, "leave_one_out.judged"),
        "of_all": save_margins(found.of_all, arrays, "leave_one_out.of_all"),
    }


def load_leave_one_out(head: Any, arrays: dict[str, Array]) -> LeaveOneOut | str:
    if isinstance(head, str):
        return head
    judged, of_all = (
        Margins(*(decode_ids(head[part][name], arrays) for name in Margins._fields))
        for part in ("judged", "of_all")
    )
    accuracy, low, high, error = head["numbers"]
    return LeaveOneOut(judged, arrays["leave_one_out.scores"], accuracy, (low, high), error, of_all)


def save_margins(margins: Margins, arrays: dict[str, Array], name: str) -> dict[str, Any]:
    return {key: encode_ids(column, arrays, f"{name}.{key}") for key, column in margins._asdict().items()}


def save_graph_help(found: GraphHelp | None, classes: Array) -> Any:
    if found is None:
        return None
    place = {name: k for k, name in enumerate(classes.tolist())}
    per_class = [[place[name], *both] for name, both in found.per_class.items()]
    return {"with_graph": found.with_graph, "features_alone": found.features_alone, "per_class": per_class}


def load_graph_help(head: Any, classes: Array) -> GraphHelp | None:
    if head is None:
        return None
    names = classes.tolist()
    per_class = {names[k]: (with_graph, alone) for k, with_graph, alone in head["per_class"]}
    return GraphHelp(head["with_graph"], head["features_alone"], per_class)


# a fit on its way


def fingerprint(model: Any, problem: Problem) -> str:
    """Tells one fit from another: settings, seed, labels and the encoder's inputs."""
    hashed = hashlib.sha256()
    arrays: dict[str, Array] = {}
    settings = {key: encode(value, arrays, key) for key, value in model.get_params(deep=False).items()}
    hashed.update(json.dumps([settings, model.seed_], default=str).encode())
    for array in [problem.Y, model.graph_.adjacency.indices, model.graph_.adjacency.data]:
        hashed.update(np.ascontiguousarray(array).data)
    for block in row_blocks(problem.rows.shape[0]):  # rows may be made only when they are asked for
        rows = problem.rows[block]
        for array in [rows.data, rows.indices, rows.indptr] if sp.issparse(rows) else [rows]:
            hashed.update(np.ascontiguousarray(array).data)
    return hashed.hexdigest()


def save_checkpoint(path: Path, mark: str, state: State) -> None:
    """Store the state after a round, so that an interrupted fit can resume; a warning where the encoder cannot be."""
    arrays = {name: getattr(state, name) for name in ("F", "P", "w", "start", "label")}
    try:
        arrays |= {f"learner.{name}": value for name, value in state.learner.state().items()}
    except MissingExtra as error:  # the fit itself needs no such package
        warnings.warn(f"No checkpoint was written. {error}", UserWarning, stacklevel=2)
        return
    arrays |= {} if state.priors is None else {"priors": state.priors}
    head: dict[str, Any] = {"format": FORMAT, "kind": "checkpoint", "version": VERSION, "mark": mark}
    head |= {"n_done": state.n_done, "trace": [asdict(entry) for entry in state.trace]}
    if state.best is not None:
        head["best"] = {"round": state.best.round, "accuracy": state.best.accuracy}
        arrays |= {"best.F": state.best.F, "best.P": state.best.P}
        if state.best.start is not None:
            arrays["best.start"] = state.best.start
        if state.best.steps is not None:
            arrays["best.scale"] = state.best.steps.scale
            arrays["best.coefficients"] = state.best.steps.coefficients
        arrays |= {f"best.learner.{name}": value for name, value in state.best.learner.state().items()}
    write_folder(path, head, arrays)


def load_checkpoint(path: Path, mark: str, learner: Learner) -> State | None:
    """The stored state, with `learner` taken back to where it was; None where there is none yet."""
    if not path.exists():
        return None
    head, arrays = read_folder(path, "checkpoint")
    if head["mark"] != mark:
        raise InputError(
            f"{path} holds a checkpoint of a fit with other data or settings. Start without resume, or restore them."
        )
    best = None
    if "best" in head:
        from copy import deepcopy

        of_best = deepcopy(learner)
        of_best.restore(with_prefix(arrays, "best.learner."))
        of_round = (head["best"]["round"], head["best"]["accuracy"], arrays["best.F"], arrays["best.P"])
        steps = None
        if "best.scale" in arrays:
            steps = Steps(arrays["best.scale"], arrays["best.coefficients"])
        best = Best(*of_round, of_best, arrays.get("best.start"), steps)
    learner.restore(with_prefix(arrays, "learner."))
    trace = [Round(**entry) for entry in head["trace"]]
    F, P, w, start, label = (arrays[name] for name in ("F", "P", "w", "start", "label"))
    priors = arrays.get("priors")
    return State(head["n_done"], F, P, w, start, label, learner, trace, best, priors=priors)
