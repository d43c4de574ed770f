"""H2GCN (Zhu et al., 2020): separate weights for a node, its neighbours and the nodes two edges away."""

from dataclasses import dataclass
from typing import Any, ClassVar

import scipy.sparse as sp
import torch

from altopt.operator.kernels.dropout import Masks
from altopt_lab.baselines.baseline import GraphData, SearchSpace
from altopt_lab.baselines.geometric import FirstLinear
from altopt_lab.baselines.graph_input import Batch, WholeGraph
from altopt_lab.baselines.modules import relu_and_dropout
from altopt_lab.baselines.products import Features, Propagation
from altopt_lab.baselines.training import Network


@dataclass(kw_only=True, eq=False)
class H2GCN(Network):
    """R0 = relu(X W), Rk = [A1 R(k-1), A2 R(k-1)], k = 1..n_rounds; softmax([R0, R1, ...] V).

    A1 and A2 are the normalised adjacencies of nodes one edge and exactly two edges apart, without self-loops.

    Parameters
    ----------
    n_rounds : int
    **settings
        Those of `Network`.

    Examples
    --------
    >>> from altopt.datasets import communities
    >>> from altopt.datasets.splits import hide
    >>> data = communities(n_nodes=200, n_classes=2, seed=0)
    >>> model = H2GCN(n_epochs=30).fit(data.X, hide(data.y, range(20)), data.graph)
    >>> bool((model.transduction_ == data.y).mean() > 0.9)
    True
    """

    method: ClassVar[str] = "H2GCN"
    n_rounds: int = 2

    @classmethod
    def search_space(cls, *, inductive: bool = False) -> SearchSpace:
        return {**super().search_space(), "n_rounds": (1, 2)}

    def prepare(self, data: GraphData) -> WholeGraph:
        A = data.graph.adjacency
        rings = (Propagation(A, self_loops=False), Propagation(two_edges_apart(A), self_loops=False))
        return WholeGraph(Features(data.X, self.scale_rows), rings)

    def network(self, n_features: int, n_classes: int, masks: Masks) -> torch.nn.Module:
        return H2GCNModule(n_features, n_classes, self, masks)


class H2GCNModule(torch.nn.Module):
    def __init__(self, n_features: int, n_classes: int, settings: H2GCN, masks: Masks) -> None:
        super().__init__()
        self.rate, self.masks, self.n_rounds = settings.dropout, masks, settings.n_rounds
        self.first = FirstLinear(torch.nn.Linear(n_features, settings.hidden), self.rate, masks)
        n_parts = 2 ** (self.n_rounds + 1) - 1
        self.last = torch.nn.Linear(n_parts * settings.hidden, n_classes)

    def forward(self, batch: Batch) -> torch.Tensor:
        one_hop, two_hops = batch.A
        rounds = [torch.relu(self.first(batch.X))]
        for _ in range(self.n_rounds):
            rounds.append(torch.cat([one_hop @ rounds[-1], two_hops @ rounds[-1]], dim=1))
        # what comes in is not negative, so that ReLU changes nothing and dropout is one pass
        H = relu_and_dropout(
            batch.select(torch.cat(rounds, dim=1)).contiguous(), self.rate, self.masks, self.training
        )
        scores: torch.Tensor = self.last(H)
        return scores


def two_edges_apart(A: Any) -> sp.csr_array:
    """1 where the shortest way from i to j has two edges."""
    one = sp.csr_array(A, copy=True)
    one.data = one.data.astype("float32") * 0 + 1
    two = sp.csr_array(one @ one)
    two.data[:] = 1
    within_one = sp.csr_array(one + sp.eye_array(A.shape[0], dtype=one.dtype, format="csr"))
    exactly_two = sp.csr_array(two - two * within_one)
    exactly_two.eliminate_zeros()
    return exactly_two
