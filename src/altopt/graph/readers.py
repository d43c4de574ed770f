"""Readers: every accepted form of a graph as edge lists or a matrix, nothing checked against X yet."""

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph.ids import as_array, as_ids, comes_from
from altopt.graph.matrices import checked_csr

ACCEPTED = (
    "a scipy sparse matrix, a (2, E) or (E, 2) array or tensor of node positions, a list of pairs, "
    "a networkx graph, a torch_geometric Data, a pandas, polars or pyarrow table with columns source and "
    "target, a path (.parquet, .csv, .npz) or a Graph"
)

KEEP_NODES = (  # said where rows are missing, as in a fold of scikit-learn's GridSearchCV
    " To hold labels back, altopt.cross_val_score and altopt.GridSearch keep every node in the fit."
)
MAX_NODES = 2**31 - 1  # positions are stored in 32 bits


@dataclass(frozen=True)
class RawGraph:
    """A graph as it was given, with nothing dropped, merged or reordered yet: an edge list or a matrix."""

    source: Array
    target: Array
    weight: Array | None = None
    matrix: Any = None  # instead of source, target and weight
    n_nodes: int = 0  # the least number of nodes
    names: Array | None = None  # the id of each position, where positions have an order
    endpoints: Literal["ids", "positions", "fixed"] = (
        "positions"  # fixed: positions even where `nodes` are integers
    )
    direction: Literal["stated", "open", "none"] = (
        "open"  # stated: an edge without its reverse gets a warning
    )
    origin: str = "the graph"  # what a message calls it


def read(g: Any) -> RawGraph:
    """Any graph-like object that is neither a table nor a path."""
    if sparse.issparse(g):
        return from_matrix(g)
    if comes_from(g, "torch_geometric") and hasattr(g, "edge_index"):
        return _from_data(g)
    if comes_from(g, "torch") and hasattr(g, "layout"):
        g = g.detach().cpu()
        if "sparse" in str(g.layout):
            return from_matrix(_from_sparse_tensor(g))
        return _from_array(g.numpy())
    if isinstance(g, np.ndarray):
        return _from_array(g)
    if isinstance(g, list | tuple):
        return _from_pairs(list(g))
    if comes_from(g, "networkx") and hasattr(g, "is_multigraph"):
        return _from_networkx(g)
    raise InputError(f"graph must be {ACCEPTED}; got {type(g).__module__}.{type(g).__qualname__}.")


def from_matrix(M: Any, origin: str = "the graph") -> RawGraph:
    """A square sparse matrix; entries given twice are summed, as they are in the matrix."""
    if M.ndim != 2 or M.shape[0] != M.shape[1]:
        raise InputError(
            f"graph as a matrix must be square, one row and column a node; its shape is {M.shape}.{KEEP_NODES}"
        )
    if M.dtype.kind not in "biuf":
        raise InputError(f"graph as a matrix must hold real numbers; it holds {M.dtype}.")
    # before the sum of duplicates, which may not fit
    A = checked_csr(M, origin, np.float64 if M.dtype.kind in "iu" else None)
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    no_edges = np.zeros(0, np.int64)
    if np.all(A.data == 1):  # in one byte each until the matrix is compacted
        A = sparse.csr_array((np.ones(A.nnz, np.int8), A.indices, A.indptr), shape=A.shape)
    elif A.dtype != np.float64:
        A = A.astype(np.float64)
    return RawGraph(
        no_edges, no_edges, None, A, A.shape[0], endpoints="fixed", direction="stated", origin=origin
    )


def from_columns(columns: dict[str, Array], origin: str) -> RawGraph:
    """The columns source, target and optionally weight of a table; the endpoints are ids."""
    source, target = (as_ids(columns[name], f"{origin}, column {name!r},") for name in ("source", "target"))
    weight = None
    if "weight" in columns:
        weight = as_weights(columns["weight"], f"{origin}, column 'weight',")
    return RawGraph(source, target, weight, endpoints="ids", origin=origin)


def _from_array(pairs: Array) -> RawGraph:
    if pairs.ndim == 2 and pairs.shape[0] == pairs.shape[1] > 2:  # a dense adjacency or affinity matrix
        if pairs.dtype.kind not in "biuf":
            raise InputError(f"graph as a matrix must hold real numbers; it holds {pairs.dtype}.")
        return from_matrix(sparse.csr_array(pairs))
    if pairs.ndim != 2 or 2 not in pairs.shape:
        raise InputError(
            "graph as an array must be (2, E) or (E, 2) node positions, or a square matrix of weights, "
            f"not {pairs.shape}."
        )
    refuse_two_readings(pairs, "graph")
    source, target = pairs if len(pairs) == 2 else pairs.T
    return RawGraph(source, target)


def refuse_two_readings(pairs: Array, what: str) -> None:
    """Refuse a 2 x 2 array that says one thing as two pairs, and another as sources over targets."""
    if pairs.shape == (2, 2) and pairs[0, 1] != pairs[1, 0]:
        (a, b), (c, d) = pairs.tolist()
        raise InputError(
            f"{what} as a 2 x 2 array may be the pairs ({a}, {b}) and ({c}, {d}), or an edge_index of the edges "
            f"({a}, {c}) and ({b}, {d}). Give a list: array.tolist() for the former, array.T.tolist() for the latter."
        )


def _from_pairs(pairs: list[Any]) -> RawGraph:
    malformed = [p for p in pairs if not isinstance(p, list | tuple) or len(p) not in (2, 3)]
    if malformed:
        raise InputError(
            f"graph as a list must hold (source, target) or (source, target, weight), not {malformed[0]!r:.80}. "
            "Two long lists of ends are np.array([sources, targets])."
        )
    source, target = (as_ids([p[k] for p in pairs], f"entry {k} of the pairs") for k in (0, 1))
    weight = None
    if any(len(p) == 3 for p in pairs):
        weight = as_weights(as_array([p[2] if len(p) == 3 else 1 for p in pairs]))
    if pairs and not (source.dtype.kind in "iuf" and target.dtype.kind in "iuf"):
        return RawGraph(source, target, weight, endpoints="ids")
    return RawGraph(source, target, weight)


def _from_networkx(g: Any) -> RawGraph:
    nodes = list(g.nodes)
    names = as_ids(nodes, "the networkx graph")
    positional = names.dtype.kind == "i" and np.array_equal(np.sort(names), np.arange(len(names)))
    row = {node: int(node) if positional else i for i, node in enumerate(nodes)}
    edges = list(g.edges(data="weight"))
    source = np.fromiter((row[u] for u, _, _ in edges), np.int64, len(edges))
    target = np.fromiter((row[v] for _, v, _ in edges), np.int64, len(edges))
    weight = None
    if any(w is not None for _, _, w in edges):
        weight = as_weights(as_array([1 if w is None else w for _, _, w in edges]))
    return RawGraph(
        source,
        target,
        weight,
        n_nodes=len(nodes),
        names=None if positional else names,
        direction="stated" if g.is_directed() else "none",
    )


def _from_data(data: Any) -> RawGraph:
    if data.edge_index is None:
        raise InputError("graph as a torch_geometric Data must have edge_index; it has none.")
    source, target = data.edge_index.detach().cpu().numpy()
    edges = RawGraph(source, target)
    weight = getattr(data, "edge_weight", None)
    if weight is None:
        attribute = getattr(data, "edge_attr", None)
        if attribute is not None and tuple(attribute.shape) in ((len(edges.source),), (len(edges.source), 1)):
            weight = attribute
    with (
        warnings.catch_warnings()
    ):  # Data warns where it has to guess the number of nodes; the edges then count
        warnings.simplefilter("ignore")
        n_nodes = int(data.num_nodes or 0)
    weights = None if weight is None else as_weights(weight.detach().cpu().numpy().reshape(-1))
    if weights is not None and len(weights) != len(edges.source):
        raise InputError(f"edge_weight has {len(weights):,} entries for {len(edges.source):,} edges.")
    return RawGraph(edges.source, edges.target, weights, n_nodes=n_nodes, endpoints="fixed")


def _from_sparse_tensor(tensor: Any) -> Any:
    entries = tensor.to_sparse_coo().coalesce()
    values = entries.values().numpy()
    if values.ndim != 1:
        raise InputError("graph as a sparse tensor must hold one number an entry, not arrays.")
    return sparse.coo_array((values, tuple(entries.indices().numpy())), shape=tuple(entries.shape))


def as_positions(ends: Array) -> Array:
    """Edge endpoints as integers from 0 on."""
    if ends.dtype.kind == "f":
        fractional = ~(np.isfinite(ends) & (ends == np.floor(ends)))
        if fractional.any():
            raise InputError(
                f"edge ends are node positions, whole numbers from 0 on; got {ends[fractional][0]}."
            )
        ends = ends.astype(np.int64)
    if ends.dtype.kind not in "iu":
        if not ends.size:
            return np.zeros(0, np.int64)
        raise InputError(
            f"edge ends in an array are node positions, whole numbers; got {ends.dtype}. "
            "Give ids as a list of pairs, or as a table with columns source and target."
        )
    if ends.size and ends.min() < 0:
        raise InputError(f"edge ends are node positions from 0 on; got {ends[ends < 0][0]}.")
    if ends.size and ends.max() >= MAX_NODES:
        raise InputError(
            f"edge ends are node positions; {ends.max()} looks like an id. "
            "Give ids as a table with columns source and target, or list them in nodes=."
        )
    return ends.astype(np.int64) if ends.dtype.kind == "u" else ends


def as_weights(values: Array, what: str = "edge weights") -> Array:
    """Edge weights in float64; None becomes NaN."""
    if values.dtype.kind not in "biuf":
        for value in values.tolist():
            if value is not None and (isinstance(value, str | bytes) or not hasattr(value, "__float__")):
                raise InputError(f"{what} must be numbers; got {value!r}.")
        try:
            values = np.array(values.tolist(), np.float64)  # None becomes NaN, and is refused by name later
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{what} must be numbers, but cannot be read as such: {error}.") from error
    return values.astype(np.float64, copy=False)
