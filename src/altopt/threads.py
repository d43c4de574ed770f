"""One place decides how many threads the linear algebra underneath may use."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from threadpoolctl import ThreadpoolController

SMALL = 10_000_000  # numbers in the largest array; below this a second thread costs more than it brings


_one = ContextVar("one thread only", default=False)
_forked = False


def _note_fork() -> None:
    global _forked
    _forked = True


# the threads of a parent do not live in its child, and OpenMP waits for them for ever
os.register_at_fork(after_in_child=_note_fork)


def kernel_threads() -> int:
    """How many threads a native kernel may use now."""
    return 1 if _forked or _one.get() else len(os.sched_getaffinity(0))


@contextmanager
def threads_for(size: int, *, with_torch: bool) -> Iterator[None]:
    """One thread while the largest array has fewer than SMALL numbers, all of them otherwise.

    On many small products threads mostly wait for each other, and on a busy machine they wait for long. Say
    `with_torch` where torch will do the work: only what is loaded can be limited.
    """
    if size >= SMALL:
        yield
        return
    outer = _one.set(True)
    try:
        with ThreadpoolController().limit(limits=1):
            if with_torch:
                yield from _torch_on_one_thread()
            else:
                yield
    finally:
        _one.reset(outer)


def _torch_on_one_thread() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
