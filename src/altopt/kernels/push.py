"""Local push: the residual of H F = rhs worked off node by node; the native one, and its slow twin in plain Python."""

from collections import deque
from typing import Any, NamedTuple, Protocol

import numpy as np

from altopt.arrays import Array
from altopt.kernels.choose import serving

MOST = 2_000_000_000  # pushes: no limit in practice, each lowers the energy of F


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
            return self.extra[begin - n_base : end - n_base], self.extra_weights[begin - n_base : end - n_base]
        columns = self.base[begin:end]
        return columns, np.ones(len(columns)) if self.base_weights is None else self.base_weights[begin:end]


class Pushed(NamedTuple):
    """What a push came to."""

    nodes: Array  # int64: all that were reached, in the order they were
    residual: Array  # what is left on each
    moves: Array  # what was added to each one's F
    moved: Array  # bool: where anything was
    norm: float  # of all that is left
    n_edges: int  # walked along
    reached: bool  # whether the norm asked for was


class Push(Protocol):
    """Residual rows of some nodes, all others' being zero.

    `run` takes steps  F_k += r_k / H_kk,  each of which zeroes r_k and hands A_tilde's shares of it to the
    neighbours, wherever ||r_k||^2 / d_k is above a level; the level falls by four until ||r|| <= tolerance.
    """

    def add(self, nodes: Array, rows: Array) -> None:
        """r += rows at nodes."""

    def draw_on(self, carried: Any) -> None:
        """Take over what `carried` holds of a node as soon as this push comes to it."""

    def absorb(self, other: Any) -> None:
        """Add what is left of another push."""

    def norm(self) -> float:
        """||r||."""

    def run(self, rows: LiveRows, tolerance: float) -> Pushed: ...


def push(width: int) -> Push:
    """An empty push on rows of `width` columns, by the kernel that serves."""
    native = serving()
    return PlainPush(width) if native is None else NativePush(native, width)


class NativePush:
    def __init__(self, native: Any, width: int) -> None:
        self.width, self._push = width, native.Push(width)

    def add(self, nodes: Array, rows: Array) -> None:
        self._push.add(
            np.ascontiguousarray(nodes, dtype=np.int64), np.ascontiguousarray(rows, dtype=np.float64)
        )

    def draw_on(self, carried: "NativePush") -> None:
        self._push.draw_on(carried._push)

    def absorb(self, other: "NativePush") -> None:
        self._push.absorb(other._push)

    def norm(self) -> float:
        return float(np.sqrt(self._push.square_norm()))

    def run(self, rows: LiveRows, tolerance: float) -> Pushed:
        _, n_edges, square, reached = self._push.run(*rows, tolerance**2, MOST)
        n = len(self._push)
        nodes, moved = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.uint8)
        residual, moves = np.empty((n, self.width)), np.empty((n, self.width))
        self._push.nodes(nodes)
        self._push.residual(residual)
        self._push.moves(moves)
        self._push.pushed(moved)
        norm = float(np.sqrt(square))
        return Pushed(nodes.astype(np.int64), residual, moves, moved.astype(bool), norm, n_edges, reached)


class PlainPush:
    """The same, readable: the definition of right."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.r: dict[int, Array] = {}
        self.moves: dict[int, Array] = {}
        self.carried: PlainPush | None = None

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

    def draw_on(self, carried: "PlainPush") -> None:
        self.carried = carried

    def absorb(self, other: "PlainPush") -> None:
        nodes = np.array(list(other.r), dtype=np.int64)
        self.add(nodes, np.array([other.r[node] for node in nodes.tolist()]).reshape(len(nodes), self.width))

    def norm(self) -> float:
        return float(np.sqrt(sum(float(row @ row) for row in self.r.values())))

    def run(self, rows: LiveRows, tolerance: float) -> Pushed:
        def key(node: int) -> float:
            r, scale = self.r[node], float(rows.scale[node])
            return float(r @ r) * (scale**2 if scale > 0 else 1.0)

        level, n_edges = max((key(node) for node in self.r), default=0.0), 0
        while (square := self.norm() ** 2) > tolerance**2:
            level /= 4.0
            queue = deque(node for node in self.r if key(node) > level)
            while queue:
                k = queue.popleft()
                if key(k) <= level:
                    continue
                step = self.r[k] / rows.diagonal[k]
                square -= float(self.r[k] @ self.r[k])
                self.moves[k] = self.moves.get(k, 0.0) + step
                self.r[k] = np.zeros(self.width)
                columns, weights = rows.row(k)
                n_edges += len(columns)
                for i, weight in zip(columns.tolist(), weights):
                    waits = i in self.r and key(i) > level
                    before = float(self.r[i] @ self.r[i]) if i in self.r else 0.0
                    self._touch(i)
                    self.r[i] = self.r[i] + rows.coupling * rows.scale[k] * rows.scale[i] * weight * step
                    square += float(self.r[i] @ self.r[i]) - before
                    if not waits and key(i) > level:
                        queue.append(i)
                if square <= tolerance**2:
                    square = self.norm() ** 2  # the running sum has lost digits
                    if square <= tolerance**2:
                        break
        nodes, zero = list(self.r), np.zeros(self.width)
        residual = np.array([self.r[node] for node in nodes]).reshape(len(nodes), self.width)
        moves = np.array([self.moves.get(node, zero) for node in nodes]).reshape(len(nodes), self.width)
        moved = np.array([node in self.moves for node in nodes], dtype=bool)
        return Pushed(np.array(nodes, dtype=np.int64), residual, moves, moved, self.norm(), n_edges, True)
