"""The files of tuned settings, one for each method."""

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from altopt.io.files import write_text
from altopt_lab.experiments.method import Method, Settings
from altopt_lab.experiments.methods import METHODS
from altopt_lab.experiments.protocols import Cell

FOLDER = Path(__file__).parent / "settings"
BY_SHARE = "by share"


def file_of(method: str, folder: Path | None = None) -> Path:
    name = method.lower().replace("&", "and").replace("()", "").replace(" ", "-")
    return (folder or FOLDER) / f"{name}.json"


def name_in_file(method: Method, cell: Cell) -> str:
    """Under which a cell's settings stand.

    A peer's are chosen once for all numbers of labels of each class of a data set, and once for shares of all nodes,
    where classes are as large as they come and a strong decay of weights leaves nothing but the largest.
    """
    if method.tuned_by == "data set" and cell.rate not in ("given", "inductive"):
        return f"{cell.dataset} {BY_SHARE}" if cell.rate.endswith("%") else cell.dataset
    return str(cell)


def chosen_elsewhere(method: Method, name: str) -> list[Settings]:
    """What was chosen for other data sets under the same protocol: a search begins there."""
    protocol = name.partition(" ")[2]
    others = read(file_of(method.name)).items()
    return [
        dict(entry["settings"])
        for other, entry in others
        if other != name and other.partition(" ")[2] == protocol
    ]


def tuned_settings(method: Method, cell: Cell) -> tuple[Settings, str]:
    """The settings of a method in a cell, and in words where they come from."""
    cell = replace(cell, dataset=cell.source)
    fixed = method.fixed_on(cell.dataset)
    if method.tuned_by is None:
        return fixed, "fixed"
    name = name_in_file(method, cell)
    entries = read(file_of(method.name))
    if name not in entries and name.endswith(BY_SHARE):
        name = cell.dataset
    entry = entries.get(name)
    if entry is None:
        return fixed, "defaults: not tuned"
    return dict(entry["settings"]) | fixed, f"{file_of(method.name).name}: {name}"


@lru_cache(maxsize=64)
def _read(path: Path, changed: float) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))


def read(path: Path) -> dict[str, Any]:
    return _read(path, path.stat().st_mtime_ns) if path.exists() else {}


def write(method: str, name: str, entry: dict[str, Any], folder: Path | None = None) -> None:
    """Put one entry into a method's file, which is replaced whole."""
    path = file_of(method, folder)
    entries = {**read(path), name: entry}
    write_text(path, json.dumps(dict(sorted(entries.items())), indent=1) + "\n")


def problems(folder: Path | None = None) -> list[str]:
    """What is wrong with the files: settings that a method does not know, or values outside its search space."""
    problems = []
    for method in METHODS.values():
        for name, entry in read(file_of(method.name, folder)).items():
            space = method.space(inductive=name.endswith("inductive"))
            for key, value in entry["settings"].items():
                if key not in space or value not in space[key]:
                    problems.append(f"{method.name}, {name}: {key}={value!r}")
    return problems
