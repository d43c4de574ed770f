"""Kernel ridge regression on cosines: closed form, with what each training row would be told without itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from altopt.arrays import Array, row_blocks, shares, working_dtype
from altopt.encoders.encoder import Encoder, Learner
from altopt.encoders.ridge import DualRidge, PrimalRidge
from altopt.errors import InputError
from altopt.io.array_io import from_arrays, to_arrays
from altopt.operator.scaling import lengths, scaled_rows

BLOCK = 4096  # rows whose products with the support are held at once
FILLED = 0.1  # share of rows that make a column of a sparse matrix a full one
JITTER = 1e-8  # of the kernel of the landmarks, so that it can be factored


@dataclass(frozen=True)
class KernelEncoder(Encoder):
    """P = shares of f(x) = b + sum_j K(x, x_j) a_j, minimising sum_i w_i ||f(x_i) - t_i||^2 + ridge ||f - b||_K^2.

    K = exp(gamma (x'z - 1)), or x'z where gamma is None; b is the weighted mean of the targets. Made for
    BlockInputs with unit rows, where x'z is the mean cosine of the blocks; a longer row counts as its direction.
    f sums to 1 in each row: P is f without its negative parts, divided by what is then its sum.

    Up to `max_rows` training rows the solution is exact. Above, `n_landmarks` of them, drawn by weight, span f
    (Nystroem). Each round fits anew; the number of epochs plays no part. `learner.leave_one_out()` is exact.
    """

    gamma: float | None = 3.0
    ridge: float = 0.1
    max_rows: int = 4000
    n_landmarks: int = 2000

    def begin(self, n_inputs: int, n_classes: int, seed: int) -> "KernelLearner":
        if not self.ridge > 0 or (self.gamma is not None and not self.gamma > 0):
            raise InputError(
                f"KernelEncoder needs ridge > 0 and gamma > 0 or None, but has {self.ridge!r} and {self.gamma!r}."
            )
        return KernelLearner(self, n_classes, seed)

    def kernel(self, X: Any, Z: Any) -> Array:
        """K(x, z) for each row of X and of Z, whose lengths are at most 1; dense."""
        K = products(X, Z)
        return K if self.gamma is None else np.exp(self.gamma * (K - 1.0))


class KernelLearner(Learner):
    def __init__(self, settings: KernelEncoder, n_classes: int, seed: int) -> None:
        self.settings, self.n_classes, self.seed = settings, n_classes, seed
        self.support: Any = None  # the rows that span f
        self.a: Array = np.empty((0, n_classes))
        self.b: Array = np.full(n_classes, 1.0 / n_classes)
        self._trained: tuple[DualRidge | PrimalRidge, Array] | None = None  # and which rows had a weight

    def train(self, X: Any, targets: Array, weights: Array, n_epochs: int) -> float:
        counts = np.asarray(weights) > 0
        if not counts.any():
            return float("nan")
        X, T = at_most_unit(X[np.flatnonzero(counts)]), np.asarray(targets[counts], dtype=np.float64)
        w = np.asarray(weights[counts], dtype=np.float64)
        fit: DualRidge | PrimalRidge
        if X.shape[0] <= self.settings.max_rows:
            self.support = X
            fit = DualRidge(self._own_kernel(), T, w, self.settings.ridge)
            self.a = fit.a
        else:
            fit = self._through_landmarks(X, T, w)
        self.b, self._trained = fit.b, (fit, counts)
        return float(np.sum(w * np.sum((fit.fitted() - T) ** 2, axis=1)) / w.sum())

    def _through_landmarks(self, X: Any, T: Array, w: Array) -> PrimalRidge:
        """f in the span of a few rows: features phi with phi'phi = K_xl K_ll^-1 K_lz, ridge regression on them."""
        m = min(self.settings.n_landmarks, X.shape[0])
        rng = np.random.default_rng(self.seed)
        self.support = X[np.sort(rng.choice(X.shape[0], m, replace=False, p=w / w.sum()))]
        K = self._own_kernel()
        K[np.diag_indices_from(K)] += JITTER * np.trace(K)
        R = np.linalg.cholesky(K)  # K = R R'
        phi = np.empty((X.shape[0], m))
        for rows in row_blocks(X.shape[0], BLOCK):
            phi[rows] = solve_triangular(R, self.settings.kernel(X[rows], self.support).T, lower=True).T
        fit = PrimalRidge(phi, T, w, self.settings.ridge)
        self.a = solve_triangular(R, fit.coefficients, lower=True, trans="T")
        return fit

    def _own_kernel(self) -> Array:
        """K of the support with itself, in float64: it is factored."""
        rows = self.support.astype(np.float64)
        return self.settings.kernel(rows, rows)

    def leave_one_out(self) -> Array:
        """f at each row of the last training as it would be had the row not been there; `shares` makes it P.

        Exact; where there are landmarks, for those that were drawn.
        """
        if self._trained is None:
            raise InputError("leave_one_out is there after training, and is not stored. Train again.")
        fit, counts = self._trained
        if counts.all():
            return fit.leave_one_out()
        raise InputError("leave_one_out needs a weight above 0 on every training row. Leave the others out.")

    def scores(self, X: Any) -> Array:
        """f(x) for each row: sums to 1, may be negative."""
        return np.concatenate([self.b + K @ self.a for K in self._kernels(X)])

    def _kernels(self, X: Any) -> Iterator[Array]:
        for rows in row_blocks(X.shape[0], BLOCK):
            yield self.settings.kernel(at_most_unit(X[rows]), self.support)

    def predict(self, X: Any) -> Array:
        P = np.empty((X.shape[0], self.n_classes), dtype=working_dtype(X.shape[0], self.n_classes))
        P[:] = self.b
        if self.support is not None:
            for rows, K in zip(row_blocks(X.shape[0], BLOCK), self._kernels(X)):
                P[rows] = shares(self.b + K @ self.a)
        return P

    def state(self) -> dict[str, Array]:
        support = {} if self.support is None else to_arrays(self.support, "support")
        return {"a": self.a, "b": self.b} | support

    def restore(self, state: dict[str, Array]) -> None:
        self.a, self.b, self._trained = state["a"], state["b"], None
        if len(state) > 2:
            self.support = from_arrays(state, "support")


def products(X: Any, Z: Any) -> Array:
    """X Z', dense. Columns that most rows of a sparse Z have go through a dense product: far faster there."""
    if not (sp.issparse(X) and sp.issparse(Z)):
        return np.asarray(X @ Z.T)
    full = np.bincount(Z.indices, minlength=Z.shape[1]) > FILLED * Z.shape[0]
    K = np.asarray((X[:, ~full] @ Z[:, ~full].T).toarray())
    return K + X[:, full].toarray() @ Z[:, full].toarray().T if full.any() else K


def at_most_unit(X: Any) -> Any:
    """Rows longer than 1 brought to length 1."""
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    return scaled_rows(X, 1.0 / np.maximum(lengths(X), 1.0))
