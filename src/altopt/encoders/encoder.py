"""What an encoder must do: learn soft labels from features, and say what the features alone say."""

from typing import Any, Protocol, runtime_checkable

from altopt.arrays import Array


@runtime_checkable
class Learner(Protocol):
    """An encoder at work: its parameters change from round to round."""

    def train(self, X: Any, targets: Array, weights: Array, n_epochs: int) -> float:
        """Go on training on these rows; the weighted loss at the end. Targets are distributions over classes."""

    def predict(self, X: Any) -> Array:
        """P: one distribution over the classes for each row."""

    def state(self) -> dict[str, Array]:
        """Everything needed to predict and to go on training, as named arrays."""

    def restore(self, state: dict[str, Array]) -> None:
        """Take up a stored state; what follows has the same bits as if nothing had been stored."""


@runtime_checkable
class Encoder(Protocol):
    """Settings of an encoder. Fitting never changes it: it begins learners."""

    def begin(self, n_features: int, n_classes: int, seed: int) -> Learner:
        """A fresh learner; the same seed gives the same bits."""
