"""Several kinds of edges: one graph, nodes united by id, edges summed with weights."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from altopt.checks import check_view
from altopt.errors import InputError
from altopt.graph import Graph
from altopt.operator import NormalizedAdjacency
from altopt.views import GraphView

CITES = [("ann", "bob"), ("bob", "cem")]
SHARES = [("cem", "dan"), ("dan", "eve"), ("eve", "cem")]


def ring(n, step):
    A = sp.csr_array((np.ones(n), (np.arange(n), (np.arange(n) + step) % n)), shape=(n, n))
    return sp.csr_array(A + A.T)


def test_ids_of_all_kinds_are_united_by_value():
    graph = Graph({"cites": CITES, "shares": pd.DataFrame(SHARES, columns=["source", "target"])})
    assert graph.ids.tolist() == ["ann", "bob", "cem", "dan", "eve"]
    assert list(graph.kinds) == ["cites", "shares"]
    assert [kind.n_edges for kind in graph.kinds.values()] == [2, 3]
    assert all(
        kind.ids is graph.ids or kind.ids.tolist() == graph.ids.tolist() for kind in graph.kinds.values()
    )
    assert graph.kinds["shares"].adjacency[graph.position("cem"), graph.position("eve")] == 1


def test_each_kind_has_its_share_of_all_edge_weight():
    kinds = {"a": ring(7, 1) * 5.0, "b": ring(7, 2)}
    graph = Graph(kinds).with_edge_weights({"a": 3.0, "b": 1.0})
    assert graph.edge_weights == {"a": 0.75, "b": 0.25}
    A = graph.adjacency.toarray()
    of_a = A[ring(7, 1).toarray() > 0].sum()
    assert_allclose(of_a / A.sum(), 0.75)


def test_one_kind_is_the_plain_graph_bit_for_bit():
    for plain, graph in (
        (Graph(ring(9, 2)), Graph({"a": ring(9, 2)})),
        (Graph(ring(9, 2)), Graph({"a": ring(9, 2), "b": ring(9, 1)}).with_edge_weights({"a": 1, "b": 0})),
    ):
        for part in ("data", "indices", "indptr"):
            ours, theirs = getattr(graph.adjacency, part), getattr(plain.adjacency, part)
            assert ours.dtype == theirs.dtype
            assert_array_equal(ours, theirs)
        assert graph.weighted == plain.weighted
        assert graph.n_edges == plain.n_edges


def test_a_graph_split_into_kinds_is_the_whole_at_their_shares():
    whole = ring(11, 1) + ring(11, 3)
    graph = Graph({"a": ring(11, 1), "b": ring(11, 3)}).with_edge_weights({"a": 0.5, "b": 0.5})
    assert_array_equal(graph.adjacency.toarray(), whole.toarray())
    assert not graph.weighted


def test_nodes_without_an_edge_of_some_kind_lose_nothing():
    lone = Graph({"a": [(0, 1), (2, 3)], "b": [(1, 2)]}, n_nodes=4)
    A_tilde = NormalizedAdjacency(lone.adjacency)
    root = np.sqrt(A_tilde.degrees)
    assert_allclose(A_tilde @ root[:, None], root[:, None])  # the eigenvalue 1, as of any graph


def test_the_view_of_several_kinds_meets_every_law():
    graph = Graph({"a": ring(12, 1), "b": ring(12, 5)}).with_edge_weights({"a": 0.8, "b": 0.2})
    A_tilde = NormalizedAdjacency(graph.adjacency)
    check_view(GraphView(A_tilde), np.random.default_rng(0).normal(size=(12, 3)))
    values = np.linalg.eigvalsh(A_tilde.as_dense())
    assert values.min() > -1 - 1e-12
    assert values.max() < 1 + 1e-12


def test_the_view_is_the_weighted_sum_of_the_kinds():
    graph = Graph({"a": ring(9, 1), "b": ring(9, 2)}).with_edge_weights({"a": 0.8, "b": 0.2})
    F = np.random.default_rng(0).normal(size=(9, 2))
    root = np.sqrt(graph.degrees)[:, None]
    charges = {
        name: np.sum((F / root)[kind.adjacency.nonzero()[0]] ** 2)
        - np.sum((F / root) * (kind.adjacency @ (F / root)))
        for name, kind in graph.kinds.items()
    }
    total = sum(graph.edge_factors[name] * charge for name, charge in charges.items())
    assert_allclose(GraphView(NormalizedAdjacency(graph.adjacency)).distance(F), total)


def test_rows_are_put_in_the_order_of_X_in_every_kind():
    graph = Graph({"cites": CITES, "shares": SHARES}).rows_for(6, ["fay", "eve", "dan", "cem", "bob", "ann"])
    assert graph.n_nodes == 6
    assert graph.kinds["cites"].adjacency[5, 4] == 1
    assert graph.kinds["shares"].adjacency[1, 2] == 1
    assert graph.adjacency[5, 4] > 0


def test_direction_is_kept_by_kind():
    graph = Graph({"a": Graph([(0, 1), (1, 2)], directed=True), "b": [(0, 2)]})
    assert graph.directed_adjacency[0, 1] > 0
    assert graph.directed_adjacency[1, 0] == 0
    assert graph.directed_adjacency[0, 2] == graph.directed_adjacency[2, 0] > 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "empty dict"),
        ({"a": ring(5, 1), "b": ring(7, 1)}, "different numbers of nodes: 'a' has 5, 'b' has 7"),
        ({"a": ring(5, 1), "b": sp.csr_array((5, 5))}, "'b' of the graph has no edges"),
        ({"a": ring(5, 1), 3: ring(5, 2)}, "kind of edges 3"),
        ({"a": ring(5, 1), " ": ring(5, 2)}, "must be text, not empty"),
        ({"a": ring(5, 1), "b": [("ann", "bob")]}, "'b' of the graph names nodes by id, such as 'ann'"),
        ({"a": ring(5, 1), "b": {"c": ring(5, 2)}}, "holds kinds of edges itself"),
        ({"a": ring(5, 1), "b": 3}, "the kind 'b' of the graph: graph must be"),
    ],
)
def test_bad_kinds_are_refused_in_one_sentence(given, message):
    with pytest.raises(InputError, match=message):
        Graph(given)


def test_pairs_leave_the_number_of_nodes_open():
    assert Graph({"a": ring(5, 1), "b": [(0, 2)]}).n_nodes == 5
    assert Graph({"a": [(0, 1)], "b": np.array([[0, 3, 1], [1, 4, 2]])}).n_nodes == 5
    with pytest.raises(InputError, match="different numbers of nodes"):
        Graph({"a": ring(5, 1), "b": [(0, 6)]})


@pytest.mark.parametrize(
    "weights", [{"a": 1.0}, {"a": -1.0, "b": 2.0}, {"a": 0, "b": 0}, {"a": np.nan, "b": 1}]
)
def test_bad_weights_are_refused(weights):
    with pytest.raises(InputError, match="edge weights"):
        Graph({"a": ring(5, 1), "b": ring(5, 2)}).with_edge_weights(weights)
