"""Ids and edges as arrays, whatever they were given as."""

import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from altopt.arrays import Array
from altopt.errors import InputError

NUMBERS = (int, float, np.integer, np.floating)
ACCEPTED = (
    "a scipy sparse matrix, a (2, E) or (E, 2) array or tensor of node positions, a list of pairs, "
    "a networkx graph, a torch_geometric Data, a pandas, polars or pyarrow table with columns source and "
    "target, a path (.parquet, .csv, .npz) or a Graph"
)


@dataclass(frozen=True)
class Given:
    """A graph as it was given, nothing dropped, merged or laid out yet: edges by their ends, or a matrix."""

    source: Array
    target: Array
    weight: Array | None = None
    matrix: Any = None  # instead of ends and weights
    n_nodes: int = 0  # nodes it is known to have
    names: Array | None = None  # the id of each position, where these have an order
    ends: Literal["ids", "positions", "fixed"] = "positions"  # fixed: positions whatever `nodes` says
    direction: Literal["stated", "open", "none"] = "open"  # stated: an edge without its reverse is remarkable
    where: str = "the graph"  # what a message calls it


def comes_from(value: object, package: str) -> bool:
    """Whether value's class, or one it extends, is of `package`: told by name, so nothing is imported."""
    return any(kind.__module__.split(".")[0] == package for kind in type(value).__mro__)


def lookup(ids: Array, wanted: Array) -> NDArray[np.int64]:
    """Where each wanted id stands in ids, -1 where it does not; both as `as_ids` spells them."""
    if (ids.dtype == wanted.dtype and ids.dtype.kind != "O") or (is_text(ids) and is_text(wanted)):
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = pa.large_string() if ids.dtype.kind == "O" else None
        found = pc.index_in(pa.array(wanted, kind), value_set=pa.array(ids, kind))
        where: Array = found.fill_null(-1).to_numpy(zero_copy_only=False)
        return where.astype(np.int64)
    row = {name: i for i, name in enumerate(ids.tolist())}
    return np.fromiter((row.get(name, -1) for name in wanted.tolist()), np.int64, len(wanted))


def distinct(source: Array, target: Array) -> Array:
    """Every id that is an end of an edge, once, sorted: by value, or by type and value where types mix."""
    if (source.dtype == target.dtype and source.dtype.kind != "O") or (is_text(source) and is_text(target)):
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = pa.large_string() if source.dtype.kind == "O" else None
        both = pa.chunked_array([pa.array(source, kind), pa.array(target, kind)])
        return np.sort(as_array(pc.unique(both).to_numpy(zero_copy_only=False)))
    names = {*source.tolist(), *target.tolist()}
    try:
        return as_array(sorted(names, key=lambda name: (type(name).__name__, name)))
    except TypeError:
        return as_array(sorted(names, key=lambda name: (type(name).__name__, repr(name))))


def missing(ids: Array, wanted: Array, found: Array, known: str) -> str:
    """For a message: the first wanted id that was not found, how many there are, and whether types differ."""
    lost = wanted[found < 0].tolist()
    ours, theirs = _sort_of(ids), _sort_of(wanted)
    hint = f" The ids there are {ours}, these are {theirs}." if ours != theirs else ""
    return f"node {lost[0]!r}, which is not {known} ({len(set(lost)):,} missing in all).{hint}"


def as_array(values: Any) -> Array:
    """Values one by one in an array, none turned into another: [1, 'a'] stays a number and a text."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    elif comes_from(values, "pyarrow"):
        values = values.to_pylist()
    elif hasattr(values, "to_numpy"):
        values = values.to_numpy()
    column: Array = values if isinstance(values, np.ndarray) else np.fromiter(values, dtype=object)
    if column.dtype.kind in "UST":
        return column.astype(object)
    kinds = set(map(type, column.tolist())) if column.dtype.kind == "O" else set()
    if not kinds or bool in kinds or not all(issubclass(kind, NUMBERS) for kind in kinds):
        return column
    whole = all(issubclass(kind, int | np.integer) for kind in kinds)
    with suppress(OverflowError):  # wider than 64 bits: stay Python integers
        return column.astype(np.int64 if whole else np.float64)
    return column


def as_ids(values: Any, what: str) -> Array:
    """Node ids in one spelling, int64 for whole numbers, object for text and mixtures; no row without one."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise InputError(f"{what} must be a list of ids; got {values!r}.")
    ids = as_array(values)
    if ids.ndim != 1:
        raise InputError(f"{what} must be a plain list of ids; got an array of shape {ids.shape}.")
    if ids.dtype.kind == "O" and not is_text(ids):
        try:
            gone = np.array([_is_gone(name) for name in ids.tolist()], bool)
        except (TypeError, ValueError) as error:
            raise InputError(f"{what} holds ids that cannot be told apart: {error}.") from error
    else:
        gone = ids != ids if ids.dtype.kind in "fMm" else np.zeros(0, bool)  # NaN differs from itself
    if gone.any():
        raise InputError(f"{what} has no id in row {np.argmax(gone) + 1:,} (the first is row 1).")
    if ids.dtype.kind == "f" and np.all((np.abs(ids) < 2**53) & (ids == np.floor(ids))):
        return ids.astype(np.int64)
    if ids.dtype.kind in "iu" and (ids.dtype != np.uint64 or not len(ids) or ids.max() < 2**63):
        return ids.astype(np.int64, copy=False)
    return ids.astype(object) if ids.dtype.kind == "b" else ids


def unique_ids(values: Any, what: str) -> Array:
    """`as_ids`, and an InputError if an id comes twice."""
    ids = as_ids(values, what)
    if ids.dtype.kind != "O":
        order = np.sort(ids)
        twice = order[1:][order[1:] == order[:-1]].tolist()
    else:
        seen = dict.fromkeys(ids.tolist(), 0)
        twice = []
        if len(seen) < len(ids):
            for name in ids.tolist():
                seen[name] += 1
            twice = [name for name, count in seen.items() if count > 1]
    if twice:
        raise InputError(f"{what} names node {twice[0]!r} more than once; name each node once.")
    return ids


def _is_gone(value: Any) -> bool:
    hash(value)
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def is_text(ids: Array) -> bool:
    """Whether every id is text."""
    return ids.dtype.kind == "O" and set(map(type, ids.tolist())) <= {str, np.str_}


def _sort_of(ids: Array) -> str:
    words = {"i": "whole numbers", "u": "whole numbers", "f": "fractional numbers", "M": "dates"}
    return "text" if is_text(ids) else words.get(ids.dtype.kind, "of mixed types")


def read(g: Any) -> Given:
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


def from_matrix(M: Any) -> Given:
    """A square sparse matrix; entries given twice are summed, as they are in the matrix."""
    if M.ndim != 2 or M.shape[0] != M.shape[1]:
        raise InputError(
            f"graph as a matrix must be square, one row and column a node; its shape is {M.shape}."
        )
    if M.dtype.kind not in "biuf":
        raise InputError(f"graph as a matrix must hold real numbers; it holds {M.dtype}.")
    if M.dtype.kind in "iu":  # before the sum of duplicates, which may not fit
        M = M.astype(np.float64)
    A = sparse.csr_array(M)
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    nowhere = np.zeros(0, np.int64)
    if np.all(A.data == 1):  # in one byte each until the matrix is settled
        A = sparse.csr_array((np.ones(A.nnz, np.int8), A.indices, A.indptr), shape=A.shape)
    elif A.dtype != np.float64:
        A = A.astype(np.float64)
    return Given(nowhere, nowhere, matrix=A, n_nodes=A.shape[0], ends="fixed", direction="stated")


def from_columns(columns: dict[str, Array], where: str) -> Given:
    """A table's source, target and maybe weight, the ends being ids."""
    source, target = (as_ids(columns[name], f"{where}, column {name!r},") for name in ("source", "target"))
    weight = None
    if "weight" in columns:
        weight = _weights(columns["weight"], f"{where}, column 'weight',")
    return Given(source, target, weight, ends="ids", where=where)


def _from_array(pairs: Array) -> Given:
    if pairs.ndim != 2 or 2 not in pairs.shape:
        square = pairs.ndim == 2 and pairs.shape[0] == pairs.shape[1]
        hint = " Wrap an adjacency matrix as scipy.sparse.csr_array(A)." if square else ""
        raise InputError(
            f"graph as an array must be (2, E) or (E, 2) node positions, not {pairs.shape}.{hint}"
        )
    source, target = pairs if len(pairs) == 2 else pairs.T
    return Given(source, target)


def _from_pairs(pairs: list[Any]) -> Given:
    odd = [p for p in pairs if not isinstance(p, list | tuple) or len(p) not in (2, 3)]
    if odd:
        raise InputError(
            f"graph as a list must hold (source, target) or (source, target, weight), not {odd[0]!r:.80}. "
            "Two long lists of ends are np.array([sources, targets])."
        )
    source, target = (as_ids([p[k] for p in pairs], f"entry {k} of the pairs") for k in (0, 1))
    weight = None
    if any(len(p) == 3 for p in pairs):
        weight = _weights(as_array([p[2] if len(p) == 3 else 1 for p in pairs]))
    if pairs and not (source.dtype.kind in "iuf" and target.dtype.kind in "iuf"):
        return Given(source, target, weight, ends="ids")
    return Given(source, target, weight)


def _from_networkx(g: Any) -> Given:
    nodes = list(g.nodes)
    names = as_ids(nodes, "the networkx graph")
    positional = names.dtype.kind == "i" and np.array_equal(np.sort(names), np.arange(len(names)))
    row = {node: int(node) if positional else i for i, node in enumerate(nodes)}
    edges = list(g.edges(data="weight"))
    source = np.fromiter((row[u] for u, _, _ in edges), np.int64, len(edges))
    target = np.fromiter((row[v] for _, v, _ in edges), np.int64, len(edges))
    weight = None
    if any(w is not None for _, _, w in edges):
        weight = _weights(as_array([1 if w is None else w for _, _, w in edges]))
    return Given(
        source,
        target,
        weight,
        n_nodes=len(nodes),
        names=None if positional else names,
        direction="stated" if g.is_directed() else "none",
    )


def _from_data(data: Any) -> Given:
    if data.edge_index is None:
        raise InputError("graph as a torch_geometric Data must have edge_index; it has none.")
    given = _from_array(data.edge_index.detach().cpu().numpy())
    weight = getattr(data, "edge_weight", None)
    if weight is None:
        attribute = getattr(data, "edge_attr", None)
        if attribute is not None and tuple(attribute.shape) in ((len(given.source),), (len(given.source), 1)):
            weight = attribute
    with warnings.catch_warnings():  # it warns where it has to guess, which is where we count for ourselves
        warnings.simplefilter("ignore")
        n_nodes = int(data.num_nodes or 0)
    weights = None if weight is None else _weights(weight.detach().cpu().numpy().reshape(-1))
    if weights is not None and len(weights) != len(given.source):
        raise InputError(f"edge_weight has {len(weights):,} entries for {len(given.source):,} edges.")
    return Given(given.source, given.target, weights, n_nodes=n_nodes, ends="fixed")


def _from_sparse_tensor(tensor: Any) -> Any:
    entries = tensor.to_sparse_coo().coalesce()
    values = entries.values().numpy()
    if values.ndim != 1:
        raise InputError("graph as a sparse tensor must hold one number an entry, not arrays.")
    return sparse.coo_array((values, tuple(entries.indices().numpy())), shape=tuple(entries.shape))


def as_positions(ends: Array) -> Array:
    """Edge ends as integers from 0 on."""
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
    if ends.size and ends.max() >= 2**31:
        raise InputError(
            f"edge ends are node positions; {ends.max()} looks like an id. "
            "Give ids as a table with columns source and target, or list them in nodes=."
        )
    return ends.astype(np.int64) if ends.dtype.kind == "u" else ends


def _weights(values: Array, what: str = "edge weights") -> Array:
    if values.dtype.kind not in "biuf":
        for value in values.tolist():
            if value is not None and (isinstance(value, str | bytes) or not hasattr(value, "__float__")):
                raise InputError(f"{what} must be numbers; got {value!r}.")
        values = np.array(values.tolist(), np.float64)  # None becomes NaN, and is refused by name later
    return values.astype(np.float64, copy=False)


def gather(source: Array, target: Array, weight: Array | None, n: int) -> tuple[Any, int, int]:
    """Edges as a matrix, each once with its largest weight; how many self-loops and repeats were dropped."""
    keep = np.ones(len(source), bool) if weight is None else weight > 0
    n_kept = int(np.count_nonzero(keep))
    keep &= source != target
    n_loops = n_kept - int(np.count_nonzero(keep))
    if not keep.all():
        source, target, weight = source[keep], target[keep], None if weight is None else weight[keep]
    key = source.astype(np.int64)
    key *= n
    key += target
    if weight is None:
        key.sort()
    else:
        order = np.argsort(key)
        key, weight = key[order], weight[order]
    first = np.ones(len(key), bool)
    first[1:] = key[1:] != key[:-1]
    if weight is None:  # ones, in one byte each until the matrix is settled
        data: Array = np.ones(np.count_nonzero(first), np.int8)
    else:
        data = np.maximum.reduceat(weight, np.flatnonzero(first)) if len(weight) else weight
    n_duplicates = len(key) - len(data)
    key = key[first] if n_duplicates else key
    indptr = np.searchsorted(key, np.arange(n + 1) * n)
    key %= n
    return sparse.csr_array((data, key, indptr), shape=(n, n)), n_loops, n_duplicates


def cleaned(A: Any) -> tuple[Any, int]:
    """A matrix without explicit zeros and without its diagonal, and how many self-loops that were."""
    n_loops = int(np.count_nonzero(A.diagonal()))
    if n_loops or not A.data.all():
        rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        keep = (A.data != 0) & (rows != A.indices)
        indptr = np.concatenate([[0], np.cumsum(keep)])[A.indptr]
        A = sparse.csr_array((A.data[keep], A.indices[keep], indptr), shape=A.shape)
    return A, n_loops
