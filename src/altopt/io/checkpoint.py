"""A fit on its way, on disk: each finished step in a file of its own, so that an interrupted fit can be resumed."""

import hashlib
import json
import os
import re
import warnings
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np

from altopt import __version__
from altopt.encoders import Learner
from altopt.errors import InputError
from altopt.graph.settings import seed_of
from altopt.io.array_io import with_prefix
from altopt.io.files import disk_error
from altopt.io.fingerprint import fingerprint
from altopt.io.folder import FORMAT, HEAD, VERSION, read_folder, refuse_foreign, remove_folder, write_folder
from altopt.io.step_file import read_step, write_step
from altopt.solvers import Steps
from altopt.training.alternate import Best, Round, State
from altopt.training.journal import Arrays, Journal

KIND, ROUND = "checkpoint", "round"
STEP = re.compile(r"(\.)?step-[0-9a-f]{24}(?(1)\.[0-9]+)")  # a finished one, or the draft of one


class Checkpoint(Journal):
    """The finished steps of one fit, in a folder.

    Parameters
    ----------
    folder : Path
        Made where it is missing.
    mark : str
        What tells this fit from another.
    seed : int
        Of the fit.
    resumed : bool
        Whether the folder was there before.
    """

    def __init__(self, folder: Path, mark: str, seed: int, resumed: bool) -> None:
        self.folder, self.mark, self.seed, self.resumed = folder, mark, seed, resumed
        self._writes = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """After a fit that was refused nothing is left: the same input would be refused again."""
        if kind is not None and issubclass(kind, InputError) and not self.resumed:
            remove(self.folder)

    def find(self, step: str) -> Arrays | None:
        return read_step(self._path(step))

    def store(self, step: str, result: Arrays) -> None:
        """Where the disk fails the fit goes on without checkpoints, with a warning."""
        if not self._writes:
            return
        try:
            write_step(self._path(step), result)
        except OSError as error:
            self._give_up(str(disk_error(self.folder, error)))

    def find_round(self, learner: Learner) -> State | None:
        """The state after the last finished round, with `learner` taken back to where it was."""
        arrays = self.find(ROUND)
        return None if arrays is None else from_arrays(arrays, learner)

    def store_round(self, state: State) -> None:
        """Keep the state after a round; with an encoder that cannot be stored rounds are not kept, all else is."""
        if self._writes:
            try:
                self.store(ROUND, to_arrays(state))
            except InputError as error:
                self._give_up(str(error))

    def _give_up(self, reason: str) -> None:
        """Store nothing any more; said once."""
        self._writes = False
        warnings.warn(f"No further checkpoint is written. {reason}", UserWarning, stacklevel=2)

    def _path(self, step: str) -> Path:
        """Named by fit and step: a file that another fit left is never read."""
        name = hashlib.sha256(f"{self.mark} {step}".encode()).hexdigest()[:24]
        return self.folder / f"step-{name}"


def begin(folder: Path, seed: int | None, settings: Any, data: Any, resume: bool) -> Checkpoint:
    """The checkpoint of a fit in this folder: to be resumed, or a new one in place of what is there.

    `seed` None draws one; a resumed fit takes the one that was drawn. Another fit's checkpoint, or what is none, is
    refused in words.
    """
    mark = fingerprint(__version__, seed, settings, data)
    if resume and os.path.lexists(folder / HEAD):
        head, _ = read_folder(folder, KIND)
        if head.get("mark") != mark:
            raise InputError(
                f"{folder} holds a checkpoint of a fit with other data or settings, or by another version of altopt. "
                "Start without resume, or restore them."
            )
        return Checkpoint(folder, mark, int(head["seed"]), resumed=True)
    refuse_foreign(folder, KIND)
    clear(folder)
    drawn = seed_of(None) if seed is None else seed
    head = {"format": FORMAT, "kind": KIND, "version": VERSION, "mark": mark, "seed": drawn}
    write_folder(folder, head, {})
    return Checkpoint(folder, mark, drawn, resumed=False)


def clear(folder: Path) -> None:
    """Remove the steps, and what killed runs left of unfinished ones."""
    with suppress(FileNotFoundError):
        for name in os.listdir(folder):
            if STEP.fullmatch(name):
                with suppress(OSError):  # it takes space and does no harm
                    (folder / name).unlink()


def remove(folder: Path) -> None:
    """Remove a checkpoint that is not needed any more, its head after its steps; files that are not altopt's stay."""
    with suppress(OSError, InputError):
        refuse_foreign(folder, KIND)
        clear(folder)
        remove_folder(folder, KIND)


def to_arrays(state: State) -> Arrays:
    """The state after a round; an InputError where the encoder cannot be stored."""
    arrays = {name: getattr(state, name) for name in ("F", "P", "w", "label")}
    arrays |= {} if state.start is state.F else {"start": state.start}
    arrays |= {} if state.priors is None else {"priors": state.priors}
    arrays |= {f"learner.{name}": value for name, value in state.learner.state().items()}
    record: dict[str, Any] = {"n_done": state.n_done, "trace": [asdict(entry) for entry in state.trace]}
    best = state.best
    if best is not None:
        record["best"] = [best.round, best.accuracy]
        arrays |= {"best.F": best.F, "best.P": best.P}
        arrays |= {} if best.start is None else {"best.start": best.start}
        if best.steps is not None:
            arrays |= {"best.scale": best.steps.scale, "best.coefficients": best.steps.coefficients}
        arrays |= {f"best.learner.{name}": value for name, value in best.learner.state().items()}
    return arrays | {"record": np.frombuffer(json.dumps(record).encode(), dtype=np.uint8)}


def from_arrays(arrays: Arrays, learner: Learner) -> State:
    """The inverse of `to_arrays`; `learner` is taken back to where it was."""
    record = json.loads(arrays["record"].tobytes())
    best = None
    if "best" in record:
        of_best = deepcopy(learner)
        of_best.restore(with_prefix(arrays, "best.learner."))
        steps = None
        if "best.scale" in arrays:
            steps = Steps(arrays["best.scale"], arrays["best.coefficients"])
        n_done, accuracy = record["best"]
        best = Best(
            n_done, accuracy, arrays["best.F"], arrays["best.P"], of_best, arrays.get("best.start"), steps
        )
    learner.restore(with_prefix(arrays, "learner."))
    return State(
        n_done=record["n_done"],
        F=arrays["F"],
        P=arrays["P"],
        w=arrays["w"],
        start=arrays.get("start", arrays["F"]),
        label=arrays["label"],
        learner=learner,
        trace=[Round(**entry) for entry in record["trace"]],
        best=best,
        priors=arrays.get("priors"),
    )
