"""D_A of locally linear embedding: the row of F of each node is the mean of its neighbours' rows."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.operator import NormalizedAdjacency
from altopt.operator.scaling import row_stochastic
from altopt.views.quadratic import QuadraticForm
from altopt.views.view import Curvature


@dataclass(frozen=True)
class LocallyLinearView(QuadraticForm):
    """D_A = ||F - W F||^2 = tr(F' (I - W)' (I - W) F), W = D^-1 A: each node is the mean of its neighbours.

    What it is for: graphs whose edge weights say how a node is composed of others. Unlike with the Laplacian, a
    node may be a mixture of classes at no cost, as long as the mean of its neighbours is the same mixture; and a node
    with many neighbours affects all of them.

    With R = I - W and r_k = sum_j |R_kj| <= 2, (sum_j R_kj x_j)^2 <= sum_j |R_kj| r_k x_j^2 bounds half the Hessian by
    diag(upper), upper_j = sum_k |R_kj| r_k.

    Parameters
    ----------
    A_tilde : NormalizedAdjacency
    weight : float

    Examples
    --------
    On a path of three nodes the middle one is the mean of its ends at no cost:

    >>> path = NormalizedAdjacency(sp.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    >>> LocallyLinearView(path).distance(np.array([[1.0], [0.0], [-1.0]]))  # 1 + 0 + 1, for the two ends
    2.0
    """

    A_tilde: NormalizedAdjacency
    weight: float = 1.0

    @cached_property
    def _R(self) -> Any:
        W = row_stochastic(sp.csr_array(self.A_tilde.adjacency, dtype=np.float64))
        return sp.csr_array(sp.eye_array(self.A_tilde.n_nodes) - W)

    @cached_property
    def _R_transposed(self) -> Any:
        return sp.csr_array(self._R.T)

    def residual(self, F: Array) -> Array:
        return np.asarray(self._R_transposed @ (self._R @ F)).astype(F.dtype, copy=False)

    def curvature(self) -> Curvature:
        size = abs(self._R)
        upper = np.asarray(size.T @ size.sum(axis=1)).ravel()
        return Curvature(lower=0.0, upper=upper, step_scale=np.maximum(upper / 2, self._diagonal))

    @cached_property
    def _diagonal(self) -> Array:
        return np.asarray(self._R.multiply(self._R).sum(axis=0)).ravel()

    def half_hessian(self) -> Any:
        return self._R_transposed @ self._R
