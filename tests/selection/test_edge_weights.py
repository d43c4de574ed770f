"""The weights of kinds of edges: chosen by held-out labels, useless kinds dropped."""

import numpy as np
import pytest
import scipy.sparse as sp

from altopt import AltOpt
from altopt.selection.edge_weights import EdgeWeights, chosen_once, descend, without
from altopt.selection.graph_help import KindHelp
from altopt.training.journal import Journal
from two_kinds import hidden, two_good_kinds, with_random_kind

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def good():
    return two_good_kinds(seed=901)


def fit(data, graph, **settings):
    return AltOpt(random_state=0, **settings).fit(data.X, hidden(data), graph=graph)


@pytest.fixture(scope="module")
def both(good):
    return fit(good, good.kinds)


@pytest.fixture(scope="module")
def cites(good):
    return fit(good, good.kinds["cites"])


def test_a_random_kind_gets_no_weight_and_changes_no_answer(good, cites):
    model = fit(good, with_random_kind(good))
    assert model.edge_weights_["random"] < 0.1
    assert sum(model.edge_weights_.values()) == pytest.approx(1)
    rest = hidden(good) < 0
    right = [np.mean(one.transduction_[rest] == good.y[rest]) for one in (model, cites)]
    assert abs(right[0] - right[1]) <= 0.005
    worth = model.graph_help_.per_kind
    assert worth["cites"].gain > 0 >= worth["random"].gain


def test_two_good_kinds_are_above_either_alone(good, both, cites):
    rest = hidden(good) < 0
    other = fit(good, good.kinds["same author"])
    right = [np.mean(one.transduction_[rest] == good.y[rest]) for one in (both, cites, other)]
    assert right[0] > max(right[1:])
    assert min(both.edge_weights_.values()) > 0


def test_one_kind_is_the_plain_fit_bit_for_bit(good, cites):
    named = fit(good, {"cites": good.kinds["cites"]})
    assert named.edge_weights_ == {"cites": 1.0}
    np.testing.assert_array_equal(cites.scores_, named.scores_)
    np.testing.assert_array_equal(cites.label_distributions_, named.label_distributions_)
    assert cites.choice_["plan"] == named.choice_["plan"]


def test_weights_are_equal_where_nothing_is_held_back(good):
    model = fit(good, good.kinds, cross_fit=False)
    assert model.edge_weights_ == {"cites": 0.5, "same author": 0.5}
    assert model.graph_help_ is None


def test_a_model_with_kinds_is_stored_whole(both, tmp_path):
    model = both
    model.save(tmp_path / "model")
    again = AltOpt.load(tmp_path / "model")
    assert again.edge_weights_ == model.edge_weights_
    assert again.graph_help_ == model.graph_help_
    assert list(again.graph_.kinds) == list(model.graph_.kinds)
    for one, other in zip(again.graph_.kinds.values(), model.graph_.kinds.values()):
        np.testing.assert_array_equal(one.adjacency.toarray(), other.adjacency.toarray())
    np.testing.assert_array_equal(again.graph_.adjacency.toarray(), model.graph_.adjacency.toarray())


def test_descent_finds_the_minimum_of_a_convex_loss():
    goal = np.array([0.7, 0.3, 0.0])
    found = descend(lambda w: float(np.sum((w - goal) ** 2)), np.full(3, 1 / 3))
    assert np.abs(found - goal).max() < 0.08


def test_without_keeps_the_ratios_of_the_others():
    np.testing.assert_allclose(without(np.array([0.5, 0.3, 0.2]), 0), [0, 0.6, 0.4])


def test_a_resumed_fit_keeps_the_weights_it_chose():
    class Kept(Journal):
        def __init__(self):
            self.steps = {}

        def find(self, step):
            return self.steps.get(step)

        def store(self, step, result):
            self.steps[step] = result

    journal, kinds = Kept(), ["a", "b"]
    worth = {kind: KindHelp(0.5, 0.25, 0.75, 0.125) for kind in kinds}
    made = EdgeWeights({"a": 0.75, "b": 0.25}, worth, ("a",))
    assert chosen_once(journal, kinds, lambda: made) == made
    assert chosen_once(journal, kinds, lambda: pytest.fail("it was chosen again")) == made


def test_few_labels_drop_no_kind_whose_edges_join_what_is_alike():
    """Sixty held-out labels preferred one of these kinds alone, which cost eight points."""
    rng = np.random.default_rng(1)
    n = 1500
    y = rng.integers(0, 3, n)

    def kind():
        ends = rng.integers(0, n, (2, 6 * 2 * n))
        kept = rng.random(ends.shape[1]) < np.where(y[ends[0]] == y[ends[1]], 1.0, 0.3)
        source, target = ends[:, kept][:, : 2 * n]
        A = sp.coo_array((np.ones(len(source)), (source, target)), shape=(n, n)).tocsr()
        return sp.csr_array((A + A.T).astype(bool).astype(float))

    kinds = {"a": kind(), "b": kind()}
    X = np.eye(3)[y] @ rng.standard_normal((3, 8)) * 0.4 + rng.standard_normal((n, 8))
    given = np.full(n, -1)
    for k in range(3):
        known = rng.choice(np.flatnonzero(y == k), 20, replace=False)
        given[known] = k
    model = AltOpt(random_state=0).fit(X, given, graph=kinds)
    assert min(model.edge_weights_.values()) > 0.2
