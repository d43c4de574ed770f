"""Inputs as if no features were given: what features say plays no part, and every question can still be asked."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from altopt import AltOpt, Graph
from altopt.errors import InputError
from altopt.inputs import BlockInputs, FeaturelessInputs, HopInputs, InputSource
from altopt.operator import NormalizedAdjacency

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
N, CLASSES, N_FEATURES = 400, 4, 5
EMBEDDING = FeaturelessInputs(HopInputs((2,), n_components=20))


def graph_of_blocks(y, rng, degree=10, same=0.85):
    """Edges that mostly join nodes of one class."""
    source = rng.integers(0, N, N * degree // 2)
    inside = np.array([rng.choice(np.flatnonzero(y == y[i])) for i in source])
    target = np.where(rng.random(len(source)) < same, inside, rng.integers(0, N, len(source)))
    return Graph(np.stack([source, target], axis=1), n_nodes=N)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, N)
    graph, noise = graph_of_blocks(y, rng), rng.normal(size=(N, N_FEATURES))
    given = np.full(N, -1)
    few = np.concatenate([np.flatnonzero(y == k)[:5] for k in range(CLASSES)])
    given[few] = y[few]
    return graph, noise, y, given


def rows_of(inputs, graph, X):
    source = InputSource(graph, NormalizedAdjacency(graph.adjacency), X, 0.2, 10, 0)
    made = inputs.prepare(source)
    return np.asarray(made.rows(made.Z))


def test_only_edges_count(data):
    """Features decide on the order in which nodes are named, and so on rounding."""
    graph, noise, _, _ = data
    one, other = (rows_of(EMBEDDING, graph, X) for X in (noise, noise[:, ::-1] ** 3))
    names = sp.csr_array(sp.eye_array(N, format="csr"))
    plain = rows_of(HopInputs((2,), n_components=20), graph, names)
    whole = rows_of(FeaturelessInputs(HopInputs((2,), n_components=N)), graph, noise)
    assert_allclose(
        whole @ whole.T,
        (lambda Z: Z @ Z.T)(rows_of(HopInputs((2,), n_components=N), graph, names)),
        atol=1e-4,
    )
    for rows in (other, plain):  # the leading directions, each up to its sign
        assert_allclose(
            np.abs(np.linalg.svd(one[:, :4].T @ rows[:, :4])[1]),
            np.abs(np.linalg.svd(one[:, :4].T @ one[:, :4])[1]),
            rtol=0.02,
        )


def test_noise_for_features_costs_next_to_nothing(data):
    graph, noise, y, given = data
    hidden = given < 0
    with_noise = AltOpt(random_state=0).fit(noise, given, graph=graph)
    without = AltOpt(random_state=0).fit(None, given, graph=graph)
    right, at_best = (np.mean(model.transduction_[hidden] == y[hidden]) for model in (with_noise, without))
    assert at_best > 0.9
    assert right > at_best - 0.03
    assert "embedding" in with_noise.choice_["plan"]


@pytest.fixture(scope="module", params=["alone", "beside features"])
def fitted(request, data):
    graph, noise, _, given = data
    beside = (HopInputs((0, 1)),) if request.param == "beside features" else ()
    inputs = BlockInputs((*beside, EMBEDDING), scaling="size")
    return AltOpt(random_state=0, cross_fit=False, inputs=inputs).fit(noise, given, graph=graph)


def test_a_stored_model_answers_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    again = AltOpt.load(tmp_path / "m")
    x, edges = np.ones((2, N_FEATURES)), [(0, 3), (0, 8), (1, 5)]
    assert_array_equal(again.scores_, fitted.scores_)
    assert_allclose(again.predict_proba(x, edges=edges), fitted.predict_proba(x, edges=edges))


def test_new_nodes_are_known_by_their_edges(data, fitted):
    _, _, y, _ = data
    rng = np.random.default_rng(1)
    x, edges, classes = rng.normal(size=(20, N_FEATURES)), [], np.arange(20) % CLASSES
    for new, k in enumerate(classes):
        edges += [(new, int(node)) for node in rng.choice(np.flatnonzero(y == k), 8, replace=False)]
    assert np.mean(fitted.predict(x, edges=edges) == classes) > 0.9


def test_updates_by_push_and_by_a_new_solve_agree(fitted):
    fast, slow = copy.deepcopy(fitted), copy.deepcopy(fitted)
    slow.fitted_.system = lambda: None
    for model in (fast, slow):
        model.update(nodes=[N], features=np.ones((1, N_FEATURES)), edges=[(N, 3), (N, 7)])
        model.update(labels={9: 1}, edges=[(0, 1)], refresh=True)
    assert_allclose(fast.scores_, slow.scores_, atol=1e-5)


def test_amounts_of_an_explanation_sum_to_the_score(fitted):
    why = fitted.explain(17)
    amounts = sum(amount for _, _, amount in why.from_labels) + sum(amount for _, amount in why.from_features)
    assert amounts == pytest.approx(why.total, abs=1e-6)
    assert_allclose(why.evidence, fitted.scores_[17], atol=1e-6)


def test_what_is_no_inputs_is_refused():
    with pytest.raises(InputError, match="FeaturelessInputs takes inputs, but got 3"):
        FeaturelessInputs(3)
