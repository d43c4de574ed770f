"""LINKX (Lim et al., 2021): one perceptron reads a node's features, another its row of the adjacency matrix."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.operator.kernels.dropout import Masks
from altopt_lab.baselines.baseline import Judges, Place, SearchSpace, Until
from altopt_lab.baselines.geometric import FirstLinear, layers
from altopt_lab.baselines.products import Features
from altopt_lab.baselines.surroundings import Seen, WholeGraph
from altopt_lab.baselines.training import Network


@dataclass(kw_only=True, eq=False)
class LINKX(Network):
    """softmax(MLP(relu(W [hA, hX] + hA + hX))), hA = A W1, hX = X W2; PyTorch Geometric's LINKX.

    It has weights for every node of the graph it was trained in, and cannot be applied to another one. Rows are those
    of the given direction, "out" (whom a node points to), "in", or "both"; on an undirected graph all the same.
    """

    method: ClassVar[str] = "LINKX"
    carries_over: ClassVar[bool] = False
    stays_because: ClassVar[str] = "it learns weights for every node of its graph"
    direction: str = "out"

    @classmethod
    def search_space(cls, *, inductive: bool = False) -> SearchSpace:
        return {**super().search_space(), "n_layers": (2, 3), "direction": ("out", "in", "both")}

    def _learn(self, place: Place, judges: Judges | None, seed: int, until: Until | None) -> Array:
        self.n_nodes_ = place.X.shape[0]
        return super()._learn(place, judges, seed, until)

    def prepare(self, place: Place) -> WholeGraph:
        if self.direction not in ("out", "in", "both"):
            raise InputError(f"direction is {self.direction!r}, but must be 'out', 'in' or 'both'.")
        A = place.graph.directed_adjacency
        if A is None or self.direction == "both":
            A = place.graph.adjacency
        A = A.T if self.direction == "in" else A
        return WholeGraph(Features(place.X, self.scale_rows), Features(A))

    def network(self, n_features: int, n_classes: int, masks: Masks) -> torch.nn.Module:
        return Links(n_features, n_classes, self, masks)


class Links(torch.nn.Module):
    def __init__(self, n_features: int, n_classes: int, settings: LINKX, masks: Masks) -> None:
        super().__init__()
        n, hidden = settings.n_nodes_, settings.hidden
        theirs: Any = layers().LINKX(
            1, n_features, hidden, n_classes, settings.n_layers - 1, dropout=settings.dropout
        )
        self.edges = FirstLinear(torch.nn.Linear(n, hidden), 0.0, masks)
        self.nodes = FirstLinear(theirs.node_mlp.lins[0], settings.dropout, masks)
        self.of_edges, self.of_nodes, self.last = theirs.cat_lin1, theirs.cat_lin2, theirs.final_mlp

    def forward(self, seen: Seen) -> torch.Tensor:
        links, words = self.edges(seen.A), self.nodes(seen.X)
        H = links + words + self.of_edges(links) + self.of_nodes(words)
        return seen.chosen(self.last(torch.relu(H)))
