"""MixHop (Abu-El-Haija et al., 2019) of PyTorch Geometric's MixHopConv."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from altopt.operator.kernels.dropout import Masks
from altopt_lab.baselines.baseline import GraphData, SearchSpace
from altopt_lab.baselines.geometric import FirstLinear, layers, with_our_product
from altopt_lab.baselines.graph_input import Batch, WholeGraph, whole_graph
from altopt_lab.baselines.modules import relu_and_dropout
from altopt_lab.baselines.sgc import Hop
from altopt_lab.baselines.training import Network


@dataclass(kw_only=True, eq=False)
class MixHop(Network):
    """Each layer sets H W0, A_tilde H W1, ..., A_tilde^K H WK side by side; a linear map of the last one.

    `hidden` is the width of each part, `n_layers` counts the linear map.

    Parameters
    ----------
    n_steps : int
        The largest power of A_tilde.
    **settings
        Those of `Network`.

    Examples
    --------
    >>> from altopt.datasets import communities
    >>> from altopt.datasets.splits import hide
    >>> data = communities(n_nodes=200, n_classes=2, seed=0)
    >>> model = MixHop(n_epochs=30).fit(data.X, hide(data.y, range(20)), data.graph)
    >>> bool((model.transduction_ == data.y).mean() > 0.9)
    True
    """

    method: ClassVar[str] = "MixHop"
    n_steps: int = 2

    @classmethod
    def search_space(cls, *, inductive: bool = False) -> SearchSpace:
        return {**super().search_space(), "n_layers": (2, 3)}

    def prepare(self, data: GraphData) -> WholeGraph:
        return whole_graph(data, self.scale_rows)

    def network(self, n_features: int, n_classes: int, masks: Masks) -> torch.nn.Module:
        return MixHopModule(n_features, n_classes, self, masks)


class MixHopModule(torch.nn.Module):
    def __init__(self, n_features: int, n_classes: int, settings: MixHop, masks: Masks) -> None:
        super().__init__()
        powers = list(range(settings.n_steps + 1))
        width = len(powers) * settings.hidden
        widths = [n_features] + [width] * (settings.n_layers - 2)
        self.layers = torch.nn.ModuleList(
            with_our_product(layers().MixHopConv(a, settings.hidden, powers)) for a in widths
        )
        first: Any = self.layers[0]
        self.first = torch.nn.ModuleList(FirstLinear(lin, settings.dropout, masks) for lin in first.lins)
        self.last = torch.nn.Linear(width, n_classes)
        self.rate, self.masks = settings.dropout, masks

    def forward(self, batch: Batch) -> torch.Tensor:
        convolution: Any = self.layers[0]
        # the powers of A_tilde go to X W, which is narrow, rather than to X
        parts = [lin(Hop(batch.X, batch.A, k)) for k, lin in enumerate(self.first)]
        H = torch.cat(parts, dim=1) + convolution.bias
        for layer in self.layers[1:]:
            H = layer(relu_and_dropout(H, self.rate, self.masks, self.training), batch.A)
        return batch.select(self.last(relu_and_dropout(H, self.rate, self.masks, self.training)))
