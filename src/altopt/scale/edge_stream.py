"""The edges of a stored graph, block after block: kept in memory where they fit, else read ahead from disk."""

import mmap
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from altopt.arrays import MAPPED_MIN_BYTES, PRIVATE, Array
from altopt.errors import InputError
from altopt.scale.csr_file import CsrFile

BLOCK_ENTRIES = 1 << 22  # entries of a block: 16 MB of neighbours
BLOCK_ROWS = 1 << 19  # and rows, for which a block has some fifty bytes each
PAGE = 4096  # bytes at whose multiples a file is read past the page cache


class EdgeBlock(NamedTuple):
    """Rows first..last of an adjacency, and their degrees: 1 for an isolated node, whose row is empty."""

    first: int
    last: int
    indptr: Array
    indices: Array
    weights: Array | None
    degrees: Array

    def parts(self, n_rows: int) -> "Iterator[EdgeBlock]":
        """The block, at most so many rows at a time; nothing is copied but offsets."""
        for begin in range(0, self.last - self.first, n_rows):
            end = min(begin + n_rows, self.last - self.first)
            entries = slice(*self.indptr[[begin, end]])
            yield EdgeBlock(
                self.first + begin,
                self.first + end,
                self.indptr[begin : end + 1] - self.indptr[begin],
                self.indices[entries],
                None if self.weights is None else self.weights[entries],
                self.degrees[begin:end],
            )


@dataclass
class EdgeStream:
    """The blocks of a CsrFile in the order of their rows, as often as they are asked for.

    Parameters
    ----------
    csr : CsrFile
    memory : int
        Bytes that edges may take: all of them are kept where that is enough.
    block_entries : int
        Entries of a block, at most, unless a single row has more.

    Examples
    --------
    >>> import tempfile
    >>> import scipy.sparse as sp
    >>> path = sp.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     edges = EdgeStream(CsrFile.of(path, Path(folder) / "edges"), memory=0, block_entries=2)
    ...     [(block.first, block.last, block.indices.tolist()) for block in edges]
    [(0, 1, [1]), (1, 2, [0, 2]), (2, 3, [1])]
    """

    csr: CsrFile
    memory: int = 0
    block_entries: int = BLOCK_ENTRIES
    bytes_read: int = 0
    _kept: list[EdgeBlock] | None = field(default=None, init=False)

    @property
    def fits(self) -> bool:
        """Whether all edges are kept in memory."""
        return sum(self.csr.sizes.values()) + 8 * self.csr.n_nodes <= self.memory

    def __iter__(self) -> Iterator[EdgeBlock]:
        if self._kept is not None:
            return iter(self._kept)
        if self.fits:
            self._kept = [self._copied(block) for block in self._read()]
            return iter(self._kept)
        return self._read()

    def _copied(self, block: EdgeBlock) -> EdgeBlock:
        weights = None if block.weights is None else block.weights.copy()
        return block._replace(indices=block.indices.copy(), weights=weights)

    def _read(self) -> Iterator[EdgeBlock]:
        """Blocks from disk; while one is worked on, a thread reads the next."""
        names = ["indices.i32", *(["weights.f32"] if self.csr.weighted else [])]
        ranges = list(self._ranges())
        most = max((self._n_entries(*rows) for rows in ranges), default=0)
        files = [DirectFile(self.csr.folder / name, 4 * most) for name in names]
        try:
            with ThreadPoolExecutor(1) as ahead:
                waiting = None
                for k in range(len(ranges) + 1):
                    coming = ahead.submit(self._block, files, k % 2, *ranges[k]) if k < len(ranges) else None
                    if waiting is not None:
                        yield waiting.result()
                    waiting = coming
        finally:
            for file in files:
                file.close()

    def _ranges(self) -> Iterator[tuple[int, int]]:
        for first, last in self.csr.ranges(self.block_entries):
            for begin in range(first, last, BLOCK_ROWS):
                yield begin, min(begin + BLOCK_ROWS, last)

    def _n_entries(self, first: int, last: int) -> int:
        return int(self.csr.indptr[last] - self.csr.indptr[first])

    def _block(self, files: "list[DirectFile]", turn: int, first: int, last: int) -> EdgeBlock:
        """One block; what the block before the last was read into is written over."""
        indptr = np.fromfile(self.csr.folder / "indptr.i64", np.int64, last - first + 1, offset=8 * first)
        begin, count = int(indptr[0]), int(indptr[-1] - indptr[0])
        parts = [file.read(turn, 4 * begin, 4 * count) for file in files]
        self.bytes_read += indptr.nbytes + 4 * count * len(files)
        weights = parts[1].view(np.float32) if self.csr.weighted else None
        indptr -= begin
        return EdgeBlock(first, last, indptr, parts[0].view(np.int32), weights, row_sums(indptr, weights))


def row_sums(indptr: Array, weights: Array | None) -> Array:
    """The degree of each row of a block in float64; 1 for an empty one.

    >>> row_sums(np.array([0, 2, 2, 3]), np.array([0.5, 2.0, 3.0])).tolist()
    [2.5, 1.0, 3.0]
    """
    counts = np.diff(indptr)
    if weights is None:
        return np.maximum(counts, 1).astype(np.float64)
    sums = np.ones(len(counts))
    there = counts > 0
    if there.any():
        sums[there] = np.add.reduceat(weights.astype(np.float64), indptr[:-1][there])
    return sums


class DirectFile:
    """A file read past the page cache, where the file system allows it, into one of two buffers by turns."""

    def __init__(self, path: Path, most: int) -> None:
        self.path = path
        self._buffers = [memory(most + 2 * PAGE) for _ in range(2)]
        try:
            self._file = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECT", 0))
        except OSError:  # a file system without direct reading
            self._file = os.open(path, os.O_RDONLY)

    def read(self, turn: int, offset: int, size: int) -> Array:
        """Bytes offset..offset + size; they stand until the same turn reads again."""
        buffer, begin = self._buffers[turn], offset // PAGE * PAGE
        wanted = -(-(offset + size - begin) // PAGE) * PAGE
        view, got = memoryview(buffer)[:wanted], 0
        while got < offset + size - begin:
            n = os.preadv(self._file, [view[got:]], begin + got)
            if n == 0:
                raise InputError(f"{self.path} ends before its last entry. Copy it again.")
            got += n
        return np.frombuffer(buffer, np.uint8, size, offset - begin)

    def close(self) -> None:
        os.close(self._file)


def memory(size: int) -> mmap.mmap:
    """Whole pages, large ones where the system has them: a disk writes to them directly, and kernels read them."""
    pages = mmap.mmap(-1, size, **PRIVATE)
    if size >= MAPPED_MIN_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):
            pages.madvise(mmap.MADV_HUGEPAGE)
    return pages
