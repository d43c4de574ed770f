"""What a data set is: features, true labels, a graph or none, and the splits that came with it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.graph import Graph


@dataclass(frozen=True)
class Dataset:
    """Nodes with features and known true labels, ready for `splits` and `AltOpt.fit`."""

    name: str
    X: Any  # n x d, dense or scipy sparse, as the source has it
    y: Array  # the true class number of every node
    graph: Graph | None  # None: made for the k-nearest-neighbour graph that AltOpt builds from X
    splits: dict[str, Array] | None  # bool masks "train", "validation", "test", each (n_splits, n_nodes)
    note: str  # where it comes from and what to know

    def only(self, nodes: Array) -> "Dataset":
        """These nodes, in this order, and the edges among them: nothing else is left in it."""
        splits = (
            None if self.splits is None else {part: masks[:, nodes] for part, masks in self.splits.items()}
        )
        graph = None if self.graph is None else subgraph(self.graph, nodes)
        return replace(self, X=self.X[nodes], y=self.y[nodes], graph=graph, splits=splits)

    def largest_component(self) -> "Dataset":
        """The largest connected part of the graph; equal ones: the one that holds the first node of them."""
        if self.graph is None:
            return self
        part = self.graph.components
        return self.only(np.flatnonzero(part == np.bincount(part).argmax()))


def subgraph(graph: Graph, nodes: Array) -> Graph:
    """The graph of these nodes alone, numbered anew from 0 in the given order."""
    directed = graph.directed_adjacency is not None
    A = graph.directed_adjacency if directed else graph.adjacency
    return Graph(A[nodes][:, nodes], directed=directed)
