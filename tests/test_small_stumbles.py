"""Small things that puzzled new users: each is answered, or refused in a sentence that says what to do."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from altopt import AltOpt, Graph, InputError
from altopt.datasets import communities
from problems import two_communities


@pytest.fixture(scope="module")
def model():
    X, y, _, A = two_communities()
    return AltOpt(cross_fit=False, random_state=0).fit(X, y, graph=A)


def named(model_of=None):
    """A model whose nodes have names."""
    X, y, _, A = two_communities()
    ids = np.array([f"n{k}" for k in range(len(y))], dtype=object)
    graph = Graph(A, nodes=ids)
    return AltOpt(cross_fit=False, random_state=0).fit(X, y, graph=graph), X


# graphs as arrays


@pytest.mark.parametrize("make", [np.array, torch.tensor])
def test_two_edges_in_an_array_can_be_read_in_two_ways_and_are_asked_for(make):
    with pytest.raises(
        InputError, match=r"may be the pairs \(0, 1\) and \(2, 3\), or an edge_index .* array.tolist\(\)"
    ):
        Graph(make([[0, 1], [2, 3]]))
    assert Graph([(0, 1), (2, 3)]).n_edges == 2  # the list can be read in one way
    assert Graph(make([[0, 1], [1, 0]])).n_edges == 1  # and this array says the same in both


def test_two_edges_of_a_data_object_are_its_edge_index():
    geometric = pytest.importorskip("torch_geometric.data")
    data = geometric.Data(edge_index=torch.tensor([[0, 1], [2, 3]]), num_nodes=4)
    assert Graph(data).adjacency[0, 2] == 1


def test_an_update_and_a_predict_ask_too(model):
    two = np.array([[0, 1], [2, 3]])
    with pytest.raises(InputError, match="^edges as a 2 x 2 array may be the pairs"):
        model.what_if({}) and model.update(edges=two)
    with pytest.raises(InputError, match="^edges as a 2 x 2 array may be the pairs"):
        model.predict(np.zeros((3, model.n_features_in_)), edges=two)


def test_a_dense_affinity_matrix_is_a_graph():
    X, y, _, A = two_communities()
    dense = np.asarray(A.todense()) * 0.5
    assert_array_equal(Graph(dense).adjacency.toarray(), Graph(sp.csr_array(dense)).adjacency.toarray())
    by_dense = AltOpt(cross_fit=False, random_state=0).fit(X, y, graph=dense)
    by_sparse = AltOpt(cross_fit=False, random_state=0).fit(X, y, graph=sp.csr_array(dense))
    assert_array_equal(by_dense.scores_, by_sparse.scores_)
    with pytest.raises(InputError, match="not \\(3, 4\\)"):
        Graph(np.zeros((3, 4)))


# one way to name ends


def test_ends_named_as_update_names_them_serve_predict_too(model):
    n, X = len(model.scores_), np.random.default_rng(0).normal(size=(2, model.n_features_in_))
    by_row = model.predict_proba(X, edges=[(0, 3), (1, 5)])
    assert_array_equal(model.predict_proba(X, edges=[(n, 3), (n + 1, 5)]), by_row)
    with pytest.raises(
        InputError, match="edges starts with 999, which is neither a row of X_new, which has 2 rows"
    ):
        model.predict_proba(X, edges=[(999, 3)])


def test_new_nodes_with_ids_are_named_by_them_in_pairs():
    fitted, X = named()
    new = X[:2] + 0.01
    by_row = fitted.predict_proba(new, edges=[(0, "n3"), (1, "n5")])
    assert_array_equal(fitted.predict_proba(new, ids=["a", "b"], edges=[("a", "n3"), ("b", "n5")]), by_row)
    assert_array_equal(fitted.predict_proba(new, ids=["a", "b"], edges=[("n3", "a"), ("n5", "b")]), by_row)
    among_new = fitted.predict_proba(new, ids=["a", "b"], edges=[("a", "n3"), ("a", "b")])
    table = pd.DataFrame({"source": ["a", "a"], "target": ["n3", "b"]})
    assert_array_equal(fitted.predict_proba(new, ids=["a", "b"], edges=table), among_new)
    fitted.update(nodes=["a", "b"], features=new, edges=[("a", "n3"), ("b", "n5")])  # the very same pairs
    assert_allclose(fitted.label_distributions_[-2:], by_row, atol=1e-5)
    with pytest.raises(
        InputError, match="two known nodes. predict takes edges of new nodes; update changes the graph"
    ):
        fitted.predict_proba(new, ids=["c", "d"], edges=[("c", "n3"), ("n4", "n5")])


# pipelines


def table_and_edges():
    X, y, _, A = two_communities()
    ids = [f"n{k}" for k in range(len(y))]
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])], index=ids)
    table["plan"] = np.where(np.arange(len(y)) % 3, "free", "gold")
    row, col = A.nonzero()
    edges = pd.DataFrame({"source": [ids[k] for k in row], "target": [ids[k] for k in col]})
    return table, y, edges


def test_an_index_lost_in_a_pipeline_is_explained_and_kept():
    table, y, edges = table_and_edges()
    columns = make_column_transformer(
        (StandardScaler(), list(table.columns[:-1])), (OneHotEncoder(sparse_output=False), ["plan"])
    )
    model = AltOpt(cross_fit=False, random_state=0)
    with pytest.raises(
        InputError, match=r"altopt.Graph\(g, nodes=ids\). In a Pipeline, set_output\(transform='pandas'\)"
    ):
        make_pipeline(columns, model).fit(table, y, altopt__graph=edges)
    kept = make_pipeline(columns.set_output(transform="pandas"), model).fit(table, y, altopt__graph=edges)
    assert kept[-1].graph_.ids.tolist() == table.index.tolist()


# what prints


def test_results_print_in_a_line():
    data = communities(120, 2, seed=0)
    assert (
        repr(data)
        == f"Dataset(communities: 120 nodes, 64 features, {data.graph.n_edges} edges, 2 classes, 0 splits)"
    )
    y = np.where(np.arange(120) < 40, data.y, -1)
    held_out = AltOpt(random_state=0).fit(data.X, y, graph=data.graph).leave_one_out_
    assert repr(held_out).startswith("LeaveOneOut(accuracy=0.")
    assert len(repr(held_out)) < 100
    assert str(held_out) == held_out.in_words()


# many updates at once


def test_many_labels_in_one_update_are_the_same_as_one_by_one(model):
    X, y, truth, A = two_communities()
    hidden = np.flatnonzero(y == -1)[:12].tolist()
    one_by_one = AltOpt(cross_fit=False, random_state=0).fit(X, y, graph=A)
    at_once = AltOpt(cross_fit=False, random_state=0).fit(X, y, graph=A)
    for node in hidden:
        one_by_one.update(labels={node: truth[node]})
    at_once.update(labels={node: truth[node] for node in hidden})
    assert_allclose(at_once.scores_, one_by_one.scores_, atol=1e-6)
