"""Sheets: n x c numbers on disk as panels of columns, each a file, read and written a block of rows at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError

GATHER_ROWS = 1 << 15  # rows that are read together where single ones are wanted
FAR = 64  # rows from one that is wanted to the next, from which each is read by itself


@dataclass(frozen=True)
class Sheet:
    """n_rows x sum(widths) numbers; panel k is a file of n_rows x widths[k], row after row.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sheet = Sheet(Path(folder) / "F", 4, (2, 1), np.dtype(np.float32)).create()
    ...     sheet.write_rows(0, np.arange(12.0).reshape(4, 3))
    ...     sheet.rows(1, 3).tolist(), sheet.gather(np.array([3, 0])).tolist(), sheet.panel(1).ravel().tolist()
    ([[3.0, 4.0, 5.0], [6.0, 7.0, 8.0]], [[9.0, 10.0, 11.0], [0.0, 1.0, 2.0]], [2.0, 5.0, 8.0, 11.0])
    """

    folder: Path
    n_rows: int
    widths: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def n_columns(self) -> int:
        return sum(self.widths)

    @property
    def columns(self) -> list[tuple[int, int]]:
        """First and last column of each panel."""
        return list(pairwise(accumulate(self.widths, initial=0)))

    def file(self, k: int) -> Path:
        return self.folder / f"panel-{k:03d}.{self.dtype.name}"

    def create(self) -> "Sheet":
        """The files at their sizes, zeros in them."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for k, width in enumerate(self.widths):
            with self.file(k).open("wb") as file:
                file.truncate(self.n_rows * width * self.dtype.itemsize)
        return self

    def check(self) -> "Sheet":
        """Refuse files that are missing or of another size."""
        for k, width in enumerate(self.widths):
            expected = self.n_rows * width * self.dtype.itemsize
            found = self.file(k).stat().st_size if self.file(k).is_file() else None
            if found != expected:
                raise InputError(f"{self.file(k)} should have {expected:,} bytes, but has {found}.")
        return self

    def panel(self, k: int, mode: str = "r") -> Array:
        """Panel k, mapped from disk."""
        shape = (self.n_rows, self.widths[k])
        if not self.n_rows or not self.widths[k]:
            return np.empty(shape, self.dtype)
        return np.memmap(self.file(k), self.dtype, mode, shape=shape)  # type: ignore[call-overload, no-any-return]

    def read(self, k: int, first: int, last: int) -> Array:
        """Rows first..last of panel k, as an array in memory."""
        width = self.widths[k]
        offset = first * width * self.dtype.itemsize
        flat = np.fromfile(self.file(k), self.dtype, (last - first) * width, offset=offset)
        return flat.reshape(last - first, width)

    def write(self, k: int, first: int, block: Array) -> None:
        """Rows of panel k from `first` on."""
        with self.file(k).open("r+b") as file:
            file.seek(first * self.widths[k] * self.dtype.itemsize)
            np.ascontiguousarray(block, dtype=self.dtype).tofile(file)

    def rows(self, first: int, last: int) -> Array:
        """Rows first..last of all panels, side by side."""
        return np.concatenate([self.read(k, first, last) for k in range(len(self.widths))], axis=1)

    def some_columns(self, first: int, last: int, left: int, right: int) -> Array:
        """Rows first..last of columns left..right."""
        parts = []
        for k, (begin, end) in enumerate(self.columns):
            if begin < right and end > left:
                parts.append(self.read(k, first, last)[:, max(left - begin, 0) : right - begin])
        return np.concatenate(parts, axis=1)

    def write_rows(self, first: int, block: Array) -> None:
        """Rows of all panels from `first` on."""
        for k, (begin, end) in enumerate(self.columns):
            self.write(k, first, block[:, begin:end])

    def gather(self, nodes: Array) -> Array:
        """The rows of some nodes, in their order; where they lie close together all between them is read."""
        out, order = np.empty((len(nodes), self.n_columns), self.dtype), np.argsort(nodes, kind="stable")
        rising = nodes[order]
        for first, last in self.blocks(GATHER_ROWS):
            begin, end = np.searchsorted(rising, (first, last))
            rows, close = rising[begin:end], (end - begin) * FAR >= last - first
            for k, (left, right) in enumerate(self.columns if len(rows) else []):
                found = self.read(k, first, last)[rows - first] if close else self._single_rows(k, rows)
                out[order[begin:end], left:right] = found
        return out

    def _single_rows(self, k: int, rows: Array) -> Array:
        out, size = np.empty((len(rows), self.widths[k]), self.dtype), self.widths[k] * self.dtype.itemsize
        with self.file(k).open("rb", buffering=0) as file:
            for place, row in enumerate(rows.tolist()):
                file.seek(row * size)
                file.readinto(memoryview(out[place]).cast("B"))
        return out

    # read as an array is, by rows or by columns

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.n_columns

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, key: Any) -> Array:
        """Rows by a slice or by number, or with `[:, columns]` whole columns."""
        if isinstance(key, tuple):
            return self._whole_columns(np.asarray(key[1]))
        if isinstance(key, slice):
            first, last, _ = key.indices(self.n_rows)
            return self.rows(first, last)
        return self.gather(np.asarray(key))

    def _whole_columns(self, wanted: Array) -> Array:
        out = np.empty((self.n_rows, len(wanted)), self.dtype)
        for k, (left, right) in enumerate(self.columns):
            here = np.flatnonzero((wanted >= left) & (wanted < right))
            for first, last in self.blocks(GATHER_ROWS) if len(here) else ():
                out[first:last, here] = self.read(k, first, last)[:, wanted[here] - left]
        return out

    def blocks(self, n_rows: int) -> Iterator[tuple[int, int]]:
        """Ranges of rows, `n_rows` each but the last."""
        return ((first, min(first + n_rows, self.n_rows)) for first in range(0, self.n_rows, n_rows))


@dataclass(frozen=True)
class SheetOfFiles(Sheet):
    """A sheet whose panels are files of any name, in any folder."""

    files: tuple[Path, ...] = ()

    def file(self, k: int) -> Path:
        return self.files[k]


def panel_widths(n_columns: int, width: int) -> tuple[int, ...]:
    """Panels of about equal width, multiples of eight but the last, none above `width`.

    >>> panel_widths(47, 32), panel_widths(7, 32)
    ((24, 23), (7,))
    """
    count = -(-n_columns // width)
    bounds = [min(-(-n_columns * k // count // 8) * 8, n_columns) for k in range(count)] + [n_columns]
    return tuple(last - first for first, last in pairwise(bounds) if last > first)
