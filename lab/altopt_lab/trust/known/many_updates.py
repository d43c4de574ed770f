"""Several processes update one model at once: every update that said it was stored is in the model."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from altopt import AltOpt
from altopt_lab.trust.children import Child
from altopt_lab.trust.doors import Problem, attempt, command_line, copied, write_csv
from altopt_lab.trust.known.case import Case, fault
from altopt_lab.trust.known.folders import new_labels
from altopt_lab.trust.part import Outcome

Writer = Callable[[Path, int], int]  # folder of the model and the node that is told; the exit code


def by_command(out: Path, node: int) -> int:
    return command_line(["update", out, "--labels", new_labels(out.parent, node)])


def by_edges(out: Path, node: int) -> int:
    """A label and an edge, in one update."""
    edges = write_csv(out.parent / f"edges{node}.csv", ["source", "target"], [[str(node), "3"]])
    return command_line(["update", out, "--labels", new_labels(out.parent, node), "--edges", edges])


def by_python(out: Path, node: int) -> int:
    """Load, update and save, again and again until it is not refused."""

    def job() -> None:
        model = AltOpt.load(out / "model")
        model.update(labels={node: 1})
        time.sleep(0.01)
        model.save(out / "model")

    return next((0 for _ in range(40) if attempt(job)[0] == "fine"), 2)


def by_a_link(out: Path, node: int) -> int:
    """The same folder by another name."""
    other = out.parent / f"link{node}"
    other.symlink_to(out)
    return command_line(["update", other, "--labels", new_labels(out.parent, node)])


def holds(folder: Path, writers: list[Writer], rounds: int = 4, apart: float = 0.0) -> Outcome:
    Problem().fit().save(folder / "model")
    n_before = int(AltOpt.load(folder / "model").labelled_.sum())
    for k in range(rounds):
        out = folder / f"round{k}" / "m"
        copied(folder / "model", out / "model")
        children = []
        for j, write in enumerate(writers):
            children.append(Child(partial(write, out, 100 + j)))
            time.sleep(apart)
        ends = [child.wait(60) for child in children]
        for end in ends:
            if end.value not in (0, 2):
                return fault(f"{end.fault()} exit {end.value}: {end.output.strip()[-200:]}")
        labelled = AltOpt.load(out / "model").labelled_
        missing = [100 + j for j, end in enumerate(ends) if end.value == 0 and not labelled[100 + j]]
        if missing:
            return fault(f"{len(missing)} of {len(ends)} updates that said they were stored are lost")
        if int(labelled.sum()) - n_before > len(ends):
            return fault("labels that nobody gave")
    return Outcome("fine")


CASES = [
    Case("three updates at once", partial(holds, writers=[by_command] * 3), seconds=90),
    Case("a little apart", partial(holds, writers=[by_command] * 4, apart=0.02), False, 90, False),
    Case("with edges", partial(holds, writers=[by_edges] * 4, rounds=2), False, 90),
    Case("load, update and save in Python", partial(holds, writers=[by_python] * 4), False, 90),
    Case(
        "commands and Python", partial(holds, writers=[by_command, by_python] * 2, rounds=2), False, 90, False
    ),
    Case("through several links", partial(holds, writers=[by_a_link] * 4, rounds=2), False, 90),
]
