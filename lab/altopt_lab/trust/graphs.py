"""Cases for Graph: every accepted form, with odd ends, weights, sizes, ids and broken matrices."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from altopt import Graph
from altopt.arrays import Array
from altopt_lab.trust.judge import judged, promise
from altopt_lab.trust.part import Outcome, Part
from altopt_lab.trust.recipes import Case, random, recipe
from altopt_lab.trust.values import ENDS, ODD_ENDS, ODD_WEIGHTS, WEIGHTS, Chance

SPARSE = ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")
FORMS = ("pairs", "triples", "rows", "columns", "pandas", "polars", "arrow", "networkx", "tensor", *SPARSE)
ODD_FORMS = (
    *(
        "sparse tensor",
        "data",
        "digraph",
        "multigraph",
        "bad indices",
        "bad indptr",
        "not square",
        "1d sparse",
    ),
    *("dense", "3d", "lists of ends", "strange object", "graph", "tuple", "generator", "set", "read-only"),
    *("indexed frame", "nested frame", "wrong names", "series", "structured", "masked", "matrix class"),
)
STRANGE: dict[str, Any] = {
    "None": None,
    "number": 5,
    "text": "x",
    "absent file": "nope.csv",
    "absent matrix": "nope.npz",
    "folder": Path("/"),
    "bytes": b"x",
    "dict": {1: 2},
    "function": abs,
    "class": Graph,
    "scalar": np.float64(3),
    "list of numbers": [1, 2, 3],
    "single": [(1,)],
    "fours": [(1, 2, 3, 4)],
    "empty list": [],
    "empty lists": [[]],
    "empty tuples": [()],
    "two by none": np.zeros((2, 0)),
    "none by two": np.zeros((0, 2), int),
    "no nodes": sparse.csr_array((0, 0)),
    "wide": sparse.csr_array((3, 4)),
    "range": range(4),
    "0-d": np.array("x"),
    "date": np.datetime64("2020-01-01"),
    "NaN": float("nan"),
    "texts": ["ab", "cd"],
    "NUL path": "a\x00b.csv",
    "long path": "x" * 5000 + ".csv",
}
NODES: dict[str, Callable[[int], Any]] = {
    "same": lambda n: list(range(n)),
    "text": lambda n: [f"n{k}" for k in range(n)],
    "floats": lambda n: np.arange(n) * 1.0,
    "None": lambda n: [None] * n,
    "twice": lambda n: [0] * n,
    "one text": lambda n: "abc",
    "number": lambda n: 5,
    "empty": lambda n: [],
    "lists": lambda n: [[k] for k in range(n)],
    "NaN": lambda n: [float("nan")] * n,
    "tuples": lambda n: [(k,) for k in range(n)],
    "2-d": lambda n: np.zeros((n, 2)),
    "backwards": lambda n: np.arange(n)[::-1],
    "dict": lambda n: {k: k for k in range(n)},
    "dates": lambda n: np.arange(n).astype("datetime64[s]"),
}
PLAIN: dict[str, Any] = {
    "form": FORMS,
    "n": (2, 3, 10, 50),
    "edges": (0.5, 1.0, 3.0),
    "ends": tuple(ENDS),
    "weights": ("none", "none", *WEIGHTS),
    "dtype": ("float64", "float32", "int64", "bool"),
    "directed": (False, False, True),
    "n_nodes": ("none", "none", "none", "more"),
    "nodes": ("none", "none", "none", "same", "text"),
}
ODD: dict[str, Any] = {
    "form": ODD_FORMS,
    "n": (0, 1),
    "edges": (0.0,),
    "ends": tuple(ODD_ENDS),
    "weights": tuple(ODD_WEIGHTS),
    "dtype": ("int8", "uint64", "complex128", "float16", "object", "longdouble"),
    "directed": (None, "yes", 1),
    "n_nodes": ("zero", "fewer", "negative", "half", "bool", "text", "int64", "huge"),
    "nodes": tuple(NODES),
}


def make_graph(case: Case) -> Any:
    """The graph-like object of a case."""
    chance = random(case)
    n, form = case["n"], case["form"]
    e = int(case["edges"] * n)
    source, target = chance.integers(0, max(n, 1), (2, e))
    make = ENDS | ODD_ENDS
    weight = (WEIGHTS | ODD_WEIGHTS)[case["weights"]](chance, e)
    if form in SPARSE or form in MATRICES:
        entries = sparse_entries(source, target, weight, n, case["dtype"])
        return entries.asformat(form) if form in SPARSE else MATRICES[form](entries, chance)
    if form == "strange object":
        return STRANGE[sorted(STRANGE)[int(chance.integers(len(STRANGE)))]]
    return OTHERS[form](make[case["ends"]](source), make[case["ends"]](target), weight)


def sparse_entries(source: Array, target: Array, weight: Any, n: int, dtype: str) -> Any:
    """A matrix of edges, entries maybe repeated; weights that the type cannot hold give way to ones."""
    data = np.ones(len(source)) if weight is None else np.asarray(weight)
    try:
        with np.errstate(all="ignore"):
            data = data.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        data = np.ones(len(source))
    return sparse.coo_array((data, (source, target)), shape=(n, n))


def bad_indices(entries: Any, chance: Chance) -> Any:
    """A matrix whose column numbers point outside."""
    A = sparse.csr_array(entries)
    if A.nnz:
        A.indices[int(chance.integers(A.nnz))] = chance.choice([-1, -7, A.shape[0], 5_000_000, 2**31 - 1])
    return A


def bad_indptr(entries: Any, chance: Chance) -> Any:
    """A matrix whose rows begin where they should not."""
    A = sparse.csr_array(entries)
    A.indptr[int(chance.integers(len(A.indptr)))] = chance.choice([-1, 3, A.nnz + 1, 5_000_000])
    return A


def read_only(entries: Any, chance: Chance) -> Any:
    A = sparse.csr_array(entries)
    for array in (A.data, A.indices, A.indptr):
        array.setflags(write=False)
    return A


def sparse_tensor(entries: Any, chance: Chance) -> Any:
    import torch

    values = torch.as_tensor(entries.data.astype(float))
    ends = torch.as_tensor(np.array([*entries.coords]))
    return torch.sparse_coo_tensor(ends, values, entries.shape)


MATRICES: dict[str, Callable[[Any, Chance], Any]] = {
    "bad indices": bad_indices,
    "bad indptr": bad_indptr,
    "read-only": read_only,
    "sparse tensor": sparse_tensor,
    "not square": lambda A, chance: sparse.csr_array((A.shape[0], A.shape[0] + 1)),
    "1d sparse": lambda A, chance: sparse.coo_array(np.ones(max(A.shape[0], 1))),
    "dense": lambda A, chance: chance.random(A.shape),
    "graph": lambda A, chance: Graph(np.array(A.coords), n_nodes=max(A.shape[0], 1)),
    "matrix class": lambda A, chance: sparse.csr_matrix(A),
}


def columns(source: Any, target: Any, weight: Any) -> dict[str, Any]:
    return {"source": source, "target": target} | ({} if weight is None else {"weight": weight})


def plain_list(values: Any) -> list[Any]:
    return list(values.tolist()) if hasattr(values, "tolist") else list(values)


def triples(source: Any, target: Any, weight: Any) -> list[Any]:
    weights = [1] * len(source) if weight is None else plain_list(weight)
    return list(zip(plain_list(source), plain_list(target), weights))


def frame(source: Any, target: Any, weight: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(columns(source, target, weight))


def arrow_table(source: Any, target: Any, weight: Any) -> Any:
    """A pyarrow table, of text where pyarrow has no type for the values."""
    import pyarrow as pa

    def column(values: Any) -> Any:
        try:
            return pa.array(plain_list(values))
        except (pa.ArrowException, OverflowError, TypeError, UnicodeError):
            return pa.array([ascii(value) for value in plain_list(values)])

    return pa.table({name: column(values) for name, values in columns(source, target, weight).items()})


def polars_table(source: Any, target: Any, weight: Any) -> Any:
    import polars as pl

    named = columns(source, target, weight)
    try:
        return pl.DataFrame({name: plain_list(values) for name, values in named.items()}, strict=False)
    except (TypeError, OverflowError, ValueError, UnicodeError, pl.exceptions.PolarsError):
        return pl.DataFrame({name: [ascii(value) for value in values] for name, values in named.items()})


def networkx_graph(kind: str) -> Callable[[Any, Any, Any], Any]:
    def make(source: Any, target: Any, weight: Any) -> Any:
        import networkx as nx

        g = getattr(nx, kind)()
        for k, ends in enumerate(zip(plain_list(source), plain_list(target))):
            try:
                g.add_edge(*ends, **({} if weight is None else {"weight": plain_list(weight)[k]}))
            except (TypeError, ValueError):  # networkx takes no such node
                g.add_node(k)
        return g

    return make


def tensor(source: Any, target: Any, weight: Any) -> Any:
    import torch

    ends = np.array([source, target])
    return torch.as_tensor(ends) if ends.dtype.kind in "if" and ends.dtype.itemsize > 1 else ends


def data_object(source: Any, target: Any, weight: Any) -> Any:
    """A stand-in that calls itself a torch_geometric Data would need that package; without it a plain tensor."""
    try:
        import torch
        from torch_geometric.data import Data
    except ImportError:
        return tensor(source, target, weight)
    ends = np.array([source, target])
    if ends.dtype.kind not in "if":
        return ends
    data = Data(edge_index=torch.as_tensor(ends.astype(float)).long())
    if weight is not None and np.asarray(weight).dtype.kind == "f":
        data.edge_weight = torch.as_tensor(np.asarray(weight, float))
    return data


def indexed(source: Any, target: Any, weight: Any) -> Any:
    return frame(source, target, weight).set_index("source")


def nested(source: Any, target: Any, weight: Any) -> Any:
    import pandas as pd

    return pd.concat({"a": frame(source, target, weight)}, axis=1)


def structured(source: Any, target: Any, weight: Any) -> Any:
    return np.zeros(len(source), dtype=[("source", "i8"), ("target", "i8")])


OTHERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "pairs": lambda s, t, w: list(zip(plain_list(s), plain_list(t))),
    "triples": triples,
    "rows": lambda s, t, w: np.array([s, t]),
    "columns": lambda s, t, w: np.array([s, t]).T,
    "pandas": frame,
    "polars": polars_table,
    "arrow": arrow_table,
    "networkx": networkx_graph("Graph"),
    "digraph": networkx_graph("DiGraph"),
    "multigraph": networkx_graph("MultiDiGraph"),
    "tensor": tensor,
    "data": data_object,
    "3d": lambda s, t, w: np.array([[s, t]]),
    "lists of ends": lambda s, t, w: [plain_list(s), plain_list(t)],
    "tuple": lambda s, t, w: (s, t),
    "generator": lambda s, t, w: zip(plain_list(s), plain_list(t)),
    "set": lambda s, t, w: set(map(str, plain_list(s))),
    "indexed frame": indexed,
    "nested frame": nested,
    "wrong names": lambda s, t, w: frame(s, t, w).rename(columns={"source": "Source"}),
    "series": lambda s, t, w: frame(s, t, w)["source"],
    "structured": structured,
    "masked": lambda s, t, w: np.ma.masked_array(np.array([s, t]), mask=np.zeros((2, len(s)), bool)),
}


def arguments(case: Case) -> dict[str, Any]:
    """The keywords of Graph."""
    n = case["n"]
    counts = {"zero": 0, "fewer": n - 1, "more": n + 5, "negative": -1, "half": 1.5, "bool": True}
    counts |= {"text": "5", "int64": np.int64(n), "huge": 2**62}
    given: dict[str, Any] = {"directed": case["directed"]}
    if case["n_nodes"] != "none":
        given["n_nodes"] = counts[case["n_nodes"]]
    if case["nodes"] != "none":
        given["nodes"] = NODES[case["nodes"]](n)
    return given


def check(case: Case) -> Outcome:
    """Make the Graph, and hold it to its promises."""
    try:
        with np.errstate(all="ignore"):
            given = make_graph(case)
    except (ValueError, TypeError, OverflowError, AttributeError) as error:
        return Outcome("refused", f"not even numpy, scipy or pandas makes this: {type(error).__name__}")
    return judged(lambda: hold_to_promises(Graph(given, **arguments(case))))


def hold_to_promises(graph: Graph) -> None:
    """The promises of every Graph."""
    A = graph.adjacency
    promise(A.shape == (graph.n_nodes, graph.n_nodes), "the adjacency is not n by n")
    promise(np.isfinite(A.data).all() and (A.data > 0).all(), "a weight is not positive and finite")
    promise(abs(A - A.T).nnz == 0, "the adjacency is not symmetric")
    promise(not A.diagonal().any(), "the adjacency has a diagonal")
    promise(A.nnz == 2 * graph.n_edges, "n_edges does not count the edges")
    promise(np.isfinite(graph.degrees).all(), "degrees are not finite")
    promise(len(graph.components) == graph.n_nodes == len(graph.ids), "ids or components miss a node")
    if graph.directed_adjacency is not None:
        promise(np.isfinite(graph.directed_adjacency.data).all(), "a directed weight is not finite")
    rows = graph.positions(graph.ids[:3]).tolist()
    promise(rows == list(range(min(3, graph.n_nodes))), "a node is not found by its id")
    promise(
        graph.position(graph.ids.tolist()[-1]) == graph.n_nodes - 1, "the last node is not found by its id"
    )
    repr(graph)


PART = Part(
    name="graph",
    what="Graph(g, directed, n_nodes, nodes) of lists, arrays, tensors, tables, networkx and scipy's seven formats, "
    "with odd ids, types, weights and sizes and broken matrices",
    strategy=recipe(PLAIN, ODD),
    check=check,
    trials=40_000,
    seconds=20.0,
    short=60,
    batch=4000,
)
