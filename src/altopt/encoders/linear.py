"""Softmax regression by L-BFGS: the encoder that is trained in a blink."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from altopt.arrays import Array, allocate, row_blocks, working_dtype
from altopt.encoders.encoder import Encoder, Learner
from altopt.operator.kernels.rows import softmax_regression, softmax_rows

SAMPLE = 1000  # rows that tell how many directions all fill
USUAL_C, USUAL_DIRECTIONS = 20.0, 35.0  # this C for inputs that fill so many
STEEPNESS, MOST_C = 1.5, 40.0


@dataclass(frozen=True)
class LinearEncoder(Encoder):
    """P = softmax(sharpness * (X W + b)), with W, b minimising sum_i w_i CE(targets_i, X_i W + b) + ||W||^2 / 2C.

    Where the rows fill many directions alike, almost any pseudo label can be learned by heart, right or wrong; where
    a few directions hold nearly all, W must be large to use the others. So C, where it is not given, falls with the
    number of directions that the rows fill. `C_scale` multiplies C.

    Regularised weights make logits shy; `sharpness` makes up for it where P enters the feature view. An epoch
    is one L-BFGS iteration; training goes on from where the last round left W and b, and ends early when an
    iteration lowers the loss by less than `tolerance` of it.
    """

    C: float | None = None
    sharpness: float = 2.0
    tolerance: float = 1e-4
    C_scale: float = 1.0

    def begin(self, n_inputs: int, n_classes: int, seed: int) -> "LinearLearner":
        return LinearLearner(self, n_inputs, n_classes)

    def fitted_to(self, rows: Any) -> "LinearEncoder":
        """The same with C for these rows, where it is not given."""
        return self if self.C is not None else replace(self, C=C_from_effective_rank(rows))

    def variants(self) -> list[tuple[str, Encoder]]:
        """ "tighter" and "freer": more and less regularised."""
        factors = (("tighter", 0.4), ("freer", 3.0))
        return [(name, replace(self, C_scale=factor * self.C_scale)) for name, factor in factors]


class LinearLearner(Learner):
    def __init__(self, settings: LinearEncoder, n_inputs: int, n_classes: int) -> None:
        self.settings = settings
        self.W = np.zeros((n_inputs, n_classes))
        self.b = np.zeros(n_classes)

    def train(self, X: Any, targets: Array, weights: Array, n_epochs: int) -> float:
        X = sp.csr_array(X) if sp.issparse(X) else np.ascontiguousarray(X)
        weighted = np.ascontiguousarray(targets * weights[:, None], dtype=np.float32)
        size, by_class = self.W.size, self.W.T.shape  # a class's weights side by side
        C = (self.settings.C or C_from_effective_rank(X)) * self.settings.C_scale

        def loss(flat: Array) -> tuple[float, Array]:
            W, b = flat[:size].reshape(by_class), flat[size:]
            value, slope_W, slope_b = softmax_regression(X, W, b, weighted)
            total = value + float(np.sum(W * W)) / (2 * C)
            return total, np.concatenate([(slope_W + W / C).ravel(), slope_b])

        start = np.concatenate([self.W.T.ravel(), self.b])
        options = {"maxiter": n_epochs, "maxcor": 10, "ftol": self.settings.tolerance}
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
        self.W, self.b = np.ascontiguousarray(found.x[:size].reshape(by_class).T), found.x[size:]
        return float(found.fun / max(float(weighted.sum(dtype=np.float64)), 1e-12))

    def predict(self, X: Any) -> Array:
        W = self.W.astype(X.dtype)
        P = allocate((X.shape[0], self.W.shape[1]), working_dtype(X.shape[0], self.W.shape[1]))
        for rows in row_blocks(X.shape[0]):
            logits = np.asarray(X[rows] @ W, dtype=P.dtype) + self.b.astype(P.dtype)
            P[rows] = softmax_rows(logits, 1.0 / self.settings.sharpness, of_shares=False).S
        return P

    def state(self) -> dict[str, Array]:
        return {"W": self.W, "b": self.b}

    def restore(self, state: dict[str, Array]) -> None:
        self.W, self.b = state["W"].copy(), state["b"].copy()


def C_from_effective_rank(rows: Any) -> float:
    """The C that suits inputs which fill as many directions as these."""
    return float(min(MOST_C, USUAL_C * (USUAL_DIRECTIONS / effective_rank(rows)) ** STEEPNESS))


def effective_rank(rows: Any) -> float:
    """(sum of e)^2 / sum of e^2 over the eigenvalues e of the rows' second moments, from a sample of rows.

    The sum is a row's mean squared length, the sum of squares the mean squared product of two different rows.
    """
    n = rows.shape[0]
    some = rows[np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64)]
    products = np.asarray((some @ some.T).toarray() if sp.issparse(some) else some @ some.T, dtype=np.float64)
    lengths = np.diag(products)
    pairs = len(lengths) * (len(lengths) - 1)
    squares = max(float(np.sum(products**2) - np.sum(lengths**2)), 0.0) / max(pairs, 1)
    return float(np.mean(lengths) ** 2 / squares) if squares > 0 else USUAL_DIRECTIONS
