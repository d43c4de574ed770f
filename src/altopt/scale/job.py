"""Jobs: pure functions of stored files, named by what goes in, so that a job is done if its outputs are there."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

from altopt.errors import InputError
from altopt.operator.kernels.dispatch import release_free_memory
from altopt.scale.store import Store

FORMAT = 2  # of what jobs write: raised where a kind of job makes other bits of the same inputs


@dataclass(frozen=True)
class Job:
    """A call of the function in `JOBS` that has this kind.

    Parameters
    ----------
    kind : str
    settings : dict
        Anything JSON can say; two jobs that differ in it differ in their outputs' names.
    inputs : tuple of str
        Names of files and folders in the store.
    outputs : tuple of str
        What each file is called within the job; `job.file(output)` is its name in the store.

    Examples
    --------
    >>> first = Job("solve panel", {"lambda1": 0.1, "columns": [0, 32]}, ("edges-5f", "rhs-00"), ("F",))
    >>> first.file("F")
    'solve-panel-9911927fd03dd3cf.F'
    >>> Job("read rows", {"rows": [0, 100]}, first.files, ("labels", "w")).inputs == (first.file("F"),)
    True
    """

    kind: str
    settings: dict[str, Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @cached_property
    def name(self) -> str:
        """The hash of kind, settings and names of inputs."""
        said = [FORMAT, self.kind, self.settings, self.inputs]
        text = json.dumps(said, sort_keys=True, allow_nan=False)
        return blake2b(text.encode(), digest_size=8).hexdigest()

    def file(self, output: str) -> str:
        """The name that an output has in the store."""
        return f"{self.kind.replace(' ', '-')}-{self.name}.{output}"

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all outputs in the store."""
        return tuple(self.file(output) for output in self.outputs)

    def is_done(self, store: Store) -> bool:
        return all(store.has(name) for name in self.files)


class Work:
    """What a running job may use: its settings, its inputs as local files, drafts of its outputs, and a budget.

    Parameters
    ----------
    job : Job
    store : Store
    budget : int
        Bytes of memory that it may use.
    """

    def __init__(self, job: Job, store: Store, budget: int) -> None:
        self.job, self.store, self.budget = job, store, budget
        self.drafts = {output: store.draft(job.file(output)) for output in job.outputs}
        self._local: dict[str, Path] = {}

    @property
    def settings(self) -> dict[str, Any]:
        return self.job.settings

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.job.inputs

    def input(self, name: str) -> Path:
        """An input as a local file, whole and checked; it is the job's own until it ends."""
        self._refuse_unknown(name)
        if name not in self._local:
            self._local[name] = self.store.borrow(name)
        return self._local[name]

    def keep(self, name: str) -> Path:
        """An input that many jobs read, as a local file: every machine keeps its own copy."""
        self._refuse_unknown(name)
        return self.store.path(name)

    def folder(self, name: str) -> Path:
        """A stored folder as a local one, of which every machine keeps its own copy."""
        self._refuse_unknown(name)
        return self.store.folder(name)

    def read(self, name: str, offset: int, size: int) -> bytes:
        """A part of an input, without fetching the rest."""
        self._refuse_unknown(name)
        return self.store.read(name, offset, size)

    def output(self, name: str) -> Path:
        """Where to write an output; it is put in the store when the function returns."""
        return self.drafts[name]

    def _refuse_unknown(self, name: str) -> None:
        if name not in self.job.inputs:  # else the job's name would not say what it is made of
            raise KeyError(f"{name} is no input of the job {self.job.kind!r}")

    def finish(self) -> None:
        """Put every output in the store."""
        for output, draft in self.drafts.items():
            self.store.put(self.job.file(output), draft)

    def clear(self) -> None:
        """Remove drafts that were not put in the store and local copies of inputs."""
        for draft in self.drafts.values():
            with suppress(OSError):
                draft.unlink()
        for name, path in self._local.items():
            self.store.give_back(name, path)


JOBS: dict[str, Callable[[Work], None]] = {}


def job(kind: str) -> Callable[[Callable[[Work], None]], Callable[[Work], None]]:
    """Name a function of the module that this stands in as the one that does jobs of a kind."""

    def register(function: Callable[[Work], None]) -> Callable[[Work], None]:
        JOBS[kind] = function
        return function

    return register


def do(job: Job, store: Store, budget: int) -> None:
    """Run a job here: all its outputs are in the store afterwards, or, where it fails, none that it made."""
    if job.kind not in JOBS:
        raise InputError(
            f"no function does jobs of the kind {job.kind!r}. Import the module that defines it first."
        )
    work = Work(job, store, budget)
    try:
        JOBS[job.kind](work)
        work.finish()
    finally:
        work.clear()
        release_free_memory(budget)  # the next job's budget is that of the whole process
