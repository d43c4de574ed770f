"""Runners: what has a list of jobs done. `Here` does them in this process, one after another."""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol, Self

from altopt.scale.job import Job, do
from altopt.scale.store import Store


class Runner(Protocol):
    """Has jobs done whose outputs are not in the store yet.

    A job may read what an earlier one of the same list makes. `run` returns when all are done; an error of a job is
    raised, and what was done stays done. Copies that machines keep are removed at the end, unless there was an error.
    """

    store: Store
    budget: int

    def run(self, jobs: Sequence[Job]) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Here:
    """Jobs in this process, one after another.

    Parameters
    ----------
    store : Store
    budget : int
        Bytes of memory that a job may use.
    on_done : callable, optional
        Called with each job as soon as it is done, those that were done before included.
    """

    def __init__(self, store: Store, budget: int, on_done: Callable[[Job], None] = lambda job: None) -> None:
        self.store, self.budget, self.on_done = store, budget, on_done

    def run(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            if not job.is_done(self.store):
                do(job, self.store, self.budget)
            self.on_done(job)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.store.drop_copies()
