"""Benchmark graphs, from raw files that lie in PyTorch Geometric's layout under one folder."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.datasets.dataset import Dataset
from altopt.errors import InputError
from altopt.graph import Graph


@dataclass(frozen=True)
class Source:
    """Where a data set's raw files lie under the data folder, and what reads them."""

    name: str
    folder: str
    files: tuple[str, ...]
    read: Callable[["Source", Path], Dataset]
    note: str

    def missing(self, root: Path) -> list[str]:
        return [file for file in self.files if not (root / self.folder / file).is_file()]


def data_folder(data: str | Path | None = None) -> Path:
    """The folder given, else the one that ALTOPT_DATA names, else ./data."""
    return Path(data or os.environ.get("ALTOPT_DATA") or "data").expanduser()


def read(source: Source, data: str | Path | None = None) -> Dataset:
    """The data set of `source`; nothing is written to disk."""
    root = data_folder(data)
    missing = source.missing(root)
    if missing:
        raise InputError(
            f"{source.name} needs {missing[0]} in {root / source.folder}, but it is not there. "
            "Put the raw files there, or name the folder that holds them (the root above "
            f"{source.folder}) in the environment variable ALTOPT_DATA."
        )
    return source.read(source, root / source.folder)


def read_planetoid(source: Source, folder: Path) -> Dataset:
    data = torch_geometric_io().read_planetoid_data(str(folder), source.name)
    masks = {"train": data.train_mask, "validation": data.val_mask, "test": data.test_mask}
    splits = {part: mask.numpy()[None, :] for part, mask in masks.items()}
    return from_data(source, data, splits)


def read_npz(source: Source, folder: Path) -> Dataset:
    return from_data(source, torch_geometric_io().read_npz(str(folder / source.files[0])), None)


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
        with np.load(folder / file) as masks:
            for part, key in zip(parts, ("train_mask", "val_mask", "test_mask")):
                parts[part].append(masks[key].astype(bool))
    splits = {part: np.stack(masks) for part, masks in parts.items()}
    graph = Graph(adjacency(ends, len(y)), directed=True)
    return Dataset(source.name, sp.csr_array(X), y, graph, splits, source.note)


def read_filtered(source: Source, folder: Path) -> Dataset:
    with np.load(folder / source.files[0]) as data:
        X, y, ends = sp.csr_array(data["node_features"]), data["node_labels"], data["edges"].T
        keys = {"train": "train_masks", "validation": "val_masks", "test": "test_masks"}
        splits = {part: data[key].astype(bool) for part, key in keys.items()}
    A = adjacency(ends, len(y))
    return Dataset(source.name, X, y, Graph(A.maximum(A.T)), splits, source.note)


def torch_geometric_io() -> Any:
    try:
        import torch_geometric.io
    except ImportError as cause:
        raise InputError(
            "This data set is read by torch_geometric, which is not installed. "
            "Install it with: pip install 'altopt[graphs]'"
        ) from cause
    return torch_geometric.io


def from_data(source: Source, data: Any, splits: dict[str, Array] | None) -> Dataset:
    y = data.y.numpy()
    graph = Graph(adjacency(data.edge_index.numpy(), len(y)))
    return Dataset(source.name, sp.csr_array(data.x.numpy()), y, graph, splits, source.note)


def adjacency(ends: Array, n_nodes: int) -> sp.csr_array:
    """A_ij = 1 where an edge leads from i to j, however often it is named."""
    A = sp.coo_array((np.ones(ends.shape[1]), tuple(ends)), shape=(n_nodes, n_nodes)).tocsr()
    A.data[:] = 1.0
    return A


def planetoid(name: str, note: str) -> Source:
    parts = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    files = tuple(f"ind.{name.lower()}.{part}" for part in parts)
    note += " The files are pickles: take them from a source you trust."
    return Source(name, f"planetoid/{name}/raw", files, read_planetoid, note)


def wikipedia(name: str) -> Source:
    tables = ("out1_node_feature_label.txt", "out1_graph_edges.txt")
    files = tables + tuple(f"{name}_split_0.6_0.2_{i}.npz" for i in range(10))
    note = (
        "Wikipedia pages and their links, which have a direction. Holds duplicated nodes that leak from "
        f"training to test: report {name}-filtered beside it."
    )
    return Source(name, f"wikipedia_network/{name}/geom_gcn/raw", files, read_geom_gcn, note)


def filtered(name: str) -> Source:
    note = f"{name} without its duplicated nodes."
    folder = f"heterophilous/{name}_filtered/raw"
    return Source(f"{name}-filtered", folder, (f"{name}_filtered.npz",), read_filtered, note)


def npz(name: str, folder: str, file: str, note: str) -> Source:
    note += " Features are 0/1; no split given."
    return Source(name, f"{folder}/{name}/raw", (file,), read_npz, note)


SOURCES = [
    planetoid("Cora", "Machine learning papers and their citations."),
    planetoid("CiteSeer", "Computing papers and their citations; 15 have no words and count as class 0."),
    planetoid("PubMed", "Diabetes papers and their citations; TF-IDF words."),
    npz("CS", "coauthor", "ms_academic_cs.npz", "Computer scientists who wrote papers together."),
    npz("Physics", "coauthor", "ms_academic_phy.npz", "Physicists who wrote papers together."),
    npz("Computers", "amazon", "amazon_electronics_computers.npz", "Computer goods bought together."),
    npz("Photo", "amazon", "amazon_electronics_photo.npz", "Photo goods bought together."),
    wikipedia("chameleon"),
    wikipedia("squirrel"),
    filtered("chameleon"),
    filtered("squirrel"),
]
