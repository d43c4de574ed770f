"""Folders and disks in odd states: no file of somebody else's is lost, and every refusal is a sentence."""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from altopt import AltOpt
from altopt_lab.trust.doors import Problem, attempt, command_line, copied, fit_call, write_csv
from altopt_lab.trust.known.case import FINE, Case, fault
from altopt_lab.trust.part import Outcome

FOREIGN = '{"keras": 1}'


def foreign_model(folder: Path, by: str, head: str = FOREIGN) -> Outcome:
    """A folder of another tool that has a model.json, with the user's own files in it."""
    out = folder / "a"
    target = out / "model" if by == "fit" else out
    (target / "deeper").mkdir(parents=True)
    kept = {
        target / "model.json": head,
        target / "weights.h5": "precious",
        target / "deeper/notes.txt": "notes",
    }
    for path, text in kept.items():
        path.write_text(text)
    if by == "fit":
        code = command_line(fit_call(Problem().tables(folder / "data"), out))
    else:
        model = Problem().fit()
        code = {"fine": 0, "refused": 2}[attempt(lambda: model.save(target))[0]]
    return lost(kept) or Outcome("refused" if code == 2 else "fine")


def lost(kept: dict[Path, str]) -> Outcome | None:
    for path, text in kept.items():
        if not path.exists() or path.read_text() != text:
            return fault(f"{path.name} of another tool was {'changed' if path.exists() else 'deleted'}")
    return None


def beside_own_model(folder: Path, by: str) -> Outcome:
    """The user's own files in a folder that altopt itself wrote."""
    stored(folder / "m")
    kept = {
        folder / "m/model/notes.txt": "notes",
        folder / "m/model/.hidden": "x",
        folder / "m/plan.md": "plan",
    }
    for path, text in kept.items():
        path.write_text(text)
    if by == "update":
        code = command_line(["update", folder / "m", "--labels", new_labels(folder)])
    else:
        AltOpt.load(folder / "m/model").save(folder / "m/model")
        code = 0
    return lost(kept) or (FINE if code == 0 else fault(f"exit {code}"))


def stored(out: Path) -> Path:
    Problem().fit().save(out / "model")
    return out


def new_labels(folder: Path, node: int = 100, label: str = "1") -> Path:
    return write_csv(folder / f"new{node}.csv", ["node", "label"], [[str(node), label]])


def symlink(folder: Path, depth: int) -> Outcome:
    """The model is a link to a folder elsewhere: what it points to is updated, and the link stays."""
    stored(folder / "real")
    target = folder / "real/model"
    for k in range(depth):
        link = folder / f"link{k}"
        link.mkdir()
        (link / "model").symlink_to(os.path.relpath(target, link))
        target = link / "model"
    before = int(AltOpt.load(target).labelled_.sum())
    code = command_line(["update", target.parent, "--labels", new_labels(folder)])
    if code != 0:
        return fault(f"exit {code}")
    if not target.is_symlink():
        return fault("the link was replaced by a folder")
    if int(AltOpt.load(folder / "real/model").labelled_.sum()) != before + 1:
        return fault("the update went beside the link's target")
    strays = [path.name for path in target.parent.iterdir() if path.name != "model"]
    return fault(f"left behind: {strays}") if strays else FINE


@contextlib.contextmanager
def disk(place: Path, size: str) -> Iterator[Path]:
    """A file system of its own of that size."""
    place.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], check=True, capture_output=True
    )
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def can_mount(folder: Path) -> bool:
    try:
        with disk(folder / "try", "64k"):
            return True
    except (subprocess.CalledProcessError, FileNotFoundError):
        return False


def full_disk(folder: Path, command: str) -> Outcome:
    """No room for what the command writes: exit 2, the old model whole, nothing half written."""
    if not can_mount(folder):
        return Outcome("fine", "not tried: no file system can be mounted here")
    data, out = Problem().tables(folder / "data"), stored(folder / "source")
    size = sum(path.stat().st_size for path in (out / "model").iterdir())
    room = {"fit": 16_384, "update": size + 65_536, "predict": size + 16_384, "save": size + 65_536}[command]
    with disk(folder / "small", str(room)) as small:
        target = small / "m"
        if command != "fit":
            copied(out, target)
            fill(small)
        calls = {
            "fit": lambda: command_line(fit_call(data, target)),
            "update": lambda: command_line(["update", target, "--labels", new_labels(folder)]),
            "predict": lambda: command_line(
                ["predict", target, "--features", data["new_features"], "--out", target / "p.csv"]
            ),
            "save": lambda: {"refused": 2, "fine": 0}[attempt(save_again(target))[0]],
        }
        code = calls[command]()
        if code != 2:
            return fault(f"exit {code}")
        if command != "fit":
            AltOpt.load(target / "model")
        strays = [path.name for path in small.rglob("*") if is_draft(path)]
        return fault(f"left behind: {strays}") if strays else Outcome("refused")


def save_again(target: Path):  # type: ignore[no-untyped-def]
    def job() -> None:
        model = AltOpt.load(target / "model")
        model.update(labels={100: 1})
        model.save(target / "model")

    return job


def fill(place: Path) -> None:
    """Take what room is left."""
    with (place / "filler").open("wb", buffering=0) as file:
        for size in (1 << 20, 4096):
            with contextlib.suppress(OSError):
                while file.write(bytes(size)):
                    pass


def is_draft(path: Path) -> bool:
    return path.name.endswith((".new", ".old", ".tmp")) or ".tmp" in path.name


def read_only_disk(folder: Path, command: str) -> Outcome:
    if not can_mount(folder):
        return Outcome("fine", "not tried: no file system can be mounted here")
    data, out = Problem().tables(folder / "data"), stored(folder / "source")
    with disk(folder / "ro", "20m") as place:
        target = copied(out, place / "m")
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)
        calls = {
            "fit": fit_call(data, place / "o"),
            "update": ["update", target, "--labels", new_labels(folder)],
            "predict": ["predict", target, "--features", data["new_features"], "--out", target / "p.csv"],
            "report": ["report", target],
        }
        code = command_line(calls[command])
        AltOpt.load(target / "model")
        return Outcome("refused") if code == 2 else fault(f"{command}: exit {code}")


OWN = json.dumps({"format": "altopt-models", "kind": "model", "version": 1})
CASES = [
    Case("fit into another tool's model folder", partial(foreign_model, by="fit")),
    Case("save into a folder with any model.json", partial(foreign_model, by="save", head="{}")),
    Case(
        "save beside a model.json that is no JSON", partial(foreign_model, by="save", head="weights"), False
    ),
    Case(
        "save beside a model.json that looks like altopt's",
        partial(foreign_model, by="save", head=OWN),
        False,
    ),
    Case("own notes in a model that is updated", partial(beside_own_model, by="update"), False),
    Case("own notes in a model that is saved again", partial(beside_own_model, by="save"), False),
    Case("a symlinked model", partial(symlink, depth=1)),
    Case("a link to a link", partial(symlink, depth=2), False),
    *(
        Case(f"{name} on a full disk", partial(full_disk, command=name), name != "save")
        for name in ("fit", "update", "predict", "save")
    ),
    *(
        Case(f"{name} on a read-only disk", partial(read_only_disk, command=name))
        for name in ("fit", "update", "predict", "report")
    ),
]
