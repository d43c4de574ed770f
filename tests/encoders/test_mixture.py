"""A mixture keeps the laws of encoders, and is the weighted mean of its members."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import RandomForestClassifier

from altopt.arrays import tempered
from altopt.checks import check_encoder
from altopt.encoders import LinearEncoder, MixtureEncoder, TabularEncoder
from altopt.errors import InputError

LINEAR, FOREST = LinearEncoder(C=10.0), TabularEncoder(RandomForestClassifier(n_estimators=20))
MIXTURE = MixtureEncoder((LINEAR, FOREST), (5, 7), (3.0, 1.0), (1.0, 0.8))


def test_a_mixture_keeps_the_laws():
    check_encoder(MIXTURE)


def test_a_mixture_is_the_weighted_mean_of_what_its_members_say_of_their_own_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 12)).astype(np.float32)
    targets = np.eye(2)[(X[:, 0] + X[:, 6] > 0).astype(int)]
    members = []
    for encoder, columns in ((LINEAR, slice(0, 5)), (FOREST, slice(5, 12))):
        learner = encoder.begin(columns.stop - columns.start, 2, 0)
        learner.train(X[:, columns], targets, np.ones(60), 20)
        members.append(learner.predict(X[:, columns]))
    mixture = MIXTURE.begin(12, 2, 0)
    mixture.train(X, targets, np.ones(60), 20)
    assert_allclose(mixture.predict(X), 0.75 * members[0] + 0.25 * tempered(members[1], 0.8), atol=1e-6)


def test_inputs_of_another_width_are_refused():
    with pytest.raises(InputError, match="widths sum to 12 columns, but the inputs have 11"):
        MIXTURE.begin(11, 2, 0)
