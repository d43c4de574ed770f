"""What a Graph refuses: each wrong form in one sentence that says what came and what to do."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from altopt.errors import InputError
from altopt.graph import Graph

STARS = [("ann", "bob"), ("bob", "cem"), ("dan", "ann")]


def frame(**columns):
    return pytest.importorskip("pandas").DataFrame(columns)


def data_of(**parts):
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    return data.Data(**{k: v if isinstance(v, int) else torch.tensor(v) for k, v in parts.items()})


NAMED = {"nodes": ["ann", "bob", "cem", "dan"]}
REFUSED = {
    "an unknown form": (
        lambda: Graph(42),
        r"graph must be a scipy sparse matrix, .* or a Graph; got builtins.int",
    ),
    "a series": (lambda: Graph(frame(a=[1])["a"]), "graph must be .*; got pandas"),
    "a rectangle": (lambda: Graph(sp.csr_array((2, 3))), r"must be square.*\(2, 3\)"),
    "a vector": (lambda: Graph(sp.coo_array(np.ones(3))), "must be square"),
    "a complex matrix": (
        lambda: Graph(sp.csr_array(np.eye(2) * 1j)),
        "must hold real numbers; it holds complex128",
    ),
    "a dense matrix of words": (lambda: Graph(np.full((3, 3), "a")), "must hold real numbers; it holds <U1"),
    "a wide array": (
        lambda: Graph(np.zeros((3, 4))),
        r"\(2, E\) or \(E, 2\) node positions, or a square matrix of weights, not \(3, 4\)\.$",
    ),
    "text in an array": (lambda: Graph(np.array([["a"], ["b"]])), "got <U1. Give ids as a list of pairs"),
    "a negative end": (lambda: Graph([(0, -3)]), "positions from 0 on; got -3"),
    "a fractional end": (lambda: Graph([(0, 1.5)]), "whole numbers from 0 on; got 1.5"),
    "an endless end": (lambda: Graph(np.array([[0, np.inf]])), "whole numbers from 0 on; got inf"),
    "an id as position": (lambda: Graph(np.array([[0], [10**12]])), "1000000000000 looks like an id.*nodes="),
    "a quadruple": (lambda: Graph([(0, 1, 2, 3)]), r"\(source, target, weight\), not \(0, 1, 2, 3\)"),
    "a list of words": (lambda: Graph(["ab"]), "graph as a list must hold .* not 'ab'"),
    "an unhashable id": (
        lambda: Graph([(["a"], "b")]),
        "entry 0 of the pairs holds ids that cannot be told apart",
    ),
    "no end": (lambda: Graph([("a", "b"), (None, "c")]), r"entry 0 of the pairs has no id in row 2"),
    "a null id": (
        lambda: Graph(frame(source=["a", "b", None], target=list("bca"))),
        "'source', has no id in row 3",
    ),
    "a NaN id": (lambda: Graph(frame(source=[1, 2], target=[3, np.nan])), "'target', has no id in row 2"),
    "no source": (
        lambda: Graph(frame(src=[1], target=[2])),
        "has no column 'source'; it has 'src', 'target'",
    ),
    "a negative weight": (
        lambda: Graph([("a", "b", 1), ("b", "c", -2)]),
        "in the graph the edge from 'b' to 'c' has weight -2.0; weights must be finite and not negative",
    ),
    "a NaN weight": (lambda: Graph([(0, 1, np.nan)]), "from 0 to 1 has weight nan"),
    "no weight": (
        lambda: Graph(frame(source=[1, 4], target=[2, 5], weight=[1, None])),
        "from 4 to 5 has weight nan",
    ),
    "an infinite entry": (
        lambda: Graph(sp.csr_array(np.array([[0, 1], [np.inf, 0]])), nodes=["x", "y"]),
        "from 'y' to 'x' has weight inf",
    ),
    "a negative self-loop": (lambda: Graph([(1, 1, -1)]), "from 1 to 1 has weight -1.0"),
    "a word as weight": (lambda: Graph([(0, 1, "heavy")]), "edge weights must be numbers; got 'heavy'"),
    "a missing node": (
        lambda: Graph([*STARS, ("eve", "fay")], **NAMED),
        r"node 'eve', which is not in nodes \(1 missing in all\).*List every node",
    ),
    "missing nodes": (lambda: Graph([(1, 2), (3, 4)], nodes=[2, 4]), r"node 1, .*\(2 missing in all\)"),
    "ids of another type": (
        lambda: Graph(frame(source=[1], target=[2]), nodes=["1", "2"]),
        "node 1, .* The ids there are text, these are whole numbers",
    ),
    "a node listed twice": (
        lambda: Graph(STARS, nodes=["ann", "bob", "ann"]),
        "nodes names node 'ann' more than once",
    ),
    "a number twice": (lambda: Graph([(0, 1)], nodes=[0, 1, 1]), "nodes names node 1 more than once"),
    "nodes as a number": (lambda: Graph([(0, 1)], nodes=2), "nodes must be a list of ids; got 2"),
    "nodes as a grid": (
        lambda: Graph([(0, 1)], nodes=np.eye(2)),
        "nodes must be a plain list of ids; got an array",
    ),
    "a node without id": (lambda: Graph([(0, 1)], nodes=["a", None]), "nodes has no id in row 2"),
    "too few names": (lambda: Graph([(0, 5)], nodes=["a"]), "nodes lists 1 ids but the graph has 6 nodes"),
    "two counts": (lambda: Graph(STARS, n_nodes=5, **NAMED), "n_nodes is 5 but nodes lists 4 ids"),
    "too few nodes": (lambda: Graph([(0, 5)], n_nodes=3), "n_nodes is 3 but the graph has 6 nodes"),
    "too few nodes for ids": (lambda: Graph(STARS, n_nodes=3), "n_nodes is 3 but the graph has 4 nodes"),
    "nodes without ids": (
        lambda: Graph(STARS, n_nodes=9),
        "would add nodes without an id to 4 with ids; use nodes=ids",
    ),
    "half a node": (
        lambda: Graph([(0, 1)], n_nodes=2.5),
        "n_nodes must be a whole number from 0 on, below 2,147,483,647; got 2.5",
    ),
    "a flag as a count": (lambda: Graph([(0, 1)], n_nodes=True), "below 2,147,483,647; got True"),
    "infinite degrees": (
        lambda: Graph(sp.csr_array([[0, 1.7e308], [1.7e308, 0]])),
        r"from 0 to 1 has weight 1.7e\+308; weights must be finite.* from 1e-30 to 1e\+30. Only their ratios count",
    ),
    "a subnormal weight": (lambda: Graph([("a", "b", 5e-324)]), "from 'a' to 'b' has weight 5e-324"),
    "no nodes": (lambda: Graph([]), "the graph has no nodes"),
    "no rows": (lambda: Graph(frame(source=[], target=[])), "the graph has no nodes"),
    "an empty matrix": (lambda: Graph(sp.csr_array((0, 0))), "the graph has no nodes"),
    "lost direction": (lambda: Graph(Graph([(0, 1)]), directed=True), "made without its direction"),
    "a Data without edges": (lambda: Graph(data_of(x=[[1.0]])), "must have edge_index"),
    "a Data that miscounts": (
        lambda: Graph(data_of(edge_index=[[0], [5]], num_nodes=3)),
        "says it has 3 nodes, but an edge ends at position 5",
    ),
    "too few weights": (
        lambda: Graph(data_of(edge_index=[[0, 1], [1, 2]], edge_weight=[1.0])),
        "edge_weight has 1 entries for 2 edges",
    ),
    "an unknown suffix": (lambda: Graph("graph.txt"), "graph.txt ends in none of .parquet, .csv"),
    "no file": (lambda: Graph(Path("nowhere.npz")), "nowhere.npz is not there"),
    "too few rows": (
        lambda: Graph([(0, 2707)]).rows_for(2700),
        "X has 2,700 rows but the graph has 2,708 nodes",
    ),
    "rows for names": (
        lambda: Graph(STARS, **NAMED).rows_for(5),
        "X has 5 rows but the graph has 4 nodes.*graph.ids",
    ),
    "rows without ids": (
        lambda: Graph(STARS).rows_for(4),
        r"ids such as 'ann', and nothing says which of 4 rows of X is which node. .*DataFrame.*nodes=ids",
    ),
    "a number beyond the rows": (
        lambda: Graph(frame(source=[0], target=[12])).rows_for(10),
        "ids such as 12",
    ),
    "an index that lacks nodes": (
        lambda: Graph(STARS).rows_for(2, ["bob", "ann"]),
        r"the graph has node 'cem', which is not in the index of X \(2 missing in all\)",
    ),
    "an index of numbers": (
        lambda: Graph(STARS).rows_for(4, range(4)),
        "ids there are whole numbers, these are text",
    ),
    "an index with repeats": (
        lambda: Graph(STARS).rows_for(2, ["ann", "ann"]),
        "the index of X names node 'ann' more",
    ),
    "a short index": (lambda: Graph(STARS).rows_for(3, ["ann"]), "X has 3 rows but its index has 1 ids"),
    "a stranger": (lambda: Graph(STARS).position("x"), "node 'x' is not in the graph"),
    "a list as node": (lambda: Graph(STARS).position(["ann"]), r"node \['ann'\] is not in the graph"),
    "a number beyond": (lambda: Graph([(0, 1)]).position(2), "node 2 is not in the graph"),
    "a word among numbers": (lambda: Graph([(0, 1)]).position("0"), "node '0' is not in the graph"),
    "strangers": (
        lambda: Graph(STARS).positions(["ann", "x", "y", "x"]),
        "node 'x' is not in the graph, nor are 1 oth",
    ),
    "a number below": (lambda: Graph([(0, 1)]).positions([0, -1]), "node -1 is not in the graph"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_a_sentence(case):
    call, message = REFUSED[case]
    with pytest.raises(InputError, match=message) as refusal:
        call()
    assert "\n" not in str(refusal.value)
    assert "np." not in str(refusal.value).replace("np.array([", "")


def test_torch_sparse_tensors_of_blocks_are_refused():
    torch = pytest.importorskip("torch")
    blocks = torch.sparse_coo_tensor(torch.tensor([[0], [1]]), torch.ones(1, 2), (2, 2, 2))
    with pytest.raises(InputError, match="one number an entry"):
        Graph(blocks)
