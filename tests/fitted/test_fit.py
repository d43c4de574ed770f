"""Fits at the edge of what there is to fit: an answer or a sentence, never a number that is not finite."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

from altopt import AltOpt, InputError
from altopt.encoders import LinearEncoder
from problems import two_communities

rng = np.random.default_rng(0)


def fitted(n, y, graph, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return AltOpt(random_state=0, **settings).fit(rng.normal(size=(n, 2)), y, graph=graph)


@pytest.mark.parametrize(
    ("n", "y", "graph"),
    [
        (2, [0, 1], [(0, 1)]),
        (2, [0, 1], sp.csr_array((2, 2))),
        (3, [0, 1, -1], None),
        (5, [0, 1, 0, 1, 0], [(0, 1)]),
        (5, [0, 1, -1, -1, -1], sp.csr_array((5, 5))),
        (6, [0, 1, 0, 1, -1, -1], [(0, 1, 1e-30), (1, 2, 1e30), (2, 3, 1.0)]),
    ],
)
@pytest.mark.parametrize("cross_fit", [False, True])
def test_the_smallest_fits_are_finite(n, y, graph, cross_fit):
    model = fitted(n, y, graph, cross_fit=cross_fit)
    assert np.isfinite(model.scores_).all()
    assert np.allclose(model.label_distributions_.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("n", "y", "said"),
    [
        (1, [0], "at least two classes"),
        (3, [0, 0, -1], "at least two classes"),
        (3, [-1, -1, -1], "no label at all"),
    ],
)
def test_too_little_to_fit_is_a_sentence(n, y, said):
    with pytest.raises(InputError, match=said):
        fitted(n, y, None)


@pytest.mark.parametrize("settings", [{"label_weight": 1e9}, {"feature_weight": 1e-6}, {"temperature": 1e-6}])
def test_settings_at_the_end_of_their_range_give_finite_answers(settings):
    X, y, _, A = two_communities()
    model = AltOpt(random_state=0, cross_fit=False, **settings).fit(X, y, graph=A)
    assert np.isfinite(model.scores_).all()
    assert np.isfinite(model.label_distributions_).all()


@dataclass(frozen=True)
class Broken(LinearEncoder):
    """An encoder whose output is not finite at the last node."""

    def begin(self, n_inputs, n_classes, seed):
        learner = super().begin(n_inputs, n_classes, seed)
        predict = learner.predict

        def spoiled(rows):
            P = predict(rows)
            P[-1] = np.nan
            return P

        learner.predict = spoiled
        return learner


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_answer_that_is_not_finite_is_refused():
    with pytest.raises(InputError, match="the fit broke down: F is not finite at node"):
        AltOpt(encoder=Broken(), cross_fit=False, n_rounds=0).fit(np.eye(4), [0, 1, -1, -1], graph=[(0, 1)])
