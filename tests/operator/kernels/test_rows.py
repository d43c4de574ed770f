"""Softmax with certainty in one pass, and the choice of the most_certain nodes: each kernel against its plain twin."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from altopt.arrays import certainty, shares, softmax
from altopt.operator.kernels import dispatch, reference, rows

native = pytest.mark.skipif(dispatch.COMPILED is None, reason="the native kernels were not built")


@native
@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 60),
    width=st.integers(2, 200),
    temperature=st.sampled_from([0.01, 0.1, 1.0, 30.0]),
    of_shares=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_softmax_and_certainty_in_one_pass(seed, n, width, temperature, of_shares, dtype):
    rng = np.random.default_rng(seed)
    F = (rng.normal(size=(n, width)) * rng.choice([0.01, 1, 100], size=(n, 1))).astype(dtype)
    F[: n // 10] = -1.0  # rows without any share
    truth = softmax((shares(F) if of_shares else F).astype(float), temperature)
    S, w, label = rows.softmax_rows(F, temperature, of_shares=of_shares)
    close = 1e-12 if dtype == np.float64 else 3e-5
    assert S.dtype == dtype
    assert_allclose(S, truth, atol=close, rtol=100 * close)
    assert_allclose(S.sum(axis=1), 1.0, atol=1e-5 if dtype == np.float32 else 1e-12)
    assert_allclose(w, certainty(truth), atol=10 * close)
    # the label is a largest entry, the first where they are level
    assert_allclose(truth[np.arange(n), label], truth.max(axis=1, initial=0), atol=close)
    _, w_alone, label_alone = rows.softmax_rows(F, temperature, of_shares=of_shares, keep=False)
    assert_array_equal(w, w_alone)
    assert_array_equal(label, label_alone)


@native
def test_scores_too_large_for_exp_stay_finite():
    S, w, _ = rows.softmax_rows(np.array([[1e30, 0.0, -1e30]], dtype=np.float32), 0.1, of_shares=False)
    assert_allclose(S, [[1.0, 0.0, 0.0]], atol=1e-30)
    assert_allclose(w, 1.0)


@native
@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 200),
    n_classes=st.integers(1, 8),
    most=st.integers(0, 30),
    level=st.booleans(),
)
def test_the_most_certain_of_each_class_with_ties(seed, n, n_classes, most, level):
    rng = np.random.default_rng(seed)
    w = rng.integers(0, 4, n) / 4 if level else rng.random(n)
    label = rng.integers(0, n_classes, n).astype(np.int32)
    candidates = rng.random(n) < 0.7
    nodes = rows.most_certain_per_class(w, label, candidates, n_classes, most)
    assert_array_equal(nodes, reference.most_certain_per_class(w, label, candidates, most))


@native
def test_a_label_that_is_no_class_is_refused():
    with pytest.raises(ValueError, match="not a class"):
        rows.most_certain_per_class(np.ones(2), np.array([0, 5]), np.ones(2, dtype=bool), 2, 1)


@native
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 60),
    width=st.integers(1, 120),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_cross_entropy_and_its_gradient_in_one_pass(seed, n, width, dtype):
    rng = np.random.default_rng(seed)
    x, targets = (5 * rng.normal(size=(n, width))).astype(dtype), rng.random((n, width)).astype(dtype)
    value, gradient = reference.cross_entropy(x.astype(float), targets.astype(float))
    loss, gradient = rows.cross_entropy(x, targets)
    close = 1e-11 if dtype == np.float64 else 1e-4
    assert_allclose(loss, value, rtol=close, atol=close)
    assert_allclose(gradient, gradient, rtol=close, atol=close * width)


@native
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 60) | st.integers(500, 4000),
    d=st.integers(1, 70),
    width=st.integers(1, 20),
)
def test_softmax_regression_reads_each_row_once(seed, n, d, width):
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(n, d)).astype(np.float32), rng.normal(size=(width, d)).astype(np.float32)
    b, targets = rng.normal(size=width).astype(np.float32), rng.random((n, width)).astype(np.float32)
    truth = reference.softmax_regression(*(x.astype(float) for x in (X, W, b, targets)))
    for threads in (1, 2):
        gradient_W, gradient_b = np.full((width, d), np.nan), np.full(width, np.nan)
        loss = dispatch.COMPILED.softmax_regression(X, W, b, targets, gradient_W, gradient_b, threads)
        for ours, right in zip((loss, gradient_W, gradient_b), truth):
            assert_allclose(ours, right, rtol=1e-4, atol=1e-5 * max(n, 1))


@native
def test_softmax_regression_is_the_same_whoever_adds_up():
    rng = np.random.default_rng(0)
    X, W, b, targets = (rng.random(s).astype(np.float32) for s in ((5000, 40), (3, 40), 3, (5000, 3)))
    gradients = []
    for threads in (1, 2):
        gradient_W, gradient_b = np.empty(W.shape), np.empty(b.shape)
        value = dispatch.COMPILED.softmax_regression(X, W, b, targets, gradient_W, gradient_b, threads)
        gradients.append(np.concatenate([[value], gradient_b, gradient_W.ravel()]))
    assert_array_equal(*gradients)


@pytest.mark.parametrize("kind", ["wide", "narrow", "float64", "sparse"])
def test_softmax_regression_by_either_way_is_the_plain_one(kind):
    rng = np.random.default_rng(0)
    d = 10 if kind == "narrow" else 100
    X = (rng.random((300, d)) * (rng.random((300, d)) < 0.2)).astype(
        float if kind == "float64" else np.float32
    )
    W, b, targets = rng.normal(size=(4, d)), rng.normal(size=4), rng.random((300, 4)).astype(np.float32)
    assert rows.fits_in_one_pass(sp.csr_array(X) if kind == "sparse" else X, 4) == (kind == "wide")
    truth = reference.softmax_regression(X.astype(float), W, b, targets.astype(float))
    given = sp.csr_array(X) if kind == "sparse" else X
    transposes = (None, sp.csr_array(X.T)) if kind == "sparse" else (None,)
    for X_transposed in transposes:
        results = rows.softmax_regression(given, W, b, targets, X_transposed)
        for ours, right in zip(results, truth):
            assert_allclose(ours, right, rtol=1e-4, atol=1e-4)


def test_the_gradient_of_the_cross_entropy_is_its_derivative():
    rng = np.random.default_rng(0)
    x, targets, step = rng.normal(size=(4, 3)), rng.random((4, 3)), rng.normal(size=(4, 3))
    ahead, behind = (reference.cross_entropy(x + h * step, targets)[0] for h in (1e-6, -1e-6))
    assert_allclose((ahead - behind) / 2e-6, np.sum(reference.cross_entropy(x, targets)[1] * step), rtol=1e-7)
