"""Node ids as arrays: one spelling, lookups, and the messages about ids that are missing or unknown."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from altopt.arrays import Array
from altopt.errors import InputError

NUMBER_TYPES = (int, float, np.integer, np.floating)


def comes_from(value: object, package: str) -> bool:
    """Whether value's class, or one of its bases, is defined in `package`; compared by name, so nothing is imported."""
    return any(kind.__module__.split(".")[0] == package for kind in type(value).__mro__)


def lookup(ids: Array, wanted: Array) -> NDArray[np.int64]:
    """The position of each wanted id in `ids`, -1 where it is missing; both as returned by `as_ids`."""
    if (ids.dtype == wanted.dtype and ids.dtype.kind != "O") or (is_text(ids) and is_text(wanted)):
        import pyarrow.compute as pc

        indices = pc.index_in(_to_arrow(wanted), value_set=_to_arrow(ids))
        positions: Array = indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return positions.astype(np.int64)
    row = {name: i for i, name in enumerate(ids.tolist())}
    return np.fromiter((row.get(name, -1) for name in wanted.tolist()), np.int64, len(wanted))


def distinct(source: Array, target: Array) -> Array:
    """Every distinct edge endpoint, sorted by value, or by type and value where types mix."""
    if (source.dtype == target.dtype and source.dtype.kind != "O") or (is_text(source) and is_text(target)):
        import pyarrow as pa
        import pyarrow.compute as pc

        endpoints = pa.chunked_array([_to_arrow(source), _to_arrow(target)])
        return np.sort(as_array(pc.unique(endpoints).to_numpy(zero_copy_only=False)))
    names = {*source.tolist(), *target.tolist()}
    try:
        return as_array(sorted(names, key=lambda name: (type(name).__name__, name)))
    except TypeError:
        return as_array(sorted(names, key=lambda name: (type(name).__name__, repr(name))))


def _to_arrow(ids: Array) -> Any:
    """Ids as pyarrow holds them, text as text."""
    import pyarrow as pa

    try:
        return pa.array(ids, pa.large_string() if ids.dtype.kind == "O" else None)
    except UnicodeEncodeError as error:
        raise InputError(
            f"node id {error.object!r} is no text that could be stored: {error.reason}. Give another id."
        ) from error


def describe_missing(ids: Array, wanted: Array, positions: Array, known: str) -> str:
    """For a message: the first wanted id without a position, how many there are, and whether the types differ."""
    absent = wanted[positions < 0].tolist()
    expected, given = _type_in_words(ids), _type_in_words(wanted)
    hint = f" The ids there are {expected}, these are {given}." if expected != given else ""
    return f"node {absent[0]!r}, which is not {known} ({len(set(absent)):,} missing in all).{hint}"


def unknown_node(node: Any, n_nodes: int, n_others: int = 0) -> InputError:
    """The error about a node that the graph does not have."""
    others = f", nor are {n_others:,} others" if n_others else ""
    return InputError(
        f"node {node!r} is not in the graph{others}. Give the id of one of its {n_nodes:,} nodes."
    )


def find_position(node: Any, n_nodes: int, rows: Mapping[Any, int] | None) -> int | None:
    """The row of a node, None where there is no such node.

    `rows` maps ids to rows; None: ids are the positions 0 .. n_nodes - 1.

    >>> find_position("bob", 2, {"ann": 0, "bob": 1})
    1
    """
    if rows is None:
        whole = isinstance(node, int | np.integer) and not isinstance(node, bool)
        return int(node) if whole and 0 <= node < n_nodes else None
    with suppress(TypeError):  # what cannot be hashed is not an id
        return rows.get(node)
    return None


def as_array(values: Any) -> Array:
    """An array that keeps the type of each value: [1, 'a'] stays a number and a text."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    elif comes_from(values, "pyarrow"):
        values = values.to_pylist()
    elif hasattr(values, "to_numpy"):
        values = values.to_numpy()
    column: Array = values if isinstance(values, np.ndarray) else np.fromiter(values, dtype=object)
    if column.dtype.kind in "UST":
        return column.astype(object)
    kinds = set(map(type, column.tolist())) if column.dtype.kind == "O" else set()
    if not kinds or bool in kinds or not all(issubclass(kind, NUMBER_TYPES) for kind in kinds):
        return column
    whole = all(issubclass(kind, int | np.integer) for kind in kinds)
    with suppress(OverflowError):  # wider than 64 bits: stay Python integers
        return column.astype(np.int64 if whole else np.float64)
    return column


def as_ids(values: Any, what: str) -> Array:
    """Node ids in one form, int64 for whole numbers, object for text and mixed types; a missing id is refused."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise InputError(f"{what} must be a list of ids; got {values!r}.")
    ids = as_array(values)
    if ids.ndim != 1:
        raise InputError(f"{what} must be a plain list of ids; got an array of shape {ids.shape}.")
    if ids.dtype.kind in "cV":
        raise InputError(f"{what} must hold numbers, text or dates as ids; got {ids.dtype}.")
    if ids.dtype.kind == "O" and not is_text(ids):
        try:
            absent = np.array([_is_missing(name) for name in ids.tolist()], bool)
        except (TypeError, ValueError) as error:
            raise InputError(f"{what} holds ids that cannot be told apart: {error}.") from error
    else:
        absent = ids != ids if ids.dtype.kind in "fMm" else np.zeros(0, bool)  # NaN differs from itself
    if absent.any():
        raise InputError(f"{what} has no id in row {np.argmax(absent) + 1:,} (the first is row 1).")
    if ids.dtype.kind == "f" and np.all(
        (np.abs(ids.astype(np.float64, copy=False)) < 2**53) & (ids == np.floor(ids))
    ):
        return ids.astype(np.int64)
    if ids.dtype.kind in "iu" and (ids.dtype != np.uint64 or not len(ids) or ids.max() < 2**63):
        return ids.astype(np.int64, copy=False)
    return ids.astype(object) if ids.dtype.kind == "b" else ids


def unique_ids(values: Any, what: str) -> Array:
    """`as_ids`, and an InputError where an id is repeated."""
    ids = as_ids(values, what)
    if ids.dtype.kind != "O":
        order = np.sort(ids)
        repeated = order[1:][order[1:] == order[:-1]].tolist()
    else:
        counts = dict.fromkeys(ids.tolist(), 0)
        repeated = []
        if len(counts) < len(ids):
            for name in ids.tolist():
                counts[name] += 1
            repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        raise InputError(f"{what} names node {repeated[0]!r} more than once; name each node once.")
    return ids


def _is_missing(value: Any) -> bool:
    hash(value)
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def is_text(ids: Array) -> bool:
    """Whether every id is text."""
    return ids.dtype.kind == "O" and set(map(type, ids.tolist())) <= {str, np.str_}


def _type_in_words(ids: Array) -> str:
    words = {"i": "whole numbers", "u": "whole numbers", "f": "fractional numbers", "M": "dates"}
    return "text" if is_text(ids) else words.get(ids.dtype.kind, "of mixed types")
