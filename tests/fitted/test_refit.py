"""A refit: what a new fit of the same parts gives, without X."""

import numpy as np
import pytest

from altopt import AltOpt, InputError
from altopt.datasets import communities
from altopt.datasets.splits import hide, per_class
from altopt.encoders import LinearEncoder
from altopt.inputs import BlockInputs, FeatureInputs, HopInputs, LabelShareInputs

DATA = communities(300, 3, mean_degree=6.0, n_features=12, signal=0.4, seed=5)
FEW, MORE = (np.asarray(per_class(DATA.y, n, 0, 0, seed=1).train) for n in (6, 14))
LABEL_SHARES = BlockInputs((BlockInputs((FeatureInputs(),), "size"), LabelShareInputs()), scaling=None)


def fitted(labelled, **settings):
    return AltOpt(random_state=0, **settings).fit(DATA.X, hide(DATA.y, labelled), graph=DATA.graph)


def updated(model, labelled):
    new = np.setdiff1d(np.flatnonzero(hide(DATA.y, labelled) >= 0), np.flatnonzero(model.labelled_))
    model.update(labels={int(k): int(DATA.y[k]) for k in new})
    return model


@pytest.mark.parametrize("inputs", [HopInputs((0, 1)), LABEL_SHARES])
def test_a_refit_is_a_new_fit_of_the_same_parts(inputs):
    given = {"inputs": inputs, "encoder": LinearEncoder(), "cross_fit": False, "restart": 0.2}
    model = updated(fitted(FEW, **given), MORE)
    everything = np.flatnonzero(model.labelled_)
    anew = AltOpt(random_state=0, **given).fit(DATA.X, hide(DATA.y, everything), graph=DATA.graph)
    P = model.encoder_output_.copy()
    assert np.allclose(P, fitted(FEW, **given).encoder_output_, atol=1e-5)
    model.refit()
    assert not np.allclose(model.encoder_output_, P, atol=1e-3)
    assert np.allclose(model.scores_, anew.scores_, atol=1e-5)
    assert np.array_equal(model.transduction_, anew.transduction_)


def test_a_refit_judges_the_model_anew_and_is_stored(tmp_path):
    model = updated(fitted(FEW), MORE)
    with pytest.raises(Exception, match="out of date"):
        _ = model.leave_one_out_
    rounds = []
    assert model.refit(on_round=lambda done, planned, record: rounds.append(done)) is model
    assert rounds
    assert len(model.leave_one_out_.nodes) == int(model.labelled_.sum())
    assert f"Refitted with {int(model.labelled_.sum())} labels" in model.outcome_
    model.save(tmp_path / "model")
    stored = AltOpt.load(tmp_path / "model")
    assert np.allclose(stored.scores_, model.scores_)
    other = int(np.flatnonzero(~model.labelled_)[0])
    model.update(labels={other: 0})
    assert model.labelled_[other]


def test_nodes_that_came_later_are_refitted_too():
    model = fitted(FEW)
    model.update(features=DATA.X[:1], edges=[(300, 0), (300, 1)], labels={300: 1})
    model.refit()
    assert model.transduction_[-1] == 1
    assert model.scores_.shape == (301, 3)


def test_inputs_that_read_features_and_labels_are_refused():
    class Both(LabelShareInputs):
        @property
        def reads_features(self) -> bool:
            return True

    model = updated(fitted(FEW, inputs=Both(), encoder=LinearEncoder(), cross_fit=False), MORE)
    scores = model.scores_.copy()
    with pytest.raises(InputError, match="keeps no X"):
        model.refit()
    assert np.array_equal(model.scores_, scores)
