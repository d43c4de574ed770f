"""How labels were drawn is told by their counts and predictions; given class shares are checked."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from altopt import InputError
from altopt.selection.draw import Draw, attainable, differ, drawn_by_class, how_drawn, read_class_prior

CLASSES = np.array(["a", "b"])


def draw_of(counts, given, predicted, rest, prior=None):
    rest = np.asarray(rest, dtype=float)
    return how_drawn(
        prior, np.array(counts), np.array(given), np.array(predicted), rest, rest, int(rest.sum()), CLASSES
    )


@pytest.mark.parametrize(
    ("shares", "n"), [((0.5, 0.25, 0.15, 0.07, 0.03), 200), ((0.8, 0.2), 50), ((0.3, 0.3, 0.2, 0.2), 1000)]
)
def test_random_draws_are_rarely_taken_for_draws_by_class(shares, n):
    rng = np.random.default_rng(0)
    taken = [drawn_by_class(rng.multinomial(n, shares)) for _ in range(300)]
    assert np.mean(taken) < 0.06


@pytest.mark.parametrize("counts", [[5, 5], [20, 20, 20, 20, 9], [60, 60, 60, 12, 7], [1, 1, 1], [20, 19]])
def test_draws_by_class_are_known_by_their_counts(counts):
    assert drawn_by_class(np.array(counts))


def test_the_test_of_two_samples_keeps_its_level_and_finds_uneven_draws():
    rng, shares = np.random.default_rng(1), np.array([0.6, 0.3, 0.1])
    alarms = [differ(rng.multinomial(200, shares), rng.multinomial(2000, shares)) for _ in range(500)]
    assert np.mean(alarms) < 0.03
    uneven = [differ(rng.multinomial(200, np.ones(3) / 3), rng.multinomial(2000, shares)) for _ in range(50)]
    assert np.mean(uneven) > 0.95


def test_the_kinds_of_draw_and_their_class_shares():
    given, predicted = [0] * 30 + [1] * 10, [0] * 30 + [1] * 10
    random = draw_of([30, 10], given, predicted, [750, 250])
    assert random.kind == "at random"
    assert_allclose(random.shares, [0.75, 0.25])
    uneven = draw_of([30, 10], given, predicted, [250, 750])
    assert uneven.kind == "unevenly"
    assert "not drawn at random" in uneven.sentence
    assert_allclose(uneven.shares, [0.25, 0.75], atol=0.03)
    by_class = draw_of([20, 20], [0] * 20 + [1] * 20, [0] * 20 + [1] * 20, [900, 100])
    assert by_class.kind == "by class"
    assert "20 of each" in by_class.sentence
    assert_allclose(by_class.shares, [0.9, 0.1], atol=0.03)
    assert draw_of([20, 20], [0, 1], [0, 1], [9, 1], prior="labels").kind == "at random"
    known = draw_of([20, 20], [0, 1], [0, 1], [9, 1], prior=np.array([0.7, 0.3]))
    assert known.kind == "known shares"
    assert "a 70 %" in known.sentence


def test_a_label_that_cannot_be_held_out_is_a_miss_of_a_random_draw():
    counts, codes = np.array([4, 4, 1]), np.array([0] * 4 + [1] * 4)
    weights = Draw("at random", counts / 9, "").node_weights(codes, counts)
    assert weights.sum() == pytest.approx(8 / 9)
    weights = Draw("by class", np.array([0.6, 0.2, 0.2]), "").node_weights(codes, counts)
    assert_allclose([weights[:4].sum(), weights[4:].sum()], [0.75, 0.25])


@pytest.mark.parametrize(
    ("prior", "told"),
    [
        ("even", "'labels' or a dict"),
        ({"a": 0.5}, "lacks the class 'b'"),
        ({"a": 0.5, "b": 0.3, "c": 0.2}, "names 'c'"),
        ({"a": 1.0, "b": 0.0}, "0.0 for 'b'"),
        ({"a": 1.0, "b": float("nan")}, "nan for 'b'"),
        ({"a": 1.0, "b": "0.5"}, "'0.5' for 'b'"),
    ],
)
def test_class_priors_that_are_none_are_refused(prior, told):
    with pytest.raises(InputError, match=told):
        read_class_prior(prior, CLASSES)


def test_shares_are_put_in_the_order_of_the_classes_and_at_sum_one():
    with pytest.warns(UserWarning, match="sums to 4"):
        assert_allclose(read_class_prior({"b": 3, "a": 1}, CLASSES), [0.25, 0.75])


def test_given_weights_multiply_those_of_the_draw():
    counts, codes, given = np.array([2, 2]), np.array([0, 0, 1, 1]), np.array([3.0, 1.0, 1.0, 1.0])
    random = Draw("at random", counts / 4, "").node_weights(codes, counts, given)
    assert_allclose(random, given / 6)
    by_class = Draw("by class", np.array([0.8, 0.2]), "").node_weights(codes, counts, given)
    assert_allclose(by_class, [0.6, 0.2, 0.1, 0.1])


def test_nodes_of_a_class_without_a_label_are_known_to_be_wrong():
    counts, codes = np.array([2, 2, 0]), np.array([0, 0, 1, 1])
    known = Draw("known shares", np.array([0.3, 0.2, 0.5]), "").node_weights(codes, counts)
    assert_allclose(known, [0.15, 0.15, 0.1, 0.1])
    assert_allclose(attainable(np.array([0.3, 0.2, 0.5]), counts), [0.6, 0.4, 0.0])
