"""D_A from nodes two steps apart: by the same neighbour, or by edges that lead the same way."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, inverse_sqrt, row_sums
from altopt.errors import InputError
from altopt.graph import Graph
from altopt.operator import NormalizedAdjacency
from altopt.views.quadratic import QuadraticForm
from altopt.views.view import Curvature, ViewSettings


@dataclass(frozen=True)
class TwoHopView(QuadraticForm):
    """D_A = tr(F' (I - A_tilde^2) F): nodes two steps apart should carry the same label.

    What it is for: graphs where edges tell classes apart but not which way. In frequencies l of L~ it is
    l (2 - l): free at both ends, where neighbours agree and where they are opposed, dear in between.
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
    """D_A = tr(F' (I - B B') F), B = D_out^-1/2 A D_in^-1/2: the singular values of B lie in [0, 1]."""

    B: Any  # csr, n x n
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
    """Nodes whose edges lead to the same nodes ("out"), or come from the same ("in"), should carry the same label.

    What it is for: directed graphs, where what a node points at tells its class though neighbours differ. A
    shared neighbour counts the less the more others share it. Without direction ("both") it is TwoHopView.
    """

    direction: Literal["out", "in", "both"] = "out"

    def view(self, graph: Graph, A_tilde: NormalizedAdjacency) -> SharedNeighboursView:
        A = graph.adjacency if self.direction == "both" else graph.directed_adjacency
        if A is None:
            raise InputError(
                f"SharedNeighbours({self.direction!r}) needs a directed graph, but this one carries no direction. "
                "Make it with Graph(g, directed=True), on the command line with --directed; or use TwoHopView."
            )
        A = sp.csr_array(A if self.direction != "in" else A.T, dtype=np.float64)
        A_back = sp.csr_array(A.T)
        scales = [inverse_sqrt(row_sums(M)) for M in (A, A_back)]
        return SharedNeighboursView(sp.csr_array(sp.diags_array(scales[0]) @ A @ sp.diags_array(scales[1])))
