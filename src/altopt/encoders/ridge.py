"""Weighted ridge regression of soft labels, and exactly what it would say of each row without that row."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dpotri

from altopt.arrays import Array


def mean_without(T: Array, w: Array) -> Array:
    """The weighted mean of all rows but each; of all, where there is but one."""
    rest = (w.sum() - w)[:, None]
    others = (w @ T - w[:, None] * T) / np.where(rest > 0, rest, 1.0)
    return np.asarray(np.where(rest > 0, others, w @ T / w.sum()))


class DualRidge:
    """f = b + K a with b the weighted mean of T and (K + ridge W^-1) a = T - b; W = diag(w).

    In the symmetric form S = W^1/2 K W^1/2 + ridge I:  (K + ridge W^-1)^-1 = W^1/2 S^-1 W^1/2.
    """

    def __init__(self, K: Array, T: Array, w: Array, ridge: float) -> None:
        self.T, self.w, self.ridge = T, w, ridge
        self.root = np.sqrt(w)[:, None]
        S = K * (self.root * self.root.T)
        S[np.diag_indices_from(S)] += ridge
        self.factor = cho_factor(S, lower=True, overwrite_a=True, check_finite=False)
        self.b = w @ T / w.sum()
        self.a = self._solve(T - self.b)

    def _solve(self, R: Array) -> Array:
        return np.asarray(self.root * cho_solve(self.factor, self.root * R, check_finite=False))

    def fitted(self) -> Array:
        """f at the training rows: T - ridge W^-1 a."""
        return np.asarray(self.T - self.ridge * self.a / self.w[:, None])

    def leave_one_out(self) -> Array:
        """t_i - a_i / c_i with c the diagonal of (K + ridge W^-1)^-1, and b that of the other rows.

        With u = (K + ridge W^-1)^-1 1 a change of b by e changes a by -u e.
        """
        inverse, failed = dpotri(self.factor[0], lower=1)
        assert failed == 0
        c = self.w * np.diag(inverse)
        u = self._solve(np.ones((len(self.w), 1)))
        without = self.a - u * (mean_without(self.T, self.w) - self.b)
        return np.asarray(self.T - without / c[:, None])


class PrimalRidge:
    """f = b + phi v with b the weighted mean of T and (phi' W phi + ridge I) v = phi' W (T - b)."""

    def __init__(self, phi: Array, T: Array, w: Array, ridge: float) -> None:
        self.phi, self.T, self.w = phi, T, w
        weighted = phi * np.sqrt(w)[:, None]
        gram = weighted.T @ weighted
        gram[np.diag_indices_from(gram)] += ridge
        self.factor = cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
        self.b = w @ T / w.sum()
        self.coefficients = self._coefficients(T - self.b)

    def _coefficients(self, R: Array) -> Array:
        return np.asarray(cho_solve(self.factor, self.phi.T @ (self.w[:, None] * R), check_finite=False))

    def fitted(self) -> Array:
        return np.asarray(self.b + self.phi @ self.coefficients)

    def leave_one_out(self) -> Array:
        """t_i - (t_i - f_i) / (1 - h_i), h_i = w_i phi_i' (phi' W phi + ridge I)^-1 phi_i, b that of the others."""
        half = solve_triangular(self.factor[0], self.phi.T, lower=True, check_finite=False)
        h = self.w * np.einsum("ij,ij->j", half, half)
        others = mean_without(self.T, self.w) - self.b
        # the smoother's answer to a constant target, for the change of b
        of_one = self.phi @ self._coefficients(np.ones((len(self.w), 1)))
        off = (self.T - self.fitted()) - others * (1.0 - of_one)
        return np.asarray(self.T - off / (1.0 - h)[:, None])
