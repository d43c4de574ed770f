"""SGC (Wu et al., 2019): features propagated once, then a linear map; PyTorch Geometric's SGConv."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch

from altopt.arrays import Array
from altopt.inputs import unit_sum
from altopt.operator.kernels.dropout import Masks
from altopt_lab.baselines.baseline import GraphData, SearchSpace
from altopt_lab.baselines.geometric import FirstLinear, layers
from altopt_lab.baselines.products import Features, Propagation
from altopt_lab.baselines.training import Network

STEPS = (2, 3)  # to choose from; ours: the paper's appendix is silent


class Hop(NamedTuple):
    """A_tilde^k X for all nodes, never formed: A_tilde^k X W is k products with a matrix as narrow as W."""

    X: Features
    A: Propagation
    n_hops: int

    def times(self, W: torch.Tensor, rate: float = 0.0, masks: Masks | None = None) -> torch.Tensor:
        H = self.X.times(W, rate, masks)
        for _ in range(self.n_hops):
            H = self.A @ H
        return H


class Hops(NamedTuple):
    """X, A_tilde X, ..., of which a network reads the rows of the nodes it scores."""

    X: Any
    A: Propagation
    n_hops: int

    def batch(self, nodes: Array | None) -> list[Any]:
        if nodes is None:
            X = Features(self.X)
            return [Hop(X, self.A, k) for k in range(self.n_hops + 1)]
        return [Features(rows) for rows in self.A.hops(self.X, nodes, self.n_hops)]


@dataclass(kw_only=True, eq=False)
class SGC(Network):
    """softmax(A_tilde^K X W), A_tilde with self-loops. It has no hidden layer: `hidden` and `n_layers` say nothing.

    Parameters
    ----------
    n_steps : int
    **settings
        Those of `Network`.

    Examples
    --------
    >>> from altopt.datasets import communities
    >>> from altopt.datasets.splits import hide
    >>> data = communities(n_nodes=200, n_classes=2, seed=0)
    >>> model = SGC(n_epochs=60).fit(data.X, hide(data.y, range(20)), data.graph)
    >>> bool((model.transduction_ == data.y).mean() > 0.9)
    True
    """

    method: ClassVar[str] = "SGC"
    dropout: float = 0.0
    n_steps: int = 2

    @classmethod
    def search_space(cls, *, inductive: bool = False) -> SearchSpace:
        return {**super().search_space(), "n_steps": STEPS}

    def prepare(self, data: GraphData) -> Hops:
        return hops(data, self, self_loops=True)

    def network(self, n_features: int, n_classes: int, masks: Masks) -> torch.nn.Module:
        linear = layers().SGConv(n_features, n_classes, K=self.n_steps).lin
        return SGCModule(FirstLinear(linear, self.dropout, masks))


def hops(data: GraphData, settings: Any, self_loops: bool) -> Hops:
    """The features, and as many hops of them as the settings have steps."""
    X = unit_sum(data.X) if settings.scale_rows else data.X
    return Hops(X, Propagation(data.graph.adjacency, self_loops), settings.n_steps)


class SGCModule(torch.nn.Module):
    """A linear map of the last hop."""

    def __init__(self, linear: FirstLinear) -> None:
        super().__init__()
        self.linear = linear

    def forward(self, hops: list[Any]) -> torch.Tensor:
        scores: torch.Tensor = self.linear(hops[-1])
        return scores
