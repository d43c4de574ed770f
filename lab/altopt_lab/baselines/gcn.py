"""GCN (Kipf and Welling, 2017) of PyTorch Geometric's GCNConv."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch

from altopt.operator.kernels.dropout import Masks
from altopt_lab.baselines.baseline import GraphData
from altopt_lab.baselines.geometric import FirstLinear, layers, with_our_product
from altopt_lab.baselines.graph_input import Batch, WholeGraph, whole_graph
from altopt_lab.baselines.modules import relu_and_dropout
from altopt_lab.baselines.training import Network


@dataclass(kw_only=True, eq=False)
class GCN(Network):
    """softmax(A_tilde relu(A_tilde X W1) W2), A_tilde with self-loops; dropout before each layer.

    Parameters
    ----------
    **settings
        Those of `Network`.

    Examples
    --------
    >>> from altopt.datasets import communities
    >>> from altopt.datasets.splits import hide
    >>> data = communities(n_nodes=200, n_classes=2, seed=0)
    >>> model = GCN(n_epochs=30).fit(data.X, hide(data.y, range(20)), data.graph)
    >>> bool((model.transduction_ == data.y).mean() > 0.9)
    True
    """

    method: ClassVar[str] = "GCN"

    def prepare(self, data: GraphData) -> WholeGraph:
        return whole_graph(data, self.scale_rows)

    def network(self, n_features: int, n_classes: int, masks: Masks) -> torch.nn.Module:
        hidden = (self.hidden,) * (self.n_layers - 1)
        return GCNModule((n_features, *hidden, n_classes), self.dropout, masks)


class GCNModule(torch.nn.Module):
    def __init__(self, widths: tuple[int, ...], rate: float, masks: Masks) -> None:
        super().__init__()
        convolution = layers().GCNConv
        self.layers = torch.nn.ModuleList(
            with_our_product(convolution(a, b, normalize=False)) for a, b in pairwise(widths)
        )
        first = self.layers[0]
        self.first, first.lin = FirstLinear(first.lin, rate, masks), torch.nn.Identity()
        self.rate, self.masks = rate, masks

    def forward(self, batch: Batch) -> torch.Tensor:
        H = self.layers[0](self.first(batch.X), batch.A)
        for layer in self.layers[1:]:
            H = layer(relu_and_dropout(H, self.rate, self.masks, self.training), batch.A)
        return batch.select(H)
