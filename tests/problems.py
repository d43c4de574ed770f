"""Small random problems on which every promise is checked against the dense truth."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from altopt.graph import Graph
from altopt.operator import NormalizedAdjacency
from altopt.views import FeatureView, GraphView, LabelView, Objective, made_from


@dataclass(frozen=True)
class ToyProblem:
    adjacency: sp.csr_array
    A_tilde: NormalizedAdjacency
    P: np.ndarray
    Y: np.ndarray
    labelled: np.ndarray
    F: np.ndarray  # an arbitrary point

    @property
    def graph(self):
        """A Graph that carries a direction: one-way along the upper triangle of a fixed order of nodes."""
        order = np.argsort(np.argsort(self.F[:, 0]))  # belongs to the nodes, not to their numbering
        ahead = order[:, None] < order[None, :]
        return Graph(sp.csr_array(self.adjacency.toarray() * ahead), directed=True)

    def objective(
        self,
        lambda1=0.4,
        lambda2=1.5,
        feature_view=FeatureView,
        graph_view=GraphView,
        label_view=LabelView,
    ):
        views = (
            feature_view(self.P, lambda1),
            made_from(graph_view, self.A_tilde, graph=self.graph),
            label_view(self.Y[self.labelled], self.labelled, lambda2),
        )
        return Objective(views)


def random_adjacency(n, rng, density=0.15, weighted=True, isolated=True):
    """Symmetric, non-negative, zero diagonal; the last node without edges if `isolated`."""
    upper = np.triu(rng.random((n, n)) < density, 1) * (rng.random((n, n)) + 0.1 if weighted else 1.0)
    A = upper + upper.T
    if isolated:
        A[-1] = A[:, -1] = 0.0
    return sp.csr_array(A)


def toy(seed=0, n=30, c=4, n_labelled=8, weighted=True, isolated=True, adjacency=None):
    rng = np.random.default_rng(seed)
    A = random_adjacency(n, rng, weighted=weighted, isolated=isolated) if adjacency is None else adjacency
    labelled = np.zeros(n, dtype=bool)
    labelled[rng.choice(n, n_labelled, replace=False)] = True
    Y = np.zeros((n, c))
    Y[labelled, rng.integers(c, size=n_labelled)] = 1.0
    P = rng.dirichlet(np.ones(c), size=n)
    return ToyProblem(A, NormalizedAdjacency(A), P, Y, labelled, rng.normal(size=(n, c)))


def two_communities(n=120, seed=0, n_features=8, labels_per_class=5):
    """X, y (with -1) and a graph of two communities whose features point different ways."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    chance = np.where(truth[:, None] == truth[None, :], 0.12, 0.01)
    A = np.triu(rng.random((n, n)) < chance, 1)
    direction = np.where(np.arange(n_features) % 2, 1.0, -1.0)
    X = rng.normal(size=(n, n_features)) + 0.4 * (2 * truth[:, None] - 1) * direction
    y = np.full(n, -1)
    for k in range(2):
        y[np.flatnonzero(truth == k)[:labels_per_class]] = k
    return X, y, truth, sp.csr_array((A + A.T).astype(float))
