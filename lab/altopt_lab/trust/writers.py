"""Several processes that change one stored model at once, and one that reads it."""

import shutil
import tempfile
import time
from functools import cache, partial
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from altopt import AltOpt
from altopt_lab.trust.children import Child, End
from altopt_lab.trust.doors import Problem, copied, distance_to_truth
from altopt_lab.trust.judge import judged, promise
from altopt_lab.trust.known.many_updates import Writer, by_a_link, by_command, by_edges, by_python
from altopt_lab.trust.part import Outcome, Part

Case = dict[str, Any]
WRITERS: dict[str, Writer] = {
    "command": by_command,
    "command with edges": by_edges,
    "python": by_python,
    "command through a link": by_a_link,
}
N_WRITERS, FIRST, WEIGHT = 4, 100, 2.0


@cache
def stored() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="writers-"))
    Problem().fit(feature_weight=WEIGHT, label_weight=WEIGHT).save(folder / "model")
    return folder / "model"


def kept(case: Case) -> Outcome:
    """One round: all write at once, one reads meanwhile."""
    place = Path(tempfile.mkdtemp(prefix="round-"))
    try:
        out = place / "m"
        copied(stored(), out / "model")
        return judged(lambda: one_round(case, out))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def one_round(case: Case, out: Path) -> None:
    done = out.parent / "done"
    reader = Child(partial(reads, out, done))
    children = []
    for j, name in enumerate(case["writers"]):
        children.append(Child(partial(WRITERS[name], out, FIRST + j)))
        time.sleep(case["apart"])
    ends = [child.wait(90) for child in children]
    done.touch()
    read = reader.wait(60)
    promise(read.whole, f"a reader: {read.fault()}")
    promise(read.value == "", f"a reader: {read.value}")
    labelled = AltOpt.load(out / "model").labelled_
    for j, end in enumerate(ends):
        promise(end.value in (0, 2), f"a writer: {end.fault()} exit {end.value} {end.output[-300:]}")
        stored = end.value == 0 and wrote(end, case["writers"][j])
        promise(not stored or labelled[FIRST + j], f"the update of {case['writers'][j]} is lost")
    model = AltOpt.load(out / "model")
    promise(
        distance_to_truth(model, WEIGHT, WEIGHT) < 1e-4,
        "F is not the solution for the labels that are stored",
    )


def wrote(end: End, name: str) -> bool:
    return name == "python" or "Wrote" in end.output


def reads(out: Path, done: Path) -> str:
    """Load again and again; each time a whole model with no label less than before."""
    n_labels = 0
    while not done.exists():
        model = AltOpt.load(out / "model")
        if int(model.labelled_.sum()) < n_labels:
            return "a label that was there is gone"
        n_labels = int(model.labelled_.sum())
        distance = distance_to_truth(model, WEIGHT, WEIGHT)
        if distance > 1e-4:
            return f"two versions mixed: F is {distance:.1e} from the solution for its labels"
    return ""


PARTS = [
    Part(
        "writers",
        "rounds of four processes that update one stored model at once while a fifth reads it: every update that said "
        '"Wrote" is in the model, and no reader sees two versions mixed',
        st.fixed_dictionaries(
            {
                "writers": st.lists(st.sampled_from(list(WRITERS)), min_size=N_WRITERS, max_size=N_WRITERS),
                "apart": st.floats(0, 0.05),
            }
        ),
        kept,
        trials=200,
        seconds=240,
        short=2,
        batch=50,
    )
]
