"""The kernel encoder against the dense solution, refits without each row, and landmarks that are all rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from altopt import InputError
from altopt.arrays import shares
from altopt.encoders import KernelEncoder
from altopt.encoders.kernel import products


def material(n=40, d=7, c=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, rng.dirichlet(np.ones(c), size=n), rng.random(n) + 0.2


def trained(encoder, X, T, w):
    learner = encoder.begin(X.shape[1], T.shape[1], 0)
    learner.train(X, T, w, 1)
    return learner


@pytest.mark.parametrize("gamma", [None, 2.0])
def test_it_is_the_dense_solution(gamma):
    X, T, w = material()
    learner = trained(KernelEncoder(gamma=gamma, ridge=0.3), X, T, w)
    K = X.astype(float) @ X.T if gamma is None else np.exp(gamma * (X.astype(float) @ X.T - 1))
    b = np.average(T, axis=0, weights=w)
    f = b + K @ np.linalg.solve(K + 0.3 * np.diag(1 / w), T - b)
    assert_allclose(learner.scores(X), f, atol=1e-5)
    assert_allclose(f.sum(axis=1), 1.0, atol=1e-9)
    assert_allclose(learner.predict(X), shares(f), atol=1e-5)


@pytest.mark.parametrize("encoder", [KernelEncoder(ridge=0.2), KernelEncoder(gamma=None, ridge=0.5)])
def test_leave_one_out_is_a_refit_without_the_row(encoder):
    X, T, w = material()
    left_out = trained(encoder, X, T, w).leave_one_out()
    for i in range(0, len(X), 7):
        rest = np.arange(len(X)) != i
        again = trained(encoder, X[rest], T[rest], w[rest])
        assert_allclose(left_out[i], again.scores(X[[i]])[0], atol=1e-5)


def test_leave_one_out_through_landmarks_is_exact_for_these_landmarks():
    from altopt.encoders.ridge import PrimalRidge

    X, T, w = material()
    phi = np.random.default_rng(1).normal(size=(len(X), 9))
    left_out = PrimalRidge(phi, T, w, 0.4).leave_one_out()
    for i in range(0, len(X), 7):
        rest = np.arange(len(X)) != i
        again = PrimalRidge(phi[rest], T[rest], w[rest], 0.4)
        assert_allclose(left_out[i], again.b + phi[i] @ again.coefficients, atol=1e-10)


def test_with_every_row_a_landmark_it_is_the_exact_solution():
    X, T, w = material()
    exact = trained(KernelEncoder(ridge=0.2), X, T, w)
    spanned = trained(KernelEncoder(ridge=0.2, max_rows=10, n_landmarks=99), X, T, w)
    assert_allclose(spanned.scores(X), exact.scores(X), atol=1e-4)
    assert_allclose(spanned.leave_one_out(), exact.leave_one_out(), atol=1e-4)
    few = trained(KernelEncoder(ridge=0.2, max_rows=10, n_landmarks=8), X, T, w)
    assert few.support.shape[0] == 8
    assert_allclose(few.predict(X).sum(axis=1), 1.0)


def test_a_row_of_twice_the_weight_is_a_row_given_twice():
    X, T, _ = material()
    w = np.ones(len(X))
    w[:5] = 2.0
    twice = trained(
        KernelEncoder(), np.concatenate([X, X[:5]]), np.concatenate([T, T[:5]]), np.ones(len(X) + 5)
    )
    assert_allclose(trained(KernelEncoder(), X, T, w).scores(X), twice.scores(X), atol=1e-5)


def test_long_rows_count_as_their_direction_and_sparse_rows_are_the_same():
    X, T, w = material()
    learner = trained(KernelEncoder(), X, T, w)
    assert_allclose(trained(KernelEncoder(), 30 * X, T, w).scores(7 * X), learner.scores(X), atol=1e-5)
    assert_allclose(
        trained(KernelEncoder(), sp.csr_array(X), T, w).scores(sp.csr_array(X)), learner.scores(X), atol=1e-5
    )


def test_what_it_cannot_do_is_said():
    with pytest.raises(InputError, match="ridge must be a number at least 1e-09, but is 0.0"):
        KernelEncoder(ridge=0.0)
    X, T, w = material()
    learner = KernelEncoder().begin(7, 3, 0)
    assert_allclose(learner.predict(X), 1 / 3)
    with pytest.raises(InputError, match="needs a trained learner"):
        learner.leave_one_out()
    w[3] = 0.0
    learner.train(X, T, w, 1)
    with pytest.raises(InputError, match="every training row"):
        learner.leave_one_out()


def test_products_of_sparse_rows_with_full_columns_are_the_dense_ones():
    X = sp.random_array((30, 50), density=0.05, rng=np.random.default_rng(0), format="csr")
    Z = sp.csr_array(sp.hstack([X[:20], np.ones((20, 2))]))
    X = sp.csr_array(sp.hstack([X, np.full((30, 2), 0.5)]))
    assert_allclose(products(X, Z), X.toarray() @ Z.toarray().T, atol=1e-12)
