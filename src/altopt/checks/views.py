"""The laws of views as tools: what a view of your own must meet, checked in one call that says what is wrong."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.graph import Graph
from altopt.operator import NormalizedAdjacency
from altopt.views import View, view_from

STEP = 1e-5  # of the differences that stand for derivatives


def check_graph_view(choice: Any, n_nodes: int = 24, seed: int = 0) -> None:
    """Whatever AltOpt(graph_view=choice) takes, on small random graphs, one-way, with a node without edges.

    Besides `check_view`: the numbering of nodes must not matter.
    """
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n_nodes, n_nodes)) < 0.2, 1) * (rng.random((n_nodes, n_nodes)) + 0.1)
    A[-1] = A[:, -1] = 0.0
    F, order = rng.normal(size=(n_nodes, 3)), rng.permutation(n_nodes)

    def made(A: Array) -> View:
        graph = Graph(sp.csr_array(A), directed=True)
        return view_from(choice, NormalizedAdjacency(graph.adjacency), graph=graph)

    view = made(A)
    check_view(view, F)
    there = np.allclose(made(A[order][:, order]).residual(F[order]), view.residual(F)[order], atol=1e-8)
    require(there, view, "residual changes with the numbering of nodes")


def check_view(view: View, F: Array) -> None:
    """That `view` keeps the contract of altopt.views.View at F (n x c, n small); AssertionError where it does not."""
    require(isinstance(view, View), view, "some member of altopt.views.View is missing")
    require(view.name in ("features", "graph", "labels"), view, "name must be features, graph or labels")
    before = F.copy()
    residual = view.residual(F)
    require(bool((before == F).all()), view, "residual writes to F")
    require(
        residual.shape == F.shape and bool(np.isfinite(residual).all()), view, "residual is not finite, n x c"
    )
    slope = half_gradient(view, F)
    size = 1.0 + float(np.abs(slope).max())
    require(
        np.allclose(residual, slope, atol=1e-5 * size), view, "residual is not half the gradient of distance"
    )
    H = half_hessian(view, F, 0)
    lower, upper, step_scale = (np.broadcast_to(bound, len(F)) for bound in view.curvature())
    slack = 1e-6 * (1.0 + float(np.abs(H).max()))
    symmetric = (H + H.T) / 2
    least = np.linalg.eigvalsh(symmetric - np.diag(lower)).min()
    require(least > -slack, view, f"half the Hessian falls below diag(lower) by {-least:.2g}")
    most = np.linalg.eigvalsh(symmetric - np.diag(upper)).max()
    require(most < slack, view, f"half the Hessian passes diag(upper) by {most:.2g}")
    require(
        bool((step_scale >= upper / 2 - slack).all()),
        view,
        "step_scale is below upper / 2: a step could raise the distance",
    )
    if view.quadratic:
        told = view.half_hessian()
        require(sp.issparse(told), view, "half_hessian is not a scipy sparse matrix")
        require(
            np.allclose(told.toarray(), H, atol=slack * 10), view, "half_hessian is not residual's derivative"
        )


def require(holds: bool, view: View, complaint: str) -> None:
    if not holds:
        raise AssertionError(f"{type(view).__name__}: {complaint}.")


def half_gradient(view: View, F: Array) -> Array:
    """Half the gradient of `distance` at F, by differences."""
    slope = np.empty_like(F)
    for place in np.ndindex(F.shape):
        up, down = F.copy(), F.copy()
        up[place] += STEP
        down[place] -= STEP
        slope[place] = (view.distance(up) - view.distance(down)) / (2 * STEP)
    return slope / 2


def half_hessian(view: View, F: Array, column: int) -> Array:
    """d residual[:, column] / d F[:, column] by differences, n x n."""
    n = F.shape[0]
    H = np.empty((n, n))
    for j in range(n):
        up, down = F.copy(), F.copy()
        up[j, column] += STEP
        down[j, column] -= STEP
        H[:, j] = (view.residual(up) - view.residual(down))[:, column] / (2 * STEP)
    return H
