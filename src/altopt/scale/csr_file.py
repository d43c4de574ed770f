"""A graph on disk: its adjacency in CSR form, read a block of rows at a time, with a manifest and checksums."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError

FORMAT = 1
MANIFEST = "manifest.json"
READ_BYTES = 1 << 22  # of a file at a time, where all of it is read


class CsrBlock(NamedTuple):
    """Rows first..last of an adjacency; `indptr` starts at 0."""

    first: int
    last: int
    indptr: Array
    indices: Array
    weights: Array | None


@dataclass(frozen=True)
class CsrFile:
    """The adjacency of an undirected graph in a folder: `indptr.i64`, `indices.i32` and, where edges have weights,
    `weights.f32`, beside a manifest that names their sizes and checksums.

    Parameters
    ----------
    folder : Path
    n_nodes, n_entries : int
        Entries are the edges counted from both ends.
    weighted : bool
    checksums : dict
        Of each file, by name.

    Examples
    --------
    >>> import tempfile
    >>> import scipy.sparse as sp
    >>> path = sp.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     on_disk = CsrFile.of(path, Path(folder) / "edges")
    ...     block = on_disk.rows(1, 3)
    >>> block.indptr.tolist(), block.indices.tolist(), block.weights
    ([0, 2, 3], [0, 2, 1], None)
    """

    folder: Path
    n_nodes: int
    n_entries: int
    weighted: bool
    checksums: dict[str, str]

    @classmethod
    def of(cls, adjacency: Any, folder: Path) -> "CsrFile":
        """A CSR matrix in memory, written to a folder."""
        unweighted = bool(np.all(adjacency.data == 1))
        weights = None if unweighted else np.asarray(adjacency.data, dtype=np.float32)
        blocks = [(np.asarray(adjacency.indices, dtype=np.int32), weights)]
        return cls.write(folder, np.diff(adjacency.indptr), blocks)

    @classmethod
    def write(cls, folder: Path, degrees: Array, blocks: Iterable[tuple[Array, Array | None]]) -> "CsrFile":
        """Entries in the order of their rows, block by block; the manifest comes last, so that it vouches for all."""
        folder.mkdir(parents=True, exist_ok=True)
        indptr = np.concatenate([[0], np.cumsum(degrees, dtype=np.int64)])
        sums = {name: blake2b(digest_size=16) for name in ("indptr.i64", "indices.i32", "weights.f32")}
        _put(folder / "indptr.i64", [indptr], sums["indptr.i64"])
        n_written, weighted = 0, False
        with (
            (folder / "indices.i32").open("wb") as of_indices,
            (folder / "weights.f32").open("wb") as of_weights,
        ):
            for indices, weights in blocks:
                _append(of_indices, np.asarray(indices, dtype=np.int32), sums["indices.i32"])
                n_written += len(indices)
                if weights is not None:
                    weighted = True
                    _append(of_weights, np.asarray(weights, dtype=np.float32), sums["weights.f32"])
        if n_written != indptr[-1]:
            raise InputError(
                f"{folder}: {n_written:,} entries were written, but the degrees sum to {indptr[-1]:,}."
            )
        if not weighted:
            (folder / "weights.f32").unlink()
            del sums["weights.f32"]
        checksums = {name: checksum.hexdigest() for name, checksum in sums.items()}
        head = {"format": FORMAT, "n_nodes": len(degrees), "n_entries": n_written, "weighted": weighted}
        (folder / MANIFEST).write_text(json.dumps(head | {"checksums": checksums}, indent=1))
        return cls(folder, len(degrees), n_written, weighted, checksums)

    @classmethod
    def open(cls, folder: Path) -> "CsrFile":
        """A stored graph; sizes are checked now, contents by `verify`."""
        try:
            head = json.loads((folder / MANIFEST).read_text())
            checksums = {str(name): str(value) for name, value in head["checksums"].items()}
            file = cls(
                folder, int(head["n_nodes"]), int(head["n_entries"]), bool(head["weighted"]), checksums
            )
            known = head["format"] == FORMAT and file.n_nodes >= 0 and file.n_entries >= 0
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{folder} holds no stored graph: {MANIFEST} cannot be read ({error})."
            ) from error
        if not known or set(checksums) != set(file.sizes):
            raise InputError(f"{folder} holds a stored graph of another format than {FORMAT}.")
        for name, size in file.sizes.items():
            found = (folder / name).stat().st_size if (folder / name).is_file() else None
            if found != size:
                raise InputError(
                    f"{folder / name} should have {size:,} bytes, but has {found}. Copy it again."
                )
        return file

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of each file."""
        sizes = {"indptr.i64": 8 * (self.n_nodes + 1), "indices.i32": 4 * self.n_entries}
        return sizes | ({"weights.f32": 4 * self.n_entries} if self.weighted else {})

    def verify(self) -> None:
        """Refuse files whose contents are not those of the manifest, and rows that are not of this graph."""
        for name, expected in self.checksums.items():
            checksum = blake2b(digest_size=16)
            with (self.folder / name).open("rb") as file:
                while chunk := file.read(READ_BYTES):
                    checksum.update(chunk)
            if checksum.hexdigest() != expected:
                raise InputError(
                    f"{self.folder / name} is not the file that {MANIFEST} vouches for: its checksum differs. "
                    "Copy it again."
                )
        indptr = self.indptr
        if indptr[0] != 0 or indptr[-1] != self.n_entries or np.any(np.diff(indptr) < 0):
            raise InputError(f"{self.folder}: the rows of the graph do not lie one after another.")

    @cached_property
    def indptr(self) -> Array:
        """Where each row begins, mapped from disk."""
        return np.memmap(self.folder / "indptr.i64", dtype=np.int64, mode="r")

    @property
    def key(self) -> str:
        """What the graph is, whatever its folder."""
        return blake2b("".join(self.checksums.values()).encode(), digest_size=16).hexdigest()

    def rows(self, first: int, last: int) -> CsrBlock:
        """Rows first..last, read from disk."""
        indptr = np.asarray(self.indptr[first : last + 1])
        begin, count = int(indptr[0]), int(indptr[-1] - indptr[0])
        indices = np.fromfile(self.folder / "indices.i32", np.int32, count, offset=4 * begin)
        weights = None
        if self.weighted:
            weights = np.fromfile(self.folder / "weights.f32", np.float32, count, offset=4 * begin)
        if len(indices) != count or (count and not 0 <= indices.min() <= indices.max() < self.n_nodes):
            raise InputError(f"{self.folder}: rows {first:,} to {last:,} do not hold nodes of the graph.")
        return CsrBlock(first, last, indptr - begin, indices, weights)

    def ranges(self, max_entries: int) -> Iterator[tuple[int, int]]:
        """Ranges of rows with at most so many entries each; a longer row is a range of its own."""
        first = 0
        while first < self.n_nodes:
            last = int(np.searchsorted(self.indptr, self.indptr[first] + max_entries, side="right")) - 1
            last = min(max(last, first + 1), self.n_nodes)
            yield first, last
            first = last

    def degrees(self, first: int, last: int) -> Array:
        """Sums of the rows first..last; 1 for an isolated node, whose row is empty."""
        block_indptr = np.asarray(self.indptr[first : last + 1])
        if not self.weighted:
            return np.maximum(np.diff(block_indptr), 1).astype(np.float64)
        block = self.rows(first, last)
        assert block.weights is not None
        sums = np.add.reduceat(np.append(block.weights, 0).astype(np.float64), block.indptr[:-1])
        return np.where(np.diff(block.indptr) > 0, sums, 1.0)


def _append(file: Any, array: Array, checksum: Any) -> None:
    data = np.ascontiguousarray(array)
    checksum.update(data)
    data.tofile(file)


def _put(path: Path, arrays: list[Array], checksum: Any) -> None:
    with path.open("wb") as file:
        for array in arrays:
            _append(file, array, checksum)
