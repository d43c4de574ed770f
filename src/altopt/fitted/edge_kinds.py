"""Edges of several kinds in a fitted model: what updates set of each kind, and what that makes of their sum."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph import Graph

Edges = dict[tuple[int, int], float | None]  # the lower position first; 0 removes, None is a weight not given
Arc = tuple[int, int, float]  # source, target, weight


class OfKind(NamedTuple):
    """What an update asks for of one kind of edges."""

    edges: Edges
    arcs: list[tuple[int, int]]  # in the direction each was named


def split_by_kind(kinds: Iterable[str], edges: Any) -> dict[str, Any]:
    """Edges as they were given, by kind; refused where the kinds are not those of the model."""
    known = list(kinds)
    if not isinstance(edges, dict):
        if len(known) == 1:
            return {known[0]: edges}
        raise InputError(
            f"edges must say of which kind they are, because the model has several: {listed(known)}. "
            f"Give {{kind: edges}}, on the command line --edges {known[0]}=FILE."
        )
    for name in edges:
        if name not in known:
            has = f"Its kinds are {listed(known)}" if known else "It was fitted on edges without kinds"
            raise InputError(
                f"edges names the kind {name!r}, which the model does not know. {has}; a new kind needs a new fit."
            )
    return edges


def listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))


@dataclass
class KindChange:
    """Edges of kinds as an update sets them."""

    arcs: list[tuple[str, Arc]] = field(default_factory=list)
    now: dict[tuple[str, int, int], float] = field(default_factory=dict)  # the lower position first
    sums: dict[tuple[int, int], float] = field(default_factory=dict)  # of all kinds, as A has them


class KindLog:
    """The edges of each kind as the graph has them, and those that updates set since it was put together.

    Parameters
    ----------
    graph : Graph
        With kinds.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.arcs: list[tuple[str, Arc]] = []
        self.now: dict[tuple[str, int, int], float] = {}

    def weight(self, kind: str, a: int, b: int) -> float:
        """Of the edge of this kind between two positions, the lower one first; 0 where there is none."""
        if (kind, a, b) in self.now:
            return self.now[kind, a, b]
        return entry(self.graph.kinds[kind].adjacency, a, b)

    def change(
        self, requested: dict[str, OfKind], no_such_edge: Callable[[int, int], InputError]
    ) -> KindChange:
        """What a request makes of the edges; a kind's edge without a weight gets that kind's mean."""
        made = KindChange()
        for kind, (edges, arcs) in requested.items():
            A = self.graph.kinds[kind].adjacency
            usual = float(A.data.mean()) if A.nnz else 1.0
            for (a, b), weight in edges.items():
                now = self.weight(kind, a, b)
                wanted = (now or usual) if weight is None else weight
                if wanted == now == 0.0:
                    raise no_such_edge(a, b)
                made.now[kind, a, b] = wanted
                made.sums[a, b] = 0.0
            made.arcs += [(kind, (s, t, made.now[kind, min(s, t), max(s, t)])) for s, t in arcs]
        for a, b in made.sums:
            for kind, factor in self.graph.edge_factors.items():  # in the order in which matrices are summed
                if factor > 0:
                    made.sums[a, b] += factor * made.now.get((kind, a, b), self.weight(kind, a, b))
        return made

    def keep(self, change: KindChange, undo_stack: list[Callable[[], None]]) -> None:
        """Take a change in; what undoes it is noted first."""
        n_arcs, before = len(self.arcs), dict(self.now)

        def undo() -> None:
            del self.arcs[n_arcs:]
            self.now = before

        undo_stack.append(undo)
        self.arcs += change.arcs
        self.now |= change.now

    def graph_now(self, n_nodes: int, ids: Array | None, change: KindChange | None = None) -> Graph:
        """The graph with all edges set so far, and those of a change."""
        arcs = [*self.arcs, *(change.arcs if change else [])]
        if not arcs and n_nodes == self.graph.n_nodes:
            return self.graph
        kinds = {
            name: with_set_edges(kind, n_nodes, [arc for of, arc in arcs if of == name], ids)
            for name, kind in self.graph.kinds.items()
        }
        return self.graph.with_kinds(kinds)


def entry(A: Any, a: int, b: int) -> float:
    """A_ab of a matrix with sorted rows; 0 beyond its rows."""
    if max(a, b) >= A.shape[0]:
        return 0.0
    columns = A.indices[A.indptr[a] : A.indptr[a + 1]]
    place = int(np.searchsorted(columns, b))
    found = place < len(columns) and columns[place] == b
    return float(A.data[A.indptr[a] + place]) if found else 0.0


def with_set_edges(graph: Graph, n_nodes: int, arcs: list[Arc], ids: Array | None) -> Graph:
    """A graph with edges set one after another, and nodes at its end."""
    if not arcs and n_nodes == graph.n_nodes:
        return graph
    both_ways = [way for s, t, weight in arcs for way in ((s, t, weight), (t, s, weight))]
    adjacency = with_arcs(graph.adjacency, n_nodes, both_ways)
    directed = graph.directed_adjacency
    directed = None if directed is None else with_arcs(directed, n_nodes, arcs)
    return graph.with_edges(adjacency, directed, ids)


def with_arcs(A: Any, n_nodes: int, arcs: Iterable[Arc]) -> Any:
    """A directed adjacency with edges (source, target, weight) set one after another.

    The opposite direction, where it exists, gets the same weight; weight 0 removes both.
    """
    weights: dict[tuple[int, int], float] = {}
    for source, target, weight in arcs:
        opposite = weights.get((target, source))
        if opposite is None:
            opposite = A[target, source] if max(source, target) < A.shape[0] else 0.0
        weights[source, target] = weight
        if opposite or not weight:
            weights[target, source] = weight
    grown = A.astype(np.float64)
    grown.resize((n_nodes, n_nodes))
    if not weights:
        return grown
    at, values = np.array(list(weights)).T, np.array(list(weights.values()))
    before = np.asarray(grown[at[0], at[1]]).ravel()
    # first out, then in: a sum with zero is exact
    grown = sp.csr_array(grown - sp.csr_array((before, (at[0], at[1])), shape=grown.shape))
    grown = sp.csr_array(grown + sp.csr_array((values, (at[0], at[1])), shape=grown.shape))
    grown.eliminate_zeros()
    return grown
