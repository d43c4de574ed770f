"""A fitted model on disk: safetensors for arrays, JSON for the rest, no pickle."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from altopt.arrays import Array
from altopt.errors import InputError, MissingExtra
from altopt.fitted.model import FittedModel
from altopt.io import circumstances
from altopt.io.array_io import with_prefix
from altopt.io.codec import NOTHING_GIVEN, Given, decode, encode
from altopt.io.fitted_checks import check_arrays, check_inputs, check_parts
from altopt.io.folder import FORMAT, VERSION, read_folder, write_folder
from altopt.io.types import check_fields, fits, short

STATES = ("inputs", "encoder")  # fields that state themselves as arrays; the candidate restores them


@dataclass(frozen=True)
class Stored:
    """What a folder holds: the estimator's parameters, names of the feature columns, and the fitted model."""

    parameters: dict[str, Any]
    columns: list[str]
    fitted: FittedModel
    checksum: str | None = None  # of the folder that it came from


def save(stored: Stored, path: Path) -> str:
    """Write a fitted model into the folder `path`, field by field, and return the folder's checksum.

    Where `stored` has a checksum, the folder must still have it.
    """
    arrays: dict[str, Array] = {}
    head: dict[str, Any] = {"format": FORMAT, "kind": "model", "version": VERSION}
    head["parameters"] = encode_all(stored.parameters, arrays, "parameters")
    head["columns"] = stored.columns
    head["circumstances"] = circumstances.of(stored.fitted)
    with stored.fitted.lock:
        values = {
            entry.name: getattr(stored.fitted, entry.name) for entry in fields(FittedModel) if entry.init
        }
        values["last_graph"] = stored.fitted.graph
        for name in STATES:
            arrays |= {f"{name}.{key}": array for key, array in values.pop(name).state().items()}
        head["fitted"] = encode_all(values, arrays, "fitted")
        head["shapes"] = shapes_of(arrays)
        return write_folder(path, head, arrays, stored.checksum)


def load(path: Path, given: Given = NOTHING_GIVEN) -> Stored:
    """Read what `save` wrote; `given` are the user's own classes and module. An InputError for anything else."""
    head, arrays = read_folder(path, "model")
    try:
        return decoded(head, arrays, given)
    except MissingExtra:
        raise
    except InputError as cause:
        raise InputError(f"{path} cannot be loaded: {cause}") from cause
    except Exception as cause:  # whatever a crafted file makes a part or numpy say
        raise InputError(
            f"{path / 'model.json'} is damaged: {short(cause)} while reading it. Fit and save again."
        ) from cause


def decoded(head: dict[str, Any], arrays: dict[str, Array], given: Given) -> Stored:
    """The stored model, after every check that needs no fit."""
    if head["shapes"] != shapes_of(arrays):
        raise InputError("its arrays are not those that it lists. Fit and save again.")
    parameters = decode_all(head["parameters"], arrays, "parameters", given)
    values = decode_all(head["fitted"], arrays, "fitted", given)
    check_fields(FittedModel, values, "model")
    check_arrays(values)
    columns = head["columns"]
    reader = values["reader"]
    n_columns = values["n_features"] if reader is None else len(reader.columns)
    if not fits(columns, list[str]) or len(columns) not in (0, n_columns):
        raise InputError("its columns are not the names of its features. Fit and save again.")
    candidate = values["candidate"]
    of_inputs = with_prefix(arrays, "inputs.")
    check_inputs(of_inputs, candidate.inputs.keeps_missing)
    values["inputs"] = candidate.inputs.restore(of_inputs)
    first = values["inputs"].rows(values["inputs"].Z[:1])
    values["encoder"] = candidate.encoder.begin(first.shape[1], len(values["classes"]), values["seed"])
    values["encoder"].restore(with_prefix(arrays, "encoder."))
    fitted = FittedModel(**values)
    check_parts(fitted, first)
    circumstances.put(fitted, circumstances.read(head))
    return Stored(parameters, columns, fitted, head["checksum"])


def shapes_of(arrays: dict[str, Array]) -> dict[str, list[Any]]:
    """Type and shape of every array: one that is missing, renamed or cut shows."""
    return {name: [array.dtype.name, *(array.shape or (1,))] for name, array in arrays.items()}


def encode_all(values: dict[str, Any], arrays: dict[str, Array], prefix: str) -> dict[str, Any]:
    return {name: encode(value, arrays, f"{prefix}.{name}") for name, value in values.items()}


def decode_all(values: dict[str, Any], arrays: dict[str, Array], prefix: str, given: Given) -> dict[str, Any]:
    return {name: decode(value, arrays, f"{prefix}.{name}", given) for name, value in values.items()}
