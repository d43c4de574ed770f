"""A process killed at any moment of fit, update, predict or save: what is on disk is whole, the next run mends it."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from altopt import AltOpt
from altopt_lab.trust.children import Child, forked
from altopt_lab.trust.doors import Problem, command_line, copied, fit_call, write_csv
from altopt_lab.trust.judge import judged, promise
from altopt_lab.trust.part import Outcome, Part

Case = dict[str, Any]
COMMANDS = ("fit", "fit over a model", "update", "predict", "save")
TOLD, LABEL = 40, "c1"
LIMIT = 120.0
CODE = "import sys; from altopt.cli.main import main; main()"
FOREIGN = {"notes.txt": "notes", "model/weights.h5": "precious"}


class Setting:
    """Tables, a finished fit, and what each command gives when nothing disturbs it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kills-"))
        self.tables = Problem(64, 3, 5).tables(self.folder / "data", 4)
        self.labels = write_csv(self.folder / "told.csv", ["node", "label"], [[str(TOLD), LABEL]])
        self.seconds: dict[str, float] = {}
        self.seconds["fit"] = self.timed(self.call("fit", self.folder / "done"))
        self.scores = scores(self.folder / "done")
        self.other = copied(self.folder / "done", self.folder / "other")
        self.seconds["fit over a model"] = self.seconds["fit"]
        self.seconds["predict"] = self.timed(self.call("predict", self.folder / "done"))
        self.predicted = (self.folder / "done/new.csv").read_bytes()
        self.seconds["update"] = self.seconds["save"] = self.timed(self.call("update", self.other))
        self.updated = scores(self.other)
        (self.folder / "done/new.csv").unlink()

    def call(self, command: str, out: Path) -> list[str]:
        if command == "update":
            return [str(part) for part in ("update", out, "--labels", self.labels)]
        if command == "predict":
            tables = ("--features", self.tables["new_features"], "--edges", self.tables["new_edges"])
            return [str(part) for part in ("predict", out, *tables, "--out", out / "new.csv")]
        return [str(part) for part in fit_call(self.tables, out, "--rounds", "2")]

    def timed(self, call: list[str]) -> float:
        begun = time.monotonic()
        end = forked(lambda: command_line(call), LIMIT)
        assert end.value == 0, end
        return time.monotonic() - begun


@cache
def setting() -> Setting:
    return Setting()


def scores(out: Path) -> Any:
    model = AltOpt.load(out / "model")
    return np.array(model.scores_), np.array(model.labelled_)


def save_anew(out: Path) -> int:
    model = AltOpt.load(out / "model")
    model.update(labels={TOLD: LABEL})
    model.save(out / "model")
    return 0


def survived(case: Case) -> Outcome:
    """Start, kill, look; then the same command again, and look again."""
    command, where = case["command"], setting()
    place = Path(tempfile.mkdtemp(prefix="killed-"))
    out = place / "out"
    try:
        if command != "fit":
            copied(where.folder / "done", out)
            for name, text in FOREIGN.items():
                (out / name).write_text(text)
        return judged(lambda: followed(case, where, out))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def followed(case: Case, where: Setting, out: Path) -> None:
    command = case["command"]
    kind = "fit" if command.startswith("fit") else command
    before = scores(out) if command != "fit" else None
    kill(case, where.call(kind, out) if kind != "save" else None, out, where.seconds[command])
    foreign(command, out)
    after = {"fit": where.scores, "update": where.updated, "save": where.updated}.get(kind, where.scores)
    if kind == "predict":
        file = out / "new.csv"
        promise(not file.exists() or file.read_bytes() == where.predicted, "half a file of predictions")
    if before is not None:
        now = scores(out)
        promise(same(now, before) or same(now, after), "neither the old nor the new model")
    again = [*where.call(kind, out), *(["--resume"] if kind == "fit" else [])] if kind != "save" else None
    end = forked(lambda: save_anew(out) if again is None else command_line(again), LIMIT)
    promise(end.whole and end.value == 0, f"the next run: {end.fault()} exit {end.value} {end.output[-300:]}")
    foreign(command, out)
    promise(same(scores(out), after), "after the next run the model is not that of an undisturbed one")
    if kind == "predict":
        promise((out / "new.csv").read_bytes() == where.predicted, "other predictions in the next run")
    strays = drafts(out)
    promise(not strays, f"left after the next run: {strays}")


def kill(case: Case, call: list[str] | None, out: Path, seconds: float) -> None:
    """Kill a fresh process after a share of its time, or a moment after a file appears or changes."""
    if case["real"] and call is not None:
        child: Any = subprocess.Popen(
            [sys.executable, "-c", CODE, *call], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        seconds += 2.0
    else:
        child = Child(lambda: save_anew(out) if call is None else command_line(call))
    seen, until = listing(out), time.monotonic() + seconds * case["at"]
    if case["aim"] == "writing":
        latest = time.monotonic() + seconds * 3
        for _ in range(case["nth"]):
            while listing(out) == seen and time.monotonic() < latest:
                time.sleep(0.0002)
            seen = listing(out)
        until = time.monotonic() + 0.01 * case["at"]
    time.sleep(max(0.0, until - time.monotonic()))
    child.kill()
    child.wait(LIMIT)


def listing(out: Path) -> list[tuple[str, int, int]]:
    """Names, sizes and times below a folder."""
    found = []
    for folder, _, names in os.walk(out):
        for name in [".", *names]:
            try:
                entry = os.stat(os.path.join(folder, name))
            except OSError:
                continue
            found.append((os.path.join(folder, name), entry.st_size, entry.st_mtime_ns))
    return sorted(found)


def same(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1]))


def foreign(command: str, out: Path) -> None:
    if command == "fit":
        return
    for name, text in FOREIGN.items():
        kept = (out / name).is_file() and (out / name).read_text() == text
        promise(kept, f"{name} of somebody else's was lost")


def drafts(out: Path) -> list[str]:
    """Files that are neither results, nor locks, nor somebody else's."""
    results = {
        "predictions.parquet",
        "predictions.csv",
        "report.html",
        "new.csv",
        "all.csv",
        "model.json",
        *FOREIGN,
    }
    found = [path for path in out.rglob("*") if path.is_file() and path.name not in results]
    found = [path for path in found if not path.name.endswith("lock") and path.name != "weights.h5"]
    arrays = [path for path in found if path.suffix == ".safetensors" and path.parent == out / "model"]
    rest = [str(path.relative_to(out)) for path in found if path not in arrays]
    empty = [str(path.relative_to(out)) for path in out.rglob("*") if path.is_dir() and path != out / "model"]
    return rest + empty + [path.name for path in arrays[1:]]


PARTS = [
    Part(
        "kills",
        "SIGKILL at any moment of fit, update, predict and save, half of them while files are written; then the same "
        "command again, a fit with --resume: the old or the new model, the same bits, nothing lost or left over",
        st.fixed_dictionaries(
            {
                "command": st.sampled_from(COMMANDS),
                "aim": st.sampled_from(["any", "writing"]),
                "at": st.floats(0, 1.05),
                "nth": st.integers(1, 12),
                "real": st.integers(0, 7).map(lambda k: k == 0),
            }
        ),
        survived,
        trials=300,
        seconds=300,
        short=3,
        batch=75,
    )
]
