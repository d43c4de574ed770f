"""Dataset: features, true labels, a graph or none, and the published splits."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.graph import Graph


@dataclass(frozen=True, repr=False)
class Dataset:
    """Nodes with features and true labels, ready for `altopt.datasets.splits` and `AltOpt.fit`.

    Attributes
    ----------
    name : str
        As `load` knows it.
    X : ndarray or csr_array of shape (n_nodes, n_features)
        Dense or sparse, as the source has it.
    y : ndarray of shape (n_nodes,)
        The true class of every node, -1 where the source has none.
    graph : Graph or None
        None: AltOpt builds the k-nearest-neighbour graph of X.
    splits : dict or None
        Boolean masks "train", "validation" and "test", each of shape (n_splits, n_nodes).
    note : str
        The source, and what to know about it.

    Examples
    --------
    >>> from altopt.datasets import communities
    >>> data = communities(100, 2, seed=0)
    >>> data.only(np.arange(50)).X.shape
    (50, 64)
    """

    name: str
    X: Any
    y: Array
    graph: Graph | None
    splits: dict[str, Array] | None
    note: str

    def __repr__(self) -> str:
        n_nodes, n_features = self.X.shape
        edges = "no graph" if self.graph is None else f"{self.graph.n_edges:,} edges"
        n_splits = 0 if self.splits is None else len(self.splits["train"])
        n_classes = len(np.unique(self.y[self.y >= 0]))
        shape = f"{n_nodes:,} nodes, {n_features:,} features, {edges}, {n_classes} classes, {n_splits} splits"
        return f"Dataset({self.name}: {shape})"

    def only(self, nodes: Array) -> "Dataset":
        """The data set induced by these nodes, in this order."""
        splits = (
            None if self.splits is None else {part: masks[:, nodes] for part, masks in self.splits.items()}
        )
        graph = None if self.graph is None else subgraph(self.graph, nodes)
        return replace(self, X=self.X[nodes], y=self.y[nodes], graph=graph, splits=splits)

    def largest_component(self) -> "Dataset":
        """The largest connected component; among equal ones, that of the first node."""
        if self.graph is None:
            return self
        component = self.graph.components
        return self.only(np.flatnonzero(component == np.bincount(component).argmax()))


def subgraph(graph: Graph, nodes: Array) -> Graph:
    """The induced subgraph, its nodes numbered from 0 in the given order."""
    directed = graph.directed_adjacency is not None
    A = graph.directed_adjacency if directed else graph.adjacency
    return Graph(A[nodes][:, nodes], directed=directed)
