"""What this machine does in a second, measured in one or two: the disk past the page cache, a step, a product."""

import mmap
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from altopt.io.files import disk_errors, draft_name
from altopt.operator.kernels.native import aligned, bits
from altopt.scale.edge_stream import PAGE
from altopt.scale.panel import kernels
from altopt.threads import kernel_threads

PROBE_BYTES = 1 << 27  # written and read
PIECE = 1 << 23  # bytes at a time
REPEATS = 10  # of a step and of a product: the best counts, as others may be at work
PROBE_NODES, PROBE_DEGREE, PROBE_WIDTH = 400_000, 10, 48  # F of these does not fit the processor's cache


@dataclass(frozen=True)
class Rates:
    """Of one machine.

    Parameters
    ----------
    read, write : float
        Bytes a second, of a file past the page cache.
    entry : float
        Seconds for an entry of the adjacency and a column of F in a step.
    flops : float
        Multiplications and additions a second, in the product that makes P.
    """

    read: float
    write: float
    entry: float
    flops: float


def measure(folder: Path) -> Rates:
    """The rates of this machine, with `folder` on the disk in question."""
    read, write = disk_rates(folder)
    return Rates(read, write, entry_seconds(), product_rate())


def disk_rates(folder: Path) -> tuple[float, float]:
    """Bytes a second read and written; the file is gone afterwards."""
    place = next(path for path in (folder, *folder.absolute().parents) if path.is_dir())
    path = place / draft_name("altopt-probe")
    with disk_errors(place):
        try:
            write = timed(path, os.O_WRONLY | os.O_CREAT)
            read = timed(path, os.O_RDONLY)
        finally:
            path.unlink(missing_ok=True)
    return read, write


def timed(path: Path, flags: int) -> float:
    """Bytes a second of going once through the file."""
    with mmap.mmap(-1, PIECE) as buffer:
        buffer[:PAGE] = os.urandom(PAGE)
        file = opened(path, flags)
        try:
            begin, done = time.perf_counter(), 0
            while done < PROBE_BYTES:
                done += os.writev(file, [buffer]) if flags & os.O_WRONLY else os.readv(file, [buffer])
            os.fsync(file)
            return done / (time.perf_counter() - begin)
        finally:
            os.close(file)


def opened(path: Path, flags: int) -> int:
    """The file past the page cache, where the file system allows it."""
    try:
        return os.open(path, flags | getattr(os, "O_DIRECT", 0))
    except OSError:
        return os.open(path, flags)


def entry_seconds() -> float:
    """Seconds of a step for an entry and a column, neighbours at random as they come."""
    rng = np.random.default_rng(0)
    n, n_entries = PROBE_NODES, PROBE_NODES * PROBE_DEGREE
    indptr = np.arange(0, n_entries + 1, PROBE_DEGREE, dtype=np.int64)
    indices = rng.integers(0, n, n_entries, dtype=np.int32)
    X, out = (aligned((n, PROBE_WIDTH), np.dtype(np.float16)) for _ in range(2))
    X[...] = 0
    scale, seconds = np.ones(n, np.float32), []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        kernels().step(
            indptr,
            indices,
            None,
            bits(X),
            bits(out),
            scale,
            None,
            None,
            1.0,
            0.0,
            0.0,
            None,
            kernel_threads(),
            0,
        )
        seconds.append(time.perf_counter() - begin)
    return min(seconds) / (n_entries * PROBE_WIDTH)


def product_rate() -> float:
    """Multiplications and additions a second of a block of rows times the encoder."""
    rows, W, seconds = np.ones((1 << 13, 128), np.float32), np.ones((128, 64), np.float32), []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        rows @ W
        seconds.append(time.perf_counter() - begin)
    return 2 * rows.size * W.shape[1] / min(seconds)
