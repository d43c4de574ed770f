"""One place decides how many threads the linear algebra underneath may use."""

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

SMALL = 10_000_000  # numbers in the largest array; below this a second thread costs more than it brings


@contextmanager
def threads_for(size: int, *, with_torch: bool) -> Iterator[None]:
    """One thread while the largest array has fewer than SMALL numbers, all of them otherwise.

    On many small products threads mostly wait for each other, and on a busy machine they wait for long. Say
    `with_torch` where torch will do the work: only what is loaded can be limited.
    """
    if size >= SMALL:
        yield
        return
    if not with_torch:
        with ThreadpoolController().limit(limits=1):
            yield
        return
    import torch

    before = torch.get_num_threads()
    with ThreadpoolController().limit(limits=1):
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)
