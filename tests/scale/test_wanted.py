"""Samples of unlabelled nodes are those that a fit in memory draws from a mask."""

import numpy as np
from numpy.testing import assert_array_equal

from altopt.scale.wanted import places, round_nodes, unlabelled_sample, watched_nodes
from altopt.training.pseudo_labels import ClassBalanced, Readout


def test_pseudo_labels_are_drawn_as_in_memory():
    rng = np.random.default_rng(0)
    mask = rng.random(500) < 0.3
    rule = ClassBalanced(limit=40)
    reading = Readout(rng.random(500), rng.integers(0, 3, 500), 3)
    order = rng.permutation(500)
    nodes, weights = rule.choose(reading, mask, 7, order)
    drawn = unlabelled_sample(500, np.flatnonzero(mask), 40, 7, order)
    certain, weighed = rule.weigh(reading.w[drawn], reading.label[drawn], 3, int(mask.sum()))
    assert_array_equal(drawn[certain], nodes)
    assert_array_equal(weighed, weights)


def test_few_nodes_are_all_watched_and_many_sampled():
    assert_array_equal(watched_nodes(1000, 10), np.arange(1000))
    assert len(watched_nodes(10**6, 1000)) == 20_000
    nodes = round_nodes(10**6, 1000, np.array([5]), np.array([17]))
    assert_array_equal(nodes[places(nodes, np.array([5, 17]))], [5, 17])
