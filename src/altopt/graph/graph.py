"""Graph: anything graph-like in, checked once."""

import os
import warnings
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.sparse.csgraph import connected_components

from altopt.arrays import Array, row_sums
from altopt.errors import InputError
from altopt.graph import files, tables
from altopt.graph.edge_kinds import Kinds, checked_weights, of_kinds, read_kinds
from altopt.graph.file_formats import is_table_file
from altopt.graph.ids import as_ids, describe_missing, find_position, lookup, unique_ids, unknown_node
from altopt.graph.matrices import compact_csr, edge_matrix, is_weighted, permuted, symmetrised, without_loops
from altopt.graph.placement import (
    checked_node_count,
    could_be_positions,
    place,
    refuse_bad_weights,
    rows_among,
)
from altopt.graph.readers import KEEP_NODES, MAX_NODES, RawGraph, from_columns, from_matrix, read


class Graph:
    """An undirected graph without self-loops, as a symmetric matrix; the given direction is kept on request.

    An edge counts once, with its largest weight, however often it is named and in whichever direction.

    Parameters
    ----------
    g : graph-like
        A scipy sparse matrix, a (2, E) or (E, 2) array or tensor, a list of pairs, a networkx graph, a
        torch_geometric Data, a pandas, polars or pyarrow table with columns source, target and optionally weight, a
        path to one (.parquet, .csv; .npz for a matrix), or a Graph. Matrices, arrays and pairs of integers hold
        positions, all others ids. A dict {kind: graph} holds several kinds of edges over the same nodes, united by id.
    directed : bool, default False
        Keep the direction of the edges in `directed_adjacency`, beside the undirected graph.
    n_nodes : int, optional
        The number of nodes, where some have no edges.
    nodes : array-like, optional
        The ids in the order of X's rows. Edge endpoints are looked up there. A matrix, a Data, and integers beside
        `nodes` that are not integers stay positions.

    Attributes
    ----------
    n_nodes, n_edges : int
        Nodes, and undirected edges without self-loops.
    adjacency : csr_array of shape (n_nodes, n_nodes)
        Symmetric, zero diagonal, canonical; float32 where unweighted, else float64.
    directed_adjacency : csr_array or None
        A_ij > 0 where an edge leads from i to j; None unless `directed`.
    weighted : bool
        Whether a weight differs from 1.
    ids : ndarray of shape (n_nodes,)
        The node ids in row order.
    positional : bool
        Whether nodes are known by position, so that `ids` is 0 .. n_nodes - 1.
    kinds : dict of str to Graph
        The kinds of edges, each a Graph over all nodes; empty where the graph has no kinds.
    edge_weights : dict of str to float
        The weight of each kind: its share of all edge weight in `adjacency`, which is their weighted sum. Equal shares,
        until `fit` chooses others or `with_edge_weights` sets them. Edges of a kind of weight 0 are in `kinds` alone.
    n_self_loops, n_duplicates : int
        Self-loops, and repetitions of an edge in the same direction, that were dropped.
    n_one_way : int
        Edges without their reverse, where the input states a direction.
    degrees : ndarray of shape (n_nodes,)
        The sum of each node's edge weights.
    components : ndarray of shape (n_nodes,)
        The number of each node's connected component.

    Examples
    --------
    >>> graph = Graph([("ann", "bob"), ("bob", "cem"), ("cem", "cem")])
    >>> graph
    Graph(3 nodes, 2 edges, unweighted; dropped 1 self-loop)
    >>> graph.ids.tolist(), graph.degrees.tolist()
    (['ann', 'bob', 'cem'], [1.0, 2.0, 1.0])
    >>> graph.position("cem")
    2
    >>> two = Graph({"knows": [("ann", "bob")], "works with": [("bob", "cem"), ("cem", "dan")]})
    >>> two, two.edge_weights
    (Graph(4 nodes, 3 edges, weighted; knows 1, works with 2), {'knows': 0.5, 'works with': 0.5})
    """

    n_nodes: int
    n_edges: int
    adjacency: Any
    directed_adjacency: Any
    weighted: bool
    ids: Array
    positional: bool
    has_order: bool  # the rows have an order: by position, by `nodes` or by networkx; a table's ids have none
    n_self_loops: int
    n_duplicates: int
    n_one_way: int
    kinds: Kinds
    edge_weights: dict[str, float]
    edge_factors: dict[
        str, float
    ]  # of each kind's edges in `adjacency`; stay as they are when edges come and go

    def __init__(
        self, g: Any, *, directed: bool = False, n_nodes: int | None = None, nodes: Any = None
    ) -> None:
        names = None if nodes is None else unique_ids(nodes, "nodes")
        whole = isinstance(n_nodes, int | np.integer) and not isinstance(n_nodes, bool)
        if n_nodes is not None and not (whole and 0 <= n_nodes < MAX_NODES):
            raise InputError(
                f"n_nodes must be a whole number from 0 on, below {MAX_NODES:,}; got {n_nodes!r}."
            )
        if names is not None and n_nodes not in (None, len(names)):
            raise InputError(f"n_nodes is {n_nodes} but nodes lists {len(names):,} ids; leave n_nodes out.")
        if isinstance(g, Graph):
            self._set(_from_graph(g, directed, n_nodes, names))
            return
        if isinstance(g, dict) and not issparse(g):  # a DOK matrix is a dict, too
            known: dict[str, Any] = {"directed": directed, "n_nodes": n_nodes, "nodes": names}
            self._set(
                read_kinds(g, lambda one: Graph(one, **known), n_nodes is not None or names is not None)
            )
            return
        self.kinds, self.edge_weights, self.edge_factors = {}, {}, {}
        raw = _read(g)
        placed = place(raw, n_nodes, names)
        self.n_nodes = n = placed.n_nodes
        if not n:
            raise InputError(
                "the graph has no nodes; give edges, or n_nodes= or nodes= for nodes without any."
            )
        self.positional, self.has_order = placed.ids is None, placed.has_order
        self.ids = np.arange(n) if placed.ids is None else placed.ids
        refuse_bad_weights(raw, placed, self.ids)
        if raw.matrix is None:
            edges = edge_matrix(placed.source, placed.target, raw.weight, n)
            A, self.n_self_loops, self.n_duplicates = edges
        else:
            A, self.n_self_loops, self.n_duplicates = *without_loops(raw.matrix), 0
            A = A if A.shape[0] == n else permuted(A, np.arange(A.shape[0]), n)
        undirected, symmetric = symmetrised(A)
        A = undirected if raw.direction == "none" else A
        self.n_one_way = undirected.nnz - A.nnz if directed or raw.direction == "stated" else 0
        if raw.direction == "stated" and not (symmetric or directed):
            warnings.warn(_one_way_warning(A, self.n_one_way), UserWarning, stacklevel=2)
        self.n_edges = undirected.nnz // 2
        self.adjacency = compact_csr(undirected)
        self.directed_adjacency = compact_csr(A) if directed else None
        if directed and raw.matrix is not None and np.may_share_memory(A.data, raw.matrix.data):
            self.directed_adjacency = self.directed_adjacency.copy()  # the caller may write to the matrix
        self.weighted = is_weighted(self.adjacency, self.directed_adjacency)

    def changed(self, **changes: Any) -> "Graph":
        """This graph with some attributes changed; what is derived from them is computed again."""
        return Graph.__new__(Graph)._set(self, **changes)

    def _set(self, other: "Graph", **changes: Any) -> "Graph":
        for name in Graph.__annotations__:
            setattr(self, name, changes[name] if name in changes else getattr(other, name))
        return self

    @cached_property
    def degrees(self) -> Array:
        """The sum of each node's edge weights."""
        return row_sums(self.adjacency)

    @cached_property
    def components(self) -> Array:
        """The number of each node's connected component."""
        return np.asarray(connected_components(self.adjacency, directed=False)[1])

    def adjacency_along(self, direction: Literal["out", "in", "both"], purpose: str) -> Any:
        """A_ij > 0 where an edge leads from i to j ("out"), from j to i ("in"), or either ("both").

        `purpose` names what needs the direction, for the message of an undirected graph.
        """
        if direction == "both":
            return self.adjacency
        if self.directed_adjacency is None:
            raise InputError(
                f"{purpose} needs a directed graph, but this one carries no direction. "
                "Make it with Graph(g, directed=True), on the command line with --directed."
            )
        return self.directed_adjacency if direction == "out" else self.directed_adjacency.T.tocsr()

    def rows_for(self, n_rows: int, row_ids: Any = None) -> "Graph":
        """The same graph with its nodes in the order of the rows of X.

        Positions stay; rows beyond the graph are nodes without edges. Ids follow `row_ids` where these hold
        all of them, else the order of `nodes` or networkx. A table's ids have no order, but whole numbers
        that could be rows of X are rows of X.

        Parameters
        ----------
        n_rows : int
            The number of rows of X.
        row_ids : array-like, optional
            The ids of these rows, such as the index of a DataFrame.
        """
        if self.positional:
            if n_rows < self.n_nodes:
                raise InputError(
                    f"X has {n_rows:,} rows but the graph has {self.n_nodes:,} nodes. "
                    f"Give X one row for each node, in the order of the positions.{KEEP_NODES}"
                )
            return self if n_rows == self.n_nodes else self._permuted(np.arange(self.n_nodes), n_rows, None)
        if row_ids is not None:
            names = unique_ids(row_ids, "the index of X")
            if len(names) != n_rows:
                raise InputError(f"X has {n_rows:,} rows but its index has {len(names):,} ids.")
            rows = lookup(names, self.ids)
            if rows.min() >= 0:
                return self._permuted(rows, n_rows, names)
            if not self.has_order:
                absent = describe_missing(names, self.ids, rows, "in the index of X")
                raise InputError(
                    f"the graph has {absent} Give X a row for each, or Graph(g, nodes=ids).{KEEP_NODES}"
                )
        if self.has_order:
            if n_rows != self.n_nodes:
                raise InputError(
                    f"X has {n_rows:,} rows but the graph has {self.n_nodes:,} nodes. "
                    f"Give X one row for each, in the order of graph.ids, or a DataFrame indexed by ids.{KEEP_NODES}"
                )
            return self
        if not could_be_positions(self.ids, n_rows):
            whole = self.ids.dtype.kind == "i"
            outside = self.ids[(self.ids < 0) | (self.ids >= n_rows)] if whole else self.ids
            raise InputError(
                f"the graph has ids such as {outside.tolist()[0]!r}, and nothing says which of {n_rows:,} rows "
                "of X is which node. Give X as a DataFrame with the ids as its index, or altopt.Graph(g, nodes=ids). "
                "In a Pipeline, set_output(transform='pandas') on the steps before keeps the index."
            )
        return self._permuted(self.ids, n_rows, None)

    def position(self, node: Any) -> int:
        """The row of a node, by its id."""
        row = find_position(node, self.n_nodes, None if self.positional else self._rows)
        if row is None:
            raise unknown_node(node, self.n_nodes)
        return row

    def positions(self, nodes: Any) -> NDArray[np.int64]:
        """The rows of nodes, by their ids."""
        wanted = as_ids(nodes, "the list of nodes")
        if self.positional and wanted.dtype.kind == "i":
            rows = np.where((wanted >= 0) & (wanted < self.n_nodes), wanted, -1)
        else:
            rows = lookup(self.ids, wanted)
        if rows.size and rows.min() < 0:
            absent = list(dict.fromkeys(wanted[rows < 0].tolist()))
            raise unknown_node(absent[0], self.n_nodes, n_others=len(absent) - 1)
        return rows

    @cached_property
    def _rows(self) -> dict[Any, int]:
        return {name: row for row, name in enumerate(self.ids.tolist())}

    def _permuted(self, to: Array, n: int, ids: Array | None) -> "Graph":
        """Node i becomes row to[i] of n, named by `ids`."""
        directed = self.directed_adjacency
        return self.changed(
            n_nodes=n,
            positional=ids is None,
            has_order=True,
            ids=np.arange(n) if ids is None else ids,
            adjacency=compact_csr(permuted(self.adjacency, to, n)),
            directed_adjacency=None if directed is None else compact_csr(permuted(directed, to, n)),
            kinds={name: kind._permuted(to, n, ids) for name, kind in self.kinds.items()},
        )

    def with_edge_weights(self, weights: dict[str, float]) -> "Graph":
        """This graph of several kinds with `adjacency` summed anew: each kind with its share of all edge weight.

        >>> graph = Graph({"knows": [(0, 1)], "works with": [(1, 2), (2, 0)]})
        >>> graph.with_edge_weights({"knows": 1, "works with": 2}).adjacency.toarray()
        array([[0., 1., 1.],
               [1., 0., 1.],
               [1., 1., 0.]], dtype=float32)
        """
        return of_kinds(self.kinds, checked_weights(self.kinds, weights))

    def with_kinds(self, kinds: Kinds) -> "Graph":
        """This graph with other edges of its kinds, each counting as it did."""
        return of_kinds(kinds, self.edge_weights, self.edge_factors)

    def with_edges(self, adjacency: Any, directed: Any, ids: Array | None) -> "Graph":
        """This graph with other edges and maybe more nodes; the counts of what was dropped stay.

        Parameters
        ----------
        adjacency : csr_array
            The symmetric adjacency of all nodes.
        directed : csr_array or None
            The same edges with their direction.
        ids : ndarray or None
            The id of every node; None where nodes are positions.
        """
        adjacency, directed = compact_csr(adjacency), None if directed is None else compact_csr(directed)
        return self.changed(
            n_nodes=adjacency.shape[0],
            n_edges=adjacency.nnz // 2,
            positional=ids is None,
            ids=np.arange(adjacency.shape[0]) if ids is None else ids,
            adjacency=adjacency,
            directed_adjacency=directed,
            weighted=is_weighted(adjacency, directed),
        )

    def grown(self, n_new: int, source: Array, target: Array, weight: Array) -> "Graph":
        """This graph with `n_new` nodes at the end and more edges, all nodes by position.

        Parameters
        ----------
        n_new : int
            The number of nodes to add.
        source, target : ndarray of int
            The endpoints of the new edges, as positions in the larger graph.
        weight : ndarray
            Their weights. An edge that is there already keeps the larger weight.

        Examples
        --------
        >>> Graph([(0, 1)]).grown(1, np.array([2]), np.array([0]), np.array([1.0]))
        Graph(3 nodes, 2 edges, unweighted)
        """
        n = self.n_nodes + n_new
        added = edge_matrix(source, target, weight, n)[0]
        adjacency = _resized(self.adjacency, n).maximum(added).maximum(added.T.tocsr())
        directed = self.directed_adjacency
        if directed is not None:
            directed = _resized(directed, n).maximum(added)
        return self.with_edges(adjacency, directed, None)

    def __repr__(self) -> str:
        parts = [_counted(self.n_nodes, "node"), _counted(self.n_edges, "edge")]
        parts += ["weighted" if self.weighted else "unweighted"]
        parts += [] if self.directed_adjacency is None else ["directed"]
        dropped = [_counted(self.n_self_loops, "self-loop")] if self.n_self_loops else []
        dropped += [_counted(self.n_duplicates, "duplicate")] if self.n_duplicates else []
        notes = (
            [", ".join(f"{name} {kind.n_edges:,}" for name, kind in self.kinds.items())] if self.kinds else []
        )
        notes += [f"dropped {' and '.join(dropped)}"] if dropped else []
        return f"Graph({'; '.join([', '.join(parts), *notes])})"


def _resized(A: Any, n: int) -> Any:
    A = A.copy()
    A.resize((n, n))
    return A


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _read(g: Any) -> RawGraph:
    if isinstance(g, str | os.PathLike):
        suffix = Path(g).suffix.lower()
        if suffix == ".npz":
            return from_matrix(files.read_sparse(g), str(g))
        if not is_table_file(g):
            raise InputError(
                f"{g} ends in none of .parquet, .csv, .tsv, .xlsx and .npz; give the graph in one of these formats."
            )
        return from_columns(files.read_edges(g), str(g))
    if tables.is_table(g):
        return from_columns(tables.columns(g, ("source", "target"), ("weight",)), "the table")
    return read(g)


def _from_graph(g: Graph, directed: bool, n_nodes: int | None, names: Array | None) -> Graph:
    """A Graph made of a Graph: with more nodes, other ids or another order."""
    if directed and g.directed_adjacency is None:
        raise InputError("this Graph was made without its direction; make it anew with directed=True.")
    if names is not None:
        n = checked_node_count(g.n_nodes, None, names)
        to = np.arange(g.n_nodes) if g.positional else rows_among(names, g.ids, "the graph")
        return g._permuted(to, n, names)
    n = checked_node_count(g.n_nodes, n_nodes, None, named=not g.positional)
    return g if n == g.n_nodes else g.rows_for(n)


def _one_way_warning(A: Any, n_one_way: int) -> str:
    differences = [f"{n_one_way:,} of its edges go one way only"] if n_one_way else []
    n_uneven = (A.T.tocsr() != A).nnz // 2 - n_one_way
    differences += [f"{n_uneven:,} of its edges weigh differently in the two directions"] if n_uneven else []
    return (
        f"the graph is not symmetric: {' and '.join(differences)}. Each now goes both ways, with the larger weight; "
        "pass Graph(g, directed=True) to keep the direction."
    )
