"""MLP: a perceptron on the features; it never sees the graph."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from altopt.operator.kernels.dropout import Masks
from altopt_lab.baselines.baseline import GraphData
from altopt_lab.baselines.modules import Perceptron, Rows
from altopt_lab.baselines.training import Network


@dataclass(kw_only=True, eq=False)
class MLP(Network):
    """softmax(W2 relu(W1 x)) for each node by itself, or as many layers as asked for.

    Parameters
    ----------
    **settings
        Those of `Network`.

    Examples
    --------
    >>> from altopt.datasets import communities
    >>> from altopt.datasets.splits import hide
    >>> data = communities(n_nodes=200, n_classes=2, seed=0)
    >>> model = MLP(n_epochs=30).fit(data.X, hide(data.y, range(20)), data.graph)
    >>> bool((model.transduction_ == data.y).mean() > 0.9)
    True
    """

    method: ClassVar[str] = "MLP"

    def prepare(self, data: GraphData) -> Rows:
        return Rows(data.X, self.scale_rows)

    def network(self, n_features: int, n_classes: int, masks: Masks) -> torch.nn.Module:
        hidden = (self.hidden,) * (self.n_layers - 1)
        return Perceptron((n_features, *hidden, n_classes), self.dropout, masks)
