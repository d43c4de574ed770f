"""A fitted model's linear system H F = rhs, laid out so that single rows can be read, changed and pushed from."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, inverse_sqrt
from altopt.fitted.request import joined
from altopt.graph import Graph
from altopt.graph.validation import UNKNOWN
from altopt.operator import NormalizedAdjacency
from altopt.operator.kernels.push import LiveRows, Push, push
from altopt.views import GraphView

Row = tuple[Array, Array]  # columns and weights


def live_system(model: Any) -> "LiveSystem | None":
    """The model's system, made once; None where F is not the solution of one with a bound on its error.

    That takes the squared feature and label views, the graph's Laplacian, lambda1 > 0 and a full solve. Where
    self-loops weigh the mean of the edges, one edge changes every row: none either.
    """
    live: LiveSystem | None = model.__dict__.get("_live")
    if live is None and fits(model):
        live = model._live = LiveSystem(model)
    return live


def fits(model: Any) -> bool:
    plan = model.plan_
    converges: bool = model._solvers().last.converges
    local = plan.linear and plan.graph_view == GraphView and not (model.self_loops and model.graph_.weighted)
    return local and converges


class LiveSystem:
    """H = diag(coupling + lambda1 + lambda2 M) - coupling A_tilde, with rows of A that can be replaced.

    Nothing of the size of F is held: `codes` is each node's given class, -1 where it has none; what former
    updates left of the residual is `carried`, rows of the nodes they came to.
    """

    def __init__(self, model: Any) -> None:
        graph = model.graph_
        A_tilde = NormalizedAdjacency(graph.adjacency, model.self_loops)
        objective = model._objective(graph, A_tilde, model.Y_, model.labelled_)(model.encoder_output_, None)
        weights = {view.name: float(view.weight) for view in objective.views}
        self.lambda1, self.coupling, self.lambda2 = (weights[key] for key in ("features", "graph", "labels"))
        A = A_tilde.adjacency
        self.begin, self.end = A.indptr[:-1].astype(np.int64), A.indptr[1:].astype(np.int64)
        self.base = np.ascontiguousarray(A.indices, dtype=np.int32)
        ones = bool(np.all(A.data == 1))
        self.base_weights = None if ones else np.ascontiguousarray(A.data, dtype=np.float64)
        self.extra, self.extra_weights, self.n_extra = np.empty(64, dtype=np.int32), np.empty(64), 0
        self.degrees = A_tilde.degrees.copy()
        self.scale = inverse_sqrt(self.degrees)
        self.diagonal = self.coupling + self.lambda1 + self.lambda2 * model.labelled_
        self.codes = np.full(len(self.degrees), UNKNOWN, dtype=np.int32)
        self.codes[model.labelled_] = model.Y_.argmax(axis=1)
        self.self_loops = model.self_loops
        self.n_classes = model.scores_.shape[1]
        self.edge_weight = float(graph.adjacency.data.mean()) if graph.adjacency.nnz else 1.0
        self.carried: Push = push(self.n_classes)
        self.largest = 0.0  # no row of `carried` is above this times sqrt(d)
        self.ids = None if graph.positional else {name: k for k, name in enumerate(graph.ids.tolist())}
        self.names = None if graph.positional else graph.ids
        self.log: list[tuple[int, int, float]] = []  # edges set since the graph was last written out
        self.n_logged_nodes = graph.n_nodes
        self.left: float | None = None
        self.measured: dict[
            int, float
        ] = {}  # degrees, when `left` was measured, of nodes whose degree changed since

    @property
    def n_nodes(self) -> int:
        return len(self.begin)

    def rows(self) -> LiveRows:
        """As the kernel takes it."""
        extra, weights = self.extra[: self.n_extra], self.extra_weights[: self.n_extra]
        parts = (self.begin, self.end, self.base, self.base_weights, extra, weights)
        return LiveRows(*parts, self.scale, self.diagonal, self.coupling)

    def row(self, node: int) -> Row:
        return self.rows().row(node)

    def name(self, node: int) -> Any:
        """The user's id of a position."""
        return node if self.names is None else self.names.item(node)

    def column(self, node: int, tolerance: float) -> Any:
        """G e_i, pushed until |e_i - H p| <= tolerance sqrt(d) on every node: the moves are p."""
        start = push(1)
        start.add(np.array([node]), np.ones((1, 1)))
        return start.run(self.rows(), tolerance)

    def left_by_fit(self, F: Array, P: Array) -> float:
        """max_k ||rhs - H F||_k / sqrt(d_k) as the fit left it, measured once, a few columns at a time."""
        if self.left is None:
            A, square = self.matrix(), np.zeros(len(F))
            known = np.flatnonzero(self.codes != UNKNOWN)
            width = max(1, 2_000_000 // max(len(F), 1))
            for first in range(0, F.shape[1], width):
                columns = np.arange(first, min(first + width, F.shape[1]))
                block = F[:, columns].astype(np.float64)
                r = self.coupling * (A @ (block * self.scale[:, None])) * self.scale[:, None]
                r += self.lambda1 * P[:, columns] - self.diagonal[:, None] * block
                r[known] += self.lambda2 * (self.codes[known][:, None] == columns)
                square += np.einsum("ij,ij->i", r, r)
            scale = np.where(self.scale > 0, self.scale, 1.0)
            self.left, self.measured = float(np.max(np.sqrt(square) * scale)), {}
        return self.left

    def shrunk(self) -> float:
        """By how much `left` grew, in that norm, because degrees fell."""
        ratios = [max(was, 1e-300) / (self.degrees[k] or 1.0) for k, was in self.measured.items()]
        return float(np.sqrt(max([1.0, *ratios])))

    # changes: each returns what undoes it

    def replace(self, node: int, columns: Array, weights: Array) -> Any:
        """Row `node` becomes these columns (sorted) and weights."""
        before = (self.begin[node], self.end[node], self.degrees[node], self.scale[node])
        self.measured.setdefault(node, float(self.degrees[node]))
        room = self.n_extra + len(columns)
        if room > len(self.extra):
            for name in ("extra", "extra_weights"):
                grown = np.empty(2 * room, dtype=getattr(self, name).dtype)
                grown[: self.n_extra] = getattr(self, name)[: self.n_extra]
                setattr(self, name, grown)
        self.extra[self.n_extra : room], self.extra_weights[self.n_extra : room] = columns, weights
        self.begin[node], self.end[node] = len(self.base) + self.n_extra, len(self.base) + room
        self.n_extra = room
        self.degrees[node] = weights.sum()
        self.scale[node] = inverse_sqrt(self.degrees[node : node + 1])[0]

        def undo() -> None:
            self.begin[node], self.end[node], self.degrees[node], self.scale[node] = before

        return undo

    def label(self, node: int, code: int) -> Any:
        """Node `node` gets the class `code`, or none."""
        before = self.codes[node], self.diagonal[node]
        self.codes[node] = code
        self.diagonal[node] = self.coupling + self.lambda1 + self.lambda2 * (code != UNKNOWN)

        def undo() -> None:
            self.codes[node], self.diagonal[node] = before

        return undo

    def grow(self, names: list[Any]) -> Any:
        """New nodes at the end, without edges or labels. Arrays with one number a node are copied."""
        kept = {key: getattr(self, key) for key in ("begin", "end", "degrees", "scale", "codes", "diagonal")}
        kept |= {"names": self.names}
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
        undone = [self.replace(n + j, np.array([n + j]), np.ones(1)) for j in range(k * self.self_loops)]

        def undo() -> None:
            for step in reversed(undone):
                step()
            for key, value in kept.items():
                setattr(self, key, value)
            if self.ids is not None:
                for name in names:
                    del self.ids[name]

        return undo

    # the graph written out again

    def matrix(self) -> Any:
        """A as a CSR matrix, self-loops included."""
        rows, n = self.rows(), self.n_nodes
        counts = self.end - self.begin
        indptr = np.concatenate([[0], np.cumsum(counts)])
        place = np.repeat(self.begin - indptr[:-1], counts) + np.arange(indptr[-1])
        in_base = place < len(rows.base)
        indices = np.empty(len(place), dtype=np.int32)
        indices[in_base] = rows.base[place[in_base]]
        indices[~in_base] = rows.extra[place[~in_base] - len(rows.base)]
        data = np.ones(len(place))
        if rows.base_weights is not None:
            data[in_base] = rows.base_weights[place[in_base]]
        data[~in_base] = rows.extra_weights[place[~in_base] - len(rows.base)]
        return sp.csr_array((data, indices, indptr), shape=(n, n))

    def graph(self, before: Graph) -> Graph:
        """The Graph as it is now, from the one it was when it was last written out."""
        if not self.log and self.n_logged_nodes == self.n_nodes:
            return before
        A = self.matrix()
        if self.self_loops:
            A = sp.csr_array(A - sp.diags_array(A.diagonal()))
            A.eliminate_zeros()
        directed = before.directed_adjacency
        if directed is not None:
            directed = with_directions(directed, self.n_nodes, self.log)
        graph = before.with_edges(A, directed, self.names)
        self.log, self.n_logged_nodes = [], self.n_nodes
        return graph


def with_directions(A: Any, n_nodes: int, edges: Iterable[tuple[int, int, float]]) -> Any:
    """A directed adjacency with edges (source, target, weight) set one after another.

    The other direction, where it is there, gets the same weight; weight 0 removes both.
    """
    found: dict[tuple[int, int], float] = {}
    for source, target, weight in edges:
        back = found.get((target, source))
        if back is None:
            back = A[target, source] if max(source, target) < A.shape[0] else 0.0
        found[source, target] = weight
        if back or not weight:
            found[target, source] = weight
    grown = A.astype(np.float64)
    grown.resize((n_nodes, n_nodes))
    if not found:
        return grown
    at, weights = np.array(list(found)).T, np.array(list(found.values()))
    held = np.asarray(grown[at[0], at[1]]).ravel()
    # first out, then in: a sum with zero is exact
    grown = sp.csr_array(grown - sp.csr_array((held, (at[0], at[1])), shape=grown.shape))
    grown = sp.csr_array(grown + sp.csr_array((weights, (at[0], at[1])), shape=grown.shape))
    grown.eliminate_zeros()
    return grown
