"""Several learners of one kind that say together what each says: one seed's luck is averaged out."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.encoders.encoder import Encoder, Learner
from altopt.errors import InputError
from altopt.io.array_io import with_prefix


@dataclass(frozen=True)
class EnsembleEncoder(Encoder):
    """P is the mean over `n_members` learners of `encoder`, which differ in their seeds alone.

    It takes as many times as long and is worth it where little is known and chance decides much, such as an MLP with
    strong dropout on a handful of labels. An encoder that draws nothing at random (linear, kernel) gains nothing.
    """

    encoder: Encoder
    n_members: int = 5

    @property
    def takes_missing(self) -> bool:
        return self.encoder.takes_missing

    @property
    def uses_torch(self) -> bool:
        return self.encoder.uses_torch

    def begin(self, n_inputs: int, n_classes: int, seed: int) -> "EnsembleLearner":
        if not isinstance(self.n_members, int | np.integer) or self.n_members < 1:
            raise InputError(f"n_members must be a whole number from 1 on, but is {self.n_members!r}.")
        seeds = np.random.SeedSequence(seed).generate_state(int(self.n_members))
        return EnsembleLearner([self.encoder.begin(n_inputs, n_classes, int(drawn)) for drawn in seeds])


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
