"""Softmax regression by L-BFGS: the default encoder, which trains in milliseconds."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from altopt.arrays import Array, allocate, row_blocks, working_dtype
from altopt.defaults import DEFAULTS
from altopt.encoders.encoder import Encoder, Learner
from altopt.io.array_io import finite
from altopt.operator.kernels.rows import softmax_regression, softmax_rows
from altopt.settings import check_number
from altopt.threads import each_block


@dataclass(frozen=True)
class LinearEncoder(Encoder):
    """Softmax regression with an L2 penalty.

    P = softmax(sharpness * (X W + b)), where W and b minimise

        sum_i w_i CE(targets_i, softmax(X_i W + b))  +  ||W||^2 / (2 C C_scale)

    An epoch is one L-BFGS iteration. Training continues from the W and b of the last round, and stops early when an
    iteration lowers the loss by less than `tolerance` of it.

    Parameters
    ----------
    C : float or None, default None
        Inverse strength of the penalty. None derives it from the effective rank of the inputs: with many directions
        of similar variance almost any pseudo label can be memorised, right or wrong, so C falls with the rank.
    sharpness : float, default 2.0
        Factor of the logits in `predict`. The penalty shrinks the weights, which makes P less certain than the labels
        it was trained on; this makes up for it.
    tolerance : float, default 1e-4
        Relative decrease of the loss below which training stops.
    C_scale : float, default 1.0
        Factor of C, given or derived.

    Examples
    --------
    >>> import numpy as np
    >>> from altopt.encoders import LinearEncoder
    >>> X = np.array([[0.0, 1.0], [0.2, 0.9], [1.0, 0.0], [0.8, 0.1]])
    >>> learner = LinearEncoder(C=10.0).begin(n_inputs=2, n_classes=2, seed=0)
    >>> loss = learner.train(X, np.eye(2)[[0, 0, 1, 1]], np.ones(4), n_epochs=50)
    >>> learner.predict(X).round(2)
    array([[1.  , 0.  ],
           [0.98, 0.02],
           [0.  , 1.  ],
           [0.02, 0.98]])
    """

    C: float | None = None
    sharpness: float = DEFAULTS.sharpness
    tolerance: float = DEFAULTS.encoder_tolerance
    C_scale: float = 1.0

    def __post_init__(self) -> None:
        check_number(self, "C", above=0, optional=True)
        check_number(self, "sharpness", above=0, below=1e9)
        check_number(self, "tolerance", least=0)
        check_number(self, "C_scale", above=0)

    def begin(self, n_inputs: int, n_classes: int, seed: int) -> "LinearLearner":
        return LinearLearner(self, n_inputs, n_classes)

    def fitted_to(self, rows: Any) -> "LinearEncoder":
        """The encoder with C derived from the effective rank of these rows, where it is None."""
        return self if self.C is not None else replace(self, C=C_from_effective_rank(rows))


class LinearLearner(Learner):
    def __init__(self, settings: LinearEncoder, n_inputs: int, n_classes: int) -> None:
        self.settings = settings
        self.W = np.zeros((n_inputs, n_classes))
        self.b = np.zeros(n_classes)

    def train(self, X: Any, targets: Array, weights: Array, n_epochs: int) -> float:
        X = sp.csr_array(X) if sp.issparse(X) else np.ascontiguousarray(X)
        X_transposed = sp.csr_array(X.T) if sp.issparse(X) else None
        weighted = np.ascontiguousarray(targets * weights[:, None], dtype=np.float32)
        size, by_class = self.W.size, self.W.T.shape  # the weights of a class are contiguous
        C = (self.settings.C or C_from_effective_rank(X)) * self.settings.C_scale

        def loss(flat: Array) -> tuple[float, Array]:
            W, b = flat[:size].reshape(by_class), flat[size:]
            value, slope_W, slope_b = softmax_regression(X, W, b, weighted, X_transposed)
            total = value + float(np.sum(W * W)) / (2 * C)
            return total, np.concatenate([(slope_W + W / C).ravel(), slope_b])

        start = np.concatenate([self.W.T.ravel(), self.b])
        options = {"maxiter": n_epochs, "maxcor": 10, "ftol": self.settings.tolerance}
        result = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
        self.W, self.b = np.ascontiguousarray(result.x[:size].reshape(by_class).T), result.x[size:]
        return float(result.fun / max(float(weighted.sum(dtype=np.float64)), 1e-12))

    def predict(self, X: Any) -> Array:
        P = allocate((X.shape[0], self.W.shape[1]), working_dtype(X.shape[0], self.W.shape[1]))

        def fill(rows: slice) -> None:
            P[rows] = self.probabilities(X[rows], P.dtype)

        each_block(fill, X.shape[0])
        return P

    def probabilities(self, rows: Any, dtype: Any) -> Array:
        """P of a block of rows."""
        logits = np.asarray(rows @ self.W.astype(rows.dtype), dtype=dtype) + self.b.astype(dtype)
        return softmax_rows(logits, 1.0 / self.settings.sharpness, of_shares=False).S

    def slopes(self) -> Array:
        return np.asarray(self.W * self.settings.sharpness)

    def state(self) -> dict[str, Array]:
        return {"W": self.W, "b": self.b}

    def restore(self, state: dict[str, Array]) -> None:
        self.W = finite(state, "W", self.W.shape).copy()
        self.b = finite(state, "b", self.b.shape).copy()


def C_from_effective_rank(rows: Any) -> float:
    """C = min(40, 20 (35 / effective rank)^1.5), to two digits: the next ones say which rows were in the sample."""
    relative_rank = DEFAULTS.C_rank / effective_rank(rows)
    return float(f"{min(DEFAULTS.C_max, DEFAULTS.C * relative_rank**DEFAULTS.C_exponent):.2g}")


def effective_rank(rows: Any) -> float:
    """(sum of e)^2 / sum of e^2 over the eigenvalues e of the rows' second moments, from a sample of rows.

    The sum is the mean squared length of a row, the sum of squares the mean squared product of two different rows:
    of all pairs, sum_ij (x_i x_j)^2 = ||X'X||^2, without each row's own.
    """
    sample = spread_sample(rows, DEFAULTS.C_sample)
    squared = sample.multiply(sample) if sp.issparse(sample) else np.square(sample)
    lengths = np.asarray(squared.sum(axis=1, dtype=np.float64)).ravel()
    pairs = len(lengths) * (len(lengths) - 1)
    squares = max(sum_of_squares(sample) - float(np.sum(lengths**2)), 0.0) / max(pairs, 1)
    return float(np.mean(lengths) ** 2 / squares) if squares > 0 else DEFAULTS.C_rank


def spread_sample(rows: Any, size: int) -> Any:
    """At most so many rows, spread evenly along one random direction: which ones does not depend on their order."""
    n = rows.shape[0]
    if n <= size:
        return rows[:]
    direction = np.random.default_rng(0).standard_normal(rows.shape[1]).astype(np.float32)
    along = np.concatenate([np.asarray(rows[block] @ direction) for block in row_blocks(n)])
    return rows[np.sort(np.argsort(along, kind="stable")[np.linspace(0, n - 1, size).astype(np.int64)])]


def sum_of_squares(rows: Any) -> float:
    """Of the products of all pairs of rows, from the smaller of the two second moments."""
    moments = rows @ rows.T if rows.shape[0] < rows.shape[1] else rows.T @ rows
    entries = moments.data if sp.issparse(moments) else np.ravel(moments)
    return float(np.sum(np.square(entries, dtype=np.float64)))
