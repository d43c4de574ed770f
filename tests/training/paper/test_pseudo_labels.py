"""Section 3.5: softmax with temperature, confidence, and the most certain nodes of each class."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from altopt.arrays import certainty, shares, softmax
from altopt.operator.kernels.rows import most_certain_per_class
from altopt.training.pseudo_labels import (
    ClassBalanced,
    ConfidenceThreshold,
    NoPseudoLabels,
    PseudoLabels,
    TopPerClass,
)

RULES = [
    TopPerClass(5, 0.1),
    ClassBalanced(0.2),
    ClassBalanced(0.2, limit=20),
    ConfidenceThreshold(),
    NoPseudoLabels(TopPerClass()),
]


def scores(seed=0, n=60, c=4):
    return np.random.default_rng(seed).random((n, c))


@pytest.mark.parametrize("tau", [0.1, 0.2, 1.0])
def test_softmax_with_temperature(tau):
    F = scores()
    expected = np.exp(F / tau) / np.exp(F / tau).sum(axis=1, keepdims=True)
    assert_allclose(softmax(F, tau), expected)


@given(st.floats(-1e300, 1e300), st.floats(1e-3, 10))
def test_softmax_is_finite_for_every_finite_score(value, tau):
    with np.errstate(over="ignore"):
        S = softmax(np.array([[value, 0.0, -value]]), tau)
    assert np.isfinite(S).all()
    assert_allclose(S.sum(axis=1), 1.0)


def test_a_lower_temperature_is_more_certain():
    F = scores()
    assert (certainty(softmax(F, 0.1)) > certainty(softmax(F, 0.5))).all()


def test_confidence_is_one_minus_entropy_over_log_c():
    S = softmax(scores(), 0.3)
    entropy = -(S * np.log(S)).sum(axis=1)
    assert_allclose(certainty(S), 1 - entropy / np.log(4))


def test_confidence_runs_from_uniform_to_certain():
    assert_allclose(certainty(np.array([[0.25] * 4, [1.0, 0, 0, 0]])), [0.0, 1.0], atol=1e-12)


def test_confidence_of_appendix_C_is_a_certainty_not_the_entropy():
    """Printed as the entropy, w' would prefer the least certain nodes."""
    certain, uncertain = np.array([[4.0, 0.0]]), np.array([[0.1, 0.0]])
    assert certainty(softmax(certain)) > certainty(softmax(uncertain))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(2, 6), st.integers(0, 20))
def test_the_most_certain_of_each_class_and_no_padding(seed, n, c, m):
    rng = np.random.default_rng(seed)
    S = softmax(rng.random((n, c)), 0.2)
    w, labelled = certainty(S), rng.random(n) < 0.3
    predicted = S.argmax(axis=1)
    chosen = most_certain_per_class(w, predicted, ~labelled, c, m)
    assert not labelled[chosen].any()
    for k in range(c):
        candidates = np.flatnonzero(~labelled & (predicted == k))
        of_class = chosen[predicted[chosen] == k]
        assert len(of_class) == min(m, len(candidates))
        others = np.setdiff1d(candidates, of_class)
        if len(of_class) and len(others):
            assert w[of_class].min() >= w[others].max()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_rules_choose_unlabelled_nodes_with_positive_weight(rule):
    assert isinstance(rule, PseudoLabels)
    F = scores()
    labelled = np.arange(60) < 12
    S = rule.soften(F)
    assert_allclose(S.sum(axis=1), 1.0)
    readout = rule.read(F)
    assert_allclose(readout.w, certainty(S), atol=1e-12)
    assert_array_equal(readout.label, S.argmax(axis=1))
    nodes, weights = rule.choose(readout, labelled, seed=3)
    assert not labelled[nodes].any()
    assert len(nodes) == len(weights) == len(np.unique(nodes))
    assert (weights >= 0).all()
    again, _ = rule.choose(readout, labelled, seed=3)
    assert_array_equal(nodes, again)


def test_class_balanced_weights_have_the_same_total_per_class_and_a_cap():
    rule, F = ClassBalanced(0.05, times_labelled=2.0), scores(n=500)
    labelled = np.arange(500) < 10
    S = rule.soften(F)
    nodes, weights = rule.choose(rule.read(F), labelled, seed=0)
    per_class = np.bincount(S[nodes].argmax(axis=1), weights=weights, minlength=4)
    assert_allclose(per_class, per_class[0])
    assert weights.sum() == pytest.approx(20.0)


def test_nodes_below_min_confidence_are_left_out():
    F = 3 * scores()
    for rule in (TopPerClass(50, 1.0, 0.2), ClassBalanced(0.15, 0.2), ConfidenceThreshold(0.2)):
        readout = rule.read(F)
        nodes, _ = rule.choose(readout, np.zeros(60, dtype=bool), seed=0)
        assert 0 < len(nodes) < 60
        assert readout.w[nodes].min() >= 0.2


def test_shares_sum_to_one_and_keep_the_order():
    F = np.array([[2.0, 1.0], [0.0, 0.0], [-1.0, 3.0]])
    assert_allclose(shares(F), [[2 / 3, 1 / 3], [0.5, 0.5], [0.0, 1.0]])
