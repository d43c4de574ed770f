"""Stored models with bytes, fields, arrays or files changed: each is loaded and used.

Three kinds. Damage leaves checksums as they were. A forgery makes every checksum right again but holds what no save
writes: a missing field, another type or shape, an index outside, NaN. An edit makes them right too and holds values
that a save could have written: another model, which no checksum tells from a true one, so it may answer otherwise.
"""

import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from altopt import AltOpt, Graph
from altopt.arrays import Array
from altopt_lab.trust.doors import (
    Arrays,
    Head,
    Problem,
    arrays_file,
    canonical_form,
    copied,
    edit_model,
    read_model,
    write_sealed,
)
from altopt_lab.trust.judge import judged, promise
from altopt_lab.trust.part import Outcome, Part

N = 60
Case = dict[str, Any]
Chance = np.random.Generator
Mutation = Callable[[Path, Chance], object]

# the models


def linear() -> Any:
    problem = Problem(N, 3, 4)
    problem.graph = Graph(problem.graph.adjacency, nodes=[f"n{k}" for k in range(N)])
    return problem.fit(cross_fit=True)


def nearest_neighbours() -> Any:
    problem = Problem(N, 3, 4)
    problem.graph = None
    return problem.fit()


def sparse() -> Any:
    import scipy.sparse as sp

    problem = Problem(N, 3, 4)
    problem.X = sp.csr_array(np.where(np.median(problem.X) < problem.X, problem.X, 0.0))
    return problem.fit()


def forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return Problem(N, 3, 4).fit(encoder=RandomForestClassifier(n_estimators=4, random_state=0))


def mlp() -> Any:
    from altopt.encoders import MLPEncoder

    return Problem(N, 3, 4).fit(encoder=MLPEncoder(hidden=(8,)), n_epochs=3, n_warmup=3)


MODELS: dict[str, Callable[[], Any]] = {
    "linear": linear,
    "nearest neighbours": nearest_neighbours,
    "sparse": sparse,
    "forest": forest,
    "mlp": mlp,
}


@cache
def stored(kind: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="stored-"))
    MODELS[kind]().save(folder / "model")
    return folder / "model"


@cache
def expected(kind: str) -> list[Array]:
    return answers(stored(kind))


def answers(folder: Path) -> list[Array]:
    """Everything that a loaded model is asked here."""
    model = AltOpt.load(folder)
    ids = list(model.graph_.ids)
    X = np.asarray(Problem(N, 3, 4).X[:4])
    told = model.explain(ids[7])
    held = [
        model.scores_,
        model.label_distributions_,
        model.confidence_,
        model.predict_proba(X),
        told.evidence,
    ]
    held.append(np.array([ids.index(entry[0]) for entry in model.suggest(3)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.update(labels={ids[30]: model.classes_[1]}, edges=[(ids[3], ids[41])])
    held += [model.scores_, model.label_distributions_]
    return [np.array(array, dtype=np.float64) for array in held]


# damage: checksums stay as they were


def some_file(folder: Path, chance: Chance) -> Path:
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.stat().st_size)
    return files[chance.integers(len(files))]


def bytes_changed(folder: Path, chance: Chance) -> None:
    path = some_file(folder, chance)
    data = bytearray(path.read_bytes())
    for _ in range(int(chance.integers(1, 4))):
        data[chance.integers(len(data))] ^= int(chance.integers(1, 256))
    path.write_bytes(data)


def cut(folder: Path, chance: Chance) -> None:
    path = some_file(folder, chance)
    path.write_bytes(path.read_bytes()[: chance.integers(path.stat().st_size)])


def inserted(folder: Path, chance: Chance) -> None:
    path = some_file(folder, chance)
    data, at = path.read_bytes(), int(chance.integers(path.stat().st_size + 1))
    path.write_bytes(data[:at] + chance.bytes(int(chance.integers(1, 40))) + data[at:])


def block_zeroed(folder: Path, chance: Chance) -> None:
    """As after a power cut: a block of zeros."""
    path = some_file(folder, chance)
    data = bytearray(path.read_bytes())
    at = int(chance.integers(len(data)))
    end = min(len(data), at + 512)
    data[at:end] = bytes(end - at)
    path.write_bytes(data)


def file_missing(folder: Path, chance: Chance) -> None:
    some_file(folder, chance).unlink()


def file_of_another(folder: Path, chance: Chance) -> None:
    """One of the two files is another model's."""
    other = stored(sorted(MODELS)[chance.integers(len(MODELS))])
    if chance.random() < 0.5:
        shutil.copy(other / "model.json", folder / "model.json")
    else:
        shutil.copy(arrays_file(other), arrays_file(folder))


def number_changed_by_hand(folder: Path, chance: Chance) -> None:
    """One value of model.json, without its checksum."""
    head = json.loads((folder / "model.json").read_text())
    change_leaf(head, chance)
    (folder / "model.json").write_text(json.dumps(head))


def extra_files(folder: Path, chance: Chance) -> None:
    """Files of somebody else's, and of a write that was killed."""
    (folder / "notes.txt").write_text("notes")
    (folder / f"model-{chance.bytes(8).hex()}.safetensors").write_bytes(chance.bytes(20))
    (folder / ".altopt-draft").mkdir()
    (folder / ".altopt-draft" / "model.json").write_text("{")


def moved_and_linked(folder: Path, chance: Chance) -> None:
    """Files that are links to where they went."""
    path = some_file(folder, chance)
    away = folder.parent / f"away-{path.name}"
    path.rename(away)
    path.symlink_to(away if chance.random() < 0.7 else folder / "nowhere")


def odd_file(folder: Path, chance: Chance) -> None:
    """A pipe, a device, a folder or a loop where a file should be."""
    path = some_file(folder, chance)
    path.unlink()
    makers: list[Callable[[], object]] = [
        lambda: os.mkfifo(path),
        lambda: path.symlink_to("/dev/zero"),
        path.mkdir,
        lambda: path.symlink_to(path.name),
    ]
    makers[chance.integers(len(makers))]()


def not_text(folder: Path, chance: Chance) -> None:
    """model.json in another encoding, nested beyond reason, or another kind of value."""
    path, head = folder / "model.json", (folder / "model.json").read_text()
    forms = [
        head.encode("utf-16"),
        b"\xef\xbb\xbf" + head.encode(),
        b"[" * 100_000,
        b'{"a":' * 5_000,
        b"[]",
        b"null",
        b"1" * 5_000,
        b'"altopt-model"',
        b"",
        head.replace('"version": 2', '"version": true').encode(),
        head.replace('"version": 2', '"version": 1').encode(),
        head.replace('"version": 2', '"version": "2"').encode(),
        head.replace('"kind": "model"', '"kind": "checkpoint"').encode(),
    ]
    path.write_bytes(forms[chance.integers(len(forms))])


DAMAGE: dict[str, Mutation] = {
    change.__name__: change
    for change in (
        bytes_changed,
        cut,
        inserted,
        block_zeroed,
        file_missing,
        file_of_another,
        number_changed_by_hand,
        extra_files,
        moved_and_linked,
        odd_file,
        not_text,
    )
}

# values of the head


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


def tried(case: Case, mutate: Mutation, other_answers: bool) -> Outcome:
    """A changed copy of a stored model, loaded and used."""
    wanted = expected(case["model"])
    place = Path(tempfile.mkdtemp(prefix="mutated-"))
    different = False

    def use() -> None:
        nonlocal different
        got = answers(copy)
        promise(all(np.isfinite(array).all() for array in got), "an answer is not finite")
        same = all(a.shape == b.shape and np.allclose(a, b, rtol=0, atol=1e-6) for a, b in zip(got, wanted))
        different = not same

    try:
        copy = copied(stored(case["model"]), place / "model")
        mutate(copy, np.random.default_rng(case["seed"]))
        outcome = judged(use)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if outcome.kind == "fine" and different:
        return (
            Outcome("fine", "valid edit") if other_answers else Outcome("fault", "loads, with other answers")
        )
    return outcome


def damaged(case: Case) -> Outcome:
    return tried(case, DAMAGE[case["mutation"]], False)


def forged(case: Case) -> Outcome:
    if case["mutation"] == "header_forged":
        return tried(case, header_forged, False)
    change = FORGERIES[case["mutation"]]
    return tried(case, lambda folder, chance: edit_model(folder, lambda h, a: change(h, a, chance)), False)


def edited(case: Case) -> Outcome:
    change = EDITS[case["mutation"]]
    return tried(case, lambda folder, chance: edit_model(folder, lambda h, a: change(h, a, chance)), True)


def cases(mutations: list[str]) -> Any:
    return st.fixed_dictionaries(
        {
            "model": st.sampled_from(sorted(MODELS)),
            "mutation": st.sampled_from(mutations),
            "seed": st.integers(0, 2**32 - 1),
        }
    )


PARTS = [
    Part(
        "damaged models",
        "stored models with bytes changed, files cut, missing, swapped, linked: refused, or the same answers",
        cases(list(DAMAGE)),
        damaged,
        trials=1200,
        seconds=30,
        batch=300,
    ),
    Part(
        "forged models",
        "stored models with fields or arrays that no save writes, checksums made right: refused, or the same answers",
        cases([*FORGERIES, "header_forged"]),
        forged,
        trials=1200,
        seconds=30,
        batch=300,
    ),
    Part(
        "edited models",
        "stored models with other values that a save could have written, checksums made right: refused, or finite "
        "answers, which may differ",
        cases(list(EDITS)),
        edited,
        trials=400,
        seconds=30,
        batch=200,
    ),
]
