"""Forgeries of a stored model, which hold what no save writes, and edits, which hold what one could have written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from altopt_lab.trust.doors import Arrays, Head, arrays_file, canonical_form, read_model, write_sealed

Chance = np.random.Generator


def leaves(value: Any) -> list[tuple[Any, Any]]:
    """(holder, key) of every value that holds no others."""
    found: list[tuple[Any, Any]] = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in pairs:
        found += leaves(child) if isinstance(child, (dict, list)) and child else [(value, key)]
    return found


def branches(value: Any) -> list[tuple[Any, Any]]:
    """(holder, key) of every value at all."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, child in list(pairs) for found in [(value, key), *branches(child)]]


SEALS = ("arrays", "sha256", "checksum", "format", "kind", "version")


def somewhere(found: list[tuple[Any, Any]], head: Head, chance: Chance) -> tuple[Any, Any]:
    open_ones = [(holder, key) for holder, key in found if not (holder is head and key in SEALS)]
    return open_ones[chance.integers(len(open_ones))]


def change_leaf(head: Head, chance: Chance) -> None:
    """Another value of the same type."""
    holder, key = somewhere(leaves(head), head, chance)
    value = holder[key]
    if isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, (int, float)):
        holder[key] = type(value)(value * 2 + 1)
    elif isinstance(value, str):
        holder[key] = value + "x"
    else:
        holder[key] = 1


IMPOSSIBLE: list[Any] = [
    None,
    True,
    -1,
    0,
    10**30,
    1e300,
    float("nan"),
    float("inf"),
    "",
    "x",
    "\x00",
    [],
    {},
    [[]],
    {"part": "LinearEncoder"},
    {"part": "Nothing", "fields": {}},
    {"class": "AltOpt"},
    {"array": "nothing"},
    {"matrix": "nothing"},
    {"skops": "nothing"},
    {"dict": [[1]]},
    {"tuple": None},
    {"graph": {}},
    {"text": "nothing", "object": True},
    {"values": [1, 2]},
]


def field_dropped(head: Head, arrays: Arrays, chance: Chance) -> None:
    holder, key = somewhere(branches(head), head, chance)
    del holder[key]


def field_retyped(head: Head, arrays: Arrays, chance: Chance) -> None:
    holder, key = somewhere(branches(head), head, chance)
    was = holder[key]
    others = [value for value in IMPOSSIBLE if type(value) is not type(was)]
    holder[key] = others[chance.integers(len(others))]


def field_added(head: Head, arrays: Arrays, chance: Chance) -> None:
    holders = [head, *(h[k] for h, k in branches(head) if isinstance(h[k], dict))]
    holder = holders[chance.integers(len(holders))]
    holder[f"extra{chance.integers(9)}"] = IMPOSSIBLE[chance.integers(len(IMPOSSIBLE))]


def field_extreme(head: Head, arrays: Arrays, chance: Chance) -> None:
    """A number that no setting may have."""
    numbers = [(h, k) for h, k in leaves(head) if type(h[k]) in (int, float)]
    holder, key = somewhere(numbers, head, chance)
    holder[key] = [float("nan"), float("-inf"), -(10**20), 1e308, -1e-300][chance.integers(5)]


# arrays


def some_array(arrays: Arrays, chance: Chance) -> str:
    names = sorted(name for name, array in arrays.items() if array.size)
    return names[chance.integers(len(names))]


def array_reshaped(head: Head, arrays: Arrays, chance: Chance) -> None:
    name = some_array(arrays, chance)
    array = arrays[name]
    forms = [
        array[None],
        array[..., None],
        array.ravel(),
        array[:-1],
        np.concatenate([array, array]),
        array[:0],
    ]
    forms += [array.T] if array.ndim == 2 else []
    forms = [form for form in forms if form.shape != array.shape] or [array[None]]
    arrays[name] = np.ascontiguousarray(forms[chance.integers(len(forms))])


def array_retyped(head: Head, arrays: Arrays, chance: Chance) -> None:
    name = some_array(arrays, chance)
    kinds = [np.float16, np.float32, np.float64, np.int8, np.int32, np.int64, np.uint8, np.uint64, np.bool_]
    kinds = [kind for kind in kinds if arrays[name].dtype != kind]
    with np.errstate(all="ignore"):
        arrays[name] = arrays[name].astype(kinds[chance.integers(len(kinds))])


def array_outside(head: Head, arrays: Arrays, chance: Chance) -> None:
    """Whole numbers that point outside, others that are not finite."""
    names = sorted(name for name, array in arrays.items() if array.size and array.dtype.kind in "if")
    name = names[chance.integers(len(names))]
    array = arrays[name] = arrays[name].copy()
    odd = [np.nan, np.inf, -np.inf] if array.dtype.kind == "f" else [np.iinfo(array.dtype).max, -7, 5_000_000]
    array.flat[chance.integers(array.size)] = odd[chance.integers(3)]


def array_dropped(head: Head, arrays: Arrays, chance: Chance) -> None:
    del arrays[some_array(arrays, chance)]


def array_renamed(head: Head, arrays: Arrays, chance: Chance) -> None:
    name = some_array(arrays, chance)
    arrays[name + "x"] = arrays.pop(name)


def arrays_swapped(head: Head, arrays: Arrays, chance: Chance) -> None:
    """Two arrays of different shapes change places."""
    one = some_array(arrays, chance)
    others = [name for name in sorted(arrays) if arrays[name].shape != arrays[one].shape]
    other = others[chance.integers(len(others))]
    arrays[one], arrays[other] = arrays[other], arrays[one]


Forgery = Callable[[Head, Arrays, Chance], None]
FORGERIES: dict[str, Forgery] = {
    change.__name__: change
    for change in (
        field_dropped,
        field_retyped,
        field_added,
        field_extreme,
        array_reshaped,
        array_retyped,
        array_outside,
        array_dropped,
        array_renamed,
        arrays_swapped,
    )
}


def header_forged(folder: Path, chance: Chance) -> None:
    """The arrays' file with bytes of its header changed, and checksums made right."""
    head, _ = read_model(folder)
    data = bytearray(arrays_file(folder).read_bytes())
    length = int.from_bytes(data[:8], "little")
    at = int(chance.integers(0, 8 + length))
    data[at] ^= int(chance.integers(1, 256))
    write_sealed(folder, head, bytes(data), canonical_form(head))


# edits: values that a save could have written


def leaf_edited(head: Head, arrays: Arrays, chance: Chance) -> None:
    change_leaf(head, chance)


def numbers_edited(head: Head, arrays: Arrays, chance: Chance) -> None:
    """Other numbers of the same size in an array of floats."""
    names = sorted(name for name, array in arrays.items() if array.dtype.kind == "f" and array.size)
    name = names[chance.integers(len(names))]
    array = arrays[name]
    arrays[name] = (array * chance.uniform(0.5, 2.0, array.shape)).astype(array.dtype)


def rows_permuted(head: Head, arrays: Arrays, chance: Chance) -> None:
    name = some_array(arrays, chance)
    arrays[name] = np.ascontiguousarray(chance.permutation(arrays[name], axis=0))


def array_zeroed(head: Head, arrays: Arrays, chance: Chance) -> None:
    name = some_array(arrays, chance)
    arrays[name] = np.zeros_like(arrays[name])


EDITS: dict[str, Forgery] = {
    change.__name__: change for change in (leaf_edited, numbers_edited, rows_permuted, array_zeroed)
}
