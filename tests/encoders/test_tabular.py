"""Trees and forests as encoders: missing values, categories, rows that came sparse, and on disk."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from altopt import AltOpt, InputError
from altopt.encoders import TabularEncoder
from altopt.inputs import BlockInputs, DiffusedInputs, HopInputs, RawInputs, ReducedInputs, encoder_rows
from problems import two_communities

BOOSTED = HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5)
INPUTS = {
    "raw": RawInputs(),
    "reduced": ReducedInputs(),
    "diffused": DiffusedInputs(),
    "raw beside hops": BlockInputs((RawInputs(), HopInputs()), scaling=None),
}


@pytest.fixture(scope="module")
def gappy():
    """Two communities, a tenth of the features missing, one row without any."""
    X, y, truth, A = two_communities(labels_per_class=25)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    X[7] = np.nan
    return X, y, truth, A


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize(
    "encoder",
    [BOOSTED, make_pipeline(SimpleImputer(), LogisticRegression())],
    ids=["boosted", "imputer first"],
)
def test_missing_values_stay_missing_or_are_filled_in(gappy, inputs, encoder, tmp_path):
    X, y, truth, A = gappy
    model = AltOpt(encoder=encoder, inputs=INPUTS[inputs], n_rounds=1, random_state=0).fit(X, y, graph=A)
    assert np.mean(model.transduction_ == truth) > 0.85
    assert np.isnan(encoder_rows(model.inputs_)).any() == ("raw" in inputs)
    P = model.predict_proba(X[:9], edges=[(0, 1), (1, 2)])
    model.save(tmp_path / "m")
    assert_array_equal(AltOpt.load(tmp_path / "m").predict_proba(X[:9], edges=[(0, 1), (1, 2)]), P)


def test_what_is_filled_in_is_the_columns_mean(gappy):
    X, y, _, A = gappy
    held = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    settings = {"encoder": BOOSTED, "inputs": HopInputs(by_kind=False), "n_rounds": 1, "random_state": 0}
    with_gaps = AltOpt(**settings).fit(X, y, graph=A)
    assert_allclose(with_gaps.inputs_.Z, AltOpt(**settings).fit(held, y, graph=A).inputs_.Z, atol=1e-5)


def test_missing_values_are_refused_where_nothing_takes_them(gappy):
    X, y, _, A = gappy
    with pytest.raises(InputError, match="X must hold finite numbers, but has NaN"):
        AltOpt().fit(X, y, graph=A)
    with pytest.raises(InputError, match="X holds NaN, so nearest neighbours cannot be told"):
        AltOpt(encoder=BOOSTED, inputs=RawInputs()).fit(X, y)
    with pytest.raises(InputError, match="no length to scale rows by"):
        AltOpt(encoder=BOOSTED, inputs=BlockInputs((RawInputs(), HopInputs()))).fit(X, y, graph=A)
    infinite = np.where(np.isnan(X), np.inf, X)
    with pytest.raises(InputError, match="but has inf"):
        AltOpt(encoder=BOOSTED, inputs=RawInputs()).fit(infinite, y, graph=A)
    sparse = sp.csr_array(np.where(np.isnan(X), 0.0, X))
    sparse.data[3] = np.nan
    with pytest.raises(InputError, match="but has NaN"):
        AltOpt(encoder=BOOSTED, inputs=RawInputs()).fit(sparse, y, graph=A)


def test_categories_are_told_to_the_classifier():
    """A class that depends on which of many codes a node has: no threshold finds it, categories do."""
    rng = np.random.default_rng(0)
    codes = rng.integers(16, size=600)
    truth = rng.permutation(16)[codes] % 2
    y = np.where(np.arange(600) < 400, truth, -1)
    ring = np.stack([np.arange(600), (np.arange(600) + 1) % 600])
    X = np.column_stack([codes, rng.normal(size=600)]).astype(float)
    X[rng.random(600) < 0.05, 0] = np.nan
    right = {}
    for categories in (None, [0]):
        encoder = HistGradientBoostingClassifier(
            max_iter=3, max_depth=2, min_samples_leaf=5, categorical_features=categories
        )
        settings = {"inputs": RawInputs(), "feature_weight": 50.0, "n_pseudo": 0, "random_state": 0}
        model = AltOpt(encoder=encoder, **settings).fit(X, y, graph=ring)
        right[categories is None] = np.mean((model.encoder_output_.argmax(axis=1) == truth)[400:])
    assert right[False] > 0.9 > right[True]


def test_sparse_rows_are_filled_for_a_classifier_that_takes_none():
    X, y, truth, A = two_communities(labels_per_class=25)
    X = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    model = AltOpt(encoder=BOOSTED, inputs=RawInputs(), n_rounds=1, random_state=0).fit(X, y, graph=A)
    assert sp.issparse(encoder_rows(model.inputs_))
    assert np.mean(model.transduction_ == truth) > 0.85


def test_lightgbm_serves_and_is_stored(gappy, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, truth, A = gappy
    encoder = lightgbm.LGBMClassifier(n_estimators=20, min_child_samples=5, n_jobs=1, verbose=-1)
    model = AltOpt(encoder=encoder, inputs=RawInputs(), n_rounds=1, random_state=0).fit(X, y, graph=A)
    assert np.mean(model.transduction_ == truth) > 0.85
    model.save(tmp_path / "m")
    assert_array_equal(AltOpt.load(tmp_path / "m").predict_proba(X[:9]), model.predict_proba(X[:9]))


class Foreign(LogisticRegression):
    pass


def test_what_could_not_be_loaded_is_not_stored(tmp_path):
    X, y, _, A = two_communities()
    model = AltOpt(encoder=Foreign(), n_rounds=1, random_state=0).fit(X, y, graph=A)
    with pytest.raises(InputError, match="not loaded again for safety, so it is not stored"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_who_takes_missing_values_says_so():
    assert TabularEncoder(RandomForestClassifier()).takes_missing
    assert not TabularEncoder(LogisticRegression()).takes_missing
    with pytest.raises(InputError, match="must have predict_proba and a fit that takes sample_weight"):
        TabularEncoder(KNeighborsClassifier()).begin(3, 2, 0)
