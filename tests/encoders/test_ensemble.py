"""Several learners of one kind: the mean of what each says, storable, and worth something where chance decides."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingClassifier

from altopt import AltOpt, InputError
from altopt.encoders import EnsembleEncoder, LinearEncoder, MLPEncoder, TabularEncoder
from problems import two_communities

MLP = MLPEncoder(hidden=(8,), dropout=0.8, input_dropout=0.0, learning_rate=0.05)


def lesson(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    return X, np.eye(3)[(X[:, :3] + 0.3 * rng.normal(size=(n, 3))).argmax(axis=1)], np.ones(n)


def test_it_says_the_mean_of_what_its_members_say():
    X, T, w = lesson()
    learner = EnsembleEncoder(MLP, 3).begin(5, 3, 7)
    learner.train(X, T, w, 20)
    said = [member.predict(X) for member in learner.members]
    assert_allclose(learner.predict(X), np.mean(said, axis=0), atol=1e-6)
    assert np.ptp(said, axis=0).max() > 0.01, "members are alike"
    losses = [member.train(X, T, w, 1) for member in EnsembleEncoder(MLP, 3).begin(5, 3, 7).members]
    assert EnsembleEncoder(MLP, 3).begin(5, 3, 7).train(X, T, w, 1) == pytest.approx(np.mean(losses))


def test_members_that_draw_nothing_say_what_one_says():
    X, T, w = lesson()
    one, three = LinearEncoder().begin(5, 3, 0), EnsembleEncoder(LinearEncoder(), 3).begin(5, 3, 0)
    assert one.train(X, T, w, 50) == pytest.approx(three.train(X, T, w, 50))
    assert_allclose(three.predict(X), one.predict(X), atol=1e-6)


def test_members_differ_less_from_ensemble_to_ensemble_than_learners_do():
    X, T, w = lesson()

    def spread(encoder):
        said = []
        for seed in range(6):
            learner = encoder.begin(5, 3, seed)
            learner.train(X[:9], T[:9], w[:9], 30)
            said.append(learner.predict(X))
        return np.std(said, axis=0).mean()

    assert spread(EnsembleEncoder(MLP, 5)) < 0.7 * spread(MLP)  # independent ones: 0.45


def test_a_fit_with_it_is_stored_and_predicts_as_before(tmp_path):
    X, y, truth, A = two_communities(labels_per_class=10)
    model = AltOpt(encoder=EnsembleEncoder(MLP, 2), cross_fit=False, random_state=0).fit(X, y, graph=A)
    model.save(tmp_path / "model")
    again = AltOpt.load(tmp_path / "model")
    assert again.encoder == model.encoder
    assert_array_equal(again.predict(X[:20]), model.predict(X[:20]))
    assert np.mean(model.transduction_ == truth) > 0.8


def test_an_ensemble_of_networks_uses_torch():
    assert EnsembleEncoder(EnsembleEncoder(MLP)).uses_torch
    assert MLP.uses_torch
    assert not EnsembleEncoder(LinearEncoder()).uses_torch


def test_missing_values_are_as_its_encoder_takes_them():
    assert EnsembleEncoder(TabularEncoder(HistGradientBoostingClassifier())).takes_missing
    assert not EnsembleEncoder(MLP).takes_missing


@pytest.mark.parametrize("n_members", [0, -1, 2.5, "five"])
def test_members_are_counted(n_members):
    with pytest.raises(InputError, match="n_members must be a whole number from 1 on"):
        EnsembleEncoder(MLP, n_members)
