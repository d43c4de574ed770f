"""D_A of locally linear embedding: the row of F of each node is the mean of its neighbours' rows."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.graph import Graph
from altopt.operator import NormalizedAdjacency
from altopt.operator.scaling import row_stochastic
from altopt.views.quadratic import QuadraticForm
from altopt.views.view import Curvature, ViewSettings


class Composed(QuadraticForm):
    """D_A = ||F - W F||^2 = tr(F' (I - W)' (I - W) F) for rows of W that sum to 1 or are empty.

    With R = I - W and r_k = sum_j |R_kj| <= 2, (sum_j R_kj x_j)^2 <= sum_j |R_kj| r_k x_j^2 bounds half the Hessian by
    diag(upper), upper_j = sum_k |R_kj| r_k.
    """

    @property
    @abstractmethod
    def W(self) -> Any:
        """The weights, n x n."""

    @cached_property
    def _R(self) -> Any:
        return sp.csr_array(sp.eye_array(self.W.shape[0]) - self.W)

    @cached_property
    def _R_transposed(self) -> Any:
        return sp.csr_array(self._R.T)

    def residual(self, F: Array) -> Array:
        return np.asarray(self._R_transposed @ (self._R @ F)).astype(F.dtype, copy=False)

    def curvature(self) -> Curvature:
        size = abs(self._R)
        upper = np.asarray(size.T @ size.sum(axis=1)).ravel()
        return Curvature(lower=0.0, upper=upper, step_scale=np.maximum(upper / 2, self._diagonal))

    @cached_property
    def _diagonal(self) -> Array:
        return np.asarray(self._R.multiply(self._R).sum(axis=0)).ravel()

    def half_hessian(self) -> Any:
        return self._R_transposed @ self._R


@dataclass(frozen=True)
class LocallyLinearView(Composed):
    """D_A = ||F - W F||^2, W = D^-1 A: each node is the mean of its neighbours.

    What it is for: graphs whose edge weights say how a node is composed of others. Unlike with the Laplacian, a
    node may be a mixture of classes at no cost, as long as the mean of its neighbours is the same mixture; and a node
    with many neighbours affects all of them.

    Parameters
    ----------
    A_tilde : NormalizedAdjacency
    weight : float

    Examples
    --------
    On a path of three nodes the middle one is the mean of its ends at no cost:

    >>> path = NormalizedAdjacency(sp.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    >>> LocallyLinearView(path).distance(np.array([[1.0], [0.0], [-1.0]]))  # 1 + 0 + 1, for the two ends
    2.0
    """

    A_tilde: NormalizedAdjacency
    weight: float = 1.0

    @cached_property
    def W(self) -> Any:
        return row_stochastic(sp.csr_array(self.A_tilde.adjacency, dtype=np.float64))


@dataclass(frozen=True)
class ReconstructionView(Composed):
    """D_A = ||F - W F||^2 for given weights.

    Parameters
    ----------
    weights : scipy.sparse.csr_array of shape (n_nodes, n_nodes)
        Their rows sum to 1 or are empty.
    weight : float

    Examples
    --------
    >>> view = ReconstructionView(sp.csr_array([[0.0, 1.0], [0.0, 0.0]]))  # node 0 is node 1; node 1 is of none
    >>> view.distance(np.array([[1.0], [1.0]]))
    1.0
    """

    weights: Any
    weight: float = 1.0

    @property
    def W(self) -> Any:
        return self.weights


@dataclass(frozen=True)
class Reconstruction(ViewSettings):
    """Each node is composed of its out-neighbours, by the weights of the edges: locally linear embedding.

    D_A = ||F - W F||^2 with W the directed adjacency, rows scaled to sum 1. What it is for: graphs whose weights
    were solved from X, as `altopt.operator.reconstruction.reconstruction_graph` does. In an undirected graph it is
    LocallyLinearView.

    Examples
    --------
    >>> from altopt.operator.reconstruction import reconstruction_graph
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> graph = reconstruction_graph(X, n_neighbors=2, ridge=1e-6)
    >>> view = Reconstruction().view(graph, NormalizedAdjacency(graph.adjacency))
    >>> view.W.toarray().round(2)[1].tolist()  # the middle one lies a third of the way
    [0.67, 0.0, 0.33]
    """

    def view(self, graph: Graph, A_tilde: NormalizedAdjacency) -> ReconstructionView:
        A = graph.adjacency if graph.directed_adjacency is None else graph.directed_adjacency
        return ReconstructionView(row_stochastic(sp.csr_array(A, dtype=np.float64)))
