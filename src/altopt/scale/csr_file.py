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
        return cls.write(folder, [(np.diff(adjacency.indptr), adjacency.indices, adjacency.data)])

    @classmethod
    def write(cls, folder: Path, blocks: Iterable[tuple[Array, Array, Array | None]]) -> "CsrFile":
        """Rows in their order, block by block: entries of each row, their columns, their weights or None.

        Weights that are all 1 are not kept. The manifest comes last, so that it vouches for all.
        """
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MANIFEST).unlink(missing_ok=True)
        sums = {name: blake2b(digest_size=16) for name in ("indptr.i64", "indices.i32", "weights.f32")}
        n_nodes, n_entries, weighted = 0, 0, False
        with (
            (folder / "indptr.i64").open("wb") as of_indptr,
            (folder / "indices.i32").open("wb") as of_indices,
            (folder / "weights.f32").open("wb") as of_weights,
        ):
            _append(of_indptr, np.zeros(1, np.int64), sums["indptr.i64"])
            for counts, indices, weights in blocks:
                ends = n_entries + np.cumsum(counts, dtype=np.int64)
                n_nodes, n_entries = n_nodes + len(counts), n_entries + len(indices)
                if len(ends) and ends[-1] != n_entries:
                    raise InputError(f"{folder}: {n_entries:,} entries came for rows of {ends[-1]:,}.")
                _append(of_indptr, ends, sums["indptr.i64"])
                _append(of_indices, np.asarray(indices, dtype=np.int32), sums["indices.i32"])
                if weights is not None:
                    weights = np.asarray(weights, dtype=np.float32)
                    weighted = weighted or bool(np.any(weights != 1))
                    _append(of_weights, weights, sums["weights.f32"])
        if not weighted:
            (folder / "weights.f32").unlink()
            del sums["weights.f32"]
        checksums = {name: checksum.hexdigest() for name, checksum in sums.items()}
        head = {"format": FORMAT, "n_nodes": n_nodes, "n_entries": n_entries, "weighted": weighted}
        (folder / MANIFEST).write_text(json.dumps(head | {"checksums": checksums}, indent=1))
        return cls(folder, n_nodes, n_entries, weighted, checksums)

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
        refuse_resized(folder, file.sizes)
        return file

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of each file."""
        sizes = {"indptr.i64": 8 * (self.n_nodes + 1), "indices.i32": 4 * self.n_entries}
        return sizes | ({"weights.f32": 4 * self.n_entries} if self.weighted else {})

    def verify(self) -> None:
        """Refuse files whose contents are not those of the manifest, and rows that are not of this graph."""
        refuse_changed(self.folder, self.checksums)
        indptr = self.indptr
        if indptr[0] != 0 or indptr[-1] != self.n_entries or np.any(np.diff(indptr) < 0):
            raise InputError(f"{self.folder}: the rows of the graph do not lie one after another.")

    @cached_property
    def indptr(self) -> Array:
        """Where each row begins, mapped from disk."""
        return np.memmap(self.folder / "indptr.i64", dtype=np.int64, mode="r")

    @cached_property
    def indices(self) -> Array:
        """All columns, mapped from disk, for the few rows that are wanted at a time."""
        return _mapped(self.folder / "indices.i32", np.int32, self.n_entries)

    @cached_property
    def edge_weights(self) -> Array:
        """All weights, likewise."""
        return _mapped(self.folder / "weights.f32", np.float32, self.n_entries)

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

    @cached_property
    def mean_weight(self) -> float:
        """The unit that degrees are told in where only their ratios count; 1 without weights."""
        return float(self.edge_weights.mean(dtype=np.float64)) if self.weighted and self.n_entries else 1.0

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


def _mapped(path: Path, dtype: Any, size: int) -> Array:
    return np.memmap(path, dtype, "r") if size else np.empty(0, dtype)


def _append(file: Any, array: Array, checksum: Any) -> None:
    data = np.ascontiguousarray(array)
    checksum.update(data)
    data.tofile(file)


def checksum_of(path: Path) -> str:
    """The checksum of a whole file."""
    checksum = blake2b(digest_size=16)
    with path.open("rb") as file:
        while chunk := file.read(READ_BYTES):
            checksum.update(chunk)
    return checksum.hexdigest()


def refuse_resized(folder: Path, sizes: dict[str, int]) -> None:
    """Refuse files that are missing or of another size than their manifest names."""
    for name, size in sizes.items():
        found = (folder / name).stat().st_size if (folder / name).is_file() else None
        if found != size:
            came = "is not there" if found is None else f"has {found:,}"
            raise InputError(f"{folder / name} should have {size:,} bytes, but {came}. Copy it again.")


def refuse_changed(folder: Path, checksums: dict[str, str]) -> None:
    """Refuse files whose contents are not those that their manifest vouches for."""
    for name, expected in checksums.items():
        if checksum_of(folder / name) != expected:
            raise InputError(
                f"{folder / name} is not the file that {MANIFEST} vouches for: its checksum differs. Copy it again."
            )
