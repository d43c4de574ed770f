"""Probabilities out of F: a power of shares that held-out labels choose, and how far it is from right."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from altopt import InputError
from altopt.arrays import certainty
from altopt.selection.calibration import (
    NodeKind,
    TemperedShares,
    calibration_error,
    column_factors,
    match_confidence,
)


def test_matched_confidence_is_the_accuracy_given_enough_labels():
    F = np.random.default_rng(0).dirichlet(np.ones(4), 500)
    T = match_confidence(F, 0.7, 1e6)
    assert TemperedShares(T).soften(F).max(axis=1).mean() == pytest.approx(0.7, abs=0.01)
    few = TemperedShares(match_confidence(F, 1.0, 4)).soften(F)  # four hits of four
    assert few.max(axis=1).mean() == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("T", [0.1, 1.0, 1.5, 10.0])
def test_a_tempered_reading_is_a_power_of_shares_and_keeps_their_order(T):
    rng = np.random.default_rng(1)
    F = rng.dirichlet(np.full(5, 0.3), 300) * rng.uniform(0.1, 3, (300, 1))
    F[0], F[1] = 0.0, [-1.0, 0.5, 0.5, 0.0, 0.0]
    S = TemperedShares(T).soften(F)
    assert_allclose(S.sum(axis=1), 1.0)
    assert_allclose(S[0], 0.2)
    assert_allclose(S[1], [0, 0.5, 0.5, 0, 0], atol=1e-12)
    power = F[2:] ** (1 / T)
    assert_allclose(S[2:], power / power.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-300)
    reading = TemperedShares(T).read(F)
    assert_allclose(reading.w, certainty(S))
    assert np.array_equal(reading.label[2:], F[2:].argmax(axis=1))


def test_reading_in_blocks_is_reading_at_once():
    F = np.random.default_rng(2).dirichlet(np.ones(3), 100)
    whole = TemperedShares(1.5).read(F)
    blocks = TemperedShares(1.5, block_size=21).read(F)
    assert np.array_equal(whole.w, blocks.w)
    assert np.array_equal(whole.label, blocks.label)


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan")])
def test_a_temperature_is_above_zero(temperature):
    with pytest.raises(InputError, match="temperature must be a number above 0"):
        TemperedShares(temperature)


def test_calibration_error_tells_sure_from_right():
    S = np.tile([0.8, 0.2], (10, 1))
    assert calibration_error(S, np.array([0] * 8 + [1] * 2)) == pytest.approx(0.0)
    assert calibration_error(S, np.zeros(10, dtype=int)) == pytest.approx(0.2)


def test_factors_bring_the_mean_to_given_shares_and_labels_follow():
    F = np.random.default_rng(3).dirichlet([3.0, 2.0, 1.0], 600)
    shares = np.array([0.1, 0.2, 0.7])
    readout = TemperedShares(0.8, tuple(column_factors(F, shares, 0.8)))
    assert_allclose(readout.soften(F).mean(axis=0), shares, atol=1e-3)
    assert np.bincount(readout.read(F).label, minlength=3).argmax() == 2


def test_nodes_without_edges_or_evidence_are_read_apart():
    F = np.array([[0.8, 0.2]] * 3)
    readout = TemperedShares(1.0, isolated=2.0, unreached=(0.3, 0.7))
    kinds = np.array([NodeKind.TIED, NodeKind.ISOLATED, NodeKind.UNREACHED])
    assert_allclose(readout.soften(F, kinds), [[0.8, 0.2], [2 / 3, 1 / 3], [0.3, 0.7]])
    assert readout.read(F, kinds).label.tolist() == [0, 0, 1]
    assert_allclose(readout.soften(F), F)


@pytest.mark.parametrize("wrong", [{"factors": (1.0, 0.0)}, {"isolated": 0.0}, {"unreached": (-1.0, 2.0)}])
def test_parts_of_a_readout_are_checked(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        TemperedShares(1.0, **wrong)
