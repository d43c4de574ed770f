"""SIGN (Rossi et al., 2020): features of several hops, computed once, with weights for each hop."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from altopt.operator.kernels.dropout import Masks
from altopt_lab.baselines.baseline import GraphData, SearchSpace
from altopt_lab.baselines.geometric import FirstLinear
from altopt_lab.baselines.modules import relu_and_dropout
from altopt_lab.baselines.sgc import STEPS, Hops, hops
from altopt_lab.baselines.training import Network


@dataclass(kw_only=True, eq=False)
class SIGN(Network):
    """softmax(relu([X W0, A_tilde X W1, ..., A_tilde^K X WK]) V), A_tilde without self-loops as in PyTorch Geometric's
    SIGN transform; further layers of V where `n_layers` asks for them.

    Parameters
    ----------
    n_steps : int
        The largest hop.
    **settings
        Those of `Network`.

    Examples
    --------
    >>> from altopt.datasets import communities
    >>> from altopt.datasets.splits import hide
    >>> data = communities(n_nodes=200, n_classes=2, seed=0)
    >>> model = SIGN(n_epochs=30).fit(data.X, hide(data.y, range(20)), data.graph)
    >>> bool((model.transduction_ == data.y).mean() > 0.9)
    True
    """

    method: ClassVar[str] = "SIGN"
    n_steps: int = 2

    @classmethod
    def search_space(cls, *, inductive: bool = False) -> SearchSpace:
        return {**super().search_space(), "n_steps": STEPS}

    def prepare(self, data: GraphData) -> Hops:
        return hops(data, self, self_loops=False)

    def network(self, n_features: int, n_classes: int, masks: Masks) -> torch.nn.Module:
        return SIGNModule(n_features, n_classes, self, masks)


class SIGNModule(torch.nn.Module):
    def __init__(self, n_features: int, n_classes: int, settings: SIGN, masks: Masks) -> None:
        super().__init__()
        linear, hidden, n_hops = torch.nn.Linear, settings.hidden, settings.n_steps + 1
        self.first = torch.nn.ModuleList(
            FirstLinear(linear(n_features, hidden), settings.dropout, masks) for _ in range(n_hops)
        )
        widths = [n_hops * hidden] + [hidden] * (settings.n_layers - 2)
        self.others = torch.nn.ModuleList(linear(a, b) for a, b in zip(widths, [*widths[1:], n_classes]))
        self.rate, self.masks = settings.dropout, masks

    def forward(self, hops: list[Any]) -> torch.Tensor:
        H = torch.cat([first(hop) for first, hop in zip(self.first, hops)], dim=1)
        for layer in self.others:
            H = layer(relu_and_dropout(H, self.rate, self.masks, self.training))
        return H
