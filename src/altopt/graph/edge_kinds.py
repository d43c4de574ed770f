"""Several kinds of edges over the same nodes: read, united by node id, and summed with weights."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph.ids import distinct, lookup
from altopt.graph.matrices import compact_csr, is_weighted
from altopt.graph.placement import could_be_positions

if TYPE_CHECKING:
    from altopt.graph.graph import Graph

Kinds = dict[str, "Graph"]
COUNTS = ("n_self_loops", "n_duplicates", "n_one_way")
ROUNDING = 1e-12  # a factor this near to 1 is 1: its edges need no values then


def read_kinds(given: Mapping[Any, Any], build: Callable[[Any], "Graph"], counted: bool) -> "Graph":
    """One graph of all kinds, each with an equal share; `build` makes that of a kind, `counted`: over known nodes."""
    if not given:
        raise InputError("graph is an empty dict; give {kind of edges: graph}, at least one.")
    for name in given:
        if not isinstance(name, str) or not name.strip():
            raise InputError(
                f"graph names a kind of edges {name!r}; a kind's name must be text, not empty. Rename it."
            )
    kinds: Kinds = {}
    for name, g in given.items():
        if isinstance(g, dict) or getattr(g, "kinds", None):
            raise InputError(
                f"the kind {name!r} of the graph holds kinds of edges itself; give all kinds in one dict."
            )
        try:
            kinds[name] = build(g)
        except InputError as error:
            raise InputError(f"the kind {name!r} of the graph: {error}") from error
        if not kinds[name].n_edges:
            raise InputError(f"the kind {name!r} of the graph has no edges; leave it out, or give its edges.")
    if not counted and len(kinds) > 1:
        kinds = over_the_same_nodes(kinds, given)
    return of_kinds(kinds, dict.fromkeys(kinds, 1.0 / len(kinds)))


def of_kinds(kinds: Kinds, weights: dict[str, float], factors: dict[str, float] | None = None) -> "Graph":
    """One graph of several kinds of edges; without `factors`, each kind has its weight as share of all edge weight."""
    factors = factors_of(kinds, weights) if factors is None else factors
    adjacency, directed = compact_csr(summed_adjacency(kinds, factors)), summed_directed(kinds, factors)
    directed = None if directed is None else compact_csr(directed)
    counts = {count: sum(getattr(kind, count) for kind in kinds.values()) for count in COUNTS}
    return next(iter(kinds.values())).changed(
        n_edges=adjacency.nnz // 2,
        adjacency=adjacency,
        directed_adjacency=directed,
        weighted=is_weighted(adjacency, directed),
        kinds=kinds,
        edge_weights=weights,
        edge_factors=factors,
        **counts,
    )


def over_the_same_nodes(kinds: Kinds, given: Mapping[str, Any]) -> Kinds:
    """The kinds with their nodes in one order: by position, or united by id."""
    if not any(kind.positional for kind in kinds.values()):
        ids, ordered = united_ids(list(kinds.values()))
        return {name: type(kind)(kind, nodes=ids).changed(has_order=ordered) for name, kind in kinds.items()}
    sizes = {name: kind.n_nodes for name, kind in kinds.items() if kind.positional}
    largest = max(sizes, key=lambda name: sizes[name])
    n = sizes[largest]
    for name, size in sizes.items():
        if size < n and not is_edge_list(given[name]):
            raise InputError(
                f"the kinds of the graph have different numbers of nodes: {name!r} has {size:,}, {largest!r} has "
                f"{n:,}. Give every kind over the same nodes."
            )
    for name, kind in kinds.items():
        if not kind.positional and (kind.has_order or not could_be_positions(kind.ids, n)):
            raise InputError(
                f"the kind {name!r} of the graph names nodes by id, such as {kind.ids.tolist()[0]!r}, but {largest!r} "
                "by position; give every kind in the same way, or Graph(kinds, nodes=ids)."
            )
    return {name: kind.rows_for(n) for name, kind in kinds.items()}


def united_ids(kinds: list["Graph"]) -> tuple[Array, bool]:
    """All ids, in the order of a kind that has one and all of them; else in no order."""
    for kind in kinds:
        if kind.has_order and all(lookup(kind.ids, other.ids).min() >= 0 for other in kinds):
            return kind.ids, True
    ids = kinds[0].ids
    for kind in kinds[1:]:
        ids = distinct(ids, kind.ids)
    return ids, False


def is_edge_list(g: Any) -> bool:
    """Whether these are pairs of positions, which leave the number of nodes open."""
    if isinstance(g, list | tuple):
        return True
    shape = getattr(g, "shape", ())
    return (
        not sp.issparse(g)
        and len(shape) == 2
        and 2 in shape
        and "sparse" not in str(getattr(g, "layout", ""))
    )


def checked_weights(kinds: Kinds, weights: Mapping[str, float]) -> dict[str, float]:
    """Weights of the kinds, one each, none negative, divided by their sum."""
    if set(weights) != set(kinds):
        raise InputError(
            f"edge weights are given for {', '.join(map(repr, weights)) or 'no kind'}, but the graph has the kinds "
            f"{', '.join(map(repr, kinds))}. Give each one weight."
        )
    values = [float(weights[name]) for name in kinds]
    if not all(np.isfinite(values)) or min(values) < 0 or not sum(values) > 0:
        raise InputError(f"edge weights must be numbers from 0 on, not all 0, but are {dict(weights)!r}.")
    return {name: value / sum(values) for name, value in zip(kinds, values)}


def factors_of(kinds: Kinds, weights: Mapping[str, float]) -> dict[str, float]:
    """What the edges of each kind are multiplied by, so that the kinds have these shares of all edge weight.

    One kind alone keeps its edges as they are, and so do all where the weights are their shares already.
    """
    total = {name: float(kind.adjacency.data.sum(dtype=np.float64)) for name, kind in kinds.items()}
    used = [name for name, weight in weights.items() if weight > 0]
    whole = sum(total[name] for name in used)
    factors = {name: weight * whole / (total[name] or 1.0) for name, weight in weights.items()}
    if len(used) == 1:
        return {name: float(name in used) for name in kinds}
    return {name: 1.0 if abs(factor - 1) < ROUNDING else factor for name, factor in factors.items()}


def weighted_sum(matrices: Mapping[str, Any], factors: Mapping[str, float]) -> Any:
    """sum_k factor_k A_k, kinds of factor 0 left out; the only one of factor 1 as it is."""
    parts = [scaled(matrices[name], factor) for name, factor in factors.items() if factor > 0]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def scaled(A: Any, factor: float) -> Any:
    if factor == 1.0:
        return A
    return sp.csr_array((A.data * np.float64(factor), A.indices, A.indptr), shape=A.shape)


def summed_adjacency(kinds: Kinds, factors: Mapping[str, float]) -> Any:
    """The symmetric adjacency of all kinds together."""
    return weighted_sum({name: kind.adjacency for name, kind in kinds.items()}, factors)


def summed_directed(kinds: Kinds, factors: Mapping[str, float]) -> Any:
    """The directed adjacency; a kind without direction goes both ways. None where no kind has one."""
    if all(kind.directed_adjacency is None for kind in kinds.values()):
        return None
    directed = {
        name: kind.adjacency if kind.directed_adjacency is None else kind.directed_adjacency
        for name, kind in kinds.items()
    }
    return weighted_sum(directed, factors)
