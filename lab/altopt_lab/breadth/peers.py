"""The peers: methods of a few lines or with usual settings, on the same labels and features."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier

from altopt.arrays import Array
from altopt.graph import Graph

WIDE = 256  # columns above which boosted trees read leading directions
N_DIRECTIONS = 64


@dataclass(frozen=True)
class Task:
    """What a method is given.

    Parameters
    ----------
    X : array or csr_array of shape (n_nodes, n_features)
    y : array of shape (n_nodes,)
        Class numbers, -1 where unknown.
    graph : Graph or None
    validation : (nodes, labels) or None
        For methods that choose an epoch.
    seed : int
    """

    X: Any
    y: Array
    graph: Graph | None
    validation: tuple[Array, Array] | None
    seed: int

    @property
    def labelled(self) -> Array:
        return self.y >= 0

    @property
    def scaled(self) -> Any:
        """Dense columns at mean 0 and variance 1, sparse rows at length 1."""
        return normalize(self.X) if sp.issparse(self.X) else StandardScaler().fit_transform(self.X)

    def linear(self) -> LogisticRegression:
        """Logistic regression at scikit-learn's C, or at ten times that where entries are small: rows of length 1."""
        return LogisticRegression(C=10.0 if sp.issparse(self.X) else 1.0, max_iter=1000)

    def adjacency(self) -> Any:
        assert self.graph is not None
        return sp.csr_array(self.graph.adjacency, dtype=np.float64)

    def links(self) -> Any:
        """The rows of the adjacency along the edges' direction, where they have one."""
        assert self.graph is not None
        directed = self.graph.directed_adjacency
        return self.adjacency() if directed is None else sp.csr_array(directed, dtype=np.float64)


@dataclass(frozen=True)
class Peer:
    """A method beside AltOpt().

    Parameters
    ----------
    name : str
    fit : callable
        From a Task to distributions over the classes of its labels, for all nodes.
    needs : "graph", "no graph" or ""
    is_network : bool
        Trained with torch, slowly.
    slow_if_wide : bool
        Slow where X has more than 256 columns.
    """

    name: str
    fit: Callable[[Task], Array]
    needs: str = ""
    is_network: bool = False
    slow_if_wide: bool = False

    def suits(self, graph: Any) -> bool:
        return self.needs != ("graph" if graph is None else "no graph")

    def is_slow(self, n_features: int) -> bool:
        """Whether it is run on few splits alone."""
        return self.is_network or (self.slow_if_wide and n_features > WIDE)


def classified(classifier: Any, X: Any, task: Task) -> Array:
    """A supervised classifier, fitted to the labelled rows."""
    return np.asarray(classifier.fit(X[task.labelled], task.y[task.labelled]).predict_proba(X))


def logistic_regression(task: Task) -> Array:
    return classified(task.linear(), task.scaled, task)


def on_ties(C: float) -> Callable[[Task], Array]:
    """Logistic regression on the rows of the adjacency at length one, beside X."""

    def fit(task: Task) -> Array:
        Z = sp.csr_array(sp.hstack([normalize(task.links()), sp.csr_array(task.scaled)]))
        return classified(LogisticRegression(C=C, max_iter=1000), Z, task)

    return fit


def self_training(task: Task) -> Array:
    model = SelfTrainingClassifier(task.linear())
    X = task.scaled
    return np.asarray(model.fit(X, task.y).predict_proba(X))


def boosted_trees(task: Task) -> Array:
    return classified(
        HistGradientBoostingClassifier(random_state=task.seed), neighbour_statistics(task), task
    )


def neighbour_statistics(task: Task) -> Array:
    """X, its mean over neighbours and over theirs, the degree and its mean; leading directions stand for a wide X."""
    X = task.X
    if X.shape[1] > WIDE:
        X = TruncatedSVD(N_DIRECTIONS, random_state=task.seed).fit_transform(X)
    X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
    if task.graph is None:
        return X
    A = task.adjacency()
    degree = np.asarray(A.sum(axis=1)).ravel()
    mean = sp.diags_array(1.0 / np.maximum(degree, 1.0)) @ A
    once = mean @ X
    return np.column_stack([X, once, mean @ once, degree, mean @ degree])


def on_kernel(spreader: Any) -> Callable[[Task], Array]:
    """scikit-learn's label propagation on the graph that its kernel makes of X."""

    def fit(task: Task) -> Array:
        X = task.scaled
        return np.asarray(spreader().fit(X.toarray() if sp.issparse(X) else X, task.y).label_distributions_)

    return fit


def on_adjacency(kind: Any) -> Callable[[Task], Array]:
    """The same on the given graph with loops, so that no row is empty."""

    def fit(task: Task) -> Array:
        A = sp.csr_array(task.adjacency() + sp.eye_array(len(task.y)))
        model = kind(kernel=lambda X, Y: A)
        return np.asarray(model.fit(np.zeros((len(task.y), 1)), task.y).label_distributions_)

    return fit


def network(name: str, *, scale_rows: bool) -> Callable[[Task], Array]:
    """A network with its usual settings; the best epoch by validation labels, without them the last one.

    `scale_rows`: whether it is usual to scale the rows of words to sum 1. Dense columns are standardised.
    """

    def fit(task: Task) -> Array:
        from altopt_lab.baselines import BASELINES, HETEROPHILY, Baseline

        kind: Any = (BASELINES | HETEROPHILY)[name]
        model: Baseline = kind(scale_rows=scale_rows and sp.issparse(task.X))
        X = sp.csr_array(task.X) if sp.issparse(task.X) else task.scaled.astype(np.float32)
        model.fit(X, task.y, task.graph, task.validation, seed=task.seed)
        return model.label_distributions_

    return fit


PEERS = (
    Peer("LabelSpreading, rbf", on_kernel(LabelSpreading), "no graph"),
    Peer("LabelSpreading, knn", on_kernel(lambda: LabelSpreading(kernel="knn")), "no graph"),
    Peer("LabelPropagation, rbf", on_kernel(LabelPropagation), "no graph"),
    Peer(
        "LabelPropagation, knn",
        on_kernel(lambda: LabelPropagation(kernel="knn", max_iter=3000)),
        "no graph",
    ),
    Peer("LabelSpreading", on_adjacency(LabelSpreading), "graph"),
    Peer("LabelPropagation", on_adjacency(LabelPropagation), "graph"),
    Peer("logistic regression", logistic_regression),
    Peer("self-training", self_training, slow_if_wide=True),
    Peer("logistic regression on ties", on_ties(C=1.0), "graph"),
    Peer("logistic regression on ties, C=10", on_ties(C=10.0), "graph"),
    Peer("boosted trees", boosted_trees, slow_if_wide=True),
    Peer("LINKX", network("LINKX", scale_rows=False), "graph", is_network=True),
    Peer("GCN", network("GCN", scale_rows=True), "graph", is_network=True),
    Peer("APPNP", network("APPNP", scale_rows=True), "graph", is_network=True),
)
