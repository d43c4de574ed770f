"""LINKX (Lim et al., 2021): one perceptron reads a node's features, another its row of the adjacency matrix."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.operator.kernels.dropout import Masks
from altopt_lab.baselines.baseline import EpochCallback, GraphData, SearchSpace, ValidationSet
from altopt_lab.baselines.geometric import FirstLinear, layers
from altopt_lab.baselines.graph_input import Batch, WholeGraph
from altopt_lab.baselines.products import Features
from altopt_lab.baselines.training import Network


@dataclass(kw_only=True, eq=False)
class LINKX(Network):
    """softmax(MLP(relu(W [hA, hX] + hA + hX))), hA = A W1, hX = X W2; PyTorch Geometric's LINKX.

    It has weights for every node of the graph it was trained in, and cannot be applied to another one. Rows are those
    of the given direction, "out" (whom a node points to), "in", or "both"; on an undirected graph all the same.

    Parameters
    ----------
    direction : "out", "in" or "both"
    **settings
        Those of `Network`.

    Examples
    --------
    >>> from altopt.datasets import communities
    >>> from altopt.datasets.splits import hide
    >>> data = communities(n_nodes=200, n_classes=2, seed=0)
    >>> model = LINKX(n_epochs=30).fit(data.X, hide(data.y, range(20)), data.graph)
    >>> bool((model.transduction_ == data.y).mean() > 0.75)
    True
    """

    method: ClassVar[str] = "LINKX"
    inductive: ClassVar[bool] = False
    why_transductive: ClassVar[str] = "it learns weights for every node of its graph"
    direction: str = "out"

    @classmethod
    def search_space(cls, *, inductive: bool = False) -> SearchSpace:
        return {**super().search_space(), "n_layers": (2, 3), "direction": ("out", "in", "both")}

    def _learn(
        self, data: GraphData, validation: ValidationSet | None, seed: int, on_epoch: EpochCallback | None
    ) -> Array:
        self.n_nodes_ = data.X.shape[0]
        return super()._learn(data, validation, seed, on_epoch)

    def prepare(self, data: GraphData) -> WholeGraph:
        if self.direction not in ("out", "in", "both"):
            raise InputError(f"direction is {self.direction!r}, but must be 'out', 'in' or 'both'.")
        A = data.graph.directed_adjacency
        if A is None or self.direction == "both":
            A = data.graph.adjacency
        A = A.T if self.direction == "in" else A
        return WholeGraph(Features(data.X, self.scale_rows), Features(A))

    def network(self, n_features: int, n_classes: int, masks: Masks) -> torch.nn.Module:
        return LINKXModule(n_features, n_classes, self, masks)


class LINKXModule(torch.nn.Module):
    def __init__(self, n_features: int, n_classes: int, settings: LINKX, masks: Masks) -> None:
        super().__init__()
        n, hidden = settings.n_nodes_, settings.hidden
        theirs: Any = layers().LINKX(
            1, n_features, hidden, n_classes, settings.n_layers - 1, dropout=settings.dropout
        )
        self.edges = FirstLinear(torch.nn.Linear(n, hidden), 0.0, masks)
        self.nodes = FirstLinear(theirs.node_mlp.lins[0], settings.dropout, masks)
        self.of_edges, self.of_nodes, self.last = theirs.cat_lin1, theirs.cat_lin2, theirs.final_mlp

    def forward(self, batch: Batch) -> torch.Tensor:
        links, words = self.edges(batch.A), self.nodes(batch.X)
        H = links + words + self.of_edges(links) + self.of_nodes(words)
        return batch.select(self.last(torch.relu(H)))
