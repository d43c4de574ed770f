"""Small random problems on which every promise is checked against the dense truth."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from altopt.graph import Graph
from altopt.operator import NormalizedAdjacency
from altopt.views import FeatureView, GraphView, LabelView, Objective, view_from


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
            view_from(graph_view, self.A_tilde, graph=self.graph),
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


@dataclass(frozen=True)
class BlockGraph:
    """A generated graph with classes; `given(labels, seed)` hides all labels but a few."""

    X: np.ndarray | sp.csr_array
    truth: np.ndarray
    A: sp.csr_array

    def given(self, labels_per_class, seed):
        """y with so many labels of every class (a number, or one per class), -1 elsewhere."""
        rng = np.random.default_rng([seed, 1])
        y = np.full(len(self.truth), -1)
        counts = np.broadcast_to(labels_per_class, self.truth.max() + 1)
        for k, count in enumerate(counts):
            y[rng.choice(np.flatnonzero(self.truth == k), count, replace=False)] = k
        return y


def block_graph(
    seed,
    n=600,
    shares=(1, 1, 1, 1),
    affinity=None,
    mean_degree=6.0,
    n_features=32,
    signal=0.3,
    words=False,
    weights=None,
):
    """A degree-corrected stochastic block model with features.

    An edge's first end is drawn by its weight theta (lognormal), the class of its second end from row k of
    `affinity` (rows are shares; None: 80 % inside the class), the node in that class by theta. Dense features are
    X_i = signal * centroid of the class + noise; `words` are counts in a sparse matrix, where a share `signal` of
    a node's 20 words comes from its class's tenth of the vocabulary. `weights` = (inside, between): mean edge
    weights inside a class and between classes, exponentially distributed; None: all edges weigh 1.
    """
    rng = np.random.default_rng([seed, 0])
    shares = np.asarray(shares, dtype=float)
    c = len(shares)
    truth = np.sort(rng.choice(c, n, p=shares / shares.sum()))
    truth[: 4 * c] = np.repeat(np.arange(c), 4)  # no class is empty
    rng.shuffle(truth)
    affinity = (0.8 - 0.2 / (c - 1)) * np.eye(c) + 0.2 / (c - 1) if affinity is None else np.asarray(affinity)
    theta = rng.lognormal(0.0, 0.6, n)
    first = rng.choice(n, round(n * mean_degree / 2), p=theta / theta.sum())
    bounds = np.cumsum(affinity / affinity.sum(axis=1, keepdims=True), axis=1)[truth[first]]
    wanted = (rng.random((len(first), 1)) > bounds[:, :-1]).sum(axis=1)  # the class of the second end
    second = np.empty_like(first)
    for k in range(c):
        members = np.flatnonzero(truth == k)
        chosen = wanted == k
        second[chosen] = rng.choice(members, chosen.sum(), p=theta[members] / theta[members].sum())
    apart = first != second
    first, second = first[apart], second[apart]
    weight = np.ones(len(first))
    if weights is not None:
        weight = rng.exponential(np.where(truth[first] == truth[second], *weights)) + 0.01
    upper = sp.coo_array((weight, (np.minimum(first, second), np.maximum(first, second))), shape=(n, n))
    A = sp.csr_array(upper)
    if weights is None:
        A.data[:] = 1.0
    if words:
        column, tenth = rng.integers(n_features, size=(n, 20)), n_features // 10
        from_class = tenth * truth[:, None] + column % tenth
        column = np.where(rng.random((n, 20)) < signal, from_class, column)
        X = sp.csr_array(
            (np.ones(20 * n), (np.repeat(np.arange(n), 20), column.ravel())), shape=(n, n_features)
        )
    else:
        X = rng.normal(size=(n, n_features)) + signal * rng.normal(size=(c, n_features))[truth]
    return BlockGraph(X, truth, sp.csr_array(A + A.T))
