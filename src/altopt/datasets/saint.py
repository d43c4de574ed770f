"""Reddit and Flickr, the graphs of the inductive protocol, from their published files."""

import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from altopt.datasets.dataset import Dataset
from altopt.datasets.raw import Source, masks
from altopt.errors import InputError
from altopt.graph import Graph
from altopt.graph.matrices import csr_of

TRAIN, VALIDATION, TEST = 1, 2, 3  # node_types of Reddit's file


def read_reddit(source: Source, folder: Path) -> Dataset:
    """Features, labels and roles in one npz, a scipy matrix in another."""
    with np.load(folder / "reddit_data.npz") as data:
        X, y, role = data["feature"], data["label"].astype(np.int64), data["node_types"]
    held = sp.coo_array(sp.load_npz(folder / "reddit_graph.npz"))
    n = min(held.shape)
    if held.nnz and (min(map(np.min, held.coords)) < 0 or max(map(np.max, held.coords)) >= n):
        raise InputError(
            f"{folder / 'reddit_graph.npz'} has edges outside of its {n:,} nodes. Fetch it anew."
        )
    A = ones(held)
    parts = {"train": TRAIN, "validation": VALIDATION, "test": TEST}
    splits = masks(len(y), **{part: np.flatnonzero(role == number) for part, number in parts.items()})
    return Dataset(source.name, X.astype(np.float32, copy=False), y, undirected(A), splits, source.note)


def read_flickr(source: Source, folder: Path) -> Dataset:
    """A CSR matrix in parts, features in an array, labels and roles in JSON by node number."""
    with np.load(folder / "adj_full.npz") as given:
        parts, shape = (given["data"], given["indices"], given["indptr"]), tuple(given["shape"].tolist())
        A = ones(csr_of(*parts, shape, "adj_full.npz"))
    X = np.load(folder / "feats.npy").astype(np.float32)
    y = np.full(len(X), -1, dtype=np.int64)
    for node, label in json.loads((folder / "class_map.json").read_text()).items():
        y[int(node)] = label
    role = json.loads((folder / "role.json").read_text())
    splits = masks(len(y), train=role["tr"], validation=role["va"], test=role["te"])
    return Dataset(source.name, X, y, undirected(A), splits, source.note)


def ones(A: sp.sparray) -> sp.csr_array:
    """The same edges, each of weight one however often it is named."""
    A = sp.csr_array(A, dtype=np.float32)
    A.sum_duplicates()
    A.data[:] = 1.0
    return A


def undirected(A: sp.csr_array) -> Graph:
    return Graph(A.maximum(A.T))
