"""One place decides how many threads the linear algebra underneath may use."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from threadpoolctl import ThreadpoolController

from altopt.errors import require_extra

MULTITHREAD_MIN_SIZE = (
    10_000_000  # numbers in the largest array; below this a second thread costs more than it brings
)


_one = ContextVar("one thread only", default=False)
_forked = False


def _note_fork() -> None:
    global _forked
    _forked = True


# the threads of a parent do not live in its child, and OpenMP waits for them for ever
os.register_at_fork(after_in_child=_note_fork)


def kernel_threads() -> int:
    """How many threads a native kernel may use now: one per processor, or what OMP_NUM_THREADS allows."""
    if _forked or _one.get():
        return 1
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    available = len(os.sched_getaffinity(0))
    return min(available, int(asked)) if asked.isdigit() and int(asked) > 0 else available


@contextmanager
def threads_for(size: int, *, with_torch: bool) -> Iterator[None]:
    """One thread while the largest array has fewer than MULTITHREAD_MIN_SIZE numbers, all of them otherwise.

    On many small products threads mostly wait for each other, and on a busy machine they wait for long. Say
    `with_torch` where torch will do the work: only what is loaded can be limited.
    """
    if size >= MULTITHREAD_MIN_SIZE:
        yield
        return
    outer = _one.set(True)
    try:
        with ThreadpoolController().limit(limits=1):
            if with_torch:
                with _torch_threads(1):
                    yield
            else:
                yield
    finally:
        _one.reset(outer)


@contextmanager
def side_by_side(n_most: int) -> Iterator[Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]]:
    """A `map` for work in torch: up to `n_most` calls at once, each on its share of threads, results in order.

    Torch's threads meet after every operation, and where others use the processors too they mostly wait for each
    other. Threads that each do a whole call meet seldom. With one thread to spare it is Python's own `map`.
    """
    n_threads = kernel_threads()
    n_workers = min(n_threads, n_most)
    if n_workers <= 1:
        yield map
        return
    with (
        _torch_threads(n_threads // n_workers),
        ThreadPoolExecutor(n_workers, initializer=_begin_worker, initargs=(n_threads // n_workers,)) as pool,
    ):

        def run(work: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
            waiting: deque[Future[Any]] = deque()
            for job in jobs:
                waiting.append(pool.submit(work, job))
                if len(waiting) > 2 * n_workers:  # results that wait their turn take memory
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

        yield run


def _begin_worker(n_threads: int) -> None:
    torch = require_extra("torch", "torch", "A neural network encoder")
    _one.set(True)
    torch.set_num_threads(n_threads)  # a setting of each thread


@contextmanager
def _torch_threads(number: int) -> Iterator[None]:
    torch = require_extra("torch", "torch", "A neural network encoder")
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
