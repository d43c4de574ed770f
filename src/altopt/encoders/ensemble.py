"""Average the predictions of several learners that differ only in their random seed."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.encoders.encoder import Encoder, Learner
from altopt.errors import InputError
from altopt.io.array_io import with_prefix
from altopt.settings import check_count


@dataclass(frozen=True)
class EnsembleEncoder(Encoder):
    """The mean prediction of `n_members` learners that differ only in their random seed.

    P = mean_k P_k. Training takes n_members times as long. It pays where there are few labels and the initialisation
    decides much, such as an MLP with strong dropout; an encoder without randomness (linear, kernel) gains nothing.

    Parameters
    ----------
    encoder : Encoder
        The encoder of every member.
    n_members : int, default 5

    Examples
    --------
    >>> import numpy as np
    >>> from altopt.encoders import EnsembleEncoder, LinearEncoder
    >>> X = np.array([[0.0, 1.0], [0.2, 0.9], [1.0, 0.0], [0.8, 0.1]])
    >>> learner = EnsembleEncoder(LinearEncoder(C=10.0), n_members=3).begin(n_inputs=2, n_classes=2, seed=0)
    >>> loss = learner.train(X, np.eye(2)[[0, 0, 1, 1]], np.ones(4), n_epochs=50)
    >>> len(learner.members)
    3
    >>> learner.predict(X).argmax(axis=1)
    array([0, 0, 1, 1])
    """

    encoder: Encoder
    n_members: int = 5

    def __post_init__(self) -> None:
        if not isinstance(self.encoder, Encoder):
            raise InputError(f"EnsembleEncoder: encoder must be an Encoder, but is {self.encoder!r}.")
        check_count(self, "n_members")

    @property
    def takes_missing(self) -> bool:
        return self.encoder.takes_missing

    def memory(self, n_rows: int, n_inputs: int, n_classes: int) -> float:
        return self.encoder.memory(n_rows, n_inputs, n_classes)  # members are trained one after another

    @property
    def uses_torch(self) -> bool:
        return self.encoder.uses_torch

    def begin(self, n_inputs: int, n_classes: int, seed: int) -> "EnsembleLearner":
        seeds = np.random.SeedSequence(seed).generate_state(int(self.n_members))
        return EnsembleLearner([self.encoder.begin(n_inputs, n_classes, int(member)) for member in seeds])


class EnsembleLearner(Learner):
    def __init__(self, members: list[Learner]) -> None:
        self.members = members

    def train(self, X: Any, targets: Array, weights: Array, n_epochs: int) -> float:
        return float(np.mean([member.train(X, targets, weights, n_epochs) for member in self.members]))

    def predict(self, X: Any) -> Array:
        P = self.members[0].predict(X)
        for member in self.members[1:]:
            P += member.predict(X)
        P /= len(self.members)
        return P

    def state(self) -> dict[str, Array]:
        each = enumerate(self.members)
        return {f"{k}.{name}": value for k, member in each for name, value in member.state().items()}

    def restore(self, state: dict[str, Array]) -> None:
        for k, member in enumerate(self.members):
            member.restore(with_prefix(state, f"{k}."))
