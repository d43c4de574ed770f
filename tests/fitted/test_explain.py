"""Explanations: shares that sum to the row of F, and are those of the dense inverse."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from altopt import AltOpt, Graph, InputError
from altopt.datasets import communities
from altopt.operator import NormalizedAdjacency
from altopt.selection.candidates import ALONE
from altopt.selection.choice import Choice
from altopt.solvers import ChebyshevSteps, ConjugateGradient, Direct, JacobiSteps
from altopt.views import NoGraphView, SquaredLaplacianView
from problems import two_communities

MODELS = {
    "default": lambda: AltOpt(cross_fit=False, random_state=0),
    "other weights, conjugate gradients": lambda: AltOpt(
        feature_weight=1.0,
        label_weight=7.0,
        solver=ConjugateGradient(rtol=1e-8),
        cross_fit=False,
        random_state=0,
    ),
    "self-loops, factorised": lambda: AltOpt(
        self_loops=True, solver=Direct(), cross_fit=False, random_state=0
    ),
    "squared Laplacian, solved": lambda: AltOpt(
        graph_view=SquaredLaplacianView, cross_fit=False, random_state=0
    ),
    "features alone": lambda: AltOpt(graph_view=NoGraphView, cross_fit=False, random_state=0),
    "paper": lambda: AltOpt.paper(total_epochs=10, n_rounds=2, cross_fit=False, random_state=0),
    "paper, one update": lambda: AltOpt.paper(total_epochs=10, n_rounds=1, cross_fit=False, random_state=0),
    "paper H": lambda: AltOpt.paper("H", total_epochs=10, n_rounds=2, cross_fit=False, random_state=0),
    "paper ce": lambda: AltOpt.paper("ce", total_epochs=10, n_rounds=2, cross_fit=False, random_state=0),
    "Jacobi": lambda: AltOpt(solver=JacobiSteps(n_steps=5), cross_fit=False, random_state=0),
    "Chebyshev, 6 steps": lambda: AltOpt(solver=ChebyshevSteps(n_steps=6), cross_fit=False, random_state=0),
    "Chebyshev": lambda: AltOpt(solver=ChebyshevSteps(), cross_fit=False, random_state=0),
    "Chebyshev that stops early": lambda: AltOpt(
        solver=ChebyshevSteps(n_steps=40, rtol=0.05), cross_fit=False, random_state=0
    ),
    "Chebyshev that stops at once": lambda: AltOpt(
        solver=ChebyshevSteps(n_steps=40, rtol=0.3), cross_fit=False, random_state=0
    ),
    "Chebyshev in half precision": lambda: AltOpt(
        solver=ChebyshevSteps(n_steps=12, storage="float16"), cross_fit=False, random_state=0
    ),
}
FIXED_STEPS = [name for name in MODELS if name.startswith(("paper", "Jacobi", "Chebyshev"))]


def fitted(name, seed=0):
    X, y, _, A = two_communities(seed=seed, n=60)
    return MODELS[name]().fit(X, y, graph=A)


def total_of(explanation):
    labels = sum(amount for _, _, amount in explanation.from_labels)
    return labels + sum(amount for _, amount in explanation.from_features)


@pytest.mark.parametrize("name", MODELS)
def test_shares_sum_to_the_row_of_scores(name):
    model = fitted(name)
    for node, explanation in zip(range(60), model.explain_many(range(60))):
        assert_allclose(explanation.evidence, model.scores_[node], rtol=1e-12)
        assert total_of(explanation) == pytest.approx(explanation.total, rel=1e-9)
        assert explanation.prediction == model.transduction_[node]
        together = explanation.label_evidence + explanation.feature_evidence + explanation.tail
        assert_allclose(together, model.scores_[node], rtol=1e-9)


@pytest.mark.parametrize("name", FIXED_STEPS)
def test_replayed_steps_sum_to_the_score_within_the_stated_bound(name):
    """What labels, features and the start gave, without the part of the tail that is in no node's name."""
    model = fitted(name)
    for explanation in model.explain_many(range(0, 60, 7)):
        start = sum(amount for _, amount in explanation.from_start)
        listed = explanation.label_evidence + explanation.feature_evidence
        left = explanation.total - listed[explanation.code] - start
        assert abs(left) <= explanation.error_bound + 1e-12
        assert explanation.error_bound < (1e-2 if "half" in name else 1e-9)


def test_an_explanation_after_an_update_replays_the_steps_of_the_update():
    model = fitted("Chebyshev that stops early")
    model.update({40: 1 - model.transduction_[40]}, edges=[(3, 50), (60, 7)], features=np.ones((1, 8)))
    assert len(model.fitted_.steps.scale) == 61
    for explanation in model.explain_many([3, 40, 60]):
        assert explanation.error_bound < 1e-9
        assert total_of(explanation) == pytest.approx(explanation.total, rel=1e-9)


def dense_G(model):
    A_tilde = NormalizedAdjacency(model.graph_.adjacency, model.self_loops).as_dense()
    L = np.eye(len(A_tilde)) - A_tilde
    L = {SquaredLaplacianView: L @ L, NoGraphView: 0 * L}.get(model.graph_view, L)
    M = np.diag(model.labelled_.astype(float))
    return np.linalg.inv(L + model.plan_.feature_weight * np.eye(len(L)) + model.plan_.label_weight * M)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in FIXED_STEPS])
def test_shares_are_those_of_the_dense_inverse(name):
    model = fitted(name)
    G = dense_G(model)
    for node in (0, 1, 17, 59):
        explanation = model.explain(node)
        k = list(model.classes_).index(explanation.prediction)
        features = {j: amount for j, amount in explanation.from_features if j is not None}
        expected = model.plan_.feature_weight * G[node] * model.encoder_output_[:, k]
        assert_allclose([features.get(j, 0.0) for j in range(60)], expected, atol=1e-9)
        labels = {j: amount for j, _, amount in explanation.from_labels}
        of_class = np.flatnonzero(model.labelled_ & (model.transduction_ == explanation.prediction))
        assert_allclose(
            [labels.get(j, 0.0) for j in of_class], model.plan_.label_weight * G[node, of_class], atol=1e-9
        )
        # what is in no node's name is what the solver's tolerance left
        assert abs(explanation.tail).max() <= 1e-5 * explanation.total


def test_where_the_fit_left_the_graph_aside_a_node_is_explained_by_itself(monkeypatch):
    """The plan that was chosen, not the settings, says that F rests on features and labels alone."""
    monkeypatch.setattr(
        "altopt.selection.evaluation.choose",
        lambda usual, others, *_: Choice(
            ([usual] + [q for q in others if q.name == ALONE])[-1], [], "It says so."
        ),
    )
    X, y, truth, A = two_communities(n=150)
    with pytest.warns(UserWarning, match="The graph does not help here"):
        model = AltOpt(random_state=0, n_rounds=1).fit(X, y, graph=A)
    assert model.plan_.name == "features alone"
    assert model.plan_.graph_view is NoGraphView
    assert model.graph_view is None
    own = 1.0 / (model.plan_.feature_weight + model.plan_.label_weight * model.labelled_)
    for node, explanation in zip(range(150), model.explain_many(range(150))):
        k = explanation.code
        features = model.plan_.feature_weight * own[node] * model.encoder_output_[node, k]
        assert [name for name, _ in explanation.from_features if name is not None] == [node]
        assert explanation.from_features[0][1] == pytest.approx(features, rel=1e-6)
        expected = [node] if model.labelled_[node] and truth[node] == k else []
        assert [name for name, _, _ in explanation.from_labels] == expected
        assert total_of(explanation) == pytest.approx(explanation.total, rel=1e-6)
        assert explanation.path[0] == []
    # and it goes on: labels, edges and nodes, which move nobody else
    before = model.scores_.copy()
    P = model.predict_proba(X[:1], edges=[(0, 3)])
    model.update({100: 1 - truth[100]}, [(150, 3), (2, 3)], None, X[:1], refresh=True)
    assert np.flatnonzero(np.abs(model.scores_[:150] - before).max(axis=1) > 1e-6).tolist() == [100]
    assert_allclose(model.label_distributions_[150], P[0], atol=1e-6)
    assert len(model.suggest(3)) == 3


@pytest.mark.parametrize("name", FIXED_STEPS)
def test_the_rest_of_a_fixed_number_of_steps_is_what_they_began_with(name):
    model = fitted(name)
    for node in (3, 40):
        explanation = model.explain(node)
        k = list(model.classes_).index(explanation.prediction)
        began = sum(amount for _, amount in explanation.from_start)
        assert began == pytest.approx(explanation.tail[k], rel=1e-7, abs=explanation.error_bound + 1e-9)


def test_the_paper_with_one_update_begins_at_the_labels():
    model = fitted("paper, one update")
    given = np.zeros((60, 2))
    given[model.labelled_] = model.Y_
    assert_array_equal(model.start_, given)
    assert {node for node, _ in model.explain(20).from_start} <= set(np.flatnonzero(model.labelled_).tolist())


def test_a_ledger_cut_short_still_sums_and_keeps_its_bound():
    data = communities(n_nodes=3000, n_classes=4, seed=1)
    y = np.full(3000, -1)
    y[:200] = data.y[:200]
    model = AltOpt(random_state=0, cross_fit=False).fit(data.X, y, graph=data.graph)
    for node in (7, 500, 2999):
        whole, part = model.explain(node), model.explain(node, tolerance=1e-3)
        assert part.parts.n_reached < whole.parts.n_reached
        assert total_of(part) == pytest.approx(model.scores_[node].max(), rel=1e-9)
        exact = dict(zip(whole.parts.nodes.tolist(), whole.parts.weights))
        off = np.linalg.norm([exact[j] - p for j, p in zip(part.parts.nodes.tolist(), part.parts.weights)])
        assert off <= part.error_bound
        assert abs(whole.tail).sum() < abs(part.tail).sum() < part.evidence.sum()


def test_repeated_calls_are_identical():
    model = fitted("default")
    first, second = model.explain(5), model.explain(5)
    assert first.from_features == second.from_features
    assert first.from_labels == second.from_labels
    assert first.path == second.path


def test_contrast_sums_to_the_margin():
    model = fitted("default")
    explanation = model.explain(33)
    other = 1 - explanation.prediction
    contrast = explanation.against(other)
    assert contrast.margin == pytest.approx(abs(model.scores_[33, 0] - model.scores_[33, 1]))
    total = sum(a for *_, a in contrast.from_labels) + sum(a for _, a in contrast.from_features)
    assert total == pytest.approx(contrast.margin, rel=1e-9)
    with pytest.raises(InputError, match="'no such' is not among the classes"):
        explanation.against("no such")


def test_the_path_is_the_strongest_of_all_walks():
    """On a chain with one label at its end all evidence of the label comes along the chain."""
    graph = Graph([("a", "b"), ("b", "c"), ("c", "d"), ("x", "y")])
    X = np.zeros((6, 2))
    X[:, 0], X[4:, 1] = 1.0, 5.0
    y = [None, None, None, "left", "right", None]
    model = AltOpt(random_state=0, cross_fit=False, label_weight=50.0).fit(
        X, y, graph=Graph(graph, nodes=list("abcdxy"))
    )
    explanation = model.explain("a")
    walk, amount = explanation.path
    # one walk's share: 1/H_aa * product of a_kl / H_ll * evidence at d, with degrees 1, 2, 2, 1
    own = 1.0 + model.plan_.feature_weight
    ties = np.array([np.sqrt(0.5), 0.5, np.sqrt(0.5)]) / [own, own, own + 50.0]
    k = list(model.classes_).index("left")
    strength = (50.0 + model.plan_.feature_weight * model.encoder_output_[3, k]) * np.prod(ties) / own
    nearer = model.plan_.feature_weight * model.encoder_output_[1, k] * np.sqrt(0.5) / own / own
    assert walk == (["d", "c", "b", "a"] if strength > nearer else ["b", "a"])
    assert amount == pytest.approx(max(strength, nearer))


def test_a_node_alone_is_explained_by_itself():
    X, y, _, A = two_communities(n=40)
    A = sp.lil_array(A)
    A[39] = 0
    A[:, 39] = 0
    model = AltOpt(random_state=0, cross_fit=False).fit(X, y, graph=sp.csr_array(A))
    explanation = model.explain(39)
    assert [node for node, _ in explanation.from_features if node is not None] == [39]
    assert explanation.path == ([], 0.0)


def test_renumbering_nodes_renumbers_the_ledger():
    X, y, _, A = two_communities(n=60)
    order = np.random.default_rng(3).permutation(60)
    model = AltOpt(random_state=0, cross_fit=False).fit(X, y, graph=A)
    # the same F and P in another order: the ledger must not depend on it
    ids = [f"n{k}" for k in range(60)]
    named = AltOpt(random_state=0, cross_fit=False).fit(X, y, graph=Graph(A, nodes=ids))
    named.fitted_.replace_graph(Graph(sp.csr_array(A[order][:, order]), nodes=[ids[k] for k in order]))
    for name in ("scores", "encoder_output", "codes", "labels"):
        setattr(named.fitted_, name, getattr(model.fitted_, name)[order])
    mine, theirs = dict(model.explain(11).from_features), dict(named.explain("n11").from_features)
    for j in range(60):
        assert mine.get(j, 0.0) == pytest.approx(theirs.get(f"n{j}", 0.0), abs=1e-9)


@pytest.mark.parametrize("node", [99, -1, "a", None, True, 2.5, [1]])
def test_an_unknown_node_is_refused_in_words(node):
    with pytest.raises(InputError, match=r"is not in the graph"):
        fitted("default").explain(node)


def test_views_that_are_not_quadratic_are_refused_in_words():
    X, y, _, A = two_communities(n=60)
    model = AltOpt.paper("N", total_epochs=4, n_rounds=1, random_state=0).fit(X, y, graph=A)
    with pytest.raises(InputError, match="SoftmaxFeatureView and CrossEntropyLabelView it is not"):
        model.explain(0)


@pytest.mark.parametrize("name", ["default", "paper"])
def test_a_stored_model_explains_the_same(name, tmp_path):
    model = fitted(name)
    model.save(tmp_path / "model")
    loaded = AltOpt.load(tmp_path / "model")
    assert loaded.explain(12).from_features == model.explain(12).from_features
    assert loaded.explain(12).from_start == model.explain(12).from_start
