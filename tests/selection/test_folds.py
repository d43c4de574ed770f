"""Folds: each class dealt out evenly, and by what a node is rather than by its number."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from altopt.graph import Graph
from altopt.operator import NormalizedAdjacency
from altopt.selection.fit_data import FitData
from altopt.selection.folds import some_of_each, stratified_folds


def fit_data(A, X, codes):
    graph = Graph(A)
    return FitData(graph, NormalizedAdjacency(graph.adjacency), X, codes, 3, np.dtype(float), 0.2, 10, seed=0)


@pytest.fixture
def problem():
    rng = np.random.default_rng(1)
    A = sp.csr_array(np.triu(rng.random((80, 80)) < 0.08, 1).astype(float))
    return (
        sp.csr_array(A + A.T),
        rng.random((80, 5)),
        np.where(rng.random(80) < 0.7, rng.integers(0, 3, 80), -1),
    )


@pytest.mark.parametrize("as_sparse", [False, True])
def test_folds_move_with_the_nodes_when_these_are_renumbered(problem, as_sparse):
    A, X, codes = problem
    order = np.random.default_rng(2).permutation(80)
    given = sp.csr_array(X) if as_sparse else X
    before = fit_data(A, given, codes)
    after = fit_data(sp.csr_array(A[order][:, order]), given[order], codes[order])
    folds = stratified_folds(codes, 0, 3, before.key)
    assert_array_equal(stratified_folds(codes[order], 0, 3, after.key), folds[order])


@pytest.mark.parametrize("unit", [0.25, 2.0, 1e-20])
def test_the_unit_of_edge_weights_plays_no_part(problem, unit):
    A, X, codes = problem
    folds = stratified_folds(codes, 0, 3, fit_data(A, X, codes).key)
    assert_array_equal(stratified_folds(codes, 0, 3, fit_data(unit * A, X, codes).key), folds)


def test_without_a_key_numbers_decide(problem):
    codes = problem[2]
    order = np.random.default_rng(2).permutation(80)
    folds = stratified_folds(codes, 0, 3)
    assert not np.array_equal(stratified_folds(codes[order], 0, 3), folds[order])


def test_each_class_is_dealt_out_evenly_and_what_is_unknown_is_in_no_fold(problem):
    codes = problem[2]
    folds = stratified_folds(codes, 0, 3)
    assert_array_equal(folds == -1, codes == -1)
    for k in range(3):
        sizes = np.bincount(folds[codes == k], minlength=3)
        assert sizes.max() - sizes.min() <= 1


def test_a_sample_keeps_the_shares_of_the_classes_and_two_of_the_rarest():
    codes = np.repeat([0, 1, 2], [900, 90, 3])
    picked = some_of_each(codes, 100, seed=0)
    assert_array_equal(np.bincount(codes[picked]), [91, 9, 2])
