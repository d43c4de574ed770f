"""Benchmark graphs from raw files under one folder, in PyTorch Geometric's layout."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.datasets import planetoid
from altopt.datasets.dataset import Dataset
from altopt.datasets.download import Origin, fetch
from altopt.errors import InputError
from altopt.graph import Graph
from altopt.graph.matrices import csr_of

GENDER = 1  # the column of a school's file that is the class


@dataclass(frozen=True)
class Source:
    """The location of a data set's raw files under the data folder, and their reader."""

    name: str
    folder: str
    files: tuple[str, ...]
    read: Callable[["Source", Path], Dataset]
    note: str
    origin: Origin
    also: tuple[str, ...] = ()  # other folders in which people keep the same files

    def missing(self, root: Path) -> list[str]:
        """The files that are not on disk."""
        place = self.place(root)
        return [file for file in self.files if not (place / file).is_file()]

    def place(self, root: Path) -> Path:
        """The folder of the files, on disk or to be."""
        places = [root / folder for folder in (self.folder, *self.also)]
        return next((place for place in places if (place / self.files[0]).is_file()), places[0])


def data_folder(data: str | Path | None = None) -> Path:
    """The folder given, else the one that ALTOPT_DATA names, else ./data."""
    return Path(data or os.environ.get("ALTOPT_DATA") or "data").expanduser()


def read(source: Source, data: str | Path | None = None, *, download: bool = False) -> Dataset:
    """The data set of `source`; nothing is written to disk unless `download` is asked for and files are missing."""
    root = data_folder(data)
    missing = source.missing(root)
    if missing and download:
        fetch(source.name, source.origin, root, source.folder, source.files)
        missing = source.missing(root)
    if missing:
        raise InputError(
            f"{source.name} needs {missing[0]} in {root / source.folder}, but it is not on disk. "
            f"Fetch it with: altopt datasets get {source.name}. Or put the raw files there, or name the folder that "
            f"holds them (the root above {source.folder}) in the environment variable ALTOPT_DATA."
        )
    place = source.place(root)
    try:
        return source.read(source, place)
    except InputError:
        raise
    except (ValueError, KeyError, IndexError, TypeError, OSError, EOFError, BadZipFile) as cause:
        raise InputError(
            f"The raw files of {source.name} in {place} cannot be read ({cause}). Remove and fetch them again."
        ) from cause


def read_planetoid(source: Source, folder: Path) -> Dataset:
    X, y, ends, parts = planetoid.read_files(folder, source.name.lower())
    return Dataset(source.name, X, y, Graph(adjacency(ends, len(y))), masks(len(y), **parts), source.note)


def read_npz(source: Source, folder: Path) -> Dataset:
    """Two CSR matrices in parts and the labels; edges go both ways, features are 0/1."""
    with np.load(folder / source.files[0]) as held:
        X, A = (matrix_in(held, name) for name in ("attr", "adj"))
        y = held["labels"].astype(np.int64)
    X = sp.csr_array(X, dtype=np.float32)
    X.sum_duplicates()
    X.eliminate_zeros()
    X.data[X.data > 0] = 1.0
    A = adjacency(np.stack(A.nonzero()), len(y))
    A.setdiag(0)
    A.eliminate_zeros()
    return Dataset(source.name, X, y, Graph(A.maximum(A.T)), None, source.note)


def matrix_in(held: Any, name: str) -> sp.csr_array:
    data, indices, indptr = (held[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return csr_of(data, indices, indptr, tuple(held[f"{name}_shape"].tolist()), f"The matrix {name}")


def read_geom_gcn(source: Source, folder: Path) -> Dataset:
    """Directed; a text line per node (number, comma-separated features, class) and one per edge."""
    lines = (folder / source.files[0]).read_text().splitlines()[1:]
    rows = [line.split("\t") for line in lines]
    nodes = np.array([int(node) for node, _, _ in rows])
    X, y = np.empty((len(rows), rows[0][1].count(",") + 1), np.float32), np.empty(len(rows), np.int64)
    X[nodes] = [np.fromstring(features, np.float32, sep=",") for _, features, _ in rows]
    y[nodes] = [int(label) for _, _, label in rows]
    ends = np.loadtxt(folder / source.files[1], dtype=np.int64, skiprows=1).T
    parts: dict[str, list[Array]] = {"train": [], "validation": [], "test": []}
    for file in source.files[2:]:
        with np.load(folder / file) as given:
            for part, key in zip(parts, ("train_mask", "val_mask", "test_mask")):
                parts[part].append(given[key].astype(bool))
    splits = {part: np.stack(one_each) for part, one_each in parts.items()}
    graph = Graph(adjacency(ends, len(y)), directed=True)
    return Dataset(source.name, sp.csr_array(X), y, graph, splits, source.note)


def read_heterophilous(source: Source, folder: Path) -> Dataset:
    """One npz with edges both ways or one way and ten splits; words are kept sparse."""
    with np.load(folder / source.files[0]) as data:
        X, y, ends = data["node_features"], data["node_labels"].astype(np.int64), data["edges"].T
        keys = {"train": "train_masks", "validation": "val_masks", "test": "test_masks"}
        splits = {part: data[key].astype(bool) for part, key in keys.items()}
    A = adjacency(ends, len(y))
    X = sp.csr_array(X) if np.count_nonzero(X) < X.size / 2 else X
    return Dataset(source.name, X, y, Graph(A.maximum(A.T)), splits, source.note)


def read_facebook(source: Source, folder: Path) -> Dataset:
    """A school in a MATLAB file: friendships, and columns of codes, of which the second, gender, is the class."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        held = loadmat(folder / source.files[0], variable_names=("A", "local_info"))
    except (MatReadError, NotImplementedError) as cause:
        raise InputError(
            f"{folder / source.files[0]} is not a file of MATLAB 5: {cause}. Fetch it anew."
        ) from cause
    codes = held["local_info"].astype(np.int64)
    columns = [codes[:, [k]] == np.unique(codes[:, k]) for k in range(codes.shape[1]) if k != GENDER]
    X = sp.csr_array(np.hstack(columns), dtype=np.float32)
    A = adjacency(np.stack(held["A"].nonzero()), len(codes))
    return Dataset(source.name, X, codes[:, GENDER] - 1, Graph(A.maximum(A.T)), None, source.note)


def masks(n_nodes: int, **parts: Array) -> dict[str, Array]:
    """A single split, from the node numbers of its parts."""
    split = {part: np.zeros((1, n_nodes), dtype=bool) for part in parts}
    for part, nodes in parts.items():
        split[part][0, nodes] = True
    return split


def adjacency(ends: Array, n_nodes: int) -> sp.csr_array:
    """A_ij = 1 where an edge leads from i to j, however often it is named."""
    A = sp.coo_array((np.ones(ends.shape[1], np.float32), tuple(ends)), shape=(n_nodes, n_nodes)).tocsr()
    A.data[:] = 1.0
    return A
