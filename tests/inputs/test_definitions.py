"""Each kind of encoder inputs equals its dense definition."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from altopt import Graph
from altopt.inputs import (
    AdjacencyInputs,
    BlockInputs,
    DegreeInputs,
    HopInputs,
    RawInputs,
    ReducedInputs,
    encoder_rows,
    unit_rows,
)
from altopt.operator import NormalizedAdjacency
from parts import INPUTS
from toy_inputs import N, as_if_wide, dense, directed, features, prepared


@pytest.mark.parametrize("name", ["reduced", "out-means", "in-means"])
def test_few_columns_or_many_the_directions_are_the_same(name, monkeypatch):
    whole = dense(encoder_rows(prepared(INPUTS[name])))
    as_if_wide(monkeypatch)
    found = dense(encoder_rows(prepared(INPUTS[name])))
    products = whole @ whole.T
    assert_allclose(found @ found.T, products, atol=2e-3 * np.abs(products).max())


def test_directions_that_are_not_there_are_zero():
    X = np.outer(np.arange(1.0, N + 1), np.ones(30))  # one direction in all
    Z = prepared(ReducedInputs(n_components=5, by_kind=False), X=X).Z
    assert (np.abs(Z[:, 0]) > 0).sum() > N / 2
    assert_allclose(Z[:, 1:], 0.0, atol=1e-4 * np.abs(Z).max())


def test_hops_are_powers_of_A_tilde_and_means():
    A, X = directed().toarray(), np.sqrt(features().toarray())
    A_tilde = NormalizedAdjacency(Graph(A_sparse := directed(), directed=True).adjacency).as_dense()
    wide = HopInputs(hops=(0, 1, 2), n_components=99, row_exponent=0.0)
    for direction, S in {
        "both": A_tilde,
        "out": A / np.maximum(A.sum(axis=1, keepdims=True), 1),
        "in": A.T / np.maximum(A.T.sum(axis=1, keepdims=True), 1),
    }.items():
        made = prepared(
            HopInputs(hops=(0, 1, 2), n_components=99, row_exponent=0.0, direction=direction), A_sparse
        )
        rows = np.split(encoder_rows(made), 3, axis=1)
        for hop, block in zip(wide.hops, rows):
            expected = np.linalg.matrix_power(S, hop) @ X
            expected -= expected.mean(axis=0)
            expected /= np.sqrt(np.mean(np.sum(expected**2, axis=1)))
            assert_allclose(block, expected, atol=1e-4)
            assert np.mean(np.sum(block**2, axis=1)) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("wide", [False, True])
def test_the_directions_of_hops_are_those_of_the_dense_stack(wide, monkeypatch):
    if wide:
        as_if_wide(monkeypatch)
    A, X = directed().toarray(), np.sqrt(features().toarray())
    S = A / np.maximum(A.sum(axis=1, keepdims=True), 1)
    made = prepared(HopInputs(hops=(0, 2), direction="out", n_components=4, n_power=8))
    V = made.coordinates.V
    # of a wide X the size of a hop is estimated from a sketch, so what V keeps of the stack is compared
    stack = np.concatenate([X / np.linalg.norm(X), S @ S @ X / np.linalg.norm(S @ S @ X)])
    best = np.linalg.svd(stack, full_matrices=False)[2][:4].T
    kept, most = np.linalg.norm(stack @ V), np.linalg.norm(stack @ best)
    assert_allclose(V.T @ V, np.eye(4), atol=1e-4)
    assert 0.99 * most < kept <= most * (1 + 1e-6)


@pytest.mark.parametrize(("direction", "turn"), [("both", None), ("out", False), ("in", True)])
def test_adjacency_rows_are_unit_rows(direction, turn):
    A = directed().toarray()
    A = np.maximum(A, A.T) if turn is None else A.T if turn else A
    expected = A / np.maximum(np.linalg.norm(A, axis=1, keepdims=True), 1e-12)
    rows = encoder_rows(prepared(AdjacencyInputs(direction)))
    assert sp.issparse(rows)
    assert_allclose(rows.toarray(), expected, atol=1e-6)
    U, s, _ = np.linalg.svd(expected)
    reduced = encoder_rows(prepared(AdjacencyInputs(direction, n_components=5, n_power=20)))
    assert_allclose(reduced @ reduced.T, (U[:, :5] * s[:5] ** 2) @ U[:, :5].T, atol=0.02)


def test_degrees_are_a_soft_histogram_of_unit_rows():
    made = prepared(DegreeInputs())
    rows = encoder_rows(made)
    out, into = np.asarray(directed().sum(axis=1)).ravel(), np.asarray(directed().sum(axis=0)).ravel()
    width = rows.shape[1] // 2
    for degree, half in ((out, rows[:, :width]), (into, rows[:, width:])):
        shares = half / half.sum(axis=1, keepdims=True)
        assert_allclose(shares @ np.arange(width), np.log2(1 + degree), atol=1e-5)
    assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)


def test_degrees_around_are_means_over_the_nodes_that_edges_lead_to():
    A = directed().toarray()
    rows = encoder_rows(prepared(DegreeInputs(n_hops=2)))
    means = A / np.maximum(A.sum(axis=1, keepdims=True), 1e-9)
    here = np.log2(1 + np.stack([A.sum(axis=1), A.sum(axis=0)], axis=1))
    expected = np.concatenate([here, means @ here, means @ means @ here], axis=1)
    histograms = rows.reshape(len(rows), expected.shape[1], -1)
    shares = histograms / histograms.sum(axis=2, keepdims=True)
    assert_allclose(shares @ np.arange(shares.shape[2]), expected, atol=1e-5)
    assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)


def test_products_of_unit_blocks_are_mean_cosines():
    parts = (RawInputs(), AdjacencyInputs("out"), HopInputs(n_components=5))
    rows = dense(encoder_rows(prepared(BlockInputs(parts))))
    each = [dense(unit_rows(encoder_rows(prepared(part)))) for part in parts]
    assert_allclose(rows @ rows.T, np.mean([R @ R.T for R in each], axis=0), atol=1e-5)


def test_levelled_blocks_count_alike():
    parts = (RawInputs(), AdjacencyInputs("in"), HopInputs(n_components=5))
    made = prepared(BlockInputs(parts, scaling="level"))
    widths = np.cumsum([encoder_rows(prepared(part)).shape[1] for part in parts])[:-1]
    for block in np.split(dense(encoder_rows(made)), widths, axis=1):
        assert np.mean(np.sum(block**2, axis=1)) == pytest.approx(1 / 3, rel=1e-4)


def test_blocks_are_sparse_where_that_is_smaller():
    sparse = BlockInputs((RawInputs(), AdjacencyInputs("out")))
    assert sp.issparse(encoder_rows(prepared(sparse)))
    filled = BlockInputs((AdjacencyInputs("out"), HopInputs(n_components=60, hops=(0, 1, 2))))
    assert not sp.issparse(encoder_rows(prepared(filled)))
