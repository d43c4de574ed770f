"""ReLU and dropout in one pass: bits against the plain loop, chance against statistics, gradient against torch's."""

import hashlib
import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from altopt.operator.kernels import dispatch, reference
from altopt.operator.kernels.dropout import Masks, dropout, fits, relu_dropout_

native = pytest.mark.skipif(dispatch.COMPILED is None, reason="the native kernels were not built")

RATES = st.sampled_from([0.0, 0.1, 0.5, 0.9, 1 - 1e-7, 1 - 1e-12, 1.0]) | st.floats(0, 1)
WORDS = st.integers(0, 2**64 - 1)


def forward(x, rate, seed=0, counter=0, relu=True, n_threads=1, in_place=False):
    out = x.copy() if in_place else np.full_like(x, 7.0)
    dispatch.COMPILED.dropout(out if in_place else x, out, rate, seed, counter, relu, n_threads)
    return out


def same_bits(result, truth):
    """NaN may carry any bits, but must be where it should."""
    assert result.dtype == truth.dtype == np.float32
    assert_array_equal(np.isnan(result), np.isnan(truth))
    number = ~np.isnan(truth)
    assert_array_equal(result[number].view(np.uint32), truth[number].view(np.uint32))


@native
@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 2000) | st.sampled_from([16383, 16384, 16385, 40000]),
    RATES,
    WORDS,
    WORDS,
    st.booleans(),
    st.sampled_from([1, 2]),
    st.booleans(),
)
def test_native_dropout_is_the_plain_loop(n, rate, seed, counter, relu, n_threads, in_place):
    rng = np.random.default_rng(n)
    x = rng.normal(size=n).astype(np.float32)
    rng.shuffle(odd := np.resize([np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38, -3e38, 1e-45], n // 10))
    x[: len(odd)] = odd
    same_bits(
        forward(x, rate, seed, counter, relu, n_threads, in_place),
        reference.dropout(x, rate, seed, counter, relu),
    )


@native
@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2000) | st.just(40000), RATES, st.sampled_from([1, 2]), st.booleans())
def test_native_gradient_is_the_plain_loop(n, rate, n_threads, in_place):
    rng = np.random.default_rng(n)
    x, gradient = rng.normal(size=(2, n)).astype(np.float32)
    x[: n // 20] = np.nan
    out = forward(x, rate)
    into = gradient.copy() if in_place else np.full_like(x, 7.0)
    dispatch.COMPILED.dropout_backward(out, into if in_place else gradient, into, rate, n_threads)
    same_bits(into, reference.dropout_backward(out, gradient, rate))


@native
@pytest.mark.parametrize("level", ["plain", "avx2", "avx512"])
def test_every_instruction_set_gives_the_same_bits(level):
    """A level that this machine lacks falls back to the next lower one."""
    program = (
        "import hashlib, numpy as np; from altopt.operator.kernels import dispatch;"
        "x = np.linspace(-1, 2, 50_001, dtype=np.float32);"
        "dispatch.COMPILED.dropout(x, x, 0.3, 5, 6, True, 1);"
        "dispatch.COMPILED.dropout_backward(x, x, x, 0.3, 1);"
        "print(dispatch.COMPILED.level(), hashlib.sha256(x.tobytes()).hexdigest())"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"ALTOPT_LEVEL": level},
        capture_output=True,
        text=True,
        check=True,
    )
    served, digest = answer.stdout.split()
    out = reference.dropout(np.linspace(-1, 2, 50_001, dtype=np.float32), 0.3, 5, 6, True)
    assert hashlib.sha256(reference.dropout_backward(out, out, 0.3).tobytes()).hexdigest() == digest
    levels = ["plain", "avx2", "avx512"]
    assert levels.index(served) <= levels.index(level)


@native
def test_sizes_rates_and_overlaps_that_make_no_sense_are_refused():
    x = np.ones(10, dtype=np.float32)
    with pytest.raises(ValueError, match="equally long"):
        dispatch.COMPILED.dropout(x, np.ones(9, dtype=np.float32), 0.5, 0, 0, True, 1)
    with pytest.raises(ValueError, match="equally long"):
        dispatch.COMPILED.dropout_backward(x, x[:9], x, 0.5, 1)
    for rate in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="between 0 and 1"):
            dispatch.COMPILED.dropout(x, x, rate, 0, 0, True, 1)
    with pytest.raises(ValueError, match="not overlap"):
        dispatch.COMPILED.dropout(x[:9], x[1:], 0.5, 0, 0, True, 1)


# chance

N = 1_000_000


def mask(rate, seed=0, counter=0, n=N):
    """1 where kept."""
    return forward(np.ones(n, dtype=np.float32), rate, seed, counter) > 0


def correlation_in_sigmas(first, second):
    """Of two masks of independent coins this is a draw from the standard normal distribution."""
    a, b = (half - half.mean() for half in (first.astype(float), second.astype(float)))
    return float((a @ b) / np.sqrt((a @ a) * (b @ b)) * np.sqrt(len(a)))


@native
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_as_many_are_kept_as_the_rate_says(rate):
    sigma = np.sqrt(N * rate * (1 - rate))
    for seed, counter in [(0, 0), (0, 1), (1, 0), (2**63, 10**6)]:
        assert abs(mask(rate, seed, counter).sum() - N * (1 - rate)) < 5 * sigma
    assert forward(np.ones(N, dtype=np.float32), rate).mean() == pytest.approx(1, abs=0.02)


@native
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("lag", [1, 2, 3, 64, 256, 4096, 16384])
def test_what_happens_to_an_element_says_nothing_about_its_neighbours(rate, lag):
    kept = mask(rate, seed=3)
    assert abs(correlation_in_sigmas(kept[:-lag], kept[lag:])) < 5


@native
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("step", [1, 2, 256, 2**32])
def test_masks_of_other_steps_and_seeds_are_unrelated(rate, step):
    first = mask(rate, seed=11, counter=5)
    for other in (mask(rate, 11, 5 + step), mask(rate, 11 + step, 5), mask(rate, 11 + step, 5 + step)):
        assert abs(correlation_in_sigmas(first, other)) < 5
        assert abs(correlation_in_sigmas(first[:-1], other[1:])) < 5


@native
def test_many_seeds_and_steps_spread_as_coins_do():
    """The kept counts of 1,000 masks have the variance of coins: no seed is odd, and seeds do not share numbers."""
    counts = np.array([mask(0.5, seed, counter, 4096).sum() for seed in range(40) for counter in range(25)])
    z = (counts - 2048) / np.sqrt(1024)
    assert abs(z.mean()) < 5 / np.sqrt(1000)
    assert abs(z.var() - 1) < 5 * np.sqrt(2 / 1000)
    assert abs(z).max() < 5


@native
@pytest.mark.parametrize("width", [16, 100, 256])
def test_rows_and_columns_of_a_matrix_are_coins_too(width):
    kept = mask(0.5, seed=2).astype(float)[: N // width * width].reshape(-1, width) - 0.5
    n_rows = len(kept)
    for sums, n in ((kept.sum(axis=0), n_rows), (kept.sum(axis=1), width)):
        z = sums / np.sqrt(n / 4)
        assert abs(z).max() < 6
        assert abs(z.var() - 1) < 5 * np.sqrt(2 / len(z))
    between = kept.T @ kept * 4 / np.sqrt(n_rows)  # of any two columns, in sigmas
    assert abs(between[~np.eye(width, dtype=bool)]).max() < 6


# through torch


@native
def test_the_gradient_is_torchs_for_the_same_mask():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(40, 30, generator=generator, requires_grad=True)
    W = torch.randn(30, 5, generator=generator)
    loss = (relu_dropout_(x * 2, 0.3, Masks(4)) @ W).square().sum()
    (gradient,) = torch.autograd.grad(loss, x)
    factor = torch.from_numpy(
        reference.dropout(np.ones((40, 30), dtype=np.float32), 0.3, seed=4, counter=0, relu=True)
    )
    truth_loss = ((torch.relu(x * 2) * factor) @ W).square().sum()
    (truth,) = torch.autograd.grad(truth_loss, x)
    assert_allclose(loss.item(), truth_loss.item(), rtol=1e-5)
    assert_allclose(gradient, truth, rtol=1e-5, atol=1e-4)


@native
def test_a_gradient_that_others_read_too_is_left_alone():
    x = torch.randn(50, 4, requires_grad=True)
    other = torch.randn(50, 4, requires_grad=True)
    (relu_dropout_(x + 0.0, 0.5, Masks(1)) + other).backward(torch.ones(50, 4))
    assert_array_equal(other.grad, np.ones((50, 4)))
    assert set(np.unique(x.grad)) <= {0.0, 2.0}


@native
def test_each_mask_is_drawn_once_and_the_input_is_left_alone():
    x = torch.ones(1000)
    masks = Masks(9)
    first, second = dropout(x, 0.5, masks), dropout(x, 0.5, masks)
    assert masks.n_drawn == 2
    assert (x == 1).all()
    assert not torch.equal(first, second)
    assert_array_equal(first, reference.dropout(x.numpy(), 0.5, 9, 0, relu=False))


@native
def test_nan_passes_through():
    x = torch.full((1000,), float("nan"))
    assert dropout(x, 0.5, Masks(0)).isnan().all()
    assert relu_dropout_(x.clone(), 0.5, Masks(0)).isnan().all()


def test_what_the_native_pass_cannot_take_goes_to_torch(monkeypatch):
    x = torch.randn(60, 50)
    odd = [x.double(), x.t(), x.half(), torch.empty(3, 4, device="meta")]
    assert not any(fits(tensor) for tensor in odd)
    monkeypatch.setenv("ALTOPT_KERNELS", "scipy")
    for tensor in [x, *odd[:2]]:
        assert not fits(tensor)
        out = relu_dropout_(tensor, 0.25, Masks(0))
        kept = out > 0
        assert out.dtype == tensor.dtype
        assert_allclose(out[kept], tensor[kept] / 0.75, rtol=1e-6)
        assert 0.2 < kept.double().mean() < 0.55
        assert (dropout(tensor, 0.25, Masks(0)) == 0).double().mean() == pytest.approx(0.25, abs=0.05)


def drop_in_child(answer):
    answer.put(float(dropout(torch.ones(200_000), 0.5, Masks(1)).numpy().sum()))


@native
def test_a_forked_child_can_drop_after_its_parent_did():
    dispatch.COMPILED.dropout(x := np.ones(200_000, dtype=np.float32), x, 0.5, 1, 0, False, 2)
    fork = multiprocessing.get_context("fork")
    answer = fork.Queue()
    child = fork.Process(target=drop_in_child, args=(answer,))
    child.start()
    assert answer.get(timeout=60) == float(x.sum())
    child.join(60)
    assert child.exitcode == 0


@native
def test_python_threads_can_drop_at_once():
    x = np.random.default_rng(0).normal(size=500_000).astype(np.float32)
    results = {}
    workers = [
        threading.Thread(target=lambda k=k: results.update({k: forward(x, 0.4, n_threads=2)}))
        for k in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    truth = reference.dropout(x, 0.4, 0, 0, True)
    for k in range(4):
        assert_array_equal(results[k], truth)
