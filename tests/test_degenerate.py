"""Features and labels that leave hardly anything to compute with: a fit ends, and its answer is finite."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from altopt import AltOpt
from altopt.datasets import communities
from altopt.datasets.splits import hide

N = 90
DATA = communities(n_nodes=N, n_classes=3, n_features=6, seed=0)
RNG = np.random.default_rng(0)


def one_hot(n_columns):
    return np.eye(n_columns)[RNG.integers(0, n_columns, N)]


FEATURES = {
    "all zero": np.zeros((N, 4)),
    "all constant": np.full((N, 4), 3.0),
    "a single column": DATA.X[:, :1],
    "a single constant": np.ones((N, 1)),
    "constant columns beside": np.hstack([DATA.X, np.full((N, 3), 1e12)]),
    "duplicated columns": np.hstack([DATA.X] * 4),
    "duplicated rows": np.repeat(DATA.X[:3], N // 3, axis=0),
    "one row but one": np.where(np.arange(N)[:, None] == 4, 1.0, np.zeros((N, 3))),
    "one-hot, more than directions": np.hstack([one_hot(70), one_hot(40), one_hot(300)]),
    "words of few topics": np.repeat(one_hot(3), 500, axis=1),
    "a huge column": np.column_stack([DATA.X, 1e300 * RNG.random(N)]),
    "a tiny column": np.column_stack([DATA.X, 1e-300 * RNG.random(N)]),
    "one huge entry": np.where((np.arange(N) == 5)[:, None], 1e15, DATA.X),
}


def checked(X, y, graph):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = AltOpt(random_state=0).fit(X, y, graph=graph)
    assert np.isfinite(model.scores_).all()
    assert np.isfinite(model.label_distributions_).all()
    assert np.isfinite(model.predict_proba(X[:2])).all()
    return model


@pytest.mark.parametrize("name", FEATURES)
def test_features_without_rank(name):
    checked(FEATURES[name], hide(DATA.y, np.arange(0, N, 3)), DATA.graph)


@pytest.mark.parametrize("name", ["all zero", "constant columns beside", "one-hot, more than directions"])
def test_a_sparse_X_without_rank(name):
    checked(sp.csr_array(FEATURES[name]), hide(DATA.y, np.arange(0, N, 3)), DATA.graph)


@pytest.mark.parametrize("name", ["all zero", "duplicated rows", "one huge entry", "constant columns beside"])
def test_a_graph_built_from_features_without_rank(name):
    checked(FEATURES[name], hide(DATA.y, np.arange(0, N, 3)), None)


def test_more_classes_than_labels_of_each():
    y = np.full(N, -1)
    y[:20] = np.arange(20)
    model = checked(DATA.X, y, DATA.graph)
    assert len(model.classes_) == 20


def test_one_large_column_does_not_drown_the_others():
    y = hide(DATA.y, np.arange(0, N, 3))
    plain = AltOpt(cross_fit=False, random_state=0).fit(DATA.X, y, graph=DATA.graph)
    beside = np.column_stack([DATA.X, RNG.lognormal(11, 1, N)])
    model = AltOpt(cross_fit=False, random_state=0).fit(beside, y, graph=DATA.graph)
    assert np.mean(model.transduction_ == plain.transduction_) > 0.95
