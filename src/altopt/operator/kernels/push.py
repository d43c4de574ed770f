"""Local push: the residual of H F = rhs worked off node by node; the native one, and its slow twin in plain Python."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np

from altopt.arrays import Array
from altopt.operator.kernels.dispatch import COMPILED, native_available


class LiveRows(NamedTuple):
    """A graph whose rows can be replaced, and H = diag(diagonal) - coupling * D^-1/2 A D^-1/2 on it.

    Row i is entries begin[i] to end[i] of `base`, or of `extra` where these lie beyond base's end.
    """

    begin: Array  # int64
    end: Array
    base: Array  # int32: columns
    base_weights: Array | None  # float64; None: ones
    extra: Array
    extra_weights: Array
    scale: Array  # d^-1/2, 0 without edges
    diagonal: Array
    coupling: float

    def row(self, node: int) -> tuple[Array, Array]:
        """Columns and weights of a node."""
        begin, end, n_base = int(self.begin[node]), int(self.end[node]), len(self.base)
        if begin >= n_base:
            return self.extra[begin - n_base : end - n_base], self.extra_weights[
                begin - n_base : end - n_base
            ]
        columns = self.base[begin:end]
        return columns, np.ones(len(columns)) if self.base_weights is None else self.base_weights[begin:end]


class Pushed(NamedTuple):
    """What a push came to."""

    nodes: Array  # int64: all that were reached, in the order they were
    residual: Array  # what is left on each
    moves: Array  # what was added to each one's F
    moved: Array  # bool: where anything was
    n_edges: int  # walked along


class Push(Protocol):
    """Residual rows of some nodes, all others' being zero.

    `run` takes steps  F_k += r_k / H_kk,  each of which zeroes r_k and hands A_tilde's shares of it to the
    neighbours, wherever ||r_k||^2 / d_k is above a level, which falls by four until ||r_k|| <= tolerance sqrt(d_k)
    everywhere. As G is not negative and G D^1/2 1 <= D^1/2 1 / lambda1, that certifies
    ||F_k - F*_k|| <= sqrt(d_k) max_j ||r_j|| / sqrt(d_j) / lambda1 on every row. Nodes without edges count as d = 1.
    """

    @property
    def nbytes(self) -> int:
        """Bytes that compiled code holds, which Python does not see."""

    def add(self, nodes: Array, rows: Array) -> None:
        """r += rows at nodes."""

    def draw_on(self, carried: Any) -> None:
        """Take over what `carried` holds of a node as soon as this push comes to it."""

    def absorb(self, other: Any) -> None:
        """Add what is left of another push."""

    def largest(self, scale: Array) -> float:
        """max_k ||r_k|| / sqrt(d_k), scale being d^-1/2."""

    def run(self, rows: LiveRows, tolerance: float) -> Pushed: ...

    def shift(self, rows: LiveRows, nodes: Array, steps: Array) -> None:
        """r -= H steps, for steps that F took at nodes."""


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
    """An empty push on rows of `width` columns, by the kernel that serves."""
    made: Push = NativePush(width) if native_available() else PythonPush(width)
    for observed in _observers:
        observed.append(made)
    return made


def refilled(width: int, nodes: Array, residual: Array) -> Push:
    """A push out of what a stored one had left."""
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
        return float(np.sqrt(self._push.largest(scale)))

    def shift(self, rows: LiveRows, nodes: Array, steps: Array) -> None:
        taken = np.ascontiguousarray(nodes, dtype=np.int64), np.ascontiguousarray(steps, dtype=np.float64)
        self._push.shift(self._compiled.LiveRows(*rows), *taken)

    def run(self, rows: LiveRows, tolerance: float) -> Pushed:
        n_edges = self._push.run(self._compiled.LiveRows(*rows), tolerance**2)
        nodes, residual = self._left()
        moves, moved = np.empty_like(residual), np.empty(len(nodes), dtype=np.uint8)
        self._push.moves(moves)
        self._push.pushed(moved)
        return Pushed(nodes, residual, moves, moved.astype(bool), n_edges)


class PythonPush:
    """The same, readable: the definition of right."""

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

    def _hand_on(self, rows: LiveRows, k: int, step: Array) -> None:
        columns, weights = rows.row(k)
        for i, weight in zip(columns.tolist(), weights):
            self._touch(i)
            self.r[i] = self.r[i] + rows.coupling * rows.scale[k] * rows.scale[i] * weight * step

    def shift(self, rows: LiveRows, nodes: Array, steps: Array) -> None:
        for k, step in zip(nodes.tolist(), steps):
            self._touch(k)
            self.r[k] = self.r[k] - rows.diagonal[k] * step
            self._hand_on(rows, k, step)

    def _key(self, node: int, scale: Array) -> float:
        r, s = self.r[node], float(scale[node])
        return float(r @ r) * (s**2 if s > 0 else 1.0)

    def largest(self, scale: Array) -> float:
        return float(np.sqrt(max((self._key(node, scale) for node in self.r), default=0.0)))

    def run(self, rows: LiveRows, tolerance: float) -> Pushed:
        def above(node: int) -> bool:
            return node in self.r and self._key(node, rows.scale) > level

        level, n_edges = self.largest(rows.scale) ** 2, 0
        while level > tolerance**2:
            level = max(level / 4.0, tolerance**2)
            queue = deque(node for node in self.r if above(node))
            while queue:
                k = queue.popleft()
                step = self.r[k] / rows.diagonal[k]
                self.moves[k] = self.moves.get(k, 0.0) + step
                self.r[k] = np.zeros(self.width)
                columns = rows.row(k)[0].tolist()
                n_edges += len(columns)
                waiting = {i for i in columns if above(i)}
                self._hand_on(rows, k, step)
                queue.extend(i for i in columns if i not in waiting and above(i))
        nodes, zero = list(self.r), np.zeros(self.width)
        residual = np.array([self.r[node] for node in nodes]).reshape(len(nodes), self.width)
        moves = np.array([self.moves.get(node, zero) for node in nodes]).reshape(len(nodes), self.width)
        moved = np.array([node in self.moves for node in nodes], dtype=bool)
        return Pushed(np.array(nodes, dtype=np.int64), residual, moves, moved, n_edges)
