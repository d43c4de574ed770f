"""Graph: every form of the same graph gives the same bits."""

import subprocess
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import altopt
from altopt.graph import Graph

STARS = [("ann", "bob"), ("bob", "cem"), ("dan", "ann")]


@st.composite
def edge_lists(draw):
    """A number of nodes and some edges u < v between them, each once, with weights or without."""
    n = draw(st.integers(2, 9))
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] < e[1])
    edges = sorted(draw(st.sets(ends, min_size=1, max_size=12)))
    weight = st.floats(0.125, 8.0) if draw(st.booleans()) else st.just(1.0)
    return n, [(u, v, draw(weight)) for u, v in edges]


def columns_of(edges):
    source, target, weight = (np.array(column) for column in zip(*edges))
    return {"source": source, "target": target, "weight": weight}


def assert_same_bits(graph, other):
    for part in ("data", "indices", "indptr"):
        ours, theirs = getattr(graph.adjacency, part), getattr(other.adjacency, part)
        assert ours.dtype == theirs.dtype
        assert ours.tobytes() == theirs.tobytes()
    assert graph.adjacency.shape == other.adjacency.shape
    assert (graph.n_nodes, graph.n_edges, graph.weighted) == (other.n_nodes, other.n_edges, other.weighted)


def forms(n, edges, folder):
    """The same graph in every form that can carry weights; node 0..n-1 may be without edges."""
    import networkx as nx
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet
    import torch
    from torch_geometric.data import Data

    table = columns_of(edges)
    ends, w = np.stack([table["source"], table["target"]]), table["weight"]
    twice = np.concatenate([w, w])
    both_ways = np.concatenate([ends, ends[::-1]], axis=1)
    M = sp.coo_array((twice, tuple(both_ways)), shape=(n, n))
    sp.save_npz(folder / "g.npz", M.tocsc())
    pa.parquet.write_table(pa.table(table), folder / "g.parquet")
    pa.csv.write_csv(pa.table(table), folder / "g.csv")
    network = nx.Graph()
    network.add_nodes_from(reversed(range(n)))
    network.add_weighted_edges_from(edges)
    yield from (
        Graph(form) for form in (M, M.tocsr(), M.tolil(), sp.csr_matrix(M), folder / "g.npz", network)
    )
    yield Graph(torch.sparse_coo_tensor(torch.tensor(both_ways), torch.tensor(twice), (n, n)))
    yield Graph(torch.sparse_coo_tensor(torch.tensor(both_ways), torch.tensor(twice), (n, n)).to_sparse_csr())
    yield Graph(Data(edge_index=torch.tensor(both_ways), edge_weight=torch.tensor(twice), num_nodes=n))
    yield Graph(Data(edge_index=torch.tensor(ends), edge_attr=torch.tensor(w)[:, None], num_nodes=n))
    yield Graph(network.to_directed())
    for form in (edges, tuple(map(list, edges)), pd.DataFrame(table), pl.DataFrame(table), pa.table(table)):
        yield Graph(form, n_nodes=n)
        yield Graph(form, nodes=range(n))
    for form in (
        pl.LazyFrame(table),
        pa.table(table).to_batches()[0],
        folder / "g.parquet",
        str(folder / "g.csv"),
    ):
        yield Graph(form).rows_for(n)
    if (w == 1).all():
        arrays = (
            ends,
            both_ways,
            both_ways.T,
            ends.astype(np.uint64),
            ends.astype(float),
            torch.tensor(ends),
        )
        for form in arrays:
            if form.shape != (2, 2):  # which is refused: pairs or ends
                yield Graph(form, n_nodes=n)
        yield Graph([(u, v) for u, v, _ in edges]).rows_for(n)
        yield Graph(M.astype(bool))
        yield Graph(M.astype(np.int8))


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)  # a busy machine is no fault
@given(problem=edge_lists())
def test_every_form_gives_the_same_bits(problem, tmp_path_factory):
    for package in ("networkx", "pandas", "polars", "torch", "torch_geometric"):
        pytest.importorskip(package)
    n, edges = problem
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", message="Sparse")  # torch on its own beta tensors
        first, *others = forms(n, edges, tmp_path_factory.mktemp("forms"))
    A = first.adjacency
    assert A.has_canonical_format
    assert (A.indices.dtype, A.indptr.dtype) == (np.int32, np.int32)
    assert A.dtype == (np.float64 if first.weighted else np.float32)
    assert not A.diagonal().any()
    assert_array_equal(A.toarray(), A.toarray().T)
    assert {(u, v): w for u, v, w in edges} == {
        (u, v): A[u, v] for u, v in zip(*map(np.ndarray.tolist, sp.triu(A).nonzero()))
    }
    for other in others:
        assert_same_bits(first, other)
        assert_array_equal(other.ids, np.arange(n))


@given(problem=edge_lists(), data=st.data())
def test_order_direction_and_repeats_of_edges_change_nothing(problem, data):
    n, edges = problem
    flips = data.draw(st.lists(st.booleans(), min_size=len(edges), max_size=len(edges)))
    again = data.draw(st.lists(st.sampled_from(edges), max_size=5))
    told = [(v, u, w) if flip else (u, v, w) for flip, (u, v, w) in zip(flips, edges)]
    told = data.draw(st.permutations(told + again + [(v, u, w) for u, v, w in again] + [(0, 0, 3.0)]))
    graph = Graph(told, n_nodes=n)
    assert_same_bits(graph, Graph(edges, n_nodes=n))
    assert graph.n_self_loops == 1
    assert graph.n_one_way == 0
    assert graph.n_duplicates == len(told) - 1 - len({(u, v) for u, v, _ in told if u != v})


@given(problem=edge_lists(), scale=st.sampled_from([0.25, 2.0, 1024.0]))
def test_scaling_weights_scales_the_adjacency(problem, scale):
    n, edges = problem
    graph, scaled = Graph(edges, n_nodes=n), Graph([(u, v, scale * w) for u, v, w in edges], n_nodes=n)
    assert_array_equal(scaled.adjacency.toarray(), scale * graph.adjacency.toarray())
    assert_array_equal(scaled.degrees, scaled.adjacency.sum(axis=1))


@given(problem=edge_lists(), data=st.data())
def test_renamed_nodes_are_the_same_graph(problem, data):
    n, edges = problem
    order = data.draw(st.permutations(range(n)))
    name = data.draw(
        st.sampled_from([str, lambda v: 10**12 + v, lambda v: (v, "x"), lambda v: v if v % 2 else str(v)])
    )
    named = Graph([(name(u), name(v), w) for u, v, w in edges], nodes=[name(v) for v in order])
    dense = Graph(edges, n_nodes=n).adjacency.toarray()
    assert_array_equal(named.adjacency.toarray(), dense[np.ix_(order, order)])
    back = named.rows_for(n, [name(v) for v in range(n)])
    assert_array_equal(back.adjacency.toarray(), dense)
    assert back.adjacency.has_canonical_format
    assert [named.ids[named.position(name(v))] for v in range(n)] == [name(v) for v in range(n)]
    assert named.positions([name(v) for v in order]).tolist() == list(range(n))


def test_an_edge_named_twice_keeps_its_largest_weight():
    graph = Graph([(0, 1, 1), (0, 1, 3), (1, 0, 2), (1, 2)])
    assert graph.adjacency.toarray().tolist() == [[0, 3, 0], [3, 0, 1], [0, 1, 0]]
    assert (graph.n_edges, graph.n_duplicates, graph.weighted) == (2, 1, True)


def test_direction_is_kept_on_request():
    graph = Graph([(0, 1, 1), (1, 0, 2), (1, 2, 5), (2, 2, 1)], directed=True)
    assert graph.directed_adjacency.toarray().tolist() == [[0, 1, 0], [2, 0, 5], [0, 0, 0]]
    assert graph.adjacency.toarray().tolist() == [[0, 2, 0], [2, 0, 5], [0, 5, 0]]
    assert (graph.n_one_way, graph.n_self_loops, graph.n_edges) == (1, 1, 2)
    wider = graph.rows_for(4)
    assert wider.directed_adjacency.shape == (4, 4)
    assert wider.directed_adjacency.nnz == 3
    assert Graph([(0, 1)]).directed_adjacency is None


def test_an_undirected_network_goes_both_ways_even_if_direction_is_kept():
    nx = pytest.importorskip("networkx")
    graph = Graph(nx.path_graph(3), directed=True)
    assert_array_equal(graph.directed_adjacency.toarray(), graph.adjacency.toarray())
    assert graph.n_one_way == 0


def test_an_uneven_matrix_is_symmetrised_with_a_warning_that_counts():
    M = sp.csr_array(np.array([[0, 1, 2.0], [0, 0, 4], [1, 4, 0]]))
    with pytest.warns(
        UserWarning, match=r"1 of its edges go one way only and 1 of its edges weigh differently"
    ) as w:
        graph = Graph(M)
    assert w[0].filename == __file__
    assert "directed=True" in str(w[0].message)
    assert graph.n_one_way == 1
    assert_array_equal(graph.adjacency.toarray(), np.maximum(M.toarray(), M.toarray().T))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = Graph(M, directed=True)
    assert_array_equal(kept.directed_adjacency.toarray(), M.toarray())
    assert kept.n_one_way == 1


def test_a_directed_network_warns_and_parallel_edges_count_once():
    nx = pytest.importorskip("networkx")
    with pytest.warns(UserWarning, match="2 of its edges go one way only"):
        Graph(nx.DiGraph([(0, 1), (1, 2), (2, 2)]))
    parallel = nx.MultiGraph()
    parallel.add_edge("a", "b", weight=2)
    parallel.add_edge("a", "b")
    parallel.add_edge("b", "c")
    graph = Graph(parallel)
    assert graph.adjacency.toarray().tolist() == [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    assert (graph.n_duplicates, graph.ids.tolist()) == (1, ["a", "b", "c"])


def test_networks_of_positions_are_ordered_by_value_and_others_by_insertion():
    nx = pytest.importorskip("networkx")
    numbers = nx.Graph([(2, 1), (1, 0)])
    assert Graph(numbers).positional
    assert Graph(numbers).adjacency.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    one_based = Graph(nx.Graph([(3, 1), (1, 2)]))
    assert (one_based.positional, one_based.ids.tolist()) == (False, [3, 1, 2])
    grid = Graph(nx.grid_2d_graph(2, 2))
    assert grid.position((1, 0)) == grid.ids.tolist().index((1, 0))
    assert Graph(nx.Graph([("b", "a")]), nodes=["a", "c", "b"]).adjacency.toarray()[0].tolist() == [0, 0, 1]


def test_a_matrix_means_what_it_says():
    duplicated = sp.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    assert Graph(duplicated).adjacency.toarray().tolist() == [[0, 3], [3, 0]]
    zeros = sp.csr_array((np.array([1.0, 0.0, 1.0, 5.0]), ([0, 0, 1, 2], [1, 2, 0, 2])), shape=(3, 3))
    graph = Graph(zeros)
    assert (graph.n_edges, graph.n_self_loops, graph.n_duplicates, graph.adjacency.nnz) == (1, 1, 0, 2)
    small = sp.coo_array((np.full(4, 100, np.int8), ([0, 0, 1, 1], [1, 1, 0, 0])), shape=(2, 2))
    assert Graph(small).adjacency[0, 1] == 200
    assert_same_bits(Graph(zeros, n_nodes=5), graph.rows_for(5))


def test_the_callers_matrix_is_neither_changed_nor_shared():
    M = sp.csr_array(np.array([[0, 1.0], [1, 0]]))
    graph = Graph(M, directed=True)
    M.data[:] = 7
    assert graph.adjacency.data.tolist() == graph.directed_adjacency.data.tolist() == [1, 1]
    unsorted = sp.csr_array((np.ones(4), np.array([2, 1, 0, 0]), np.array([0, 2, 3, 4])), shape=(3, 3))
    Graph(unsorted)
    assert unsorted.indices.tolist() == [2, 1, 0, 0]


def test_zero_weights_are_no_edges_but_their_ends_are_nodes():
    graph = Graph([(0, 1, 1.0), (1, 2, 0), (2, 2, 0)])
    assert (graph.n_nodes, graph.n_edges, graph.n_self_loops) == (3, 1, 0)


def test_weights_of_one_are_unweighted():
    assert not Graph([(0, 1, 1), (1, 2, True), (2, 2, 5)]).weighted
    assert Graph([(0, 1, 1), (1, 2, 1.5)]).weighted


def test_isolated_nodes_and_components():
    graph = Graph(np.array([[0, 1], [1, 2]]).T, n_nodes=5)
    assert graph.components.tolist() == [0, 0, 0, 1, 2]
    assert graph.degrees.tolist() == [1, 2, 1, 0, 0]
    assert Graph([], n_nodes=3).adjacency.shape == (3, 3)
    assert Graph(np.zeros((2, 0)), nodes=["a", "b"]).n_edges == 0
    assert Graph(sp.csr_array((4, 4))).n_nodes == 4


def test_data_counts_its_nodes_and_ignores_wide_edge_attributes():
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    ends = torch.tensor([[0, 1], [1, 2]])
    graph = Graph(data.Data(x=torch.zeros(6, 2), edge_index=ends, edge_attr=torch.rand(2, 3)))
    assert (graph.n_nodes, graph.n_edges, graph.weighted) == (6, 2, False)
    assert Graph(data.Data(edge_index=ends)).n_nodes == 3
    assert Graph(data.Data(edge_index=ends), nodes=[10, 20, 30]).ids.tolist() == [10, 20, 30]


def test_a_table_keeps_its_ids_until_rows_are_known():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"source": [5, 2], "target": [2, 9]})
    graph = Graph(table)
    assert (graph.n_nodes, graph.positional, graph.ids.tolist()) == (3, False, [2, 5, 9])
    laid = graph.rows_for(10)
    assert (laid.n_nodes, laid.positional, laid.position(9)) == (10, True, 9)
    by_index = graph.rows_for(4, pd.Index([9, 7, 5, 2]))
    assert by_index.ids.tolist() == [9, 7, 5, 2]
    assert by_index.adjacency.toarray().tolist() == [[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1], [1, 0, 1, 0]]
    assert Graph(table, n_nodes=10).positional
    assert Graph(table, n_nodes=3).ids.tolist() == [2, 5, 9]
    assert Graph(table.astype(float)).ids.dtype == np.int64


def test_ids_of_any_type_live_together():
    pd = pytest.importorskip("pandas")
    graph = Graph(pd.DataFrame({"source": [1, 2], "target": ["x", "1"]}))
    assert graph.ids.tolist() == [1, 2, "1", "x"]
    assert graph.ids.dtype == object
    days = pd.to_datetime(["2024-01-02", "2024-01-01"])
    assert Graph(pd.DataFrame({"source": days, "target": days[::-1]})).n_edges == 1
    coloured = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]}, dtype="category")
    assert Graph(coloured).ids.tolist() == ["a", "b", "c"]
    odd = Graph([(frozenset("a"), 1j), (1j, 2)])
    assert odd.n_nodes == 3
    assert Graph([(2**70, 1), (1, 3)], nodes=[1, 2**70, 3]).positions([2**70]).tolist() == [1]


def test_integers_beside_integer_nodes_are_ids_and_beside_text_positions():
    assert Graph([(10, 30)], nodes=[10, 20, 30]).adjacency[0, 2] == 1
    assert Graph(np.array([[10], [30]]), nodes=[10, 20, 30]).adjacency[0, 2] == 1
    assert Graph(np.array([[0], [2]]), nodes=["a", "b", "c"]).adjacency[0, 2] == 1
    assert Graph(sp.csr_array(np.ones((2, 2))), nodes=[7, 3]).ids.tolist() == [7, 3]


def test_rows_for_positions_extends_and_ignores_row_ids():
    graph = Graph([(0, 1)])
    assert graph.rows_for(2, ["b", "a"]) is graph
    assert graph.rows_for(4).n_nodes == 4
    assert graph.rows_for(4).ids.tolist() == [0, 1, 2, 3]


def test_rows_for_an_ordered_graph_follows_an_index_that_knows_its_ids():
    graph = Graph(STARS, nodes=["ann", "bob", "cem", "dan"])
    assert graph.rows_for(4) is graph
    assert graph.rows_for(4, range(4)) is graph
    turned = graph.rows_for(5, np.array(["dan", "eve", "cem", "bob", "ann"]))
    assert turned.ids.tolist() == ["dan", "eve", "cem", "bob", "ann"]
    assert turned.adjacency[turned.position("dan"), turned.position("ann")] == 1
    assert turned.n_edges == graph.n_edges
    assert turned.degrees[turned.position("eve")] == 0
    assert turned.components[turned.position("eve")] != turned.components[turned.position("ann")]


def test_a_graph_of_a_graph_reuses_it():
    graph = Graph(STARS)
    assert Graph(graph).adjacency is graph.adjacency
    ordered = Graph(graph, nodes=["dan", "cem", "bob", "ann"])
    assert ordered.rows_for(4) is not None
    assert ordered.adjacency[0, 3] == 1
    assert Graph(Graph([(0, 1)]), nodes=["a", "b", "c"]).ids.tolist() == ["a", "b", "c"]
    assert Graph(Graph([(0, 1)]), n_nodes=3).n_nodes == 3


def test_positions_take_numbers_of_any_width():
    graph = Graph([(0, 1), (1, 2)])
    assert graph.position(np.int32(2)) == 2
    assert graph.positions(np.array([2, 0], np.uint8)).tolist() == [2, 0]
    assert Graph(STARS).position(np.str_("bob")) == 1
    assert graph.positions([]).tolist() == []


def test_it_introduces_itself():
    loops = [(0, 0), (1, 1), (2, 2)]
    assert repr(Graph([(0, 1), (1, 2), *loops], n_nodes=2708)) == (
        "Graph(2,708 nodes, 2 edges, unweighted; dropped 3 self-loops)"
    )
    assert repr(Graph([(0, 1, 2), (0, 1, 3), (0, 0)], directed=True)) == (
        "Graph(2 nodes, 1 edge, weighted, directed; dropped 1 self-loop and 1 duplicate)"
    )


def test_the_door_opens_without_the_optional_packages():
    heavy = {"torch", "torch_geometric", "networkx", "pandas", "polars", "pyarrow"}
    script = (
        "import sys, types; package = types.ModuleType('altopt'); "
        f"package.__path__ = [{str(Path(altopt.__file__).parent)!r}]; sys.modules['altopt'] = package; "
        "import altopt.graph, altopt.operator.knn; altopt.graph.Graph([(0, 1)]); "
        f"sys.exit(str({heavy!r} & set(sys.modules)) if {heavy!r} & set(sys.modules) else 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    assert isinstance(altopt, types.ModuleType)


@pytest.mark.parametrize(
    "nothing",
    [
        lambda: sp.csr_array((0, 0)),
        lambda: pytest.importorskip("pandas").DataFrame({"source": [], "target": []}, dtype=object),
    ],
)
def test_a_graph_without_edges_may_have_nodes(nothing):
    graph = Graph(nothing(), n_nodes=5)
    assert (graph.n_nodes, graph.n_edges, graph.degrees.tolist()) == (5, 0, [0.0] * 5)
