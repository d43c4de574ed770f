"""The fixed recipe that AltOpt() is compared with: one setting for every graph, P averaged over the rounds."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from altopt import AltOpt
from altopt.arrays import Array
from altopt.encoders import Encoder, Learner, LinearEncoder
from altopt.inputs import ReducedInputs
from altopt.io.array_io import with_prefix


@dataclass(frozen=True)
class AveragedEncoder(Encoder):
    """An encoder whose P is the mean of what it said after each call of train."""

    inside: LinearEncoder

    def begin(self, n_inputs: int, n_classes: int, seed: int) -> "AveragedLearner":
        return AveragedLearner(self.inside.begin(n_inputs, n_classes, seed))


class AveragedLearner(Learner):
    def __init__(self, inside: Learner) -> None:
        self.inside = inside
        self.former: list[dict[str, Array]] = []

    def train(self, X: Any, targets: Array, weights: Array, n_epochs: int) -> float:
        loss = self.inside.train(X, targets, weights, n_epochs)
        self.former.append({name: value.copy() for name, value in self.inside.state().items()})
        return loss

    def predict(self, X: Any) -> Array:
        predictions = []
        for state in self.former:
            self.inside.restore(state)
            predictions.append(self.inside.predict(X))
        return np.asarray(np.mean(predictions, axis=0))

    def state(self) -> dict[str, Array]:
        return {f"{k}.{name}": value for k, state in enumerate(self.former) for name, value in state.items()}

    def restore(self, state: dict[str, Array]) -> None:
        count = len({name.partition(".")[0] for name in state})
        self.former = [with_prefix(state, f"{k}.") for k in range(count)]


def fixed_recipe(seed: int) -> AltOpt:
    """Linear softmax on the 256 leading directions of X', lambda1 0.3, lambda2 1, five rounds, temperature 0.2."""
    return AltOpt(
        feature_weight=0.3,
        label_weight=1.0,
        restart=0.1,
        temperature=0.2,
        inputs=ReducedInputs(by_kind=False),
        encoder=AveragedEncoder(LinearEncoder(C=5.0)),
        cross_fit=False,
        random_state=seed,
    )
