"""GPR-GNN (Chien et al., 2021): a perceptron's output under a polynomial of A_tilde whose weights are learned."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from altopt.operator.kernels.dropout import Masks, dropout
from altopt_lab.baselines.baseline import GraphData, SearchSpace
from altopt_lab.baselines.graph_input import Batch, WholeGraph, whole_graph
from altopt_lab.baselines.modules import Perceptron
from altopt_lab.baselines.training import Network


@dataclass(kw_only=True, eq=False)
class GPRGNN(Network):
    """Z = sum_k g_k A_tilde^k MLP(X), k = 0..n_steps; g starts at the weights of personalised PageRank,
    restart (1 - restart)^k, and may become negative. `late_dropout` is that of the MLP's output.

    Parameters
    ----------
    n_steps : int
    restart : float
        Of the weights that training starts at.
    late_dropout : float
    **settings
        Those of `Network`.

    Examples
    --------
    >>> from altopt.datasets import communities
    >>> from altopt.datasets.splits import hide
    >>> data = communities(n_nodes=200, n_classes=2, seed=0)
    >>> model = GPRGNN(n_epochs=30).fit(data.X, hide(data.y, range(20)), data.graph)
    >>> bool((model.transduction_ == data.y).mean() > 0.9)
    True
    """

    method: ClassVar[str] = "GPR-GNN"
    n_steps: int = 10
    restart: float = 0.1
    late_dropout: float = 0.5

    @classmethod
    def search_space(cls, *, inductive: bool = False) -> SearchSpace:
        return {
            **super().search_space(),
            "restart": (0.1, 0.2, 0.5, 0.9, 1.0),
            "late_dropout": (0.0, 0.5, 0.7),
        }

    def prepare(self, data: GraphData) -> WholeGraph:
        return whole_graph(data, self.scale_rows)

    def network(self, n_features: int, n_classes: int, masks: Masks) -> torch.nn.Module:
        widths = (n_features, *(self.hidden,) * (self.n_layers - 1), n_classes)
        return GPRModule(Perceptron(widths, self.dropout, masks), self, masks)


class GPRModule(torch.nn.Module):
    def __init__(self, perceptron: torch.nn.Module, settings: GPRGNN, masks: Masks) -> None:
        super().__init__()
        self.perceptron, self.rate, self.masks = perceptron, settings.late_dropout, masks
        kept = 1.0 - settings.restart
        start = [settings.restart * kept**k for k in range(settings.n_steps)] + [kept**settings.n_steps]
        self.weights = torch.nn.Parameter(torch.tensor(start))

    def forward(self, batch: Batch) -> torch.Tensor:
        H = self.perceptron(batch.X)
        if self.training and self.rate > 0:
            H = H * dropout(torch.ones_like(H), self.rate, self.masks)
        Z = self.weights[0] * H
        for weight in self.weights[1:]:
            H = batch.A @ H
            Z = Z + weight * H
        return batch.select(Z)
