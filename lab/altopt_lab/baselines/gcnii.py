"""GCNII (Chen et al., 2020) of PyTorch Geometric's GCN2Conv."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from altopt.operator.kernels.dropout import Masks
from altopt_lab.baselines.baseline import GraphData, SearchSpace
from altopt_lab.baselines.geometric import FirstLinear, layers, with_our_product
from altopt_lab.baselines.graph_input import Batch, WholeGraph, whole_graph
from altopt_lab.baselines.modules import relu_and_dropout
from altopt_lab.baselines.training import Network


@dataclass(kw_only=True, eq=False)
class GCNII(Network):
    """H <- relu(((1 - restart) A_tilde H + restart H0) ((1 - b) I + b W)), b = log(theta / layer + 1), `depth` times,
    between two linear maps.

    Parameters
    ----------
    depth : int
    restart, theta : float
    **settings
        Those of `Network`.

    Examples
    --------
    >>> from altopt.datasets import communities
    >>> from altopt.datasets.splits import hide
    >>> data = communities(n_nodes=200, n_classes=2, seed=0)
    >>> model = GCNII(n_epochs=30, depth=4).fit(data.X, hide(data.y, range(20)), data.graph)
    >>> bool((model.transduction_ == data.y).mean() > 0.9)
    True
    """

    method: ClassVar[str] = "GCNII"
    depth: int = 8
    restart: float = 0.2
    theta: float = 1.5

    @classmethod
    def search_space(cls, *, inductive: bool = False) -> SearchSpace:
        return {
            **super().search_space(),
            "depth": (4, 8, 16),
            "restart": (0.1, 0.2, 0.5),
            "theta": (0.5, 1.0, 1.5),
        }

    def prepare(self, data: GraphData) -> WholeGraph:
        return whole_graph(data, self.scale_rows)

    def network(self, n_features: int, n_classes: int, masks: Masks) -> torch.nn.Module:
        return GCNIIModule(n_features, n_classes, self, masks)


class GCNIIModule(torch.nn.Module):
    def __init__(self, n_features: int, n_classes: int, settings: GCNII, masks: Masks) -> None:
        super().__init__()
        hidden, self.rate, self.masks = settings.hidden, settings.dropout, masks
        self.first = FirstLinear(torch.nn.Linear(n_features, hidden), self.rate, masks)
        self.layers = torch.nn.ModuleList(
            with_our_product(
                layers().GCN2Conv(hidden, settings.restart, settings.theta, k + 1, normalize=False)
            )
            for k in range(settings.depth)
        )
        self.last = torch.nn.Linear(hidden, n_classes)

    def forward(self, batch: Batch) -> torch.Tensor:
        H = start = relu_and_dropout(self.first(batch.X), self.rate, self.masks, self.training)
        for layer in self.layers:
            H = relu_and_dropout(layer(H, start, batch.A), self.rate, self.masks, self.training)
        return batch.select(self.last(H))
