"""The MLP's own promises: blocks, fused and plain, nothing copied or overwritten that need not be."""

import warnings

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from altopt import threads
from altopt.encoders import MLPEncoder
from altopt.encoders.torch import learner
from altopt.errors import InputError
from altopt.operator.kernels import dispatch

native = pytest.mark.skipif(dispatch.COMPILED is None, reason="the native kernels were not built")


def soft_rows(seed=0, n=80, n_features=6, c=3):
    """Features, soft targets that depend on them, and weights."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % c
    X = (rng.normal(size=(n, n_features)) + 3.0 * np.eye(c, n_features)[classes]).astype(np.float32)
    targets = np.full((n, c), 0.05)
    targets[np.arange(n), classes] += 1 - 0.05 * c
    return X, targets, rng.random(n) + 0.5


def trained(encoder, X, targets, weights, seed=0, rounds=(60, 60)):
    learner = encoder.begin(X.shape[1], targets.shape[1], seed)
    for n_epochs in rounds:
        learner.train(X, targets, weights, n_epochs)
    return learner


@pytest.mark.parametrize("loss", ["mse", "ce"])
@pytest.mark.parametrize("batch_size", [None, 50])
def test_cutting_a_batch_into_blocks_changes_nothing_but_the_rounding(loss, batch_size, monkeypatch):
    X, targets, weights = soft_rows()
    encoder = MLPEncoder(dropout=0.0, input_dropout=0.0, loss=loss, batch_size=batch_size)
    whole = trained(encoder, X, targets, weights, rounds=(20,)).predict(X)
    monkeypatch.setattr(learner, "MIN_BLOCK_ROWS", 7)
    monkeypatch.setattr(learner, "CACHE_NUMBERS", 0)
    assert_allclose(trained(encoder, X, targets, weights, rounds=(20,)).predict(X), whole, atol=1e-4)


@pytest.mark.parametrize("fused", [None, False])
@pytest.mark.parametrize("batch_size", [None, 50])
def test_the_bits_do_not_depend_on_how_many_blocks_are_worked_on_at_once(batch_size, fused, monkeypatch):
    monkeypatch.setattr(learner, "MIN_BLOCK_ROWS", 7)
    monkeypatch.setattr(learner, "CACHE_NUMBERS", 0)
    X, targets, weights = soft_rows()
    encoder = MLPEncoder(hidden=(16, 8), batch_size=batch_size, fused=fused)
    found = []
    for n_threads in (1, 2, 3):
        monkeypatch.setattr(threads, "kernel_threads", lambda n=n_threads: n)
        found.append(trained(encoder, X, targets, weights, rounds=(20, 10)).predict(X))
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("batch_size", [None, 20])
def test_without_dropout_fused_and_plain_agree(batch_size):
    X, targets, weights = soft_rows()
    options = {"hidden": (16, 8), "dropout": 0.0, "input_dropout": 0.0, "batch_size": batch_size}
    plain = trained(MLPEncoder(fused=False, **options), X, targets, weights, rounds=(20,)).predict(X)
    fused = trained(MLPEncoder(**options), X, targets, weights, rounds=(20,)).predict(X)
    assert_allclose(fused, plain, atol=1e-4)


@pytest.mark.parametrize("batch_size", [None, 20])
def test_with_dropout_fused_and_plain_learn_the_same(batch_size):
    """The same mean over seeds, within five standard errors."""
    X, targets, weights = soft_rows()
    fresh = soft_rows(seed=1)[0]
    found = {
        fused: np.stack(
            [
                trained(
                    MLPEncoder(batch_size=batch_size, fused=fused), X, targets, weights, seed, (40,)
                ).predict(fresh)
                for seed in range(12)
            ]
        )
        for fused in (None, False)
    }
    true = soft_rows(seed=1)[1].argmax(axis=1)
    shares = {fused: P[:, np.arange(len(true)), true].mean(axis=1) for fused, P in found.items()}
    paired = shares[None] - shares[False]
    assert abs(paired.mean()) < 5 * paired.std(ddof=1) / np.sqrt(len(paired))


def test_torch_alone_serves_where_the_native_pass_may_not(monkeypatch):
    monkeypatch.setenv("ALTOPT_KERNELS", "scipy")
    X, targets, weights = soft_rows()
    learner = trained(MLPEncoder(hidden=(16,), batch_size=16), X, targets, weights)
    assert np.mean(learner.predict(X).argmax(axis=1) == targets.argmax(axis=1)) > 0.85
    with pytest.raises(InputError, match="fused=True needs the native kernels"):
        MLPEncoder(fused=True).begin(3, 2, 0)


@native
def test_fused_on_another_device_is_refused():
    MLPEncoder(fused=True).begin(3, 2, 0)
    with pytest.raises(InputError, match="device is 'cuda'"):
        MLPEncoder(fused=True, device="cuda").begin(3, 2, 0)


def test_old_torch_has_no_fused_adam_on_a_cpu(monkeypatch):
    whole = torch.optim.Adam

    def old(*arguments, fused=None, **options):
        if fused:
            raise RuntimeError("fused=True requires all the params to be CUDA")
        return whole(*arguments, **options)

    monkeypatch.setattr(torch.optim, "Adam", old)
    X, targets, weights = soft_rows()
    P = trained(MLPEncoder(), X, targets, weights).predict(X)
    assert np.mean(P.argmax(axis=1) == targets.argmax(axis=1)) > 0.85


@pytest.mark.parametrize("batch_size", [None, 16])
@pytest.mark.parametrize("input_dropout", [0.0, 0.5])
def test_training_writes_to_nothing_it_was_given(batch_size, input_dropout):
    X, targets, weights = soft_rows()
    before = X.copy(), targets.copy(), weights.copy()
    trained(MLPEncoder(batch_size=batch_size, input_dropout=input_dropout), X, targets, weights).predict(X)
    for given, kept in zip((X, targets, weights), before):
        assert_array_equal(given, kept)


def test_rows_are_read_where_they_lie():
    X, _, _ = soft_rows()
    learner = MLPEncoder().begin(X.shape[1], 3, 0)
    assert learner._tensor(X).data_ptr() == X.ctypes.data
    assert learner._tensor(X[10:20]).data_ptr() == X[10:20].ctypes.data


def test_rows_of_any_kind_and_read_only_ones_are_taken_without_a_warning():
    X, targets, weights = soft_rows()
    X.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        P = trained(MLPEncoder(), X, targets, weights).predict(X)
        for other in (X.astype(np.float64), np.asfortranarray(X)):
            assert_allclose(trained(MLPEncoder(), other, targets, weights).predict(other), P, atol=1e-5)
        half = X.astype(np.float16)
        assert_allclose(trained(MLPEncoder(), half, targets, weights).predict(half), P, atol=0.2)


def test_the_global_generator_is_left_as_it_was():
    X, targets, weights = soft_rows()
    for fused in (None, False):
        before = torch.random.get_rng_state()
        trained(MLPEncoder(batch_size=16, fused=fused), X, targets, weights)
        assert torch.equal(before, torch.random.get_rng_state())


def test_the_loss_told_is_the_weighted_mean_over_rows():
    X, targets, weights = soft_rows()
    encoder = MLPEncoder(dropout=0.0, input_dropout=0.0, learning_rate=0.0)
    learner = encoder.begin(X.shape[1], 3, 0)
    told = learner.train(X, targets, weights, 1)
    rows = np.sum((learner.predict(X) - targets) ** 2, axis=1)
    assert told == pytest.approx(np.average(rows, weights=weights), rel=1e-5)
    assert np.isnan(learner.train(X, targets, weights, 0))
