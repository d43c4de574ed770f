"""X as something to multiply by: products that agree with numpy, dense and sparse alike."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from altopt.graph import Graph
from altopt.inputs import HopInputs, InputSource, ReducedInputs, encoder_rows
from altopt.operator import NormalizedAdjacency
from altopt.operator.columns import signed_sqrt
from altopt.operator.feature_matrix import FeatureMatrix, empty_rows
from altopt.operator.kinds import columns_of


def counts(seed=0, n=50, d=30):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, d)) < 0.2, rng.integers(1, 9, (n, d)), 0).astype(np.float32)


def indicators():
    return (counts() > 0).astype(np.float32)


def measurements():
    return np.random.default_rng(1).normal(3.0, 2.0, (50, 30))


def mixed():
    return np.hstack([counts()[:, :20], measurements()[:, :6], 1e9 * measurements()[:, 6:10]])


@pytest.mark.parametrize("make", [counts, indicators, measurements, mixed])
def test_products_are_those_of_the_transformed_features(make):
    X = make()
    columns = columns_of(X)
    expected = columns.transform(X)
    W, Q = np.random.default_rng(2).normal(size=(30, 5)), np.random.default_rng(3).normal(size=(50, 5))
    for form in (X, sp.csr_array(X)):
        made = FeatureMatrix(form, columns)
        assert_allclose(made.times(W), expected @ W, rtol=1e-4, atol=1e-4)
        assert_allclose(made.transpose_times(Q), expected.T @ Q, rtol=1e-4, atol=1e-4)
        assert_allclose(made.toarray(), expected, rtol=1e-4, atol=1e-4)


def test_without_columns_it_is_X_itself():
    for X in (counts(), measurements()):
        assert_allclose(FeatureMatrix(X).times(np.eye(30)), X, rtol=1e-6)
        assert_allclose(FeatureMatrix(sp.csr_array(X)).toarray(), X, rtol=1e-6)


def test_the_users_matrix_stays_as_it_is():
    for X in (sp.csr_array(counts()), sp.csr_array(mixed())):
        before = X.copy()
        FeatureMatrix(X, columns_of(X)).times(np.ones((30, 2)))
        assert_array_equal(X.toarray(), before.toarray())


def test_roots_keep_the_sign():
    assert_array_equal(signed_sqrt(np.array([-4.0, 0.0, 9.0])), [-2.0, 0.0, 3.0])


@pytest.mark.parametrize("kind", [ReducedInputs, HopInputs])
@pytest.mark.parametrize("n_components", [8, 99])
def test_inputs_of_counts_are_those_of_their_roots(kind, n_components):
    A = sp.random_array((50, 50), density=0.1, rng=np.random.default_rng(4))
    graph = Graph(A + A.T)
    A_tilde = NormalizedAdjacency(graph.adjacency)

    def products(X, **settings):  # of rows, whatever the signs of the directions
        inputs = kind(n_components=n_components, **settings)
        rows = encoder_rows(inputs.prepare(InputSource(graph, A_tilde, X, 0.1, 10, 0)))
        return rows @ rows.T

    X = sp.csr_array(counts())
    assert_allclose(products(X), products(X.sqrt(), by_kind=False), atol=1e-3)
    assert np.abs(products(X) - products(X, by_kind=False)).max() > 0.1
    assert_allclose(products(X.toarray()), products(X), atol=1e-3)


def test_rows_of_stored_zeros_are_empty_as_in_a_dense_matrix():
    stored = sp.csr_array(
        (np.array([0.0, 2.0, np.nan]), np.array([0, 1, 1]), np.array([0, 1, 2, 3])), shape=(3, 2)
    )
    assert empty_rows(stored).tolist() == empty_rows(stored.toarray()).tolist() == [True, False, True]


@pytest.mark.parametrize("sparse", [True, False])
def test_a_row_gives_the_same_number_wherever_it_stands(sparse):
    rng = np.random.default_rng(0)
    X, w, order = rng.normal(size=(1001, 37)).astype(np.float32), rng.normal(size=37), rng.permutation(1001)
    X = sp.csr_array(np.where(X > 0.5, X, 0)) if sparse else X
    along = FeatureMatrix(X).along(w)
    assert_array_equal(FeatureMatrix(X[order]).along(w), along[order])
    assert_allclose(along, X @ w, rtol=1e-5, atol=1e-5)
