"""How many threads the linear algebra and the kernels may use."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from threadpoolctl import ThreadpoolController

from altopt.arrays import row_blocks
from altopt.errors import require_extra

# entries in the largest array; below this a second thread costs more than it gains
MULTITHREAD_MIN_SIZE = 10_000_000

_single_thread = ContextVar("single thread", default=False)
_forked = False


def _note_fork() -> None:
    global _forked
    _forked = True


# a forked child has none of its parent's threads, and OpenMP would wait for them for ever; Windows has no fork
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def available_processors() -> int:
    """Processors that this process may run on; all of the machine where the system does not say."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    count = getattr(os, "process_cpu_count", os.cpu_count)  # from Python 3.13 on
    return int(count() or 1)


def kernel_threads() -> int:
    """Number of threads a compiled kernel may use now: one per processor, at most OMP_NUM_THREADS."""
    if _forked or _single_thread.get():
        return 1
    limit = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    available = available_processors()
    return min(available, int(limit)) if limit.isdigit() and int(limit) > 0 else available


@contextmanager
def threads_for(size: int, *, with_torch: bool) -> Iterator[None]:
    """One thread while the largest array has fewer than MULTITHREAD_MIN_SIZE entries, all of them otherwise.

    Threads of many small products mostly wait for each other, and for long on a busy machine. Set `with_torch` where
    torch does the work: it must be imported before its threads can be limited.
    """
    if size >= MULTITHREAD_MIN_SIZE:
        yield
        return
    outer = _single_thread.set(True)
    try:
        with ThreadpoolController().limit(limits=1):
            if with_torch:
                with _torch_threads(1):
                    yield
            else:
                yield
    finally:
        _single_thread.reset(outer)


def in_threads(work: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
    """`work` of each job, in order, in as many threads as kernels may use: numpy does not hold Python's lock.

    Each call has a single-threaded BLAS.

    >>> list(in_threads(lambda x: x * x, range(3)))
    [0, 1, 4]
    """
    n_threads = kernel_threads()
    if n_threads == 1:
        yield from map(work, jobs)
        return
    with (
        ThreadpoolController().limit(limits=1, user_api="blas"),
        ThreadPoolExecutor(n_threads, initializer=_single_thread.set, initargs=(True,)) as pool,
    ):
        yield from in_order(pool, work, jobs, n_threads)


def each_block(work: Callable[[slice], Any], n_rows: int) -> None:
    """`work` of each block of rows, in threads where there are several."""
    blocks = row_blocks(n_rows)
    if len(blocks) == 1:
        work(blocks[0])
        return
    for _ in in_threads(work, blocks):
        pass


def in_order(
    pool: ThreadPoolExecutor, work: Callable[[Any], Any], jobs: Iterable[Any], most: int
) -> Iterator[Any]:
    """Results in the order of the jobs; at most so many are made ahead, which bounds their memory."""
    waiting: deque[Future[Any]] = deque()
    for job in jobs:
        waiting.append(pool.submit(work, job))
        if len(waiting) > most:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


@contextmanager
def parallel_map(
    max_workers: int,
) -> Iterator[Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]]:
    """A parallel `map` for work in torch: up to `max_workers` calls at once, results in order.

    Each call has an equal share of the threads. Torch synchronises its threads after every operation, which is slow
    on a busy machine; threads that each do a whole call rarely wait. With a single thread it is Python's own `map`.
    """
    n_threads = kernel_threads()
    n_workers = min(n_threads, max_workers)
    if n_workers <= 1:
        yield map
        return
    with (
        _torch_threads(n_threads // n_workers),
        ThreadPoolExecutor(n_workers, initializer=_begin_worker, initargs=(n_threads // n_workers,)) as pool,
    ):

        def run(work: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
            return in_order(pool, work, jobs, 2 * n_workers)

        yield run


def _begin_worker(n_threads: int) -> None:
    torch = require_extra("torch", "torch", "A neural network encoder")
    _single_thread.set(True)
    torch.set_num_threads(n_threads)  # set per thread


@contextmanager
def _torch_threads(number: int) -> Iterator[None]:
    torch = require_extra("torch", "torch", "A neural network encoder")
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
