"""The linear system H F = rhs of a fitted model, laid out so that single rows can be read, replaced and pushed from."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, inverse_sqrt
from altopt.fitted.edge_kinds import Arc, KindLog, with_arcs
from altopt.graph import Graph
from altopt.graph.ids import find_position
from altopt.graph.validation import UNKNOWN
from altopt.operator import NormalizedAdjacency
from altopt.operator.kernels.push import Push, Pushed, SystemRows, push

EPSILON = float(np.finfo(np.float64).eps)
Row = tuple[Array, Array]  # columns and weights
Undo = Callable[[], None]

BLOCK_SIZE = 2_000_000  # entries of F whose residual is computed at once
MAX_STIFFNESS = 1e6  # H_kk / lambda1 up to which rounding leaves a push something to promise
MAX_LOG = 20_000  # edges set one by one, and entries of replaced rows, before the graph is put together anew


class LinearSystem:
    """H = diag(coupling + lambda1 + lambda2 M) - coupling A_tilde, with rows of A that can be replaced.

    Nothing of the size of F is kept here. What earlier pushes left of the residual is `carried`: rows of the nodes
    they reached.

    Parameters
    ----------
    graph : Graph
    A_tilde : NormalizedAdjacency
        Of that graph.
    weights : dict
        The views' weights by their names: features (lambda1), graph (the coupling), labels (lambda2).
    codes : ndarray of int (n_nodes,)
        Each node's given class, -1 where it has none; copied.
    n_classes : int
    """

    def __init__(
        self,
        graph: Graph,
        A_tilde: NormalizedAdjacency,
        weights: dict[str, float],
        codes: Array,
        n_classes: int,
    ) -> None:
        self.lambda1, self.coupling, self.lambda2 = (
            weights[name] for name in ("features", "graph", "labels")
        )
        A = A_tilde.adjacency
        self.begin, self.end = A.indptr[:-1].astype(np.int64), A.indptr[1:].astype(np.int64)
        self.base = np.ascontiguousarray(A.indices, dtype=np.int32)
        ones = bool(np.all(A.data == 1))
        self.base_weights = None if ones else np.ascontiguousarray(A.data, dtype=np.float64)
        self.extra, self.extra_weights, self.n_extra = np.empty(64, dtype=np.int32), np.empty(64), 0
        self.degrees = A_tilde.degrees.copy()
        self.scale = inverse_sqrt(self.degrees)
        self.codes = codes.astype(np.int32)
        self.diagonal = self.coupling + self.lambda1 + self.lambda2 * (self.codes != UNKNOWN)
        self.self_loops = A_tilde.self_loops
        self.n_classes = n_classes
        self.edge_weight = float(graph.adjacency.data.mean()) if graph.adjacency.nnz else 1.0
        self.carried: Push = push(self.n_classes)
        self.largest = 0.0  # no row of `carried` is above this times sqrt(d)
        self.ids = None if graph.positional else {name: k for k, name in enumerate(graph.ids.tolist())}
        self.names = None if graph.positional else graph.ids
        self.log: list[Arc] = []  # edges set since the system was made, where the graph has no kinds
        self.kinds = KindLog(graph) if graph.kinds else None
        self.n_nodes_of_graph = graph.n_nodes
        self.left: float | None = None
        # the degree each node had when `left` was measured, for nodes whose degree has changed since
        self.degree_when_measured: dict[int, float] = {}
        self.growth_of_left = 1.0  # `left` grew by no more than this, in its norm, because degrees fell
        self.rounding = 0.0  # what arithmetic may have lost of the residual since it was measured

    @property
    def pushable(self) -> bool:
        """Whether numbers are near enough to each other for a push: all finite, H_kk not far above lambda1."""
        stiffness = (self.coupling + self.lambda1 + self.lambda2) / self.lambda1
        return bool(stiffness <= MAX_STIFFNESS and np.isfinite(self.scale).all())

    @property
    def n_nodes(self) -> int:
        return len(self.begin)

    def rows(self) -> SystemRows:
        """As the push kernel takes it."""
        extra, weights = self.extra[: self.n_extra], self.extra_weights[: self.n_extra]
        parts = (self.begin, self.end, self.base, self.base_weights, extra, weights)
        return SystemRows(*parts, self.scale, self.diagonal, self.coupling)

    def row(self, node: int) -> Row:
        """Columns and weights of a node's row of A."""
        return self.rows().row(node)

    def name(self, node: int) -> Any:
        """The user's id of a position."""
        return node if self.names is None else self.names.item(node)

    def names_at(self, nodes: Array) -> list[Any]:
        """The users' ids of positions."""
        names: list[Any] = (nodes if self.names is None else self.names[nodes]).tolist()
        return names

    def position(self, node: Any) -> int | None:
        """The position of a user's id; None where there is no such node."""
        return find_position(node, self.n_nodes, self.ids)

    def column(self, node: int, tolerance: float) -> Pushed:
        """G e_i, pushed until |e_i - H p| <= tolerance sqrt(d) on every node: the moves are p."""
        start = push(1)
        start.add(np.array([node]), np.ones((1, 1)))
        return start.run(self.rows(), tolerance)

    def left_by_fit(self, F: Array, P: Array) -> float:
        """max_k ||rhs - H F||_k / sqrt(d_k) as the fit left it, measured once, a few columns at a time."""
        if self.left is None:
            self.carried, self.largest = push(self.n_classes), 0.0
            A, square = self.matrix(), np.zeros(len(F))
            known = np.flatnonzero(self.codes != UNKNOWN)
            width = max(1, BLOCK_SIZE // max(len(F), 1))
            for first in range(0, F.shape[1], width):
                columns = np.arange(first, min(first + width, F.shape[1]))
                block = F[:, columns].astype(np.float64)
                r = self.coupling * (A @ (block * self.scale[:, None])) * self.scale[:, None]
                r += self.lambda1 * P[:, columns] - self.diagonal[:, None] * block
                r[known] += self.lambda2 * (self.codes[known][:, None] == columns)
                square += np.einsum("ij,ij->i", r, r)
            scale = np.where(self.scale > 0, self.scale, 1.0)
            self.degree_when_measured, self.growth_of_left = {}, 1.0
            self.rounding = self.rounding_of(float(np.max(np.abs(F), initial=1.0)))
            self.left = float(np.max(np.sqrt(square) * scale))
        return self.left

    def forget_residual(self) -> None:
        """It is measured again when the next update comes."""
        self.left = None

    def rounding_of(self, size: float) -> float:
        """What float64 may lose of a residual while rows of this size pass through it."""
        return 16 * EPSILON * (self.coupling + self.lambda1 + self.lambda2) * max(size, 1.0)

    # rows as encoder inputs read them

    def adjacency_rows(self, nodes: Array) -> Any:
        """These nodes' rows of A, self-loops included."""
        rows = [self.row(int(k)) for k in nodes]
        indptr = np.concatenate([[0], np.cumsum([len(columns) for columns, _ in rows])]).astype(np.int64)
        columns = np.concatenate([part for part, _ in rows]) if rows else np.empty(0, dtype=np.int32)
        weights = np.concatenate([part for _, part in rows]) if rows else np.empty(0)
        return sp.csr_array((weights, columns, indptr), shape=(len(nodes), self.n_nodes))

    def normalized_rows(self, nodes: Array) -> Any:
        """These nodes' rows of A_tilde."""
        A = self.adjacency_rows(nodes)
        A.data = A.data * self.scale[A.indices] * np.repeat(self.scale[nodes], np.diff(A.indptr))
        return A

    def edges_of(self, directed: Any, nodes: Array) -> tuple[Any, Any]:
        """Weights of the edges from these nodes and to them; `directed` is the directed adjacency, or None."""
        if directed is not None:
            return sp.csr_array(directed[nodes]), sp.csr_array(directed[:, nodes].T)
        A = sp.coo_array(self.adjacency_rows(nodes))
        proper = A.col != nodes[A.row]
        out = sp.csr_array((A.data[proper], (A.row[proper], A.col[proper])), shape=A.shape)
        return out, out

    def arcs(self, pairs: Iterable[tuple[int, int]]) -> list[Arc]:
        """(source, target, weight) of edges as the system has them; weight 0 for those that are gone."""
        pairs = list(pairs)
        rows = {source: dict(zip(*self.row(source))) for source, _ in pairs}
        return [(source, target, float(rows[source].get(target, 0.0))) for source, target in pairs]

    # changes: what undoes each is noted before it is made, so that an interrupt between the two costs nothing

    def replace(self, node: int, columns: Array, weights: Array, undo_stack: list[Undo]) -> None:
        """Row `node` becomes these columns (sorted) and weights."""
        before = (self.begin[node], self.end[node], self.degrees[node], self.scale[node])
        growth, n_extra = self.growth_of_left, self.n_extra

        def undo() -> None:
            self.begin[node], self.end[node], self.degrees[node], self.scale[node] = before
            self.growth_of_left, self.n_extra = growth, n_extra

        undo_stack.append(undo)
        measured = self.degree_when_measured.setdefault(node, float(self.degrees[node]))
        end = self.n_extra + len(columns)
        if end > len(self.extra):
            for name in ("extra", "extra_weights"):
                grown = np.empty(2 * end, dtype=getattr(self, name).dtype)
                grown[: self.n_extra] = getattr(self, name)[: self.n_extra]
                setattr(self, name, grown)
        self.extra[self.n_extra : end], self.extra_weights[self.n_extra : end] = columns, weights
        self.begin[node], self.end[node] = len(self.base) + self.n_extra, len(self.base) + end
        self.n_extra = end
        self.degrees[node] = weights.sum()
        self.scale[node] = inverse_sqrt(self.degrees[node : node + 1])[0]
        fell = max(measured, 1e-300) / (self.degrees[node] or 1.0)
        self.growth_of_left = max(growth, float(np.sqrt(fell)))

    def label(self, node: int, code: int, undo_stack: list[Undo]) -> None:
        """Node `node` gets the class `code`, or none."""
        before = self.codes[node], self.diagonal[node]

        def undo() -> None:
            self.codes[node], self.diagonal[node] = before

        undo_stack.append(undo)
        self.codes[node] = code
        self.diagonal[node] = self.coupling + self.lambda1 + self.lambda2 * (code != UNKNOWN)

    def grow(self, names: list[Any], undo_stack: list[Undo]) -> None:
        """New nodes at the end, without edges or labels. Arrays with one number a node are copied."""
        before = {
            key: getattr(self, key) for key in ("begin", "end", "degrees", "scale", "codes", "diagonal")
        }
        before |= {"names": self.names}

        def undo() -> None:
            for key, value in before.items():
                setattr(self, key, value)
            if self.ids is not None:
                for name in names:
                    self.ids.pop(name, None)

        undo_stack.append(undo)
        n, k = self.n_nodes, len(names)
        at = np.full(k, len(self.base), dtype=np.int64)
        self.begin, self.end = np.concatenate([self.begin, at]), np.concatenate([self.end, at])
        self.degrees = np.concatenate([self.degrees, np.zeros(k)])
        self.scale = np.concatenate([self.scale, np.zeros(k)])
        self.codes = np.concatenate([self.codes, np.full(k, UNKNOWN, dtype=np.int32)])
        self.diagonal = np.concatenate([self.diagonal, np.full(k, self.coupling + self.lambda1)])
        if self.ids is not None and self.names is not None:
            self.names = joined(self.names, names)
            self.ids |= {name: n + j for j, name in enumerate(names)}
        for j in range(k * self.self_loops):
            self.replace(n + j, np.array([n + j]), np.ones(1), undo_stack)

    # the graph put together again

    def is_long(self) -> bool:
        """Whether replaced rows and the log of edges take more memory than they are worth."""
        limit = MAX_LOG + len(self.base) // 64
        n_logged = len(self.log) if self.kinds is None else len(self.kinds.arcs)
        return n_logged > limit or self.n_extra > limit + len(self.base) // 2

    def lay_out_again(self, graph: Graph) -> None:
        """Rows that follow each other, no log: for the Graph as it is now. All at once, or not at all."""
        A = self.matrix()
        self.__dict__.update(
            begin=A.indptr[:-1].astype(np.int64),
            end=A.indptr[1:].astype(np.int64),
            base=A.indices,
            base_weights=None if np.all(A.data == 1) else A.data,
            extra=np.empty(64, dtype=np.int32),
            extra_weights=np.empty(64),
            n_extra=0,
            log=[],
            kinds=KindLog(graph) if graph.kinds else None,
            n_nodes_of_graph=self.n_nodes,
        )

    def matrix(self) -> Any:
        """A as a CSR matrix, self-loops included."""
        return self.rows().matrix()

    def graph(self, made_from: Graph) -> Graph:
        """The Graph as it is now; `made_from` is the one the system was made from."""
        if self.kinds is not None:
            return self.kinds.graph_now(self.n_nodes, self.names)
        if not self.log and self.n_nodes_of_graph == self.n_nodes:
            return made_from
        A = self.matrix()
        if self.self_loops:
            A = sp.csr_array(A - sp.diags_array(A.diagonal()))
            A.eliminate_zeros()
        directed = made_from.directed_adjacency
        if directed is not None:
            directed = with_arcs(directed, self.n_nodes, self.log)
        return made_from.with_edges(A, directed, self.names)


def joined(ids: Array, names: list[Any]) -> Array:
    """Ids followed by further ones, in an array that keeps each as it is."""
    if all(isinstance(name, (int, np.integer)) for name in names) and ids.dtype.kind == "i":
        return np.concatenate([ids, np.array(names, dtype=ids.dtype)])
    every = np.empty(len(ids) + len(names), dtype=object)
    every[: len(ids)], every[len(ids) :] = ids, names
    return every
