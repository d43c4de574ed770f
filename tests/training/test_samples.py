"""Samples of nodes are seeded, no larger than asked for, and do not follow from how nodes are numbered."""

import numpy as np
from numpy.testing import assert_array_equal

from altopt.training.samples import evenly, sample_of


def test_a_sample_is_no_larger_than_its_limit_and_is_of_the_nodes_given():
    wanted = np.arange(300) // 100 == 1
    assert_array_equal(sample_of(wanted, 100, seed=0), np.arange(100, 200))
    some = sample_of(wanted, 10, seed=0)
    assert len(set(some.tolist())) == 10
    assert wanted[some].all()


def test_another_numbering_gives_the_same_nodes():
    rng = np.random.default_rng(0)
    key, wanted, new = rng.normal(size=300), rng.random(300) < 0.7, rng.permutation(300)
    order, renumbered = np.argsort(key), np.argsort(key[new])
    again = sample_of(wanted[new], 40, 3, renumbered)
    assert_array_equal(np.sort(new[again]), sample_of(wanted, 40, 3, order))
    assert_array_equal(new[evenly(300, 40, renumbered)], evenly(300, 40, order))
