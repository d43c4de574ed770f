"""Features of any finite size give the answers of the same features at an ordinary size."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from altopt import AltOpt, InputError
from altopt.datasets import communities
from altopt.graph.magnitudes import column_exponents, scaled, warn_of_lost

data = communities(n_nodes=120, n_classes=3, seed=0)
X = np.asarray(data.X, dtype=np.float64)
y = np.full(120, -1)
for k in range(3):
    y[np.flatnonzero(data.y == k)[:6]] = k


def fitted(X, graph=data.graph, cross_fit=False):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return AltOpt(random_state=0, cross_fit=cross_fit).fit(X, y, graph=graph)


def with_column(X, factor):
    X = X.copy()
    X[:, 0] *= factor
    return X


def as_sparse(X):
    return sp.csr_array(np.where(X > 0, X, 0.0))


@pytest.fixture(scope="module")
def usual():
    return fitted(X)


@pytest.mark.parametrize("factor", [1e-300, 1e-40, 1e19, 1e38, 1e154, 1e300])
def test_all_features_times_a_number_change_nothing(usual, factor):
    assert np.abs(fitted(X * factor).scores_ - usual.scores_).max() < 1e-4


@pytest.mark.parametrize("factor", [1e-300, 1e20, 4e38, 1e100, 1e300])
def test_a_column_times_a_number_changes_nothing(usual, factor):
    assert np.abs(fitted(with_column(X, factor)).scores_ - usual.scores_).max() < 1e-4


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_a_sparse_matrix_times_a_number_changes_nothing(factor):
    near = np.abs(fitted(as_sparse(X) * factor).scores_ - fitted(as_sparse(X)).scores_)
    assert near.max() < 1e-4


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_neighbours_are_found_at_any_size(factor):
    assert np.abs(fitted(X * factor, None).scores_ - fitted(X, None).scores_).max() < 1e-4


def test_a_constant_column_beyond_float32_says_nothing():
    odd = np.column_stack([X, np.full(len(X), 1e39)])
    plain = np.column_stack([X, np.ones(len(X))])
    assert np.abs(fitted(odd).scores_ - fitted(plain).scores_).max() < 1e-4


@pytest.mark.filterwarnings("ignore:The graph does not help here")
def test_the_promise_of_held_out_labels_is_that_of_ordinary_features():
    odd, plain = fitted(X * 1e200, None, cross_fit=True), fitted(X, None, cross_fit=True)
    assert odd.leave_one_out_.accuracy == pytest.approx(plain.leave_one_out_.accuracy)
    assert np.isfinite(odd.label_distributions_).all()


def test_a_single_huge_entry_leaves_the_rest_standing(usual):
    odd = X.copy()
    odd[3, 3] = 1e200
    with pytest.warns(UserWarning, match="column 3 the first"):
        model = AltOpt(random_state=0, cross_fit=False).fit(odd, y, graph=data.graph)
    assert np.mean(model.transduction_ == data.y) > np.mean(usual.transduction_ == data.y) - 0.05


def test_later_nodes_are_scaled_as_those_of_the_fit(usual, tmp_path):
    odd = fitted(X * 1e200)
    new = X[:3] + 0.1
    expected = usual.predict_proba(new)
    assert np.abs(odd.predict_proba(new * 1e200) - expected).max() < 1e-4
    odd.save(tmp_path / "model")
    loaded = AltOpt.load(tmp_path / "model")
    assert np.abs(loaded.predict_proba(new * 1e200) - expected).max() < 1e-4
    edges = [(120, 0), (121, 1), (122, 2)]
    for model, rows in ((loaded, new * 1e200), (usual, new)):
        model.update(edges=edges, features=rows)
    assert np.abs(loaded.scores_ - usual.scores_).max() < 1e-4


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_later_numbers_far_beyond_the_fit_are_refused(form):
    rows = X[:3].copy()
    rows[1, 2] = 1e300
    with pytest.raises(InputError, match=r"X has 1e\+300 in row 1, column 2, too large beside"):
        fitted(X).predict(form(rows))


def test_a_mapped_matrix_is_not_copied_but_refused(tmp_path):
    np.save(tmp_path / "X.npy", with_column(X, 1e300))
    with pytest.raises(InputError, match="mapped from a file, and its column 0 holds numbers too large"):
        fitted(np.load(tmp_path / "X.npy", mmap_mode="r"))


@pytest.mark.parametrize(
    "ordinary",
    [X, X.astype(np.float32), as_sparse(X), X * 1e12, with_column(X, 1e-17), with_column(X, 0.0), X > 0],
)
def test_ordinary_features_are_left_alone(ordinary):
    ordinary = ordinary.astype(np.float64) if ordinary.dtype == bool else ordinary
    assert column_exponents(ordinary) is None


def test_scaling_is_exact_and_keeps_ratios():
    exponents = column_exponents(X * 1e200)
    assert len(set(exponents.tolist())) == 1
    assert np.array_equal(scaled(X * 1e200, exponents) * 2.0 ** exponents[0], X * 1e200)
    assert scaled(X, None) is X


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_columns_whose_numbers_mostly_vanish_are_told(form):
    powers = 10.0 ** np.linspace(-200, 200, len(X))
    wide = form(X * powers[:, None])
    with pytest.warns(UserWarning, match="more than 1e15 times apart"):
        warn_of_lost(scaled(wide, column_exponents(wide)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for even in (form(X * 1e200), form(X * np.where(np.arange(X.shape[1]) == 0, 1e200, 1.0))):
            warn_of_lost(scaled(even, column_exponents(even)))
