"""PTA (Dong et al., 2021): a perceptron trained on propagated labels, weighted by its own agreement."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from altopt.arrays import Array, one_hot
from altopt.operator.diffusion import steps
from altopt.operator.kernels.dropout import Masks
from altopt_lab.baselines.baseline import ZERO_TO_ONE, GraphData, SearchSpace
from altopt_lab.baselines.graph_input import Batch, WholeGraph, whole_graph
from altopt_lab.baselines.modules import Perceptron
from altopt_lab.baselines.products import Propagation
from altopt_lab.baselines.training import Network


@dataclass(kw_only=True, eq=False)
class PTA(Network):
    """Soft labels S = LP(Y, restart); the loss is -sum_ik S_ik P_ik^g log P_ik / sum S, g = log(1 + epoch / pace).

    P^g weighs and is not learned through: early all soft labels count alike, later those the perceptron agrees
    with. The answer is P propagated like the labels.

    Parameters
    ----------
    n_steps : int
    restart : float
    pace : float
        Epochs after which agreement counts by P^log 2.
    **settings
        Those of `Network`.

    Examples
    --------
    >>> from altopt.datasets import communities
    >>> from altopt.datasets.splits import hide
    >>> data = communities(n_nodes=200, n_classes=2, seed=0)
    >>> model = PTA(n_epochs=30).fit(data.X, hide(data.y, range(20)), data.graph)
    >>> bool((model.transduction_ == data.y).mean() > 0.9)
    True
    """

    method: ClassVar[str] = "PTA"
    n_steps: int = 10
    restart: float = 0.1
    pace: float = 100.0

    @classmethod
    def search_space(cls, *, inductive: bool = False) -> SearchSpace:
        return {**super().search_space(), "n_steps": (5, 10), "restart": ZERO_TO_ONE}

    def prepare(self, data: GraphData) -> WholeGraph:
        return whole_graph(data, self.scale_rows)

    def network(self, n_features: int, n_classes: int, masks: Masks) -> torch.nn.Module:
        widths = (n_features, *(self.hidden,) * (self.n_layers - 1), n_classes)
        return PTAModule(Perceptron(widths, self.dropout, masks), self.restart, self.n_steps)

    def training_targets(self, data: GraphData) -> tuple[Array, torch.Tensor]:
        A = Propagation(data.graph.adjacency).operator
        S = steps(A, one_hot(data.codes, self.n_classes, np.float32), self.restart, self.n_steps)
        reached = np.flatnonzero(S.sum(axis=1) > 0)
        return reached, torch.from_numpy(S[reached])

    def loss(self, logits: torch.Tensor, targets: torch.Tensor, epoch: int) -> torch.Tensor:
        log_P = torch.log_softmax(logits, dim=1)
        agreement = (log_P.detach() * float(np.log1p(epoch / self.pace))).exp()
        return -(targets * agreement * log_P).sum() / targets.sum()


class PTAModule(torch.nn.Module):
    """The perceptron alone while it learns; its answers propagated when it is asked."""

    def __init__(self, perceptron: torch.nn.Module, restart: float, n_steps: int) -> None:
        super().__init__()
        self.perceptron, self.restart, self.n_steps = perceptron, restart, n_steps

    def forward(self, batch: Batch) -> torch.Tensor:
        H = self.perceptron(batch.X)
        if self.training:
            return batch.select(H)
        spread = batch.A.diffuse(torch.softmax(H, dim=1), self.restart, self.n_steps)
        return torch.log(batch.select(spread).clamp_min(torch.finfo(torch.float32).tiny))
