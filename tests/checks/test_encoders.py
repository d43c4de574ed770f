"""The laws of encoders: they pass what is right, and name what is wrong. tests/laws.py has the right ones."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from altopt.checks import check_encoder
from altopt.encoders import Encoder, Learner, LinearEncoder
from altopt.errors import InputError


@dataclass
class Sound(Encoder):
    """Right; each of those below breaks one promise."""

    calls: list = field(default_factory=list)

    def begin(self, n_inputs, n_classes, seed):
        return Wrapped(LinearEncoder(C=10.0).begin(n_inputs, n_classes, seed), self, n_classes, seed)

    def train(self, inner, X, targets, weights, n_epochs):
        return inner.train(X, targets, weights, n_epochs)

    def predict(self, inner, X):
        return inner.predict(X)

    def state(self, inner):
        return inner.state()

    def restore(self, inner, state):
        inner.restore(state)


class Wrapped(Learner):
    """A linear learner whose methods go by its encoder."""

    def __init__(self, inner, encoder, n_classes, seed):
        self.inner, self.encoder, self.n_classes, self.seed = inner, encoder, n_classes, seed

    def train(self, X, targets, weights, n_epochs):
        return self.encoder.train(self.inner, X, targets, weights, n_epochs)

    def predict(self, X):
        return self.encoder.predict(self.inner, X)

    def state(self):
        return self.encoder.state(self.inner)

    def restore(self, state):
        self.encoder.restore(self.inner, state)


def test_a_right_encoder_passes():
    check_encoder(Sound())


class AlwaysUniform(Sound):
    def predict(self, inner, X):
        return np.full((X.shape[0], inner.W.shape[1]), 1.0 / inner.W.shape[1])


class Unnormalised(Sound):
    def predict(self, inner, X):
        return 2.0 * inner.predict(X)


class Negative(Sound):
    def predict(self, inner, X):
        P = inner.predict(X)
        P[0] = np.eye(P.shape[1])[0] - np.eye(P.shape[1])[1] + np.eye(P.shape[1])[2]
        return P


class IgnoresWeights(Sound):
    def train(self, inner, X, targets, weights, n_epochs):
        return inner.train(X, targets, np.ones(len(weights)), n_epochs)


class HardTargets(Sound):
    def train(self, inner, X, targets, weights, n_epochs):
        return inner.train(X, np.eye(targets.shape[1])[targets.argmax(axis=1)], weights, n_epochs)


class Unseeded(Sound):
    def train(self, inner, X, targets, weights, n_epochs):
        return inner.train(X, targets, weights * (1 + 0.2 * np.random.random(len(weights))), n_epochs)  # noqa: NPY002


class Forgetful(Sound):
    def restore(self, inner, state):
        pass


class StateIsAView(Sound):
    def train(self, inner, X, targets, weights, n_epochs):
        W = inner.W
        loss = inner.train(X, targets, weights, n_epochs)
        W[:] = inner.W
        inner.W = W
        return loss


class StoresLists(Sound):
    def state(self, inner):
        return {name: value.tolist() for name, value in inner.state().items()}


class ChangesItself(Sound):
    def train(self, inner, X, targets, weights, n_epochs):
        self.calls.append(n_epochs)
        return inner.train(X, targets, weights, n_epochs)


class WritesToTargets(Sound):
    def train(self, inner, X, targets, weights, n_epochs):
        targets *= 0.99
        return inner.train(X, targets, weights, n_epochs)


class LooksAtTheOthers(Sound):
    def predict(self, inner, X):
        P = inner.predict(X)
        return (P + P.mean(axis=0)) / 2


class DenseOnly(Sound):
    def train(self, inner, X, targets, weights, n_epochs):
        return inner.train(np.asarray(X), targets, weights, n_epochs) if isinstance(X, np.ndarray) else 0.0


class NotFitted(Sound):
    def fitted_to(self, rows):
        return None


class RefusesMissing(Sound):
    takes_missing = True


class NoLearner(Sound):
    def begin(self, n_inputs, n_classes, seed):
        return object()


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        (AlwaysUniform, "it does not learn: accuracy on held-out rows is 0.33, chance is 0.33"),
        (Unnormalised, "predictions are not distributions"),
        (Negative, "predictions are not distributions"),
        (IgnoresWeights, "it does not heed sample weights"),
        (HardTargets, "it does not heed soft targets"),
        (Unseeded, "the same seed gives other predictions"),
        (Forgetful, "a restored learner predicts something else"),
        (StateIsAView, "a state is changed by later training"),
        (StoresLists, "state is not a dictionary of named numpy arrays"),
        (ChangesItself, "training changes the settings"),
        (WritesToTargets, "writes to the arrays it is given"),
        (LooksAtTheOthers, "a row's prediction depends on which rows"),
        (DenseOnly, "it does not learn from sparse rows"),
        (NotFitted, "fitted_to does not return an Encoder"),
        (RefusesMissing, "predictions are not distributions.*takes_missing"),
        (NoLearner, "begin does not return a subclass"),
    ],
)
def test_a_broken_law_is_named(kind, complaint):
    with pytest.raises(InputError, match=f"^{kind.__name__}: .*{complaint}"):
        check_encoder(kind())


def test_what_is_no_encoder_is_named():
    with pytest.raises(InputError, match="object: it is not a subclass of altopt.encoders.Encoder"):
        check_encoder(object())
