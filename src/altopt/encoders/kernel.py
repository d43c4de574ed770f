"""Kernel ridge regression on cosines, in closed form, with exact leave-one-out scores."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from altopt.arrays import Array, row_blocks, shares, working_dtype
from altopt.defaults import DEFAULTS
from altopt.encoders.encoder import Encoder, Learner
from altopt.encoders.ridge import DualRidge, PrimalRidge
from altopt.errors import InputError
from altopt.io.array_io import finite, from_arrays, to_arrays
from altopt.operator.scaling import row_norms, scale_rows
from altopt.settings import check_count, check_number

KERNEL_ROWS = 4096  # rows of the kernel matrix computed at once
DENSE_COLUMN = 0.1  # share of rows with an entry from which a column of a sparse matrix is multiplied densely
JITTER = 1e-8  # added to the landmarks' kernel, so that it has a Cholesky factor


@dataclass(frozen=True)
class KernelEncoder(Encoder):
    """Kernel ridge regression on cosines, in closed form.

    P is f without its negative parts, each row divided by its sum, with f(x) = b + sum_j K(x, x_j) a_j minimising

        sum_i w_i ||f(x_i) - targets_i||^2  +  ridge ||f - b||_K^2,      K(x, z) = exp(gamma (x'z - 1))

    and b the weighted mean of the targets. Made for BlockInputs with unit rows, where x'z is the mean cosine of the
    blocks; a row longer than 1 is brought to length 1. Each round fits from scratch; the number of epochs plays no
    part. `KernelLearner.leave_one_out` is exact.

    Parameters
    ----------
    gamma : float or None, default 3.0
        How fast K falls with the cosine; None takes K(x, z) = x'z.
    ridge : float, default 0.1
        Strength of the penalty.
    max_rows : int, default 4000
        Training rows up to which the solution is exact.
    n_landmarks : int, default 2000
        Rows, drawn by weight, that span f when there are more training rows (Nystroem).

    Examples
    --------
    >>> import numpy as np
    >>> from altopt.encoders import KernelEncoder
    >>> X = np.array([[0.0, 1.0], [0.2, 0.9], [1.0, 0.0], [0.8, 0.1]])
    >>> learner = KernelEncoder().begin(n_inputs=2, n_classes=2, seed=0)
    >>> loss = learner.train(X, np.eye(2)[[0, 0, 1, 1]], np.ones(4), n_epochs=1)
    >>> learner.predict(X).round(2)
    array([[1.  , 0.  ],
           [0.9 , 0.1 ],
           [0.  , 1.  ],
           [0.17, 0.83]])
    """

    gamma: float | None = DEFAULTS.kernel_gamma
    ridge: float = DEFAULTS.kernel_ridge
    max_rows: int = DEFAULTS.kernel_rows
    n_landmarks: int = DEFAULTS.kernel_rows // 2

    def __post_init__(self) -> None:
        check_number(self, "gamma", above=0, below=1e6, optional=True)
        check_number(self, "ridge", least=1e-9)  # smaller ones leave K singular in float64
        check_count(self, "max_rows", 0)
        check_count(self, "n_landmarks")

    def begin(self, n_inputs: int, n_classes: int, seed: int) -> "KernelLearner":
        return KernelLearner(self, n_classes, seed)

    def memory(self, n_rows: int, n_inputs: int, n_classes: int) -> float:
        """The kernel matrix and its factor; with landmarks, the features of all rows and a weighted copy."""
        if n_rows <= self.max_rows:
            return 2.0 * 8 * n_rows**2
        m = min(self.n_landmarks, n_rows)
        return 2.0 * 8 * m * (n_rows + m)

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
        order = by_content(X)
        self.support = X[order[np.sort(rng.choice(X.shape[0], m, replace=False, p=w[order] / w.sum()))]]
        K = self._own_kernel()
        K[np.diag_indices_from(K)] += JITTER * np.trace(K)
        R = np.linalg.cholesky(K)  # K = R R'
        phi = np.empty((X.shape[0], m))
        for rows in row_blocks(X.shape[0], KERNEL_ROWS):
            phi[rows] = solve_triangular(R, self.settings.kernel(X[rows], self.support).T, lower=True).T
        fit = PrimalRidge(phi, T, w, self.settings.ridge)
        self.a = solve_triangular(R, fit.coefficients, lower=True, trans="T")
        return fit

    def _own_kernel(self) -> Array:
        """K of the support with itself, in float64: it is factored."""
        rows = self.support.astype(np.float64)
        return self.settings.kernel(rows, rows)

    def leave_one_out(self) -> Array:
        """f at each training row from a fit without that row; `altopt.arrays.shares` turns it into P.

        Exact; with landmarks, for the landmarks that were drawn.
        """
        if self._trained is None:
            raise InputError(
                "leave_one_out needs a trained learner; a restored one has no training rows. Train again."
            )
        fit, counts = self._trained
        if counts.all():
            return fit.leave_one_out()
        raise InputError("leave_one_out needs a weight above 0 on every training row. Leave the others out.")

    def scores(self, X: Any) -> Array:
        """f(x) for each row: sums to 1, may be negative."""
        return np.concatenate([self.b + K @ self.a for K in self._kernels(X)])

    def _kernels(self, X: Any) -> Iterator[Array]:
        for rows in row_blocks(X.shape[0], KERNEL_ROWS):
            yield self.settings.kernel(at_most_unit(X[rows]), self.support)

    def predict(self, X: Any) -> Array:
        P = np.empty((X.shape[0], self.n_classes), dtype=working_dtype(X.shape[0], self.n_classes))
        P[:] = self.b
        if self.support is not None:
            for rows, K in zip(row_blocks(X.shape[0], KERNEL_ROWS), self._kernels(X)):
                P[rows] = shares(self.b + K @ self.a)
        return P

    def state(self) -> dict[str, Array]:
        support = {} if self.support is None else to_arrays(self.support, "support")
        return {"a": self.a, "b": self.b} | support

    def restore(self, state: dict[str, Array]) -> None:
        trained = len(state) > 2
        self.support = from_arrays(state, "support") if trained else None
        n_support = self.support.shape[0] if trained else None
        self.a, self._trained = finite(state, "a", (n_support, self.n_classes)), None
        self.b = finite(state, "b", (self.n_classes,))


def products(X: Any, Z: Any) -> Array:
    """X Z', dense. Columns that many rows of a sparse Z have go through a dense product, which is much faster."""
    if not (sp.issparse(X) and sp.issparse(Z)):
        return np.asarray(X @ Z.T)
    full = np.bincount(Z.indices, minlength=Z.shape[1]) > DENSE_COLUMN * Z.shape[0]
    K = np.asarray((X[:, ~full] @ Z[:, ~full].T).toarray())
    return K + X[:, full].toarray() @ Z[:, full].toarray().T if full.any() else K


def by_content(X: Any) -> Array:
    """Rows in an order that follows from their entries alone, not from the numbers of rows or columns.

    >>> X = np.array([[0.0, 3.0], [1.0, 0.0], [0.0, 2.0]])
    >>> by_content(X).tolist(), by_content(X[::-1, ::-1]).tolist()
    ([1, 2, 0], [1, 0, 2])
    """
    key = np.asarray(X.sum(axis=1)).ravel() + np.sqrt(2.0) * np.asarray((X * X * X).sum(axis=1)).ravel()
    return np.argsort(key, kind="stable")


def at_most_unit(X: Any) -> Any:
    """Rows longer than 1 brought to length 1."""
    X = sp.csr_array(X, dtype=np.float32) if sp.issparse(X) else np.asarray(X, dtype=np.float32)
    return scale_rows(X, 1.0 / np.maximum(row_norms(X), 1.0))
