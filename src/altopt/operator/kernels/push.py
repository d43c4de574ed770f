"""Local push: solves H F = rhs from the nodes where the residual is not zero; compiled, and its slow twin in Python."""

import math
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.operator.kernels.dispatch import COMPILED, native_available
from altopt.operator.kernels.pace import Pace


class SystemRows(NamedTuple):
    """H = diag(diagonal) - coupling D^-1/2 A D^-1/2, with rows of A that can be replaced.

    Row i of A is entries begin[i] to end[i] of `base`, or of `extra` where these lie beyond base's end.

    Attributes
    ----------
    begin, end : arrays of int64, shape (n,)
    base : array of int32
        Columns of the rows as they were.
    base_weights : array of float64 or None
        None: every weight is 1.
    extra, extra_weights : arrays of int32 and float64
        Columns and weights of replaced rows.
    scale : array of float64, shape (n,)
        d^-1/2; 0 for isolated nodes.
    diagonal : array of float64, shape (n,)
        Of H, without the coupling's own.
    coupling : float
    """

    begin: Array
    end: Array
    base: Array
    base_weights: Array | None
    extra: Array
    extra_weights: Array
    scale: Array
    diagonal: Array
    coupling: float

    @property
    def n_entries(self) -> int:
        """Entries of A, replaced ones included."""
        return len(self.base) + len(self.extra)

    def row(self, node: int) -> tuple[Array, Array]:
        """Columns and weights of a node."""
        begin, end, n_base = int(self.begin[node]), int(self.end[node]), len(self.base)
        if begin >= n_base:
            return self.extra[begin - n_base : end - n_base], self.extra_weights[
                begin - n_base : end - n_base
            ]
        columns = self.base[begin:end]
        return columns, np.ones(len(columns)) if self.base_weights is None else self.base_weights[begin:end]

    def matrix(self) -> Any:
        """A as a CSR matrix."""
        counts, n = self.end - self.begin, len(self.begin)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        place = np.repeat(self.begin - indptr[:-1], counts) + np.arange(indptr[-1])
        in_base = place < len(self.base)
        indices, data = np.empty(len(place), dtype=np.int32), np.ones(len(place))
        indices[in_base] = self.base[place[in_base]]
        indices[~in_base] = self.extra[place[~in_base] - len(self.base)]
        if self.base_weights is not None:
            data[in_base] = self.base_weights[place[in_base]]
        data[~in_base] = self.extra_weights[place[~in_base] - len(self.base)]
        return sp.csr_array((data, indices, indptr), shape=(n, n))


class Pushed(NamedTuple):
    """The result of a push.

    Attributes
    ----------
    nodes : array of int64
        Nodes reached, in this order.
    residual : array, one row a node reached
        What is left of r.
    moves : array, one row a node reached
        What was added to F.
    moved : array of bool
        Nodes whose F changed.
    n_edges : int
        Edges traversed.
    reached : bool
        Whether ||r_k|| <= tolerance sqrt(d_k) everywhere. False: `max_edges` were traversed before, or r is not finite.
        The residual is true either way.
    """

    nodes: Array
    residual: Array
    moves: Array
    moved: Array
    n_edges: int
    reached: bool


class Push(Protocol):
    """Rows of the residual r = rhs - H F at a few nodes; zero at all others.

    `run` makes steps  F_k += r_k / H_kk.  Each zeroes r_k and propagates it to the neighbours by A_tilde. Steps are
    made wherever ||r_k||^2 / d_k is above a level, which is divided by four until ||r_k|| <= tolerance sqrt(d_k)
    everywhere. Where r would reach most of the graph, Chebyshev steps on all nodes for H x = r, F += x, are cheaper
    and made instead. As G = H^-1 is non-negative and G D^1/2 1 <= D^1/2 1 / lambda1, this certifies
    ||F_k - F*_k|| <= sqrt(d_k) max_j ||r_j|| / sqrt(d_j) / lambda1 on every row. Isolated nodes have d = 1 here.

    One thread at a time: the compiled push raises RuntimeError where another thread is at work on it.

    Examples
    --------
    One edge, H = 2 I - A_tilde: a residual at node 0 is pushed back and forth until F = H^-1 rhs.

    >>> ends, ones = np.array([1, 0], dtype=np.int32), np.ones(2)
    >>> begin, none = np.array([0, 1]), np.empty(0)
    >>> rows = SystemRows(begin, begin + 1, ends, None, none.astype(np.int32), none, ones, 2 * ones, 1.0)
    >>> residual = push(width=1)
    >>> residual.add(np.array([0]), np.ones((1, 1)))
    >>> residual.run(rows, tolerance=1e-9).moves.round(6).tolist()
    [[0.666667], [0.333333]]
    """

    @property
    def nbytes(self) -> int:
        """Bytes that compiled code holds, which Python does not see."""

    def add(self, nodes: Array, rows: Array) -> None:
        """r += rows at nodes."""

    def draw_on(self, carried: Any) -> None:
        """Take over the rows of `carried`, each when this push first reaches its node."""

    def absorb(self, other: Any) -> None:
        """Add the residual of another push."""

    def largest(self, scale: Array) -> float:
        """max_k ||r_k|| / sqrt(d_k), with scale = d^-1/2; NaN or infinite if one of them is."""

    def run(self, rows: SystemRows, tolerance: float, max_edges: int | None = None) -> Pushed:
        """Push until ||r_k|| <= tolerance sqrt(d_k) at every node, or more than `max_edges` were traversed.

        None is what a new solve would take, about: EDGES_A_ROUND times the entries of A.
        """

    def shift(self, rows: SystemRows, nodes: Array, steps: Array) -> None:
        """r -= H steps, after F += steps at these nodes."""


EDGES_A_ROUND = 64  # times A's entries: a push that traverses more edges has lost to a solve from scratch
WALK_PRICE = 4  # of an edge walked along, in edges of a solve on all nodes
MIN_EDGES = {True: 100_000_000, False: 1_000_000}  # a second or a few, compiled or not


def edge_limit(rows: SystemRows, compiled: bool) -> int:
    """The edges that a push may traverse."""
    return max(EDGES_A_ROUND * rows.n_entries, MIN_EDGES[compiled])


_observers: list[list[Push]] = []


@contextmanager
def observed_pushes() -> Iterator[list[Push]]:
    """Collects every push made inside the block, so that a benchmark can add up the memory (`nbytes`) they take."""
    made: list[Push] = []
    _observers.append(made)
    try:
        yield made
    finally:
        _observers.pop()


def push(width: int) -> Push:
    """A push with zero residual on rows of `width` columns, compiled where that is in use."""
    made: Push = NativePush(width) if native_available() else PythonPush(width)
    for observed in _observers:
        observed.append(made)
    return made


def refilled(width: int, nodes: Array, residual: Array) -> Push:
    """A push with the residual of a pickled one."""
    fresh = push(width)
    fresh.add(nodes, residual)
    return fresh


class NativePush:
    """The compiled push."""

    def __init__(self, width: int) -> None:
        self.width, self._compiled = width, COMPILED
        self._push = self._compiled.Push(width)

    @property
    def nbytes(self) -> int:
        return int(self._push.bytes())

    def __reduce__(self) -> Any:
        nodes, residual = self._left()
        return refilled, (self.width, nodes, residual)

    def _left(self) -> tuple[Array, Array]:
        n = len(self._push)
        nodes, residual = np.empty(n, dtype=np.int32), np.empty((n, self.width))
        self._push.nodes(nodes)
        self._push.residual(residual)
        return nodes.astype(np.int64), residual

    def add(self, nodes: Array, rows: Array) -> None:
        self._push.add(
            np.ascontiguousarray(nodes, dtype=np.int64), np.ascontiguousarray(rows, dtype=np.float64)
        )

    def draw_on(self, carried: "NativePush") -> None:
        self._push.draw_on(carried._push)

    def absorb(self, other: "NativePush") -> None:
        self._push.absorb(other._push)

    def largest(self, scale: Array) -> float:
        return float(self._push.largest(scale))

    def shift(self, rows: SystemRows, nodes: Array, steps: Array) -> None:
        taken = np.ascontiguousarray(nodes, dtype=np.int64), np.ascontiguousarray(steps, dtype=np.float64)
        self._push.shift(self._compiled.SystemRows(*rows), *taken)

    def run(self, rows: SystemRows, tolerance: float, max_edges: int | None = None) -> Pushed:
        limit = edge_limit(rows, True) if max_edges is None else max_edges
        n_edges, reached = self._push.run(self._compiled.SystemRows(*rows), tolerance * tolerance, limit)
        nodes, residual = self._left()
        moves, moved = np.empty_like(residual), np.empty(len(nodes), dtype=np.uint8)
        self._push.moves(moves)
        self._push.pushed(moved)
        return Pushed(nodes, residual, moves, moved.astype(bool), n_edges, reached)


class PythonPush:
    """The same in Python: the definition of right."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.r: dict[int, Array] = {}
        self.moves: dict[int, Array] = {}
        self.carried: PythonPush | None = None

    @property
    def nbytes(self) -> int:
        return 0

    def _touch(self, node: int) -> None:
        if node not in self.r:
            left = self.carried.r.get(node) if self.carried is not None else None
            self.r[node] = np.zeros(self.width) if left is None else left.copy()
            if left is not None:
                left[:] = 0.0

    def add(self, nodes: Array, rows: Array) -> None:
        for node, row in zip(nodes.tolist(), rows):
            self._touch(node)
            self.r[node] = self.r[node] + row

    def draw_on(self, carried: "PythonPush") -> None:
        self.carried = carried

    def absorb(self, other: "PythonPush") -> None:
        nodes = np.array(list(other.r), dtype=np.int64)
        self.add(nodes, np.array([other.r[node] for node in nodes.tolist()]).reshape(len(nodes), self.width))

    def _propagate(self, rows: SystemRows, k: int, step: Array) -> None:
        columns, weights = rows.row(k)
        for i, weight in zip(columns.tolist(), weights):
            self._touch(i)
            self.r[i] = self.r[i] + rows.coupling * rows.scale[k] * rows.scale[i] * weight * step

    def shift(self, rows: SystemRows, nodes: Array, steps: Array) -> None:
        for k, step in zip(nodes.tolist(), steps):
            self._touch(k)
            self.r[k] = self.r[k] - rows.diagonal[k] * step
            self._propagate(rows, k, step)

    def _keys(self, scale: Array) -> list[float]:
        return [self._key(node, scale) for node in self.r]

    def _key(self, node: int, scale: Array) -> float:
        r, s = self.r[node], float(scale[node])
        return float(r @ r) * (s**2 if s > 0 else 1.0)

    def largest(self, scale: Array) -> float:
        rows = [self.r[node] / (scale[node] ** -1.0 if scale[node] > 0 else 1.0) for node in self.r]
        units = [float(np.max(np.abs(row))) for row in rows]  # lengths by parts of them: squares may overflow
        lengths = [
            unit * float(np.linalg.norm(row / unit)) if 0 < unit < np.inf else unit
            for row, unit in zip(rows, units)
        ]
        return float(np.max(lengths, initial=0.0))

    def run(self, rows: SystemRows, tolerance: float, max_edges: int | None = None) -> Pushed:
        limit = edge_limit(rows, False) if max_edges is None else max_edges
        with np.errstate(over="ignore", invalid="ignore"):
            n_edges = self._walk(rows, tolerance * tolerance, limit)
            finite = bool(np.isfinite(self._keys(rows.scale)).all())
        return self._pushed(n_edges, finite and n_edges <= limit)

    def _walk(self, rows: SystemRows, lowest: float, max_edges: int) -> int:
        """Steps at falling levels, or on all nodes where that is cheaper; the edges traversed.

        It ends at once when these are more than `max_edges`.
        """

        def above(node: int) -> bool:
            return node in self.r and self._key(node, rows.scale) > level

        pace = Pace(rows.diagonal, rows.coupling)
        level, n_edges, walked = self._highest(rows), 0, 0
        solvable = pace.useful
        while lowest < level < np.inf:
            target = max(lowest, level * pace.floor**2)
            n_steps = pace.steps(math.sqrt(target / level))
            cost = n_steps * rows.n_entries
            may_solve = solvable and n_edges + 2 * cost <= max_edges
            if may_solve and WALK_PRICE * max(walked, self._edges_ahead(rows, target)) > cost:
                n_edges += self._solve(rows, pace, target, 2 * n_steps) * rows.n_entries
                before, level, walked = level, self._highest(rows), 0
                solvable = level <= before / 4.0
                continue
            level = max(level / 4.0, lowest)
            queue = deque(node for node in self.r if above(node))
            while queue and not (may_solve and WALK_PRICE * walked > cost):
                k = queue.popleft()
                step = self.r[k] / rows.diagonal[k]
                self.moves[k] = self.moves.get(k, 0.0) + step
                self.r[k] = np.zeros(self.width)
                columns = rows.row(k)[0].tolist()
                n_edges, walked = n_edges + len(columns), walked + len(columns)
                waiting = {i for i in columns if above(i)}
                self._propagate(rows, k, step)
                if n_edges > max_edges:
                    return n_edges
                queue.extend(i for i in columns if i not in waiting and above(i))
            if queue:  # this level is left to a solve
                level = self._highest(rows)
        return n_edges

    def _highest(self, rows: SystemRows) -> float:
        return float(np.max(self._keys(rows.scale), initial=0.0))

    def _edges_ahead(self, rows: SystemRows, target: float) -> float:
        """Edges that a walk would take at least, about: a node is stepped from at each level below its key."""
        last, total = math.frexp(target)[1], 0.0
        for node in self.r:
            key = self._key(node, rows.scale)
            if key > target:
                total += 0.5 * (math.frexp(key)[1] - last + 1) * float(rows.end[node] - rows.begin[node])
        return total

    def _solve(self, rows: SystemRows, pace: Pace, target: float, max_steps: float) -> int:
        """Chebyshev steps on all nodes until ||r_k||^2 / d_k <= target everywhere; their number."""
        nodes = range(len(rows.begin))
        for node in nodes:
            self._touch(node)
        r, x = np.array([self.r[node] for node in nodes]), np.zeros((len(nodes), self.width))
        before, left, keys = x, r, rows.scale**2 + (rows.scale == 0)
        A, scale = rows.matrix(), rows.scale[:, None]
        for n_steps, (size, momentum) in enumerate(pace.coefficients(), start=1):
            left = r - rows.diagonal[:, None] * x + rows.coupling * (scale * (A @ (scale * x)))
            largest = float(np.max(np.sum(left**2, axis=1) * keys))
            if largest <= target or not np.isfinite(largest) or n_steps >= max_steps:
                break
            x, before = x + size * left / rows.diagonal[:, None] + momentum * (x - before), x
        for node in nodes:
            self.r[node] = left[node]
            if np.any(x[node]):
                self.moves[node] = self.moves.get(node, 0.0) + x[node]
        return n_steps

    def _pushed(self, n_edges: int, reached: bool) -> Pushed:
        nodes, zero = list(self.r), np.zeros(self.width)
        residual = np.array([self.r[node] for node in nodes]).reshape(len(nodes), self.width)
        moves = np.array([self.moves.get(node, zero) for node in nodes]).reshape(len(nodes), self.width)
        moved = np.array([node in self.moves for node in nodes], dtype=bool)
        return Pushed(np.array(nodes, dtype=np.int64), residual, moves, moved, n_edges, reached)
