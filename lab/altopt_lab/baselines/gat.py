"""GAT (Velickovic et al., 2018) of PyTorch Geometric's GATConv."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.nn.functional import elu

from altopt.errors import InputError
from altopt.operator.kernels.dropout import Masks, dropout
from altopt_lab.baselines.attention import AttentionPattern, attend
from altopt_lab.baselines.baseline import GraphData
from altopt_lab.baselines.geometric import FirstLinear, layers
from altopt_lab.baselines.graph_input import Batch, WholeGraph
from altopt_lab.baselines.products import Features
from altopt_lab.baselines.training import Network


@dataclass(kw_only=True, eq=False)
class GAT(Network):
    """Every node attends to its neighbours and itself with `heads` heads, whose widths add up to `hidden`; the last
    layer has one. Dropout of the inputs of each layer and of the attention.

    Parameters
    ----------
    heads : int
    **settings
        Those of `Network`.

    Examples
    --------
    >>> from altopt.datasets import communities
    >>> from altopt.datasets.splits import hide
    >>> data = communities(n_nodes=200, n_classes=2, seed=0)
    >>> model = GAT(n_epochs=20, hidden=16, heads=2).fit(data.X, hide(data.y, range(20)), data.graph)
    >>> bool((model.transduction_ == data.y).mean() > 0.9)
    True
    """

    method: ClassVar[str] = "GAT"
    heads: int = 8

    def prepare(self, data: GraphData) -> WholeGraph:
        return WholeGraph(Features(data.X, self.scale_rows), AttentionPattern(data.graph.adjacency))

    def network(self, n_features: int, n_classes: int, masks: Masks) -> torch.nn.Module:
        if self.hidden % self.heads:
            raise InputError(f"hidden={self.hidden} cannot be shared out evenly to heads={self.heads}.")
        return GATModule(n_features, n_classes, self, masks)


class GATModule(torch.nn.Module):
    def __init__(self, n_features: int, n_classes: int, settings: GAT, masks: Masks) -> None:
        super().__init__()
        hidden, heads = settings.hidden, settings.heads
        self.rate, self.masks = settings.dropout, masks
        convolution: Any = layers().GATConv
        options = {"dropout": self.rate, "add_self_loops": False}  # the graph has them already
        widths = [n_features] + [hidden] * (settings.n_layers - 1)
        self.layers = torch.nn.ModuleList(
            convolution(width, hidden // heads, heads, **options) for width in widths[:-1]
        )
        self.layers.append(convolution(widths[-1], n_classes, 1, **options))
        first = self.layers[0]
        self.first, first.lin = FirstLinear(first.lin, self.rate, masks), torch.nn.Identity()

    def forward(self, batch: Batch) -> torch.Tensor:
        layer: Any
        H = attend(self.layers[0], self.first(batch.X), batch.A, self.rate, self.masks)
        for layer in self.layers[1:]:
            H = elu(H)
            if self.training and self.rate > 0:
                H = H * dropout(torch.ones_like(H), self.rate, self.masks)
            H = attend(layer, layer.lin(H), batch.A, self.rate, self.masks)
        return batch.select(H)
