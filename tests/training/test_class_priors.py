"""Class priors estimated from F, and pseudo labels that keep to them."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from altopt import AltOpt, InputError
from altopt.arrays import shares, softmax
from altopt.defaults import DEFAULTS
from altopt.training.class_priors import (
    column_factors,
    em_priors,
    estimate_priors,
    predicted_shares,
    prior_factors,
    prior_trust,
    priors_from_confusion,
    sharpened_temperature,
)
from altopt.training.pseudo_labels import ClassBalanced

T = 0.2
WITHOUT_PRIORS = replace(DEFAULTS, prior_max_factor=1.0)
ALIKE = {n: np.full(n, 1 / n) for n in (2, 3, 4)}


def told_by_sizes(sizes, n=4000, seed=0):
    """Shares whose softmax at T are the probabilities of classes of equal size, of nodes drawn by `sizes`."""
    rng = np.random.default_rng(seed)
    n_classes = len(sizes)
    codes = rng.choice(n_classes, n, p=sizes)
    # noise of this width around one-hot rows makes softmax(. / T) the posterior under equal sizes
    rows = np.eye(n_classes)[codes] + rng.normal(scale=np.sqrt(T), size=(n, n_classes))
    return rows


def test_the_likeliest_sizes_are_the_true_ones():
    sizes = np.array([0.6, 0.25, 0.1, 0.05])
    told = told_by_sizes(sizes)
    found = em_priors(told, T, 0.0, ALIKE[4])
    assert_allclose(found, sizes, atol=0.03)
    assert np.abs(predicted_shares(told) - sizes).sum() > 2 * np.abs(found - sizes).sum()


def test_labels_that_are_not_balanced_are_allowed_for():
    """Probabilities that know the shares of classes already do not count them twice."""
    sizes = np.array([0.6, 0.25, 0.1, 0.05])
    told = told_by_sizes(sizes) + T * np.log(sizes)
    assert_allclose(em_priors(told, T, 0.0, sizes), sizes, atol=0.03)
    assert np.abs(em_priors(told, T, 0.0, ALIKE[4]) - sizes).sum() > 0.1


def test_updates_are_expectation_and_maximisation():
    told = told_by_sizes(np.array([0.5, 0.3, 0.2]), n=50)
    sizes = predicted_shares(told)
    for _ in range(7):
        total = np.zeros(3)
        for row in softmax(told, T):
            total += row * sizes / np.sum(row * sizes)
        sizes = (total / len(told) + 0.7 * predicted_shares(told)) / 1.7
    assert_allclose(em_priors(told, T, 0.7, ALIKE[3], n_steps=7), sizes, atol=1e-6)


def test_held_back_entirely_the_sizes_are_those_of_the_largest_entries():
    told = told_by_sizes(np.array([0.7, 0.2, 0.1]))
    assert_allclose(em_priors(told, T, 1e9, ALIKE[3]), predicted_shares(told), atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 5, 15])
def test_factors_give_each_class_its_size(n_classes):
    rng = np.random.default_rng(n_classes)
    told = shares(rng.dirichlet(np.full(n_classes, 0.3), 3000) * rng.uniform(0.85, 1.2, n_classes))
    sizes = rng.dirichlet(np.full(n_classes, 30.0))
    w = column_factors(told, sizes)
    assert np.abs(predicted_shares(told * w) - sizes).max() < 0.01
    assert (w <= DEFAULTS.prior_max_factor * 1.001).all()
    assert (w >= 1 / DEFAULTS.prior_max_factor / 1.001).all()


def test_a_class_that_is_given_too_many_nodes_gets_a_smaller_factor():
    sizes = np.array([0.6, 0.2, 0.2])
    told = told_by_sizes(sizes)
    F = shares(np.exp(told)) * np.array([1.0, 1.5, 1.0])
    w = prior_factors(F, sizes, 1.0)
    assert w[1] < w[0]
    assert_array_equal(prior_factors(F, sizes, 0.0), np.ones(3))


def test_rows_that_know_nothing_do_not_count():
    told = told_by_sizes(np.array([0.6, 0.3, 0.1]), n=1000)
    F = shares(np.exp(told))
    blank = np.vstack([F, np.zeros((1000, 3)), np.full((1000, 3), 0.5)])
    sizes = estimate_priors(F, T, ALIKE[3])
    assert_array_equal(estimate_priors(blank, T, ALIKE[3]), sizes)
    assert_array_equal(prior_factors(blank, sizes, 1.0), prior_factors(F, sizes, 1.0))
    assert_array_equal(prior_factors(np.zeros((5, 3)), sizes, 1.0), np.ones(3))
    assert_allclose(estimate_priors(np.zeros((5, 3)), T, ALIKE[3]), ALIKE[3])


def test_rows_are_sharpened_until_they_are_sure():
    told = told_by_sizes(np.array([0.5, 0.3, 0.2]))
    sure = softmax(told, T / 10).max(axis=1).mean()
    assert sure > DEFAULTS.prior_confidence
    assert sharpened_temperature(told, T / 10) == T / 10
    flat = shares(np.exp(told / 5))
    assert softmax(flat, T).max(axis=1).mean() < DEFAULTS.prior_confidence
    sharper = softmax(flat, sharpened_temperature(flat, T)).max(axis=1).mean()
    assert_allclose(sharper, DEFAULTS.prior_confidence, atol=0.01)


def test_few_labels_leave_the_sizes_as_they_are():
    assert prior_trust(200, 10) == prior_trust(5000, 10) == prior_trust(100, 10) == 1.0
    assert prior_trust(50, 10) == pytest.approx(0.25)
    assert prior_trust(10, 10) == pytest.approx(0.01)


def test_the_rule_reads_f_times_the_factors():
    told = told_by_sizes(np.array([0.6, 0.3, 0.1]), n=500)
    F = shares(np.exp(told))
    plain, even = ClassBalanced(T), ClassBalanced(T, trust=1.0)
    assert plain.read(F).factors is None
    reading = even.read(F)
    again = plain.read(F * reading.factors)
    assert_array_equal(reading.label, again.label)
    assert_allclose(reading.w, again.w)
    assert (reading.label != plain.read(F).label).any()
    later = even.read(F[::-1] ** 2, reading.priors)
    assert later.priors is reading.priors
    assert_array_equal(later.factors, prior_factors(F[::-1] ** 2, reading.priors, 1.0))


def skewed(seed):
    """Two clouds, one nine times the other, the same number of labels of each; nodes tied within their cloud."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [900, 100])
    X = rng.normal(size=(1000, 8)) + np.where(y == 0, -0.48, 0.48)[:, None]
    edges = []
    for k in (0, 1):
        nodes = np.flatnonzero(y == k)
        edges.append(rng.choice(nodes, (2, len(nodes))).T)
    edges.append(rng.choice(1000, (300, 2)))
    known = np.full(1000, -1)
    for k in (0, 1):
        some = rng.choice(np.flatnonzero(y == k), 15, replace=False)
        known[some] = k
    return X, np.concatenate(edges), y, known


def test_small_classes_stop_growing_over_the_rounds():
    """Nine of ten nodes are of one class, labels are balanced: with the sizes fewer are called by the small one."""

    def share_and_accuracy(seed, defaults=None):
        X, edges, y, known = skewed(seed)
        model = AltOpt(cross_fit=False, random_state=0, defaults=defaults).fit(X, known, graph=edges)
        return np.mean(model.transduction_ == 1), np.mean(model.transduction_ == y)

    with_sizes = np.mean([share_and_accuracy(seed) for seed in range(4)], axis=0)
    without = np.mean([share_and_accuracy(seed, WITHOUT_PRIORS) for seed in range(4)], axis=0)
    assert abs(with_sizes[0] - 0.1) < abs(without[0] - 0.1)
    assert with_sizes[1] > without[1]


def test_wrong_edges_do_not_make_large_classes_swallow_small_ones():
    """Four of five edges lead anywhere: rounds that asked for the sizes anew would hand small classes over."""
    rng = np.random.default_rng(0)
    y = rng.choice(6, 1500, p=[0.3, 0.25, 0.15, 0.12, 0.1, 0.08])
    X = rng.normal(size=(1500, 40)) + 0.45 * rng.normal(size=(6, 40))[y]
    own = [rng.choice(np.flatnonzero(y == k), (2 * int((y == k).sum()), 2)) for k in range(6)]
    edges = np.concatenate([*own, rng.choice(1500, (12_000, 2))])
    known = np.full(1500, -1)
    for k in range(6):
        known[rng.choice(np.flatnonzero(y == k), 20, replace=False)] = k

    def accuracy(defaults=None):
        model = AltOpt(cross_fit=False, random_state=0, defaults=defaults)
        return np.mean(model.fit(X, known, graph=edges).transduction_ == y)

    with_sizes = accuracy()
    assert with_sizes > accuracy(WITHOUT_PRIORS) - 0.02
    assert with_sizes > 0.9


def test_what_is_told_to_the_user_is_f_itself():
    X, edges, _, known = skewed(0)
    model = AltOpt(cross_fit=False, random_state=0).fit(X, known, graph=edges)
    unlabelled = known < 0
    assert_array_equal(model.transduction_[unlabelled], model.scores_[unlabelled].argmax(axis=1))
    assert_array_equal(model.label_distributions_.argmax(axis=1), model.scores_.argmax(axis=1))


def test_priors_from_a_confusion_matrix_come_nearer_with_every_step():
    priors, confusion = np.array([0.7, 0.2, 0.1]), np.array([[80, 10, 10], [20, 70, 10], [0, 30, 70]])
    classes = np.repeat(np.arange(3), 100)
    predicted = np.concatenate([np.repeat(np.arange(3), row) for row in confusion])
    counts = 1000 * priors @ (confusion / 100)
    distances = []
    for n_steps in (0, 1, 3, 10, 1000):
        estimate = priors_from_confusion(classes, predicted, counts, pseudo_count=0.0, n_steps=n_steps)
        assert estimate.sum() == pytest.approx(1.0)
        distances.append(np.abs(estimate - priors).sum())
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 1e-6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": 0.0}, "temperature must be a number above 0"),
        ({"min_confidence": 7.0}, "min_confidence must be a number from 0 to 1"),
        ({"times_labelled": -1.0}, "times_labelled must be a number at least 0"),
        ({"limit": 0}, "limit must be a whole number from 1 on"),
    ],
)
def test_numbers_of_the_rule_are_checked(settings, message):
    with pytest.raises(InputError, match=message):
        ClassBalanced(**settings)


def test_one_name_for_everything_leaves_sizes_even():
    codes = np.repeat(np.arange(3), 10)
    assert_allclose(priors_from_confusion(codes, np.zeros(30, dtype=int), np.array([900, 0, 0])), 1 / 3)
