"""A weighted mean of different encoders, each with columns of its own to read."""

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, tempered
from altopt.encoders.encoder import Encoder, Learner
from altopt.errors import InputError
from altopt.io.array_io import with_prefix
from altopt.settings import check_counts


@dataclass(frozen=True)
class MixtureEncoder(Encoder):
    """The weighted mean of several encoders' predictions, each tempered first: P = sum_q w_q P_q^(1 / T_q) / norm.

    Encoder q reads the q-th block of columns of X, so that encoders which want different inputs serve together: give
    BlockInputs(..., scaling=None) of their inputs.

    Parameters
    ----------
    encoders : tuple of Encoder
    widths : tuple of int
        Columns of X that each encoder reads, one block after the other.
    weights : tuple of float
        Of each encoder; they are divided by their sum.
    temperatures : tuple of float
        Of each encoder's predictions; 1 leaves them as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from altopt.encoders import KernelEncoder, LinearEncoder, MixtureEncoder
    >>> X = np.array([[0.0, 1.0, 1.0], [0.2, 0.9, 1.0], [1.0, 0.0, 0.0], [0.8, 0.1, 0.0]])
    >>> both = MixtureEncoder((LinearEncoder(C=10.0), KernelEncoder()), (2, 1), (0.75, 0.25), (1.0, 1.0))
    >>> learner = both.begin(n_inputs=3, n_classes=2, seed=0)
    >>> loss = learner.train(X, np.eye(2)[[0, 0, 1, 1]], np.ones(4), n_epochs=50)
    >>> learner.predict(X).argmax(axis=1)
    array([0, 0, 1, 1])
    """

    encoders: tuple[Encoder, ...]
    widths: tuple[int, ...]
    weights: tuple[float, ...]
    temperatures: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.encoders or not all(isinstance(encoder, Encoder) for encoder in self.encoders):
            raise InputError(
                f"MixtureEncoder: encoders must be a tuple of encoders, but is {self.encoders!r}."
            )
        check_counts(self, "widths", 1)
        for name in ("weights", "temperatures"):
            numbers = getattr(self, name)
            right = isinstance(numbers, tuple) and len(numbers) == len(self.encoders) == len(self.widths)
            if not right or not all(isinstance(x, float) and 0 < x < np.inf for x in numbers):
                raise InputError(
                    f"MixtureEncoder: {name} must be numbers above 0, one for each encoder, but is {numbers!r}."
                )

    @property
    def takes_missing(self) -> bool:
        return all(encoder.takes_missing for encoder in self.encoders)

    @property
    def uses_torch(self) -> bool:
        return any(encoder.uses_torch for encoder in self.encoders)

    def memory(self, n_rows: int, n_inputs: int, n_classes: int) -> float:
        needs = [encoder.memory(n_rows, w, n_classes) for encoder, w in zip(self.encoders, self.widths)]
        return max(needs) + 4.0 * n_rows * max(self.widths)

    def begin(self, n_inputs: int, n_classes: int, seed: int) -> "MixtureLearner":
        if n_inputs != sum(self.widths):
            raise InputError(
                f"MixtureEncoder: widths sum to {sum(self.widths):,} columns, but the inputs have {n_inputs:,}."
            )
        learners = [encoder.begin(w, n_classes, seed) for encoder, w in zip(self.encoders, self.widths)]
        return MixtureLearner(self, learners)


class MixtureLearner(Learner):
    def __init__(self, settings: MixtureEncoder, learners: list[Learner]) -> None:
        self.settings, self.learners = settings, learners
        self.share = np.array(settings.weights) / sum(settings.weights)

    def _blocks(self, X: Any) -> list[Any]:
        bounds = accumulate(self.settings.widths, initial=0)
        return [smaller_form(X[:, first:last]) for first, last in pairwise(bounds)]

    def train(self, X: Any, targets: Array, weights: Array, n_epochs: int) -> float:
        blocks = zip(self.learners, self._blocks(X))
        losses = [learner.train(block, targets, weights, n_epochs) for learner, block in blocks]
        return float(self.share @ losses)

    def predict(self, X: Any) -> Array:
        rows = X[:] if not hasattr(X, "toarray") and not isinstance(X, np.ndarray) else X  # rows made lazily
        each = zip(self.share.tolist(), self.settings.temperatures, self.learners, self._blocks(rows))
        parts = [weight * tempered(learner.predict(block), T) for weight, T, learner, block in each]
        return np.asarray(sum(parts[1:], parts[0]))

    def state(self) -> dict[str, Array]:
        each = enumerate(self.learners)
        return {f"{k}.{name}": value for k, learner in each for name, value in learner.state().items()}

    def restore(self, state: dict[str, Array]) -> None:
        for k, learner in enumerate(self.learners):
            learner.restore(with_prefix(state, f"{k}."))


def smaller_form(block: Any) -> Any:
    """Dense where that takes no more memory: side by side with sparse blocks, dense ones came as sparse.

    >>> smaller_form(sp.csr_array(np.eye(3) + 1)).__class__.__name__, smaller_form(sp.csr_array(np.eye(3))).nnz
    ('ndarray', 3)
    """
    dense = sp.issparse(block) and 2 * block.nnz >= block.shape[0] * block.shape[1]
    return block.toarray() if dense else block
