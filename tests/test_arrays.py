"""Large arrays: memory of their own, in huge pages where the system has them."""

from pathlib import Path

import numpy as np
import pytest

from altopt.arrays import MAPPED_MIN_BYTES, allocate

MAPS = Path("/proc/self/maps")


def test_a_large_array_is_private_memory_since_linux_gives_shared_memory_no_huge_pages():
    if not MAPS.exists():
        pytest.skip("this system does not list the memory of a process")
    large = allocate((MAPPED_MIN_BYTES,), np.uint8)
    assert " rw-p " in f" {line_of(large.ctypes.data)} "


def line_of(address: int) -> str:
    """The line of /proc/self/maps that an address lies in."""
    for line in MAPS.read_text().splitlines():
        first, last = (int(end, 16) for end in line.split()[0].split("-"))
        if first <= address < last:
            return line
    raise AssertionError(f"{address:x} lies in no mapping")
