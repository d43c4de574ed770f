"""The input of networks that compute the scores of all nodes at once: features and a matrix of the graph."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from altopt.arrays import Array
from altopt_lab.baselines.baseline import GraphData
from altopt_lab.baselines.products import Features, Propagation


class Batch(NamedTuple):
    """Features, the graph, and the nodes to score.

    Parameters
    ----------
    X : Features
        Of all nodes.
    A : Propagation or another matrix
        Whatever the network propagates with.
    nodes : tensor or None
        None: all nodes.
    """

    X: Features
    A: Any
    nodes: torch.Tensor | None

    def select(self, scores: torch.Tensor) -> torch.Tensor:
        return scores if self.nodes is None else scores[self.nodes]


@dataclass(frozen=True)
class WholeGraph:
    """A graph of which every batch holds all nodes."""

    X: Features
    A: Any

    def batch(self, nodes: Array | None) -> Batch:
        return Batch(self.X, self.A, None if nodes is None else torch.from_numpy(nodes))


def whole_graph(data: GraphData, scale_rows: bool) -> WholeGraph:
    """The features and A_tilde with self-loops."""
    return WholeGraph(Features(data.X, scale_rows), Propagation(data.graph.adjacency))
