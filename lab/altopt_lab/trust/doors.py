"""altopt's public doors, the same for any of its versions: the command line, a small problem, a stored model."""

import json
import shutil
import warnings
from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from altopt import AltOpt
from altopt.arrays import Array
from altopt.datasets import communities
from altopt.errors import InputError

Head = dict[str, Any]
Arrays = dict[str, Array]


def command_line(arguments: list[Any]) -> int:
    """`altopt ...` in this process; the exit code."""
    try:
        module = import_module("altopt.cli.main")
    except ImportError:
        module = import_module("altopt.cli")
    return int(module.run([str(part) for part in arguments]))


class Problem:
    """A few communities, with some labels of each class."""

    def __init__(self, n_nodes: int = 120, n_classes: int = 3, n_each: int = 6, seed: int = 0) -> None:
        data = communities(n_nodes=n_nodes, n_classes=n_classes, seed=seed)
        X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
        self.X: Array = np.asarray(X, dtype=np.float64)
        self.truth: Array = data.y
        self.graph: Any = data.graph
        self.y = np.full(n_nodes, -1)
        for k in range(n_classes):
            self.y[np.flatnonzero(self.truth == k)[:n_each]] = k

    def fit(self, **settings: Any) -> Any:
        settings = {"random_state": 0, "cross_fit": False} | settings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return AltOpt(**settings).fit(self.X, self.y, graph=self.graph)

    def tables(self, folder: Path, n_new: int = 5) -> dict[str, Path]:
        """Files for the command line; the last `n_new` nodes come later."""
        folder.mkdir(parents=True, exist_ok=True)
        n = len(self.y) - n_new
        A = self.graph.adjacency.tocoo()
        ends = [(i, j) for i, j in zip(A.row.tolist(), A.col.tolist()) if i < j]
        names = [f"x{j}" for j in range(self.X.shape[1])]
        rows = [[str(i), *map(repr, row)] for i, row in enumerate(self.X.tolist())]
        known = [[str(i), f"c{k}"] for i, k in enumerate(self.y.tolist()) if k >= 0 and i < n]
        inside = [[str(i), str(j)] for i, j in ends if j < n]
        across = [[str(i), str(j)] for i, j in ends if j >= n]
        return {
            "features": write_csv(folder / "features.csv", ["node", *names], rows[:n]),
            "labels": write_csv(folder / "labels.csv", ["node", "label"], known),
            "edges": write_csv(folder / "edges.csv", ["source", "target"], inside),
            "new_features": write_csv(folder / "new_features.csv", ["node", *names], rows[n:]),
            "new_edges": write_csv(folder / "new_edges.csv", ["source", "target"], across),
        }


def write_csv(path: Path, names: list[str], rows: list[list[str]]) -> Path:
    path.write_text("\n".join(",".join(row) for row in [names, *rows]) + "\n")
    return path


def fit_call(tables: dict[str, Path], out: Path, *more: str) -> list[Any]:
    named = [part for key in ("features", "labels", "edges") for part in (f"--{key}", tables[key])]
    return ["fit", *named, "--out", out, "--quiet", *more]


# a stored model, opened by hand


def read_model(folder: Path) -> tuple[Head, Arrays]:
    from safetensors.numpy import load_file

    return json.loads((folder / "model.json").read_text()), load_file(arrays_file(folder))


def arrays_file(folder: Path) -> Path:
    """The file of arrays, whatever its name."""
    return max(folder.glob("*.safetensors"), key=lambda path: path.stat().st_mtime_ns)


def edit_model(folder: Path, change: Callable[[Head, Arrays], Any]) -> None:
    """Change what a folder holds and make every checksum right again, as somebody would who means harm."""
    from safetensors.numpy import save

    head, arrays = read_model(folder)
    form = canonical_form(head)
    change(head, arrays)
    if isinstance(head.get("shapes"), dict):
        head["shapes"] = {name: [array.dtype.name, *(array.shape or (1,))] for name, array in arrays.items()}
    write_sealed(
        folder, head, save({name: np.ascontiguousarray(array) for name, array in arrays.items()}), form
    )


def write_sealed(folder: Path, head: Head, data: bytes, form: Callable[[Head], str] | None) -> None:
    """The head and the bytes of the arrays file, with every name and checksum made to fit."""
    before = arrays_file(folder)
    was, now = digest(before.read_bytes()), digest(data)
    after = before.with_name(before.name.replace(was[:16], now[:16]))
    before.unlink()
    after.write_bytes(data)
    swapped = {was: now, before.name: after.name}
    head = {
        key: swapped.get(value, value) if isinstance(value, str) else value for key, value in head.items()
    }
    (folder / "model.json").write_text(json.dumps(sealed(head, form)))


def sealed(head: Head, form: Callable[[Head], str] | None) -> Head:
    """The head with a checksum of its own that is right, where it has one."""
    if form is None:
        return head
    return head | {"checksum": digest(form(without_checksum(head)).encode())}


def canonical_form(head: Head) -> Callable[[Head], str] | None:
    """How this head's JSON was written out when its checksum was taken; None where it has none."""
    if "checksum" not in head:
        return None
    rest = without_checksum(head)
    for form in FORMS:
        if digest(form(rest).encode()) == head["checksum"]:
            return form
    raise AssertionError("The checksum of model.json is of a form that is not known here: add it to FORMS.")


FORMS: list[Callable[[Head], str]] = [
    lambda rest: json.dumps(rest, sort_keys=True, separators=(",", ":")),
    lambda rest: json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False),
    lambda rest: json.dumps(rest, sort_keys=True),
    lambda rest: json.dumps(rest, sort_keys=True, ensure_ascii=False),
]


def without_checksum(head: Head) -> Head:
    return {key: value for key, value in head.items() if key != "checksum"}


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def copied(source: Path, target: Path) -> Path:
    shutil.copytree(source, target)
    return target


# answers


def attempt(job: Callable[[], Any]) -> tuple[str, Any]:
    """("refused", sentence) after an InputError, else ("fine", result); anything else is the caller's to catch."""
    try:
        return "fine", job()
    except InputError as error:
        return "refused", str(error)


def distance_to_truth(model: AltOpt, feature_weight: float, label_weight: float) -> float:
    """max_k ||F_k - F*_k|| / sqrt(d_k), F* being a dense solution of H F* = rhs: what error_bound promises to cover."""
    A = model.graph_.adjacency.toarray().astype(np.float64)
    degree = A.sum(axis=1)
    scale = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1.0)), 0.0)
    known = np.asarray(model.labelled_).astype(np.float64)
    Y = np.zeros(model.scores_.shape)
    Y[np.asarray(model.labelled_)] = model.Y_
    H = np.diag(1.0 + feature_weight + label_weight * known) - scale[:, None] * A * scale
    rhs = feature_weight * np.asarray(model.encoder_output_, dtype=np.float64) + label_weight * Y
    gap = np.linalg.norm(np.asarray(model.scores_, dtype=np.float64) - np.linalg.solve(H, rhs), axis=1)
    return float(np.max(gap * np.where(degree > 0, scale, 1.0)))
