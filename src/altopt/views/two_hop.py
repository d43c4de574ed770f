"""D_A from nodes two hops apart: tied by a common neighbour, in an undirected or a directed graph."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, inverse_sqrt, row_sums
from altopt.graph import Graph
from altopt.operator import NormalizedAdjacency
from altopt.views.quadratic import QuadraticForm
from altopt.views.view import Curvature, ViewSettings


@dataclass(frozen=True)
class TwoHopView(QuadraticForm):
    """D_A = tr(F' (I - A_tilde^2) F): nodes two hops apart should carry the same label.

    What it is for: graphs that are homophilous or heterophilous, when it is not known which. In frequencies l of L~
    it charges l (2 - l): nothing at either end, where neighbours agree or are opposed, and most in between.

    Parameters
    ----------
    A_tilde : NormalizedAdjacency
    weight : float

    Examples
    --------
    >>> view = TwoHopView(NormalizedAdjacency(sp.csr_array([[0.0, 1.0], [1.0, 0.0]])))
    >>> view.distance(np.array([[1.0], [-1.0]]))  # each node is two hops from itself only
    0.0
    """

    A_tilde: NormalizedAdjacency
    weight: float = 1.0

    def residual(self, F: Array) -> Array:
        return self.A_tilde.step(self.A_tilde @ F, scale=-1.0, rest=F)

    def curvature(self) -> Curvature:
        return Curvature(lower=0.0, upper=1.0, step_scale=1.0)

    def half_hessian(self) -> Any:
        A = self.A_tilde.matrix
        return sp.eye_array(self.A_tilde.n_nodes, format="csr") - A @ A


@dataclass(frozen=True)
class SharedNeighboursView(QuadraticForm):
    """D_A = tr(F' (I - B B') F), B = D_out^-1/2 A D_in^-1/2: the singular values of B lie in [0, 1].

    Parameters
    ----------
    B : scipy.sparse.csr_array of shape (n_nodes, n_nodes)
    weight : float

    Examples
    --------
    >>> view = SharedNeighboursView(sp.csr_array([[0.0, 1.0], [0.0, 0.0]]))  # one edge, from node 0 to node 1
    >>> view.residual(np.array([[1.0], [1.0]]))
    array([[0.],
           [1.]])
    """

    B: Any
    weight: float = 1.0

    def residual(self, F: Array) -> Array:
        B = self.B.astype(F.dtype, copy=False)
        return np.asarray(F - B @ (B.T @ F))

    def curvature(self) -> Curvature:
        return Curvature(lower=0.0, upper=1.0, step_scale=1.0)

    def half_hessian(self) -> Any:
        return sp.eye_array(self.B.shape[0], format="csr") - self.B @ self.B.T


@dataclass(frozen=True)
class SharedNeighbours(ViewSettings):
    """Nodes with the same out-neighbours, or the same in-neighbours, should carry the same label.

    D_A = tr(F' (I - B B') F) with B = D_out^-1/2 A D_in^-1/2; the transpose of A for "in".

    What it is for: directed heterophilous graphs, where the targets of a node's edges tell its class though its
    neighbours are of other classes. A shared neighbour counts the less the more nodes share it.

    Parameters
    ----------
    direction : {"out", "in", "both"}
        "both" ignores the direction and is TwoHopView.

    Examples
    --------
    Nodes 0 and 1 point at node 2, so they should agree:

    >>> graph = Graph([(0, 2), (1, 2)], directed=True)
    >>> view = SharedNeighbours("out").view(graph, NormalizedAdjacency(graph.adjacency))
    >>> print(round(view.distance(np.array([[1.0], [-1.0], [0.0]])), 6))
    2.0
    >>> print(round(view.distance(np.array([[1.0], [1.0], [0.0]])), 6))
    0.0
    """

    direction: Literal["out", "in", "both"] = "out"

    def view(self, graph: Graph, A_tilde: NormalizedAdjacency) -> SharedNeighboursView:
        A = graph.adjacency_along(self.direction, f"SharedNeighbours({self.direction!r})")
        A = sp.csr_array(A, dtype=np.float64)
        out_scale, in_scale = (sp.diags_array(inverse_sqrt(row_sums(M))) for M in (A, sp.csr_array(A.T)))
        return SharedNeighboursView(sp.csr_array(out_scale @ A @ in_scale))
