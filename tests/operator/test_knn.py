"""The k-nearest-neighbour graph: everyone has k neighbours, nobody is his own, new points find known ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from sklearn.neighbors import kneighbors_graph

from altopt.errors import InputError
from altopt.operator.knn import Neighbours, neighbour_graph

X = np.random.default_rng(0).normal(size=(60, 5))


@pytest.mark.parametrize("k", [1, 3, 10])
def test_it_is_the_union_of_both_directions_of_scikit_learns_graph(k):
    one_way = kneighbors_graph(X, k).toarray()
    graph = neighbour_graph(X, k)
    assert_array_equal(graph.adjacency.toarray(), np.maximum(one_way, one_way.T))
    assert (graph.weighted, graph.n_self_loops, graph.n_duplicates) == (False, 0, 0)
    assert graph.positional


@settings(deadline=None, max_examples=50)
@given(
    few=arrays(np.float64, st.tuples(st.integers(1, 9), st.just(2)), elements=st.sampled_from([0.0, 1.0])),
    k=st.integers(1, 12),
)
def test_points_on_top_of_each_other_are_never_their_own_neighbours(few, k):
    graph = neighbour_graph(few, k)
    n = len(few)
    assert graph.n_nodes == n
    assert graph.n_self_loops == 0
    assert (graph.degrees >= min(k, n - 1)).all()


def test_one_point_has_no_neighbour():
    graph = neighbour_graph(np.ones((1, 3)))
    assert (graph.n_nodes, graph.n_edges) == (1, 0)


def test_sparse_points_are_compared_by_angle():
    S = sp.random_array((40, 30), density=0.2, rng=np.random.default_rng(1), format="csr")
    expected = neighbour_graph(S.toarray(), 4, metric="cosine")
    assert_array_equal(neighbour_graph(S, 4).adjacency.toarray(), expected.adjacency.toarray())
    assert neighbour_graph(sp.csr_array((5, 3)), 2).n_nodes == 5


def test_scaling_and_shifting_all_points_changes_nothing():
    graph, moved = neighbour_graph(X, 4), neighbour_graph(8 * X + 16, 4)
    assert_array_equal(graph.adjacency.toarray(), moved.adjacency.toarray())


def test_a_new_point_finds_the_known_points_nearest_to_it():
    rows, known = Neighbours(X, 3).edges_of(X[[7, 20]])
    assert rows.tolist() == [0, 0, 0, 1, 1, 1]
    assert (known[0], known[3]) == (7, 20)
    distances = ((X[[7, 20], None] - X[None]) ** 2).sum(axis=2)
    assert_array_equal(known.reshape(2, 3), np.argsort(distances, axis=1)[:, :3])
    assert_array_equal(Neighbours(X, 3).edges_of(X[[7, 20]]), (rows, known))


def test_there_are_no_more_neighbours_than_points():
    rows, known = Neighbours(X[:2], 10).edges_of(X[:1])
    assert (rows.tolist(), sorted(known)) == ([0, 0], [0, 1])
    assert [len(ends) for ends in Neighbours(X, 10).edges_of(X[:0])] == [0, 0]


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "10"])
def test_a_number_of_neighbours_that_is_none_is_refused(k):
    with pytest.raises(InputError, match="n_neighbors must be a whole number from 1 to"):
        neighbour_graph(X, k)


def mixed(n=120):
    """Two groups that two measurements tell apart, words, and a column a billion times larger that says nothing."""
    rng = np.random.default_rng(3)
    group = np.arange(n) % 2
    near = rng.normal(4.0 * group[:, None], 1.0, (n, 2))
    return group, np.column_stack([near, rng.poisson(0.5, n), np.full(n, 3.0), 1e9 * rng.random(n)])


def test_by_kind_no_column_decides_alone():
    group, table = mixed()
    graph = Neighbours.by_kind(table, 5).graph()
    ends = np.array(graph.adjacency.nonzero())
    assert np.mean(group[ends[0]] == group[ends[1]]) > 0.9
    raw = np.array(neighbour_graph(table, 5).adjacency.nonzero())
    assert np.mean(group[raw[0]] == group[raw[1]]) < 0.6


@pytest.mark.parametrize("density", [0.05, 0.9])
def test_by_kind_a_sparse_and_a_dense_X_have_the_same_graph(density):
    S = sp.random_array((60, 40), density=density, rng=np.random.default_rng(1), format="csr")
    one, other = Neighbours.by_kind(S, 4), Neighbours.by_kind(S.toarray(), 4)
    assert one.metric == other.metric == ("cosine" if density < 0.5 else "euclidean")
    assert_array_equal(one.graph().adjacency.toarray(), other.graph().adjacency.toarray())
    for form in (S[:3], S[:3].toarray()):  # known rows are the nearest to themselves
        rows, known = one.edges_of(form)
        assert set(zip(rows.tolist(), known.tolist())) >= {(0, 0), (1, 1), (2, 2)}


def test_by_kind_further_rows_are_read_as_those_of_the_fit():
    _, table = mixed()
    grown = Neighbours.by_kind(table[:100], 5).with_rows(table[100:])
    rows, known = grown.edges_of(table[100:])
    assert {(k, 100 + k) for k in range(20)} <= set(zip(rows.tolist(), known.tolist()))


def test_a_metric_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="metric must be one of euclidean"):
        Neighbours(np.eye(3), 1, metric="p")
