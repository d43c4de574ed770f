"""One place decides how many threads the linear algebra underneath may use."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

SMALL = 10_000_000  # numbers in the largest array; below this a second thread costs more than it brings


@contextmanager
def threads_for(size: int) -> Iterator[None]:
    """One thread while the largest array has fewer than SMALL numbers, all of them otherwise.

    On many small products threads mostly wait for each other, and on a busy machine they wait for long.
    """
    if size >= SMALL:
        yield
        return
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 1
    with ThreadpoolController().limit(limits=1):
        if torch:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch:
                torch.set_num_threads(before)
