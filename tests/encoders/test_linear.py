"""The linear encoder: how free it is left, by what it reads."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from altopt import AltOpt
from altopt.encoders import LinearEncoder
from altopt.encoders.linear import C_from_effective_rank, effective_rank
from problems import two_communities


def by_eigenvalues(rows):
    e = np.linalg.eigvalsh(rows.T @ rows / len(rows))
    return e.sum() ** 2 / np.sum(e**2)


def rows_of(n, scales, seed=0):
    return np.random.default_rng(seed).normal(size=(n, len(scales))) * np.sqrt(scales)


@pytest.mark.parametrize("scales", [np.ones(20), 0.7 ** np.arange(30), np.array([1.0, 1e-4, 1e-4])])
def test_effective_rank_are_those_of_the_second_moments(scales):
    expected = scales.sum() ** 2 / np.sum(scales**2)
    found = effective_rank(rows_of(5000, scales))  # a sample tells
    assert_allclose(found, expected, rtol=0.1)
    assert_allclose(found, by_eigenvalues(rows_of(5000, scales)), rtol=0.1)


def test_effective_rank_know_no_unit_and_no_storage():
    rows = rows_of(300, np.ones(12))
    rows[np.abs(rows) < 1.0] = 0.0
    found = effective_rank(rows)
    assert_allclose(effective_rank(7.0 * rows), found)
    assert_allclose(effective_rank(sp.csr_array(rows)), found)


@pytest.mark.parametrize("rows", [np.zeros((5, 3)), np.ones((1, 3)), np.eye(4)])
def test_rows_that_tell_nothing_get_a_usable_C(rows):
    assert 0 < C_from_effective_rank(rows) < np.inf


def test_the_more_directions_the_tighter():
    free, middle, tight = (C_from_effective_rank(rows_of(2000, np.ones(k))) for k in (2, 30, 150))
    assert free > middle > tight > 0


def test_C_left_out_is_C_for_the_rows():
    X = rows_of(40, np.ones(6)).astype(np.float32)
    targets = np.eye(2)[np.arange(40) % 2]
    learners = [
        kind.begin(6, 2, 0)
        for kind in (LinearEncoder(), LinearEncoder(C=C_from_effective_rank(X)), LinearEncoder(C=0.01))
    ]
    for learner in learners:
        learner.train(X, targets, np.ones(40), 50)
    assert_array_equal(learners[0].predict(X), learners[1].predict(X))
    assert np.abs(learners[0].W).sum() > 2 * np.abs(learners[2].W).sum()


def test_C_scale_multiplies_C():
    X = rows_of(40, np.ones(6)).astype(np.float32)
    targets = np.eye(2)[np.arange(40) % 2]
    learners = [LinearEncoder(C=6.0).begin(6, 2, 0), LinearEncoder(C=3.0, C_scale=2.0).begin(6, 2, 0)]
    for learner in learners:
        learner.train(X, targets, np.ones(40), 50)
    assert_array_equal(learners[0].W, learners[1].W)


def test_a_fit_names_the_C_it_took():
    X, y, _, graph = two_communities()
    model = AltOpt(random_state=0).fit(X, y, graph=graph)
    rows = model.inputs_.rows(model.inputs_.Z)
    assert_allclose(model.plan_.encoder.C, C_from_effective_rank(rows))
    given = AltOpt(encoder=LinearEncoder(C=3.0), random_state=0).fit(X, y, graph=graph)
    assert given.plan_.encoder.C == 3.0


def test_C_does_not_follow_the_sample_of_rows():
    """Rounding decides which rows are in it, and so would the numbers of nodes."""
    rows = rows_of(6000, np.linspace(1, 3, 60)).astype(np.float32)
    turned = rows[::-1] * np.where(np.arange(60) % 2, 1, -1).astype(np.float32)
    assert effective_rank(rows) != effective_rank(turned)
    assert C_from_effective_rank(rows) == C_from_effective_rank(turned) < 40
