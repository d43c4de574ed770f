"""A whole graph as a network that scores all nodes at once sees it."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from altopt.arrays import Array
from altopt_lab.baselines.baseline import GraphData
from altopt_lab.baselines.products import Features, Propagation


class Batch(NamedTuple):
    """All nodes' features, the graph, and the nodes whose scores are wanted (None: all)."""

    X: Features
    A: Any
    nodes: torch.Tensor | None

    def select(self, scores: torch.Tensor) -> torch.Tensor:
        return scores if self.nodes is None else scores[self.nodes]


@dataclass(frozen=True)
class WholeGraph:
    X: Features
    A: Any

    def batch(self, nodes: Array | None) -> Batch:
        return Batch(self.X, self.A, None if nodes is None else torch.from_numpy(nodes))


def whole_graph(data: GraphData, scale_rows: bool) -> WholeGraph:
    """The features and A_tilde with self-loops."""
    return WholeGraph(Features(data.X, scale_rows), Propagation(data.graph.adjacency))
