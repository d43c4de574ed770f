"""Disks that fail in the middle of a write: a sentence and exit 2, the old files whole, no drafts."""

import builtins
import contextlib
import errno
import io
import os
import resource
import shutil
import signal
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from altopt import AltOpt
from altopt_lab.trust.children import forked
from altopt_lab.trust.doors import Problem, attempt, command_line, copied, fit_call, write_csv
from altopt_lab.trust.judge import judged, promise
from altopt_lab.trust.kills import drafts
from altopt_lab.trust.known.folders import can_mount, disk, fill
from altopt_lab.trust.part import Outcome, Part

Case = dict[str, Any]
COMMANDS = ("fit", "fit over a model", "update", "update with predictions", "predict", "report", "save")
ERRORS = ("ENOSPC", "EIO", "EROFS", "EDQUOT", "EACCES")
CALLS = ("fsync", "replace", "mkdir", "open")
PAGE = 4096
MARK = "ALTOPT-OUT-OF-DATE.txt"  # beside results that no longer fit the model


class Setting:
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="disks-"))
        self.tables = Problem(64, 3, 5).tables(self.folder / "data", 4)
        self.labels = write_csv(self.folder / "told.csv", ["node", "label"], [["40", "c1"]])
        self.done = self.folder / "done"
        end = forked(lambda: command_line(self.call("fit", self.done)), 120)
        assert end.value == 0, end
        self.mounts = can_mount(self.folder)
        sizes = [path.stat().st_size for path in self.done.rglob("*") if path.is_file()]
        self.room = 2 * sum(sizes) + 500 * PAGE

    def call(self, command: str, out: Path) -> list[Any]:
        return {
            "update": ["update", out, "--labels", self.labels],
            "update with predictions": [
                "update",
                out,
                "--labels",
                self.labels,
                "--predictions",
                out / "all.csv",
            ],
            "predict": ["predict", out, "--features", self.tables["new_features"], "--out", out / "new.csv"],
            "report": ["report", out],
        }.get(command) or fit_call(self.tables, out, "--rounds", "1")


@cache
def setting() -> Setting:
    return Setting()


def failed(case: Case) -> Outcome:
    where = setting()
    place = Path(tempfile.mkdtemp(prefix="disk-"))
    try:
        if case["how"] == "room" and where.mounts:
            with disk(place / "small", str(where.room)) as small:
                return judged(lambda: tried(case, where, small))
        return judged(lambda: tried(case, where, place))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def tried(case: Case, where: Setting, place: Path) -> None:
    """A command on a disk that fails at some point; afterwards what was there before is there still."""
    command, out = case["command"], place / "out"
    if command != "fit":
        copied(where.done, out)
    before = contents(out)
    if case["how"] == "room" and where.mounts:
        leave_room(place, case["k"])

    def job() -> int:
        if case["how"] == "size":
            return limited(case["k"] * 700, lambda: run(command, where, out))
        if case["how"] in CALLS:
            break_call(case["how"], case["error"], case["k"], place)
        return run(command, where, out)

    end = forked(job, 120)
    (place / "filler").unlink(missing_ok=True)
    promise(end.whole, f"{end.fault()}: {end.output[-300:]}")
    promise(end.value in (0, 2), f"exit {end.value}: {end.output[-300:]}")
    promise("Traceback" not in end.output, "a traceback")
    if command != "fit":
        AltOpt.load(out / "model")
    after = contents(out)
    if end.value == 2:
        promise(command == "save" or "Error: " in end.output, f"no sentence: {end.output[-300:]}")
        stored = command == "fit over a model" or "The model itself was updated" in end.output
        held = {name: data for name, data in before.items() if not (stored and name.startswith("model/"))}
        lost = sorted(name for name in held if name not in after)
        promise(not lost, f"lost: {lost}")
        if not stored:
            changed = sorted(name for name, data in held.items() if after[name] != data)
            promise(not changed, f"refused, but changed: {changed}")
        if command != "fit":
            left = [name for name in drafts(out) if name not in before and not kept(name)]
            promise(not left, f"left behind: {left}")


def run(command: str, where: Setting, out: Path) -> int:
    if command == "save":
        return {"fine": 0, "refused": 2}[attempt(lambda: save(out))[0]]
    return command_line(where.call(command, out))


def limited(size: int, job: Callable[[], int]) -> int:
    """No file can grow past `size` bytes; what is printed is held back, as it goes to a file too."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    held = io.StringIO()
    with contextlib.redirect_stdout(held), contextlib.redirect_stderr(held):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        code = job()
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(held.getvalue())
    return code


def save(out: Path) -> None:
    model = AltOpt.load(out / "model")
    model.update(labels={40: "c1"})
    model.save(out / "model")


def kept(name: str) -> bool:
    """What may stay after a failure: the state that a fit resumes from, and the word that results are out of date."""
    return name.startswith("checkpoint") or name == MARK


def contents(out: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and not path.name.endswith("lock")
    }


def leave_room(place: Path, pages: int) -> None:
    """Fill a disk up to so many free pages."""
    fill(place)
    with (place / "filler").open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.truncate(max(0, size - pages * PAGE))


def break_call(name: str, error: str, k: int, place: Path) -> None:
    """Let the k-th call below `place` fail."""
    count = 0

    def fails(path: Any) -> None:
        nonlocal count
        count += below(path, place)
        if count >= k and below(path, place):
            code = getattr(errno, error)
            raise OSError(code, os.strerror(code), str(path))

    def wrapped(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *rest: Any, **named: Any) -> Any:
            mode = rest[0] if rest else named.get("mode", "r")
            if name != "open" or (isinstance(mode, str) and set(mode) & set("wax+")):
                fails(path)
            return real(path, *rest, **named)

        return call

    if name == "open":
        builtins.open = io.open = wrapped(builtins.open)
    else:
        setattr(os, name, wrapped(getattr(os, name)))


def below(path: Any, place: Path) -> bool:
    if isinstance(path, int):
        path = os.readlink(f"/proc/self/fd/{path}")
    return str(path).startswith(str(place))


PARTS = [
    Part(
        "disks",
        "a disk that is full, at its quota, read-only or broken from some write on, during fit, update, predict, "
        "report and save: a sentence and exit 2, the old files whole, no drafts",
        st.fixed_dictionaries(
            {
                "command": st.sampled_from(COMMANDS),
                "how": st.sampled_from(["room", "size", *CALLS]),
                "error": st.sampled_from(ERRORS),
                "k": st.integers(0, 14),
            }
        ),
        failed,
        trials=600,
        seconds=180,
        short=5,
        batch=150,
    )
]
