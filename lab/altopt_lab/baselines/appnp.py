"""APPNP (Klicpera et al., 2019): a perceptron whose output is propagated in every epoch, trained end to end."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from altopt.errors import InputError
from altopt.operator.kernels.dropout import Masks
from altopt_lab.baselines.baseline import ZERO_TO_ONE, GraphData, SearchSpace
from altopt_lab.baselines.geometric import layers
from altopt_lab.baselines.graph_input import Batch, WholeGraph, whole_graph
from altopt_lab.baselines.modules import Perceptron
from altopt_lab.baselines.training import Network


@dataclass(kw_only=True, eq=False)
class APPNP(Network):
    """Z <- (1 - restart) A_tilde Z + restart H from Z = H = MLP(X), `n_steps` times; softmax(Z).

    `propagation` is "ours", one pass of our operator each way, or "torch_geometric", whose layer keeps a tape of
    messages for every step; the scores are the same.

    Parameters
    ----------
    n_steps : int
    restart : float
    propagation : "ours" or "torch_geometric"
    **settings
        Those of `Network`.

    Examples
    --------
    >>> from altopt.datasets import communities
    >>> from altopt.datasets.splits import hide
    >>> data = communities(n_nodes=200, n_classes=2, seed=0)
    >>> model = APPNP(n_epochs=30).fit(data.X, hide(data.y, range(20)), data.graph)
    >>> bool((model.transduction_ == data.y).mean() > 0.9)
    True
    """

    method: ClassVar[str] = "APPNP"
    n_steps: int = 10
    restart: float = 0.1
    propagation: str = "ours"

    @classmethod
    def search_space(cls, *, inductive: bool = False) -> SearchSpace:
        steps = (2, 3, 5, 10) if inductive else (5, 10)
        # roots, since ALT-OPT, which it is measured against, may choose them too
        return {**super().search_space(), "root": (False, True), "n_steps": steps, "restart": ZERO_TO_ONE}

    def prepare(self, data: GraphData) -> WholeGraph:
        return whole_graph(data, self.scale_rows)

    def network(self, n_features: int, n_classes: int, masks: Masks) -> torch.nn.Module:
        if self.propagation not in ("ours", "torch_geometric"):
            raise InputError(f"propagation is {self.propagation!r}, but must be 'ours' or 'torch_geometric'.")
        hidden = (self.hidden,) * (self.n_layers - 1)
        perceptron = Perceptron((n_features, *hidden, n_classes), self.dropout, masks)
        return APPNPModule(perceptron, self)


class APPNPModule(torch.nn.Module):
    def __init__(self, perceptron: torch.nn.Module, settings: APPNP) -> None:
        super().__init__()
        self.perceptron, self.restart, self.n_steps = perceptron, settings.restart, settings.n_steps
        self.layer: Any = None
        if settings.propagation == "torch_geometric":
            self.layer = layers().APPNP(K=self.n_steps, alpha=self.restart, cached=False, normalize=False)

    def forward(self, batch: Batch) -> torch.Tensor:
        H = self.perceptron(batch.X)
        if self.layer is None:
            return batch.select(batch.A.diffuse(H, self.restart, self.n_steps))
        return batch.select(self.layer(H, *batch.A.edge_index()))
