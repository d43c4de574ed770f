"""Feature diffusion over the graph, by A_tilde or by the mean over neighbours of a directed graph."""

from itertools import groupby, pairwise
from operator import itemgetter
from threading import Lock
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, allocate
from altopt.errors import InputError
from altopt.graph import Graph
from altopt.graph.matrices import checked_csr
from altopt.operator import NormalizedAdjacency
from altopt.operator.kernels.backend import Backend
from altopt.operator.kernels.native import padded
from altopt.operator.scaling import row_stochastic
from altopt.settings import is_number

Direction = Literal["both", "out", "in"]
Average = Literal["both", "mean", "out", "in"]
PANEL_COLUMNS = 64  # columns diffused at a time
MIN_RESTART = 1e-30  # below this restart is 0 in any precision


def diffuse(
    graph: Any,
    X: Any,
    restart: float = 0.1,
    n_steps: int = 10,
    *,
    direction: Direction = "both",
    self_loops: bool = False,
) -> Array:
    """Diffuse features over a graph: Z <- (1 - restart) A_tilde Z + restart X, from Z = X, `n_steps` times.

    This is X' = LP(X, restart), label propagation of the features; its limit is
    restart (I - (1 - restart) A_tilde)^-1 X.

    Parameters
    ----------
    graph : Graph, NormalizedAdjacency or anything Graph accepts
        The nodes are the rows of X. A Graph in whose order X comes is prepared once, for as long as it lives: that
        takes at most as much memory again as its edges.
    X : array or sparse matrix of shape (n_nodes, n_features)
    restart : float
        The weight of a node's own features, between 0 and 1; 1 returns X.
    n_steps : int
    direction : {"both", "out", "in"}
        "out" ("in") takes the mean over out-neighbours (in-neighbours) of a directed graph in place of A_tilde.
    self_loops : bool
        Whether every node is tied to itself with the mean edge weight.

    Returns
    -------
    array of shape (n_nodes, n_features)
        float32 where X is, else float64.

    Examples
    --------
    >>> diffuse([(0, 1)], np.array([[1.0], [0.0]]), restart=0.5, n_steps=1)
    array([[0.5],
           [0.5]])
    """
    if not (is_number(restart) and 0.0 <= restart <= 1.0):
        raise InputError(f"restart must lie between 0 and 1, but is {restart!r}. 1 means no diffusion.")
    if isinstance(n_steps, bool) or not isinstance(n_steps, int | np.integer) or n_steps < 0:
        raise InputError(f"n_steps must be a whole number, 0 or more, but is {n_steps!r}.")
    Z = read_block(X)
    if isinstance(graph, NormalizedAdjacency):
        if graph.n_nodes != Z.shape[0]:
            raise InputError(f"X has {Z.shape[0]:,} rows but the graph has {graph.n_nodes:,} nodes.")
        return steps(graph, Z, restart, n_steps)
    graph = graph if isinstance(graph, Graph) else Graph(graph)
    operator = KEPT.operator(graph.rows_for(Z.shape[0]), direction, self_loops)
    return steps(operator, Z, restart, n_steps)


class Kept:
    """The operators of graphs that are still in use elsewhere; they go when their Graph does.

    Examples
    --------
    >>> kept, graph = Kept(), Graph([(0, 1), (1, 2)])
    >>> kept.operator(graph, "both", False) is kept.operator(graph, "both", False)
    True
    """

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[Graph, dict[tuple[Direction, bool], tuple[Any, Any]]] = (
            WeakKeyDictionary()
        )
        self._lock = Lock()

    def operator(self, graph: Graph, direction: Direction, self_loops: bool) -> Any:
        """A_tilde, or the mean over neighbours along a direction; anew where the graph was given other edges."""
        made_from = graph.adjacency if direction == "both" else graph.directed_adjacency
        with self._lock:
            operators = self._of.setdefault(graph, {})
            edges, operator = operators.get((direction, self_loops), (None, None))
        if edges is None or edges is not made_from:
            operator = (
                NormalizedAdjacency(made_from, self_loops)
                if direction == "both"
                else neighbour_mean(graph, direction)
            )
            with self._lock:
                operators[direction, self_loops] = made_from, operator
        return operator


KEPT = Kept()


def read_block(X: Any) -> Array:
    """X as a dense array of finite numbers with a row for each node."""
    try:
        Z = np.asarray(checked_csr(X, "X").toarray() if sp.issparse(X) else X)
        Z = Z if Z.dtype in (np.float32, np.float64) or Z.dtype.kind == "c" else Z.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"X must hold numbers, but cannot be read as such: {error}.") from error
    if Z.ndim not in (1, 2) or Z.dtype.kind == "c" or not np.isfinite(Z).all():
        raise InputError(
            "X must hold finite real numbers, one row a node, but has NaN, infinite or complex numbers, or shape "
            f"{Z.shape}. Fill in what is missing."
        )
    return Z


def panel_bytes(n_columns: int) -> int:
    """Bytes of a row of a panel in float32."""
    return 4 * min(padded(n_columns), PANEL_COLUMNS)


def buffer_bytes(n_rows: int, n_columns: int) -> float:
    """Bytes that `steps` needs in float32 besides X and the result: three panels of padded columns."""
    return 3.0 * n_rows * panel_bytes(n_columns)


def steps(operator: Any, X: Array, restart: float, n_steps: int, out: Array | None = None) -> Array:
    """The iteration on a checked array; `out` receives the result and may be X."""
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
    for width, group in by_width:
        diffuse_panels(
            operator.backend(width, X.dtype), X, [first for first, _ in group], restart, n_steps, out
        )
    return out[:, 0] if is_vector else out


def diffuse_panels(
    backend: Backend, X: Array, columns: list[int], restart: float, n_steps: int, out: Array
) -> None:
    """Diffuse panels of equal width in the same blocks: allocating anew would cost as much as a few steps."""
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
    """(first column, width) of panels of about equal width, at most PANEL_COLUMNS columns each."""
    count = -(-n_columns // PANEL_COLUMNS)
    bounds = [round(n_columns * k / count / 8) * 8 for k in range(count)] + [n_columns]
    return [(first, last - first) for first, last in pairwise(bounds)]


def neighbour_mean(graph: Graph, direction: Direction) -> Any:
    """D^-1 A: the mean over all neighbours ("both"), out-neighbours ("out") or in-neighbours ("in")."""
    A = graph.adjacency_along(direction, f"direction={direction!r}")
    return row_stochastic(sp.csr_array(A))
