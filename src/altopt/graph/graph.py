"""Graph: anything graph-like in, checked once, at the door."""

import copy
import os
import warnings
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from altopt.arrays import Array, row_sums
from altopt.errors import InputError
from altopt.graph import tables
from altopt.graph.readers import (
    Given,
    as_ids,
    as_positions,
    cleaned,
    distinct,
    from_columns,
    from_matrix,
    gather,
    lookup,
    missing,
    read,
    unique_ids,
)


class Graph:
    """An undirected graph without self-loops, as a symmetric matrix; the given direction is kept on request.

    `g` is a scipy sparse matrix, a (2, E) or (E, 2) array or tensor, a list of pairs, a networkx graph, a
    torch_geometric Data, a pandas, polars or pyarrow table with source, target and maybe weight, a path to
    one (.parquet, .csv; .npz for a matrix), or a Graph. Matrices, arrays and pairs of integers hold
    positions, all others ids. `nodes` are the ids in the order of X's rows, and ends are looked up there; a
    matrix, a Data, and integers beside `nodes` that are not, stay positions. `n_nodes` adds nodes without
    edges.

    An edge counts once, with its largest weight, however often it is named and in whichever direction.

    >>> Graph([("ann", "bob"), ("bob", "cem"), ("cem", "cem")])
    Graph(3 nodes, 2 edges, unweighted; dropped 1 self-loop)
    """

    n_nodes: int
    n_edges: int  # undirected, without self-loops
    adjacency: Any  # csr_array: symmetric, zero diagonal, canonical; float32 where unweighted, else float64
    directed_adjacency: Any  # csr_array with the given direction, or None
    weighted: bool
    ids: Array  # in row order
    positional: bool  # ids are 0..n-1 because nodes are positions
    n_self_loops: int  # dropped
    n_duplicates: int  # further mentions of an edge in the same direction, dropped
    n_one_way: int  # edges whose reverse is not there, where direction was stated

    def __init__(
        self, g: Any, *, directed: bool = False, n_nodes: int | None = None, nodes: Any = None
    ) -> None:
        names = None if nodes is None else unique_ids(nodes, "nodes")
        if n_nodes is not None and (not isinstance(n_nodes, int | np.integer) or n_nodes < 0):
            raise InputError(f"n_nodes must be a whole number from 0 on; got {n_nodes!r}.")
        if names is not None and n_nodes not in (None, len(names)):
            raise InputError(f"n_nodes is {n_nodes} but nodes lists {len(names):,} ids; leave n_nodes out.")
        if isinstance(g, Graph):
            self.__dict__.update(_again(g, directed, n_nodes, names).__dict__)
            return
        given = _read(g)
        source, target, n, ids, self._ordered = _place(given, n_nodes, names)
        if not n:
            raise InputError(
                "the graph has no nodes; give edges, or n_nodes= or nodes= for nodes without any."
            )
        self.n_nodes, self.positional = int(n), ids is None
        self.ids = np.arange(n) if ids is None else ids
        _refuse_weights(given, source, target, self.ids)
        if given.matrix is None:
            A, self.n_self_loops, self.n_duplicates = gather(source, target, given.weight, n)
        else:
            A, self.n_self_loops, self.n_duplicates = *cleaned(given.matrix), 0
            A = A if A.shape[0] == n else _moved(A, np.arange(A.shape[0]), n)
        both, even = _symmetrised(A)
        A = both if given.direction == "none" else A
        self.n_one_way = both.nnz - A.nnz if directed or given.direction == "stated" else 0
        if given.direction == "stated" and not (even or directed):
            warnings.warn(_one_way_warning(A, self.n_one_way), UserWarning, stacklevel=2)
        self.n_edges = both.nnz // 2
        self.adjacency = _settled(both)
        self.directed_adjacency = _settled(A) if directed else None
        if directed and given.matrix is not None and np.may_share_memory(A.data, given.matrix.data):
            self.directed_adjacency = self.directed_adjacency.copy()  # the caller may write to his matrix
        self.weighted = bool(np.any((self.directed_adjacency if directed else self.adjacency).data != 1))

    @cached_property
    def degrees(self) -> Array:
        """The sum of each node's edge weights."""
        return row_sums(self.adjacency)

    @cached_property
    def components(self) -> Array:
        """The number of each node's connected component."""
        return np.asarray(connected_components(self.adjacency, directed=False)[1])

    def rows_for(self, n_rows: int, row_ids: Any = None) -> "Graph":
        """The same graph laid out so that row i of an X with `n_rows` rows is node i.

        Positions stay; rows beyond the graph are nodes without edges. Ids follow `row_ids` where these hold
        all of them, else the order of `nodes` or networkx. A table's ids have no order, but whole numbers
        that could be rows of X are rows of X.
        """
        if self.positional:
            if n_rows < self.n_nodes:
                raise InputError(
                    f"X has {n_rows:,} rows but the graph has {self.n_nodes:,} nodes. "
                    "Give X one row for each node, in the order of the positions."
                )
            return self if n_rows == self.n_nodes else self._laid(np.arange(self.n_nodes), n_rows, None)
        if row_ids is not None:
            rows = unique_ids(row_ids, "the index of X")
            if len(rows) != n_rows:
                raise InputError(f"X has {n_rows:,} rows but its index has {len(rows):,} ids.")
            found = lookup(rows, self.ids)
            if found.min() >= 0:
                return self._laid(found, n_rows, rows)
            if not self._ordered:
                lost = missing(rows, self.ids, found, "in the index of X")
                raise InputError(f"the graph has {lost} Give X a row for each, or Graph(g, nodes=ids).")
        if self._ordered:
            if n_rows != self.n_nodes:
                raise InputError(
                    f"X has {n_rows:,} rows but the graph has {self.n_nodes:,} nodes. "
                    "Give X one row for each, in the order of graph.ids, or a DataFrame indexed by ids."
                )
            return self
        if self.ids.dtype.kind != "i" or self.ids.min() < 0 or self.ids.max() >= n_rows:
            odd = self.ids if self.ids.dtype.kind != "i" else self.ids[(self.ids < 0) | (self.ids >= n_rows)]
            raise InputError(
                f"the graph has ids such as {odd.tolist()[0]!r}, and nothing says which of {n_rows:,} rows "
                "of X is which node. Give X as a DataFrame with the ids as its index, or Graph(g, nodes=ids)."
            )
        return self._laid(self.ids, n_rows, None)

    def position(self, node: Any) -> int:
        """The row of a node."""
        row: int | None = None
        if not self.positional:
            with suppress(TypeError):  # what cannot be hashed is not an id
                row = self._rows.get(node)
        elif isinstance(node, int | np.integer) and not isinstance(node, bool) and 0 <= node < self.n_nodes:
            row = int(node)
        if row is None:
            raise InputError(
                f"node {node!r} is not in the graph. Give the id of one of its {self.n_nodes:,} nodes."
            )
        return row

    def positions(self, nodes: Any) -> NDArray[np.int64]:
        """The rows of nodes."""
        wanted = as_ids(nodes, "the list of nodes")
        if self.positional and wanted.dtype.kind == "i":
            found = np.where((wanted >= 0) & (wanted < self.n_nodes), wanted, -1)
        else:
            found = lookup(self.ids, wanted)
        if found.size and found.min() < 0:
            lost = list(dict.fromkeys(wanted[found < 0].tolist()))
            more = f", nor are {len(lost) - 1:,} others" if len(lost) > 1 else ""
            raise InputError(f"node {lost[0]!r} is not in the graph{more}.")
        return found

    @cached_property
    def _rows(self) -> dict[Any, int]:
        return {name: row for row, name in enumerate(self.ids.tolist())}

    def _laid(self, to: Array, n: int, ids: Array | None) -> "Graph":
        """Node i becomes row to[i] of n, named by `ids`."""
        new = copy.copy(self)
        for stale in ("degrees", "components", "_rows"):
            new.__dict__.pop(stale, None)
        new.n_nodes, new.positional, new._ordered = n, ids is None, True
        new.ids = np.arange(n) if ids is None else ids
        new.adjacency = _settled(_moved(self.adjacency, to, n))
        if self.directed_adjacency is not None:
            new.directed_adjacency = _settled(_moved(self.directed_adjacency, to, n))
        return new

    def with_edges(self, adjacency: Any, directed: Any, ids: Array | None) -> "Graph":
        """This graph with other edges, and maybe more nodes; what was dropped from it stays on record."""
        new = copy.copy(self)
        for stale in ("degrees", "components", "_rows"):
            new.__dict__.pop(stale, None)
        new.n_nodes, new.n_edges = adjacency.shape[0], adjacency.nnz // 2
        new.ids = np.arange(new.n_nodes) if ids is None else ids
        new.adjacency = _settled(adjacency)
        new.directed_adjacency = None if directed is None else _settled(directed)
        new.weighted = bool(np.any((new.adjacency if directed is None else new.directed_adjacency).data != 1))
        return new

    def __repr__(self) -> str:
        said = [_counted(self.n_nodes, "node"), _counted(self.n_edges, "edge")]
        said += ["weighted" if self.weighted else "unweighted"]
        said += [] if self.directed_adjacency is None else ["directed"]
        lost = [_counted(self.n_self_loops, "self-loop")] if self.n_self_loops else []
        lost += [_counted(self.n_duplicates, "duplicate")] if self.n_duplicates else []
        return f"Graph({', '.join(said)}{'; dropped ' if lost else ''}{' and '.join(lost)})"


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _read(g: Any) -> Given:
    if isinstance(g, str | os.PathLike):
        suffix = Path(g).suffix.lower()
        if suffix == ".npz":
            return from_matrix(tables.read_sparse(g))
        if suffix not in (".parquet", ".csv"):
            raise InputError(
                f"{g} ends in none of .parquet, .csv and .npz; give the graph in one of these formats."
            )
        return from_columns(tables.read_edges(g), str(g))
    if tables.is_table(g):
        return from_columns(tables.columns(g, ("source", "target"), ("weight",)), "the table")
    return read(g)


def _again(g: Graph, directed: bool, n_nodes: int | None, names: Array | None) -> Graph:
    """A Graph out of a Graph: extended, named or ordered anew."""
    if directed and g.directed_adjacency is None:
        raise InputError("this Graph was made without its direction; make it anew with directed=True.")
    if names is not None:
        n, to = (
            _room(g.n_nodes, None, names),
            np.arange(g.n_nodes) if g.positional else _found(names, g.ids, "the graph"),
        )
        return g._laid(to, n, names)
    n = _room(g.n_nodes, n_nodes, None, named=not g.positional)
    return g if n == g.n_nodes else g.rows_for(n)


def _place(
    given: Given, n_nodes: int | None, nodes: Array | None
) -> tuple[Array, Array, int, Array | None, bool]:
    """Ends as rows, the number of rows, their ids (None for positions), and whether their order binds."""
    source, target = given.source, given.target
    if given.names is not None:
        if nodes is None:
            return source, target, _room(len(given.names), n_nodes, None, named=True), given.names, True
        to = _found(nodes, given.names, given.where)
        return to[source], to[target], len(nodes), nodes, True
    if given.ends == "ids" or (given.ends == "positions" and _holds_whole_numbers(nodes)):
        if nodes is not None:
            source, target = as_ids(source, "the sources"), as_ids(target, "the targets")
            _found(nodes, np.arange(given.n_nodes), given.where)
            source, target = (_found(nodes, ends, given.where) for ends in (source, target))
            return source, target, len(nodes), nodes, True
        if n_nodes is not None and _within(source, n_nodes) and _within(target, n_nodes):
            return source, target, n_nodes, None, True
        ids = distinct(source, target)
        n = _room(len(ids), n_nodes, None, named=True)
        return lookup(ids, source), lookup(ids, target), n, ids, False
    source, target = as_positions(source), as_positions(target)
    n = max([int(ends.max()) + 1 for ends in (source, target) if len(ends)], default=0)
    if given.ends == "fixed" and given.n_nodes and n > given.n_nodes:
        raise InputError(
            f"the graph says it has {given.n_nodes:,} nodes, but an edge ends at position {n - 1:,}."
        )
    return source, target, _room(max(n, given.n_nodes), n_nodes, nodes), nodes, True


def _holds_whole_numbers(nodes: Array | None) -> bool:
    return nodes is not None and any(isinstance(name, int | np.integer) for name in nodes.tolist())


def _within(ids: Array, n: int) -> bool:
    """Whether these ids may be positions of n nodes."""
    return not len(ids) or (ids.dtype.kind == "i" and ids.min() >= 0 and ids.max() < n)


def _found(nodes: Array, ids: Array, where: str) -> Array:
    found = lookup(nodes, ids)
    if len(found) and found.min() < 0:
        lost = missing(nodes, ids, found, "in nodes")
        raise InputError(f"{where} has {lost} List every node in nodes=, with edges or without.")
    return found


def _room(n: int, n_nodes: int | None, nodes: Array | None, named: bool = False) -> int:
    """How many nodes there are, given that the graph has n and what was asked for."""
    if nodes is not None and len(nodes) < n:
        raise InputError(f"nodes lists {len(nodes):,} ids but the graph has {n:,} nodes; name them all.")
    if n_nodes is not None and n_nodes < n:
        raise InputError(f"n_nodes is {n_nodes:,} but the graph has {n:,} nodes; raise it or leave it out.")
    if named and n_nodes is not None and n_nodes > n:
        raise InputError(f"n_nodes={n_nodes} would add nodes without an id to {n:,} with ids; use nodes=ids.")
    return n_nodes if n_nodes is not None else n if nodes is None else len(nodes)


def _refuse_weights(given: Given, source: Array, target: Array, ids: Array) -> None:
    weight = given.weight if given.matrix is None else given.matrix.data
    fine = np.ones(0, bool) if weight is None else (weight >= 0) & (weight < np.inf)
    if weight is not None and not fine.all():
        k = int(np.argmin(fine))
        if given.matrix is None:
            ends = [source[k], target[k]]
        else:
            ends = [np.searchsorted(given.matrix.indptr, k, side="right") - 1, given.matrix.indices[k]]
        first, second = ids[ends].tolist()
        raise InputError(
            f"in {given.where} the edge from {first!r} to {second!r} has weight {weight[k]}; "
            "weights must be finite and not negative."
        )


def _symmetrised(A: Any) -> tuple[Any, bool]:
    """max(A, A'), in arrays of its own, and whether A was symmetric already."""
    T = A.T.tocsr()
    pairs = ((A.indptr, T.indptr), (A.indices, T.indices), (A.data, T.data))
    even = A.nnz == T.nnz and all(np.array_equal(a, t) for a, t in pairs)
    return (T if even else A.maximum(T)), even


def _one_way_warning(A: Any, n_one_way: int) -> str:
    said = [f"{n_one_way:,} of its edges go one way only"] if n_one_way else []
    n_uneven = (A.T.tocsr() != A).nnz // 2 - n_one_way
    said += [f"{n_uneven:,} of its edges weigh differently in the two directions"] if n_uneven else []
    return (
        f"the graph is not symmetric: {' and '.join(said)}. Each now goes both ways, with the larger weight; "
        "pass Graph(g, directed=True) to keep the direction."
    )


def _moved(A: Any, to: Array, n: int) -> Any:
    """A with node i in row and column to[i] of n."""
    counts = np.diff(A.indptr)
    if np.all(to[1:] > to[:-1]):
        indptr = np.zeros(n + 1, np.int64)
        indptr[to + 1] = counts
        indices = A.indices if to[-1] == len(to) - 1 else to[A.indices]
        return sparse.csr_array((A.data, indices, np.cumsum(indptr)), shape=(n, n))
    ends = (np.repeat(to, counts), to[A.indices])
    return sparse.coo_array((A.data, ends), shape=(n, n)).tocsr()


def _settled(A: Any) -> Any:
    """A with 32-bit indices, or 64-bit ones where these are too small; weights in 64 bits, ones as one number."""
    index = np.int32 if max(A.nnz, A.shape[0]) <= np.iinfo(np.int32).max else np.int64
    ones = np.all(A.data == 1)
    # a view of a single 1, as long as it must be: a large graph has nothing to keep there
    data = np.broadcast_to(np.float32(1), A.nnz) if ones else A.data.astype(np.float64, copy=False)
    indices, indptr = (part.astype(index, copy=False) for part in (A.indices, A.indptr))
    return sparse.csr_array((data, indices, indptr), shape=A.shape)
