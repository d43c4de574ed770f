"""The contract of encoders: settings that begin learners, and learners that map inputs to soft labels."""

from abc import ABC, abstractmethod
from typing import Any

from altopt.arrays import Array


class Learner(ABC):
    """An encoder in training: its parameters change from round to round."""

    @abstractmethod
    def train(self, X: Any, targets: Array, weights: Array, n_epochs: int) -> float:
        """Continue training on these rows; returns the weighted loss at the end.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_inputs)
        targets : array of shape (n, n_classes), rows are distributions over the classes
        weights : array of shape (n,), sample weights
        n_epochs : int
        """

    @abstractmethod
    def predict(self, X: Any) -> Array:
        """P: one distribution over the classes for each row."""

    def slopes(self) -> Array | None:
        """W of an encoder that is linear but for a last softmax: P = softmax(X W + b). None for any other."""
        return None

    @abstractmethod
    def state(self) -> dict[str, Array]:
        """Everything needed to predict and to continue training, as named arrays."""

    @abstractmethod
    def restore(self, state: dict[str, Array]) -> None:
        """Load a state; what follows has the same bits as without the round trip."""


class Encoder(ABC):
    """Settings of an encoder. Training never changes them: it happens in learners.

    Subclass it, implement `begin`, and pass an instance to ``AltOpt(encoder=...)``. Make the subclass a frozen
    dataclass so that a fitted model can be saved. `altopt.checks.check_encoder` tests a subclass.
    """

    @abstractmethod
    def begin(self, n_inputs: int, n_classes: int, seed: int) -> Learner:
        """A new learner; the same seed gives the same bits."""

    def fitted_to(self, rows: Any) -> "Encoder":
        """The encoder with its data-dependent settings derived from the inputs `rows`; by default itself."""
        return self

    def memory(self, n_rows: int, n_inputs: int, n_classes: int) -> float:
        """About how many bytes training on n_rows needs besides the rows; by default the weighted targets."""
        return 4.0 * n_rows * n_classes

    @property
    def uses_torch(self) -> bool:
        """Whether training runs in torch, which needs its number of threads set."""
        return False

    @property
    def takes_missing(self) -> bool:
        """Whether its inputs may contain NaN."""
        return False
