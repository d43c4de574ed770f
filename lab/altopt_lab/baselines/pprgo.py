"""PPRGo (Bojchevski et al., 2020): a perceptron's scores, mixed over the few nodes that matter most to each node."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch

from altopt.arrays import Array
from altopt.inputs import unit_sum
from altopt.operator.kernels.dropout import Masks
from altopt.operator.scaling import row_stochastic
from altopt_lab.baselines.baseline import ZERO_TO_ONE, GraphData, SearchSpace
from altopt_lab.baselines.modules import Perceptron
from altopt_lab.baselines.products import Features, Propagation
from altopt_lab.baselines.training import Network

MAX_STEPS = 200


@dataclass(kw_only=True, eq=False)
class PPRGo(Network):
    """z_i = sum_j pi_ij f(x_j) over the `n_nearest` largest pi_ij, pi = restart (I - (1 - restart) D^-1 A)^-1.

    pi is approximated: walks that carry less than `tolerance` are dropped. Answers come, as in the paper, from a few
    steps of power iteration with all nodes' scores, which needs no pi.

    Parameters
    ----------
    restart : float
    n_nearest : int
        Entries of pi that are kept in a row.
    tolerance : float
    n_steps : int
        Of the power iteration at inference.
    **settings
        Those of `Network`.

    Examples
    --------
    >>> from altopt.datasets import communities
    >>> from altopt.datasets.splits import hide
    >>> data = communities(n_nodes=200, n_classes=2, seed=0)
    >>> model = PPRGo(n_epochs=30).fit(data.X, hide(data.y, range(20)), data.graph)
    >>> bool((model.transduction_ == data.y).mean() > 0.9)
    True
    """

    method: ClassVar[str] = "PPRGo"
    restart: float = 0.25
    n_nearest: int = 32
    tolerance: float = 1e-4
    n_steps: int = 4

    @classmethod
    def search_space(cls, *, inductive: bool = False) -> SearchSpace:
        return {**super().search_space(), "restart": ZERO_TO_ONE, "n_nearest": (32, 64)}

    def prepare(self, data: GraphData) -> "InfluenceInput":
        X = unit_sum(data.X) if self.scale_rows else data.X
        return InfluenceInput(X, data.graph.adjacency, self)

    def network(self, n_features: int, n_classes: int, masks: Masks) -> torch.nn.Module:
        widths = (n_features, *(self.hidden,) * (self.n_layers - 1), n_classes)
        return PPRGoModule(Perceptron(widths, self.dropout, masks))


@dataclass(frozen=True, eq=False)
class InfluenceInput:
    X: Any
    A: Any
    settings: PPRGo

    def batch(self, nodes: Array | None) -> "InfluenceBatch":
        return InfluenceBatch(self, nodes)

    @cached_property
    def features(self) -> Features:
        return Features(self.X)

    @cached_property
    def propagation(self) -> Propagation:
        return Propagation(self.A, self_loops=False)


@dataclass(frozen=True, eq=False)
class InfluenceBatch:
    """Who matters to some nodes, and how much."""

    of_all: InfluenceInput
    nodes: Array | None

    @cached_property
    def largest_influences(self) -> tuple[Features, torch.Tensor]:
        """The features of everyone who matters, and pi of the nodes over them."""
        settings = self.of_all.settings
        nodes = np.arange(self.of_all.A.shape[0]) if self.nodes is None else self.nodes
        pi = largest_entries(
            page_rank(self.of_all.A, nodes, settings.restart, settings.tolerance), settings.n_nearest
        )
        who = np.unique(pi.indices)
        weights = sp.coo_array(pi[:, who])
        places = torch.from_numpy(np.stack(weights.coords).astype(np.int64))
        values = torch.from_numpy(weights.data.astype(np.float32))
        return Features(self.of_all.X[who]), torch.sparse_coo_tensor(
            places, values, weights.shape, check_invariants=False
        )

    def spread(self, H: torch.Tensor) -> torch.Tensor:
        """Z <- (1 - restart) D^-1 A Z + restart H, a few times; D^-1 A = D^-1/2 A_tilde D^1/2."""
        settings, A = self.of_all.settings, self.of_all.propagation
        root = torch.from_numpy(np.sqrt(np.maximum(A.operator.degrees, 1e-12)).astype(np.float32))[:, None]
        Z = A.diffuse(root * H, settings.restart, settings.n_steps) / root
        return Z if self.nodes is None else Z[torch.from_numpy(self.nodes)]


class PPRGoModule(torch.nn.Module):
    def __init__(self, perceptron: torch.nn.Module) -> None:
        super().__init__()
        self.perceptron = perceptron

    def forward(self, batch: InfluenceBatch) -> torch.Tensor:
        if not self.training:
            return batch.spread(self.perceptron(batch.of_all.features))
        X, pi = batch.largest_influences
        scores: torch.Tensor = torch.sparse.mm(pi, self.perceptron(X))
        return scores


def page_rank(A: Any, nodes: Array, restart: float, tolerance: float) -> sp.csr_array:
    """Rows `nodes` of restart sum_k (1 - restart)^k (D^-1 A)^k; what a walk carries below `tolerance` is dropped."""
    transition = row_stochastic(A)
    walks = sp.csr_array(sp.eye_array(A.shape[0], format="csr")[nodes])
    pi = restart * walks
    for _ in range(MAX_STEPS):
        walks = (1.0 - restart) * (walks @ transition)
        walks.data[walks.data < tolerance] = 0.0
        walks.eliminate_zeros()
        if not walks.nnz:
            break
        pi = pi + restart * walks
    return sp.csr_array(pi)


def largest_entries(pi: sp.csr_array, n_largest: int) -> sp.csr_array:
    """Only the `most` largest entries of each row; among equals the earlier."""
    rows = np.repeat(np.arange(pi.shape[0]), np.diff(pi.indptr))
    order = np.lexsort((pi.indices, -pi.data, rows))
    rank = np.arange(pi.nnz) - pi.indptr[rows]
    chosen = order[rank < n_largest]
    return sp.csr_array((pi.data[chosen], (rows[chosen], pi.indices[chosen])), shape=pi.shape)
