"""The contract of recorded work, and the provenance of every record."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

import numpy as np

from altopt_lab import provenance
from altopt_lab.bench.machine import describe
from altopt_lab.bench.worker import WorkerError
from altopt_lab.experiments.context import DatasetContext
from altopt_lab.records import Record

Contexts = Callable[[str], DatasetContext]
FAILURES = (ArithmeticError, RuntimeError, ValueError, MemoryError, np.linalg.LinAlgError)


class Work(ABC):
    """Something that leaves one record. A failure is a record too.

    Attributes
    ----------
    key : str
        What makes it this work and no other, in words.
    needs_dataset : str or None
        The data set that it reads.
    depends_on : str
        Whose sources its figure depends on, by `provenance.code`.
    fit_code : str
        The sum of those sources as they are now.
    """

    @property
    def depends_on(self) -> str:
        return provenance.OURS

    @property
    def fit_code(self) -> str:
        return provenance.code()[self.depends_on]

    @property
    @abstractmethod
    def key(self) -> str: ...

    @property
    def needs_dataset(self) -> str | None:
        return None

    def is_current(self, record: Record) -> bool:
        """Whether a record of it is still valid; not when, say, settings have changed since."""
        return True

    @abstractmethod
    def identity(self) -> Record:
        """What the record is of: method, data set, size, seeds."""

    @abstractmethod
    def measure(self, contexts: Contexts) -> Record:
        """Do the work and return what was measured."""

    def perform(self, contexts: Contexts) -> Record:
        """The whole record: key, identity, what was measured or why not, versions, machine and time."""
        record: Record = {"key": self.key, **self.identity()}
        began = time.perf_counter()
        try:
            record |= self.measure(contexts)
        except FAILURES as error:
            record |= {"failed": failure(error), "seconds": round(time.perf_counter() - began, 3)}
        return record | {"depends_on": self.depends_on, "fit_code": self.fit_code} | made_on()


def failure(error: Exception) -> str:
    """An error in one line; of a worker process its own words."""
    words = " ".join(str(error).split())
    return words[:200] if isinstance(error, WorkerError) else f"{type(error).__name__}: {words}"[:300]


@lru_cache(maxsize=1)
def _machine() -> Record:
    machine = describe()
    return {"versions": machine["versions"], "machine": f"{machine['cpu']}, {machine['system']}"}


def made_on() -> Record:
    """Versions, machine, commit and time."""
    return {**_machine(), "commit": provenance.commit(), "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M")}


def made_on_files() -> Record:
    """The same, and the sum of the code that a fit on files passes through."""
    return {**made_on(), "fit_code": provenance.code()[provenance.ON_FILES]}
