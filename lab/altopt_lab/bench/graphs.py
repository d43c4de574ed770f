"""The graphs of the benchmarks: three sizes, generated once from a seed and kept on disk."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.datasets.communities import generate
from altopt.datasets.splits import fraction, hide, per_class
from altopt.errors import InputError
from altopt.operator import NormalizedAdjacency

SEED = 0
VERSION = 1  # of the generator: raised when the same seed would give other arrays
SIGNAL = 0.35


@dataclass(frozen=True)
class Size:
    """The size of a generated graph, after a well-known graph of that name.

    Parameters
    ----------
    name : str
    n_nodes, n_edges, n_classes, n_features : int
    features : "dense" or "words"
    hidden : tuple of int
        Hidden layers of the encoder.
    gnn_hidden : tuple of int
        Hidden layers of graph networks; at products size there is no memory for more.
    train_share : float
        Share of labelled nodes in the graph it is named after.
    per_class : int or None
        Labels of each class; None: a tenth of all nodes.
    growth_base : int
        Nodes at 1x of the benchmark of growth.

    Examples
    --------
    >>> SIZES["cora"].facts()
    '2,708 nodes, 5,278 edges, 7 classes, 1,433 features, seed 0, labels: 20 of each class'
    """

    name: str
    n_nodes: int
    n_edges: int
    n_classes: int
    n_features: int
    features: Literal["dense", "words"]
    hidden: tuple[int, ...]
    gnn_hidden: tuple[int, ...]
    train_share: float
    per_class: int | None
    growth_base: int

    def labelled(self) -> str:
        return "10 % of the nodes" if self.per_class is None else f"{self.per_class} of each class"

    def facts(self) -> str:
        return (
            f"{self.n_nodes:,} nodes, {self.n_edges:,} edges, {self.n_classes} classes, "
            f"{self.n_features:,} features, seed {SEED}, labels: {self.labelled()}"
        )


SIZES = {
    size.name: size
    for size in (
        Size("cora", 2_708, 5_278, 7, 1_433, "words", (64,), (64,), 0.052, 20, 10_000),
        Size("arxiv", 169_343, 1_166_243, 40, 128, "dense", (256, 256), (256, 256), 0.54, None, 169_343),
        Size("products", 2_449_029, 61_859_140, 47, 100, "dense", (256, 256), (64,), 0.08, None, 306_128),
    )
}


def grown(size: Size, times: int) -> Size:
    """The graph that growth is measured on, `times` as large as its base, with the same degrees and features."""
    n = size.growth_base * times
    n_edges = round(size.n_edges * n / size.n_nodes)
    return replace(size, name=f"{size.name}-{times}x", n_nodes=n, n_edges=n_edges, per_class=None)


def find(name: str) -> Size:
    """A size by name; "arxiv-4x" is the fourfold of arxiv's base."""
    base, _, times = name.partition("-")
    if base not in SIZES or (times and not times[:-1].isdigit()):
        raise InputError(f"size must be one of {', '.join(SIZES)}, but is {name!r}.")
    return grown(SIZES[base], int(times[:-1])) if times else SIZES[base]


@dataclass(frozen=True)
class Case:
    """The arrays of one size.

    Parameters
    ----------
    size : Size
    indptr, indices : array
        The adjacency in CSR form.
    X : array or sparse array of shape (n_nodes, n_features)
    y : array of shape (n_nodes,)
    labelled : array of int or None
        The labelled nodes; None: as many as the size says.
    """

    size: Size
    indptr: Array
    indices: Array
    X: Any
    y: Array
    labelled: Array | None = None

    @property
    def nnz(self) -> int:
        return len(self.indices)

    @property
    def numbers(self) -> int:
        """Numbers in the encoder's input, by which a fit decides how many threads it uses."""
        return self.size.n_nodes * min(self.size.n_features, 256)

    @cached_property
    def operator(self) -> NormalizedAdjacency:
        return NormalizedAdjacency(self.adjacency())

    def adjacency(self) -> Any:
        n = self.size.n_nodes
        return sp.csr_array((np.ones(self.nnz, dtype=np.float32), self.indices, self.indptr), shape=(n, n))

    @cached_property
    def values(self) -> Array:
        """The entries of A_tilde in single precision, for peers."""
        return np.asarray(self.operator.matrix.data, dtype=np.float32)

    @cached_property
    def train(self) -> Array:
        """The labelled nodes: `labelled` where given, else as many as the size says."""
        if self.labelled is not None:
            return self.labelled
        if self.size.per_class is None:
            return fraction(self.y, 0.1, seed=SEED).train
        return per_class(self.y, self.size.per_class, n_validation=0, n_test=0, seed=SEED).train

    def known(self, nodes: Array | None = None) -> Array:
        """y with -1 for all nodes but these."""
        return hide(self.y, self.train if nodes is None else nodes)

    def dense_X(self) -> Array:
        return np.asarray(self.X.toarray() if sp.issparse(self.X) else self.X, dtype=np.float32)


def cache_folder() -> Path:
    """The folder of generated graphs: ALTOPT_CACHE, or the platform's cache folder."""
    given = os.environ.get("ALTOPT_CACHE")
    if given:
        return Path(given)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "altopt" / "bench"
    fallback = Path.home() / ("AppData/Local" if os.name == "nt" else ".cache")
    root = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    return Path(root or fallback) / "altopt" / "bench"


def load(size: Size, log: Callable[[str], None] = lambda line: None) -> Case:
    """The arrays of a size, generated if they are not on disk yet."""
    folder = cache_folder() / f"{size.name}-seed{SEED}-v{VERSION}"
    if not folder.is_dir():
        log(f"generating {size.name}: {size.n_nodes:,} nodes, {size.n_edges:,} edges, kept in {folder}")
        make(size, folder)
    arrays = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    X = arrays.get("X")
    if X is None:
        parts = (arrays["X_data"], arrays["X_indices"], arrays["X_indptr"])
        X = sp.csr_array(parts, shape=(size.n_nodes, size.n_features))
    return Case(size, arrays["indptr"], arrays["indices"], X, arrays["y"])


def make(size: Size, folder: Path) -> None:
    """Generate a size into a folder that appears whole or not at all."""
    made = generate(
        size.n_nodes, size.n_classes, 0.0, size.n_edges, size.n_features, size.features, SIGNAL, SEED
    )
    arrays = {"indptr": made.indptr, "indices": made.indices, "y": made.y}
    if sp.issparse(made.X):
        arrays |= {"X_data": made.X.data, "X_indices": made.X.indices, "X_indptr": made.X.indptr}
    else:
        arrays["X"] = made.X
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for name, array in arrays.items():
            np.save(fresh / f"{name}.npy", array)
        try:
            fresh.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another run was first with the same arrays
                raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
