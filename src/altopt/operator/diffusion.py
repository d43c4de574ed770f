"""Feature diffusion: every node's features mixed with those of the nodes around it."""

from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, allocate
from altopt.errors import InputError
from altopt.graph import Graph
from altopt.operator import NormalizedAdjacency
from altopt.operator.kernels.backend import Backend
from altopt.operator.scaling import row_stochastic

Direction = Literal["both", "out", "in"]
PANEL_COLUMNS = 64  # columns diffused at a time
MIN_RESTART = 1e-30  # a restart that no precision tells from none


def diffuse(
    graph: Any,
    X: Any,
    restart: float = 0.1,
    n_steps: int = 10,
    *,
    direction: Direction = "both",
    self_loops: bool = False,
) -> Array:
    """X' = LP(X, restart): Z <- (1 - restart) A_tilde Z + restart X, from Z = X, `n_steps` times.

    `restart` is the weight of a node's own value; restart=1 gives X back. `direction` "out" (or "in") takes
    the mean over the nodes an edge of a directed graph leads to (or comes from) in place of A_tilde.

    >>> diffuse([(0, 1)], np.array([[1.0], [0.0]]), restart=0.5, n_steps=1)
    array([[0.5],
           [0.5]])
    """
    if not 0.0 <= restart <= 1.0:
        raise InputError(f"restart must lie between 0 and 1, but is {restart}. 1 means no diffusion.")
    if n_steps < 0:
        raise InputError(f"n_steps must be 0 or more, but is {n_steps}.")
    Z = np.asarray(X.toarray() if sp.issparse(X) else X)
    Z = Z if Z.dtype in (np.float32, np.float64) else Z.astype(np.float64)
    operator: Any
    if isinstance(graph, NormalizedAdjacency):
        operator = graph
    else:
        laid_out = Graph(graph).rows_for(Z.shape[0])
        operator = (
            NormalizedAdjacency(laid_out.adjacency, self_loops)
            if direction == "both"
            else neighbour_mean(laid_out, direction)
        )
    return steps(operator, Z, restart, n_steps)


def steps(operator: Any, X: Array, restart: float, n_steps: int, out: Array | None = None) -> Array:
    """The iteration itself, on an array that is already checked; into `out` (which may be X), if given."""
    if restart == 1.0 or n_steps == 0:
        return X
    restart = restart if restart > MIN_RESTART else 0.0
    if not isinstance(operator, NormalizedAdjacency):
        Z, own = X, restart * X
        for _ in range(n_steps):
            Z = (1.0 - restart) * (operator @ Z) + own
        return Z
    X = X[:, None] if (is_vector := X.ndim == 1) else X
    out = allocate(X.shape, X.dtype) if out is None else out
    by_width = groupby(sorted(panels(X.shape[1]), key=itemgetter(1)), key=itemgetter(1))
    for width, found in by_width:
        diffuse_panels(
            operator.backend(width, X.dtype), X, [first for first, _ in found], restart, n_steps, out
        )
    return out[:, 0] if is_vector else out


def diffuse_panels(
    backend: Backend, X: Array, columns: list[int], restart: float, n_steps: int, out: Array
) -> None:
    """Panels of one width, one after another in the same blocks: fresh memory would cost as much as a few steps."""
    Z, spare, own = backend.empty(), backend.empty(), backend.empty() if restart else None
    scale, scale_of_own = backend.vector(1.0 - restart), backend.vector((1.0 - restart) / (restart or 1.0))
    for first in columns:
        if own is None:
            backend.to_layout(X, first=first, out=Z)
        else:
            backend.to_layout(X, restart, first, out=own)
            backend.step(own, Z, scale_of_own, rest=own)  # from Z = X = own / restart
        for _ in range(n_steps if own is None else n_steps - 1):
            backend.step(Z, spare, scale, rest=own)
            Z, spare = spare, Z
        backend.from_layout(Z, out, first)


def panels(n_columns: int) -> list[tuple[int, int]]:
    """(first, width) of panels of even width, at most PANEL_COLUMNS columns each: their blocks are all that is held."""
    count = -(-n_columns // PANEL_COLUMNS)
    bounds = [round(n_columns * k / count / 8) * 8 for k in range(count)] + [n_columns]
    return [(first, last - first) for first, last in pairwise(bounds)]


def neighbour_mean(graph: Graph, direction: Direction) -> Any:
    """D^-1 A of a directed graph: the mean over out-neighbours ("out") or in-neighbours ("in")."""
    if graph.directed_adjacency is None:
        raise InputError(
            f"direction={direction!r} needs a directed graph, but this one carries no direction. "
            "Make it with Graph(g, directed=True)."
        )
    A = graph.directed_adjacency if direction == "out" else graph.directed_adjacency.T
    return row_stochastic(sp.csr_array(A))
