"""Decisions: least expected cost and wished precision, with what held-out labels say of them."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from altopt import AltOpt, InputError
from altopt.datasets import communities
from altopt.fitted.decisions import Passing, cost_interval, read_cost

CLASSES = np.array(["fraud", "ok"], dtype=object)


@pytest.fixture(scope="module")
def skewed():
    """One class in six, 200 labels drawn at random."""
    data = communities(800, 6, signal=0.25, seed=905)
    truth = np.where(data.y == 0, "fraud", "ok").astype(object)
    y = np.full(len(truth), None, dtype=object)
    shown = np.random.default_rng(905).choice(len(y), 200, replace=False)
    y[shown] = truth[shown]
    return AltOpt(random_state=0).fit(data.X, y, graph=data.graph), truth


def mean_cost(labels, truth, rest):
    return np.mean(np.where(truth == labels, 0.0, np.where(truth == "fraud", 20.0, 1.0))[rest])


def test_least_expected_cost_pays_less_than_the_likeliest_class(skewed):
    model, truth = skewed
    decision = model.decide({("fraud", "ok"): 20})
    rest = ~model.labelled_
    paid = mean_cost(decision.labels, truth, rest)
    assert paid < mean_cost(model.transduction_, truth, rest)
    assert decision.cost <= decision.cost_of_likeliest
    assert decision.interval[0] <= paid <= decision.interval[1]
    assert_array_equal(decision.labels[model.labelled_], model.transduction_[model.labelled_])
    assert decision.changed == np.sum(decision.labels != model.transduction_)
    assert str(decision).startswith(f"Expected cost {decision.cost:.4g} a node (")


def test_equal_costs_leave_the_likeliest_class(skewed):
    model, _ = skewed
    assert model.decide({}).changed == 0
    by_matrix = model.decide(np.array([[0.0, 20.0], [1.0, 0.0]]))
    assert_array_equal(by_matrix.labels, model.decide({("fraud", "ok"): 20}).labels)


def test_a_threshold_keeps_the_wished_precision(skewed):
    model, truth = skewed
    found = model.threshold("fraud", precision=0.9)
    P = model.label_distributions_[:, 0]
    passes = (found.value <= P) & ~model.labelled_
    assert sorted(found.nodes.tolist()) == np.flatnonzero(passes).tolist()
    assert (np.diff(P[found.nodes]) <= 0).all()  # the likeliest first
    assert found.precision >= 0.9
    true = np.mean(truth[passes] == "fraud")
    assert found.precision_interval[0] <= true <= found.precision_interval[1]
    recall = np.sum(truth[passes] == "fraud") / np.sum((truth == "fraud") & ~model.labelled_)
    assert found.recall_interval[0] <= recall <= found.recall_interval[1]
    assert "precision" in str(found)


def test_a_higher_wish_gives_a_higher_threshold(skewed):
    model, _ = skewed
    wide, narrow = (model.threshold("fraud", recall=recall) for recall in (0.95, 0.5))
    assert wide.value < narrow.value
    assert wide.recall >= 0.95
    assert narrow.recall >= 0.5 - 1e-9
    strict, loose = (model.threshold("fraud", precision=p) for p in (0.95, 0.5))
    assert strict.value > loose.value


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"label": "thief", "precision": 0.9},
            "^'thief' is not among the classes. Name one of 'fraud', 'ok'",
        ),
        ({"label": "fraud"}, "needs precision= or recall=, one of them"),
        ({"label": "fraud", "precision": 0.9, "recall": 0.9}, "one of them and above 0 up to 1"),
        ({"label": "fraud", "recall": 1.5}, "above 0 up to 1, but got precision=None and recall=1.5"),
    ],
)
def test_what_cannot_be_wished_for_is_refused(skewed, arguments, message):
    with pytest.raises(InputError, match=message):
        skewed[0].threshold(**arguments)


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ({("fraud", "thief"): 1}, r"cost has \('fraud', 'thief'\): 1. Give .* 'fraud', 'ok'"),
        ({"fraud": 1}, "cost has 'fraud': 1. Give"),
        ({("fraud", "ok"): np.nan}, "nan. Give"),
        (np.eye(3), "cost must be a dict .* or 2 x 2 finite numbers"),
        ("dear", "cost must be a dict .* but is 'dear'"),
    ],
)
def test_a_cost_that_says_nothing_is_refused(cost, message):
    with pytest.raises(InputError, match=message):
        read_cost(cost, CLASSES)


def test_unnamed_mistakes_cost_one():
    assert read_cost({("fraud", "ok"): 10}, CLASSES).tolist() == [[0.0, 10.0], [1.0, 0.0]]


def test_decisions_need_held_out_labels_of_this_model(skewed):
    model, _ = skewed
    fitted = model.fitted_
    plain = AltOpt(cross_fit=False, random_state=0).fit(
        [[0.0], [1.0], [0.1]], ["a", "b", None], graph=[(0, 2)]
    )
    with pytest.raises(InputError, match="^decide needs held-out labels"):
        plain.decide({})
    before = fitted.leave_one_out
    try:
        fitted.leave_one_out = "is out of date: the model was updated after fitting. Call fit() again."
        with pytest.raises(InputError, match="^threshold is out of date"):
            model.threshold("fraud", recall=0.5)
    finally:
        fitted.leave_one_out = before


def test_a_precision_out_of_reach_is_named():
    noise = Passing(
        np.linspace(0, 1, 40), np.arange(40) % 2 == 0, np.ones(40)
    )  # the highest one is not of the class
    with pytest.raises(
        InputError, match="no threshold of 'fraud' reaches a precision of 0.99 on 40 held-out labels"
    ):
        noise.for_precision(0.99, "fraud", seed=0)


def test_choosing_a_threshold_flatters_and_that_is_taken_off():
    """On pure noise the precision that a choice sees is above the share of the class; what is told is not."""
    rng = np.random.default_rng(0)
    told, truth = [], 0.3
    for _ in range(20):
        sample = Passing(rng.random(60), rng.random(60) < truth, np.ones(60))
        value = sample.lowest(0.35, np.ones(60))
        if value is None:
            continue
        told.append(sample.precision(value) - sample.flattery(0.35, seed=0) - truth)
    plain = np.mean(told)
    assert abs(plain) < 0.1


def test_a_cost_that_nobody_paid_is_not_taken_for_impossible():
    C = np.array([[0.0, 10.0], [1.0, 0.0]])
    low, high = cost_interval(0.0, np.zeros(50), np.full(50, 1 / 50), C, 1.0, 1000)
    assert low == 0.0
    assert 0.1 < high < 5.0


def test_a_model_stored_without_them_says_so(skewed):
    model, _ = skewed
    fitted, before = model.fitted_, model.fitted_.leave_one_out
    try:
        fitted.leave_one_out = replace(before, weights=np.empty(0))
        with pytest.raises(InputError, match="no label could be held out"):
            model.decide({})
    finally:
        fitted.leave_one_out = before
