"""Edges of several kinds in a fitted model: updates, new nodes and explanations."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from altopt import AltOpt, Graph
from altopt.errors import InputError
from two_kinds import hidden, two_good_kinds, with_random_kind

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def data():
    return two_good_kinds(seed=3, n=120)


@pytest.fixture(scope="module")
def fitted(data):
    kinds = data.kinds | {"random": with_random_kind(data)["random"]}
    graph = Graph(kinds).with_edge_weights({"cites": 0.5, "same author": 0.5, "random": 0.0})
    return AltOpt(random_state=0, cross_fit=False).fit(data.X, hidden(data), graph=graph)


@pytest.fixture
def model(fitted):
    return copy.deepcopy(fitted)


def absent_pair(A, start=0):
    """Two nodes without an edge of this kind."""
    return next((start, j) for j in range(start + 1, A.shape[0]) if A[start, j] == 0)


def assert_solved(model, atol=5e-6):
    """F solves the model's equations on its graph, whose sum is that of its kinds."""
    fitted = model.fitted_
    assert np.abs(fitted.objective().residual(np.asarray(model.scores_, dtype=float))).max() < atol
    graph = model.graph_
    summed = sum(
        graph.edge_factors[name] * kind.adjacency.toarray().astype(float)
        for name, kind in graph.kinds.items()
    )
    assert_allclose(graph.adjacency.toarray(), summed, rtol=1e-14)
    if fitted._system is not None:
        assert_array_equal(fitted._system.matrix().toarray(), graph.adjacency.toarray())


def test_edges_of_a_kind_are_set_and_removed(model):
    a, b = absent_pair(model.graph_.kinds["cites"].adjacency)
    before = model.graph_.adjacency[a, b]
    change = model.update(edges={"cites": [(a, b)]})
    assert change.stored
    assert model.graph_.kinds["cites"].adjacency[a, b] == 1
    assert model.graph_.adjacency[a, b] > before
    assert_solved(model)
    model.update(edges={"cites": [(a, b, 3.0)], "same author": [(a, b, 2.0)]})
    assert model.graph_.kinds["cites"].adjacency[b, a] == 3
    assert model.graph_.kinds["same author"].adjacency[b, a] == 2
    assert_solved(model)
    model.update(edges={"cites": [(a, b, 0)]})
    assert model.graph_.kinds["cites"].adjacency[a, b] == 0
    assert model.graph_.adjacency[a, b] > 0  # the other kind's edge is still there
    assert_solved(model)


def test_edges_of_a_kind_without_weight_move_no_score(model):
    a, b = absent_pair(model.graph_.kinds["random"].adjacency)
    before, adjacency = model.scores_.copy(), model.graph_.adjacency.toarray()
    model.update(edges={"random": [(a, b)]})
    assert_array_equal(model.scores_, before)
    assert model.graph_.kinds["random"].adjacency[a, b] == 1
    assert_array_equal(model.graph_.adjacency.toarray(), adjacency)


def test_push_and_resolve_agree(model):
    slow = copy.deepcopy(model)
    slow.fitted_.system = lambda: None
    a, b = absent_pair(model.graph_.kinds["same author"].adjacency, 5)
    for one in (model, slow):
        one.update(edges={"same author": [(a, b, 2.0)]}, nodes=[120], features=np.ones((1, 8)))
        one.update(edges={"cites": [(120, a)], "random": [(120, b)]}, refresh=True)
    assert_allclose(model.scores_, slow.scores_, atol=2e-6)
    for name, kind in model.graph_.kinds.items():
        assert_array_equal(kind.adjacency.toarray(), slow.graph_.kinds[name].adjacency.toarray())


def test_what_if_and_refusals_leave_everything_as_it_was(model):
    a, b = absent_pair(model.graph_.kinds["cites"].adjacency)
    before = model.scores_.copy()
    for edges, message in (
        ({"likes": [(a, b)]}, "names the kind 'likes', which the model does not know. Its kinds are 'cites'"),
        ([(a, b)], "must say of which kind they are"),
        ({"cites": [(a, b, 0)]}, "there is no such edge"),
        ({"cites": [(a, 99_999)]}, "99999, which is not in the graph"),
    ):
        with pytest.raises(InputError, match=message):
            model.update(edges=edges)
    assert_array_equal(model.scores_, before)
    assert model.graph_.kinds["cites"].adjacency[a, b] == 0


def test_a_model_without_kinds_refuses_them(data):
    plain = AltOpt(random_state=0, cross_fit=False).fit(data.X, hidden(data), graph=data.kinds["cites"])
    with pytest.raises(InputError, match="fitted on edges without kinds"):
        plain.update(edges={"cites": [(0, 1)]})
    with pytest.raises(InputError, match="fitted on edges without kinds"):
        plain.predict(data.X[:1], edges={"cites": [(0, 1)]})


def test_a_single_kind_takes_plain_edges(data):
    model = AltOpt(random_state=0, cross_fit=False).fit(
        data.X, hidden(data), graph={"a": data.kinds["cites"]}
    )
    a, b = absent_pair(model.graph_.adjacency)
    model.update(edges=[(a, b)])
    assert model.graph_.kinds["a"].adjacency[a, b] == 1
    assert_solved(model)


def test_a_new_node_is_predicted_by_edges_of_each_kind(model, data):
    neighbours = np.flatnonzero(data.y == 2)[:6].tolist()
    edges = {"cites": [(0, j) for j in neighbours[:3]], "same author": [(0, j) for j in neighbours[3:]]}
    x = np.zeros((1, 8))
    tied = model.predict_proba(x + 1e-3, edges=edges)
    alone = model.predict_proba(x + 1e-3, edges={"random": [(0, j) for j in neighbours]})
    assert tied[0, 2] > alone[0, 2]
    with pytest.raises(InputError, match="of which kind"):
        model.predict(x, edges=[(0, 1)])
    model.update(
        nodes=[120],
        features=x + 1e-3,
        edges={kind: [(120, j) for _, j in part] for kind, part in edges.items()},
    )
    assert_allclose(model.label_distributions_[120], tied[0], atol=1e-4)


def test_a_long_log_is_laid_out_again(model, monkeypatch):
    monkeypatch.setattr("altopt.fitted.system.MAX_LOG", 0)
    A = model.graph_.kinds["cites"].adjacency
    for start in range(20):
        model.update(edges={"cites": [absent_pair(A, start)]})
    assert len(model.fitted_._system.kinds.arcs) < 10
    assert_solved(model)


def test_an_updated_model_is_stored_with_its_kinds(model, tmp_path):
    model.update(edges={"cites": [absent_pair(model.graph_.kinds["cites"].adjacency)]})
    model.save(tmp_path / "m")
    again = AltOpt.load(tmp_path / "m")
    assert_array_equal(again.graph_.adjacency.toarray(), model.graph_.adjacency.toarray())
    assert_array_equal(
        again.graph_.kinds["cites"].adjacency.toarray(), model.graph_.kinds["cites"].adjacency.toarray()
    )
    again.update(edges={"same author": [absent_pair(again.graph_.kinds["same author"].adjacency)]})
    assert_solved(again)


def test_an_explanation_names_the_kind_of_each_edge_on_its_path(model):
    graph = model.graph_
    seen = set()
    for node in range(40):
        why = model.explain(node)
        walk, _ = why.path
        assert len(why.path_kinds) == max(len(walk) - 1, 0)
        for a, b, kinds in zip(walk, walk[1:], why.path_kinds):
            assert kinds == [
                name
                for name in graph.edge_weights
                if graph.edge_weights[name] and graph.kinds[name].adjacency[a, b]
            ]
            seen |= set(kinds)
        assert why.record()["path_kinds"] == why.path_kinds
        words = [str(walk[0])] if walk else []
        for node, kinds in zip(walk[1:], why.path_kinds):
            words += [f" -({', '.join(kinds)})-> ", str(node)]
        assert why.path_in_words() == "".join(words)
    assert seen == {"cites", "same author"}


def test_an_explanation_without_kinds_names_none(data):
    plain = AltOpt(random_state=0, cross_fit=False).fit(data.X, hidden(data), graph=data.kinds["cites"])
    assert plain.explain(0).path_kinds == []
    walk = plain.explain(0).path[0]
    assert plain.explain(0).path_in_words() == " -> ".join(map(str, walk))
    assert "path_kinds" not in plain.explain(0).record()


def test_the_ledger_of_several_kinds_sums_to_the_score(model):
    why = model.explain(7)
    amounts = [amount for *_, amount in (*why.from_labels, *why.from_features)]
    assert sum(amounts) == pytest.approx(why.total, abs=1e-9)
    assert_allclose(why.label_evidence + why.feature_evidence + why.tail, model.scores_[7], atol=1e-12)
    assert np.abs(why.tail).max() < 1e-5
