"""ROC AUC and average precision are scikit-learn's, whatever the draw, and their intervals hold."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from altopt.selection.ranking import Sample, average_precision, roc_auc, weighted_precision


def sample(score, codes, weights=None, m=1000, shares=None):
    P = np.stack([1 - score, score], axis=1)
    weights = np.full(len(codes), 1 / len(codes)) if weights is None else weights
    shares = np.bincount(codes) / len(codes) if shares is None else shares
    return Sample(P, codes, weights, shares, m, 1.3)


def drawn(rng, n, share=0.3):
    codes = (rng.random(n) < share).astype(int)
    score = 1 / (1 + np.exp(-(rng.normal(size=n) + 1.2 * codes)))
    return np.round(score, 2), codes


def test_values_are_those_of_scikit_learn_ties_included():
    score, codes = drawn(np.random.default_rng(0), 300)
    assert roc_auc(sample(score, codes)).value == pytest.approx(roc_auc_score(codes, score))
    found = average_precision(sample(score, codes)).value
    assert found == pytest.approx(average_precision_score(codes, score))
    w = np.random.default_rng(1).random(300)
    weighted = weighted_precision(score, codes == 1, w[None])[0]
    assert weighted == pytest.approx(average_precision_score(codes, score, sample_weight=w))
    weighted = roc_auc(sample(score, codes, w)).value
    assert weighted == pytest.approx(roc_auc_score(codes, score, sample_weight=w))


def test_several_classes_are_averaged_one_against_the_rest():
    rng = np.random.default_rng(2)
    codes = rng.integers(3, size=200)
    P = rng.dirichlet(np.ones(3), 200)
    P[np.arange(200), codes] += 0.4
    P /= P.sum(axis=1, keepdims=True)
    found = roc_auc(Sample(P, codes, np.full(200, 1 / 200), np.ones(3) / 3, 500, 1.3))
    assert found.value == pytest.approx(roc_auc_score(codes, P, multi_class="ovr"))
    assert found.interval[0] < found.value < found.interval[1]


def test_intervals_hold_what_a_large_sample_has():
    rng = np.random.default_rng(3)
    score, codes = drawn(rng, 100_000)
    truth = roc_auc_score(codes, score), average_precision_score(codes, score)
    held = np.zeros(2)
    for _ in range(60):
        small = sample(*drawn(rng, 80), m=1e9)
        for k, (find, true) in enumerate(zip((roc_auc, average_precision), truth)):
            low, high = find(small).interval
            held[k] += low <= true <= high
    assert (held / 60 >= 0.9).all()


def test_few_labels_tell_nothing_and_perfect_order_is_not_certainty():
    nothing = roc_auc(sample(np.array([0.1, 0.9, 0.8, 0.2]), np.array([0, 1, 1, 0])))
    assert np.isnan(nothing.value)
    assert nothing.interval == (0.0, 1.0)
    perfect = roc_auc(sample(np.linspace(0, 1, 12), np.repeat([0, 1], 6)))
    assert perfect.value == pytest.approx(1.0)
    assert perfect.interval[0] < 0.9
