"""Edges in any order to rows of a CSR matrix: both directions into buckets on disk, each sorted in memory."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from altopt.arrays import Array

ENTRY_BYTES = 21  # of an entry while its bucket is sorted: key, mask, key again, column
ENTRIES = 1 << 21  # of a bucket where there are not too many: what the processor's cache helps with
MAX_BUCKETS = 256  # files open at once


@dataclass
class Buckets:
    """Entries (row, column) of rows first..last, put by row into files that fit the memory one at a time.

    Parameters
    ----------
    folder : Path
    first, last : int
        Rows that may come.
    n_columns : int
    n_buckets : int
    weighted : bool

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Buckets(Path(folder), 0, 3, 3, 2) as buckets:
    ...         buckets.add_edges(np.array([0, 2, 1, 1]), np.array([1, 1, 2, 1]))
    ...     [(counts.tolist(), columns.tolist()) for counts, columns, _ in buckets.rows(10**6)]
    [([1], [1]), ([2, 1], [0, 2, 1])]
    """

    folder: Path
    first: int
    last: int
    n_columns: int
    n_buckets: int
    weighted: bool = False
    n_loops: int = 0
    files: list[tuple[BinaryIO, BinaryIO | None]] = field(default_factory=list)

    @property
    def shift(self) -> np.uint64:
        """Bits of a column: an entry is one number, its row above its column."""
        return np.uint64(self.n_columns.bit_length())

    @property
    def bounds(self) -> Array:
        """Where the rows of each bucket begin, and the end of the last."""
        return np.linspace(self.first, self.last, self.n_buckets + 1).astype(np.uint64)

    def __enter__(self) -> "Buckets":
        self.folder.mkdir(parents=True, exist_ok=True)
        for k in range(self.n_buckets):
            keys = (self.folder / f"{k:03d}.keys").open("wb")
            self.files.append(
                (keys, (self.folder / f"{k:03d}.weights").open("wb") if self.weighted else None)
            )
        return self

    def __exit__(self, *_: object) -> None:
        for keys, weights in self.files:
            keys.close()
            if weights is not None:
                weights.close()
        self.files = []

    def add_edges(self, source: Array, target: Array, weight: Array | None = None) -> None:
        """Edges, in both directions; self-loops and edges of weight 0 are left out."""
        keep = source != target
        if weight is not None:
            there = weight > 0
            self.n_loops += int(np.count_nonzero(there & ~keep))
            keep &= there
        else:
            self.n_loops += len(keep) - int(np.count_nonzero(keep))
        if not keep.all():
            source, target = source[keep], target[keep]
            weight = None if weight is None else weight[keep]
        n = len(source)
        keys = np.empty(2 * n, np.uint64)
        for half, row, column in ((keys[:n], source, target), (keys[n:], target, source)):
            np.left_shift(row, self.shift, out=half, casting="unsafe", dtype=np.uint64)
            half |= column.astype(np.uint32)
        self.add(keys, None if weight is None else np.concatenate([weight, weight]).astype(np.float32))

    def add(self, keys: Array, weights: Array | None) -> None:
        """Entries, each to its bucket."""
        starts = self.bounds << self.shift
        if weights is None:
            keys.sort()
            cuts = np.searchsorted(keys, starts)
        else:
            bucket = np.searchsorted(starts[1:-1], keys, side="right").astype(np.uint8)
            order = np.argsort(bucket, kind="stable")
            keys, weights = keys[order], weights[order]
            cuts = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=self.n_buckets))])
        for (of_keys, of_weights), begin, end in zip(self.files, cuts[:-1], cuts[1:]):
            keys[begin:end].tofile(of_keys)
            if of_weights is not None and weights is not None:
                weights[begin:end].tofile(of_weights)

    def rows(self, memory: float) -> Iterator[tuple[Array, Array, Array | None]]:
        """Rows in order: entries of each, columns rising, and the largest weight of each entry; files go as read."""
        bounds = self.bounds.astype(np.int64)
        for k in range(self.n_buckets):
            first, last = int(bounds[k]), int(bounds[k + 1])
            of_keys, of_weights = self.folder / f"{k:03d}.keys", self.folder / f"{k:03d}.weights"
            n_entries = of_keys.stat().st_size // 8
            if n_entries * ENTRY_BYTES > memory and last - first > 1:
                yield from self.divided(k, first, last, memory)
            elif last > first:
                weights = np.fromfile(of_weights, np.float32) if self.weighted else None
                yield merged(np.fromfile(of_keys, np.uint64), weights, first, last, self.shift)
            of_keys.unlink()
            of_weights.unlink(missing_ok=True)

    def divided(
        self, k: int, first: int, last: int, memory: float
    ) -> Iterator[tuple[Array, Array, Array | None]]:
        """A bucket that came out too large, as rows of many entries make one, in smaller ones."""
        n_entries = (self.folder / f"{k:03d}.keys").stat().st_size // 8
        count = min(n_buckets(n_entries, memory) * 2, last - first, MAX_BUCKETS)
        smaller = Buckets(self.folder / f"{k:03d}", first, last, self.n_columns, count, self.weighted)
        step = max(int(memory / ENTRY_BYTES), 1)
        with smaller:
            for at in range(0, n_entries, step):
                keys = np.fromfile(self.folder / f"{k:03d}.keys", np.uint64, step, offset=8 * at)
                weights = None
                if self.weighted:
                    weights = np.fromfile(self.folder / f"{k:03d}.weights", np.float32, step, offset=4 * at)
                smaller.add(keys, weights)
        yield from smaller.rows(memory)
        smaller.folder.rmdir()


def n_buckets(n_entries: int, memory: float) -> int:
    """So many that each can be sorted within the memory, and no larger than they need be."""
    entries = min(memory / ENTRY_BYTES, ENTRIES)
    return min(max(int(np.ceil(n_entries / entries)), 1), MAX_BUCKETS)


def merged(
    keys: Array, weights: Array | None, first: int, last: int, shift: np.uint64
) -> tuple[Array, Array, Array | None]:
    """Rows first..last of entries in any order: an entry counts once, with its largest weight."""
    if weights is None:
        keys.sort()
    else:
        order = rising(keys)
        keys, weights = keys[order], weights[order]
    new = np.empty(len(keys), bool)
    new[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    if not new.all():
        weights = None if weights is None else np.maximum.reduceat(weights, np.flatnonzero(new))
        keys = keys[new]
    ends = np.searchsorted(keys, np.arange(first, last + 1, dtype=np.uint64) << shift)
    columns = (keys & ((np.uint64(1) << shift) - np.uint64(1))).astype(np.int32)
    return np.diff(ends), columns, weights


def rising(keys: Array) -> Array:
    """The order that sorts keys: sorted together with their places where both fit 64 bits, which is much faster."""
    if not len(keys):
        return np.zeros(0, np.int64)
    least, bits = keys.min(), len(keys).bit_length()
    if int(keys.max() - least).bit_length() + bits > 64:
        return np.argsort(keys)
    both: Array = (keys - least) << np.uint64(bits) | np.arange(len(keys), dtype=np.uint64)
    both.sort()
    both &= np.uint64((1 << bits) - 1)
    return both
