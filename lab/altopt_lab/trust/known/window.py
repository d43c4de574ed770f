"""A kill, or another writer, at each step of a save: there is always a whole model, and drafts do not stay."""

import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from altopt import AltOpt
from altopt_lab.trust.children import Child, forked
from altopt_lab.trust.doors import Problem, attempt, command_line, copied
from altopt_lab.trust.known.case import Case, fault
from altopt_lab.trust.known.folders import new_labels
from altopt_lab.trust.part import Outcome

STEPS = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.truncate", "shutil.rmtree", "open")


def at_step(which: int, action: Callable[[], None], folder: Path) -> Callable[[], int]:
    """Do something before the `which`-th step that changes files below `folder`; the result counts steps so far."""
    count, busy = 0, False

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count, busy
        if busy or event not in STEPS or str(folder) not in str(arguments[0]):
            return
        if event == "open" and not (
            isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        ):
            return
        count += 1
        if count == which:
            busy = True
            action()

    sys.addaudithook(hook)
    return lambda: count


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def save_it(out: Path, labels: Path) -> int:
    """Load, update and save in Python; 2 where that was refused."""

    def job() -> None:
        model = AltOpt.load(out / "model")
        model.update(labels={int(labels.stem.removeprefix("new")): 1})
        model.save(out / "model")

    return {"fine": 0, "refused": 2}[attempt(job)[0]]


def update_it(out: Path, labels: Path) -> int:
    return command_line(["update", out, "--labels", labels])


Writer = Callable[[Path, Path], int]


def killed(folder: Path, write: Writer) -> Outcome:
    """A kill before each step of a write: the model is the old or the new one, and the next write clears up."""
    Problem().fit().save(folder / "model")
    labels, n_before = new_labels(folder), int(AltOpt.load(folder / "model").labelled_.sum())
    for step in range(1, 200):
        out = folder / f"step{step}"
        copied(folder / "model", out / "model")

        def job(out: Path = out, step: int = step) -> int:
            at_step(step, die, out)
            return write(out, labels)

        end = forked(job, 20)
        kind = "after the last step" if end.signal is None else f"killed before step {step}"
        try:
            n_labels = int(AltOpt.load(out / "model").labelled_.sum())
        except Exception as error:
            return fault(f"{kind}: {type(error).__name__}: {error}")
        if n_labels not in (n_before, n_before + 1):
            return fault(f"{kind}: neither the old nor the new model")
        code = forked(lambda out=out: write(out, labels), 20)  # type: ignore[misc]
        if code.value != 0:
            return fault(f"{kind}, then {code.fault()} exit {code.value}: {code.output.strip()[-200:]}")
        if int(AltOpt.load(out / "model").labelled_.sum()) != n_before + 1:
            return fault(f"{kind}: the next update is not in the model")
        if strays := leftovers(out):
            return fault(f"{kind}, then written again: {strays} stay")
        if end.signal is None:
            return Outcome("fine", f"{step - 1} steps")
    return fault("a write of more than 200 steps")


def leftovers(out: Path) -> list[str]:
    """What lies beside the model, and in it beyond its two files and a lock."""
    inside = sorted(path.name for path in (out / "model").iterdir() if not path.name.endswith("lock"))
    beside = sorted(
        path.name for path in out.iterdir() if path.name != "model" and not path.name.endswith("lock")
    )
    return beside + (inside if len(inside) != 2 else [])


def interrupted_by_another(folder: Path, write: Writer, other: Writer) -> Outcome:
    """Another process writes the same model at each step of a write: both end in words, and none is lost."""
    Problem().fit().save(folder / "model")
    one, two = new_labels(folder, 100), new_labels(folder, 101)
    n_before = int(AltOpt.load(folder / "model").labelled_.sum())
    for step in range(1, 200):
        out = folder / f"step{step}"
        copied(folder / "model", out / "model")

        def job(out: Path = out, step: int = step) -> dict[str, Any]:
            others: list[Child] = []

            def start() -> None:
                others.append(Child(lambda: other(out, two)))
                until = time.monotonic() + 0.3  # a writer that waits for a lock may not hold up its holder
                while time.monotonic() < until and others[0].running():
                    time.sleep(0.01)

            count = at_step(step, start, out)
            code = write(out, one)
            steps = count()
            ends = [child.wait(20) for child in others]
            codes = [end.value if end.whole else end.fault() + end.output[-200:] for end in ends]
            return {"codes": [code, *codes], "steps": steps}

        end = forked(job, 40)
        if not end.whole:
            return fault(f"another writer at step {step}: {end.fault()}")
        codes = end.value["codes"]
        if not all(code in (0, 2) for code in codes):
            return fault(f"another writer at step {step}: {codes}")
        n_labels = int(AltOpt.load(out / "model").labelled_.sum())
        if n_labels - n_before < codes.count(0):
            return fault(
                f"another writer at step {step}: exits {codes}, but {n_labels - n_before} updates are there"
            )
        if end.value["steps"] < step:
            return Outcome("fine", f"{step - 1} steps")
    return fault("a write of more than 200 steps")


CASES = [
    Case("update killed at each step", partial(killed, write=update_it), seconds=120),
    Case("save killed at each step", partial(killed, write=save_it), False, seconds=120),
    Case(
        "another update at each step of an update",
        partial(interrupted_by_another, write=update_it, other=update_it),
        seconds=120,
    ),
    Case(
        "a save at each step of an update",
        partial(interrupted_by_another, write=update_it, other=save_it),
        False,
        seconds=120,
        in_test=False,
    ),
]
