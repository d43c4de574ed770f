"""The accuracy told of unlabelled nodes: its limits hold, and a choice among many is not taken at its word."""

import numpy as np
import pytest

from altopt.selection.draw import Draw
from altopt.selection.estimate import (
    Accuracy,
    choice_optimism,
    clear_winner,
    learning_gain,
    limits,
    nothing_learnt,
    recalls,
    spread,
    too_wide,
)


def test_limits_hold_the_truth_as_often_as_they_say_also_of_a_finite_rest():
    rng, p, n, m = np.random.default_rng(0), 0.8, 100, 60
    held = 0
    for _ in range(600):
        rate, truth = np.mean(rng.random(n) < p), np.mean(rng.random(m) < p)
        low, high = limits(rate, spread(np.full(n, 1 / n), 1.0, m))
        held += low <= truth <= high
    assert 0.92 <= held / 600 <= 0.98


def test_weights_that_differ_make_an_interval_wider():
    even, uneven = np.full(20, 0.05), np.repeat([0.09, 0.01], 10)
    assert spread(uneven, 1.0, 0) > spread(even, 1.0, 0) == pytest.approx(0.05)


def test_the_best_of_many_coins_is_found_to_be_flattered():
    rng, n = np.random.default_rng(0), 80
    hits = rng.random((30, n)) < 0.5
    weights = np.full(n, 1 / n)

    def best(bag):
        return hits[np.argmax(hits @ bag)]

    optimism = choice_optimism(best, hits[0], weights, seed=0)
    assert 0.05 < optimism < 0.25
    assert choice_optimism(lambda bag: hits[0], hits[0], weights, seed=0) == 0.0
    assert optimism == choice_optimism(best, hits[0], weights, seed=0)


def test_a_clear_winner_must_win_by_standard_errors_and_by_a_gain():
    rng = np.random.default_rng(0)
    losses = np.stack([np.full(50, 0.5), 0.5 - rng.random(50) * 0.2, 0.5 + rng.normal(0, 1, 50)])
    bag = np.ones(50)
    assert clear_winner(losses, np.full(3, 2.0), 0.0, bag) == 1
    assert clear_winner(losses, np.full(3, 2.0), 0.3, bag) == 0
    assert clear_winner(losses, np.array([0.0, 100.0, 100.0]), 0.0, bag) == 0


def test_optimism_lowers_the_value_and_the_lower_limit_and_what_a_fold_is_worth_raises_the_upper():
    plain, flattered = Accuracy(0.8, 0.01), Accuracy(0.8, 0.01, 0.1)
    assert round(flattered.value, 12) == 0.7
    assert flattered.interval[0] < plain.interval[0]
    assert flattered.interval[1] == plain.interval[1]
    better = Accuracy(0.8, 0.01, 0.1, 0.05)
    assert round(better.value, 12) == 0.75
    assert better.interval[0] == flattered.interval[0]
    assert better.interval[1] > plain.interval[1]
    assert Accuracy(0.99, 0.01, 0.0, 0.05).value == 1.0


@pytest.mark.parametrize("gain", [-0.3, -0.05, 0.0, 0.05, 0.3])
@pytest.mark.parametrize("optimism", [0.0, 0.1])
def test_the_value_is_within_its_interval(gain, optimism):
    for rate in (0.0, 0.3, 0.9, 1.0):
        estimate = Accuracy(rate, 0.001, optimism, gain)
        assert estimate.interval[0] <= estimate.value <= estimate.interval[1]


def test_what_a_fold_is_worth_is_told_by_fits_without_it():
    """Fits of which each errs at other nodes: the final answers are right, and the gain is what they put right."""
    rng = np.random.default_rng(0)
    n, share = 30_000, 0.1
    truth = rng.integers(2, size=n)
    wrong = rng.random((3, n)) < share
    by_folds = [np.where((truth ^ w)[:, None] == np.arange(2), 1 - share, share) for w in wrong]
    gain = learning_gain(truth, by_folds)
    assert abs(gain - share * (1 - 2 * share) ** 2) < 0.005
    assert learning_gain(by_folds[0].argmax(axis=1), by_folds[:1]) == 0.0
    assert learning_gain(np.ones(n, int), [np.full((n, 2), (0.4, 0.6))] * 3) == 0.0


def test_what_users_hear():
    draw = Draw("at random", np.array([0.7, 0.3]), "")
    assert "Nothing was learnt" in nothing_learnt(Accuracy(0.72, 0.005), draw, 200)
    assert nothing_learnt(Accuracy(0.9, 0.01), draw, 100) == ""
    assert nothing_learnt(Accuracy(0.75, 0.1), draw, 10) == ""  # ten labels cannot tell even that
    assert "Nothing was learnt" in nothing_learnt(Accuracy(0.6, 0.1), draw, 10)
    assert "10 labels cannot tell" in too_wide(Accuracy(0.9, 0.1), 10)
    assert too_wide(Accuracy(0.9, 0.001), 1000) == ""


def test_recall_of_each_class_with_limits():
    codes = np.array([0] * 10 + [1] * 40)
    hits = np.concatenate([np.arange(10) < 5, np.arange(40) < 36])
    first, second, none = recalls(hits, codes, np.array([0.2, 0.8, 0.0]), 1.3, 500)
    assert first[0] == 0.5
    assert second[0] == 0.9
    assert np.isnan(none[0])
    assert first[2] - first[1] > second[2] - second[1]
    assert none[1:] == (0.0, 1.0)


def test_a_rate_that_is_one_up_to_rounding_reaches_one():
    assert limits(1.0 - 1e-15, 0.1)[1] == 1.0
    assert limits(1e-15, 0.1)[0] == 0.0
