"""A_tilde = D^-1/2 A D^-1/2, the normalised adjacency, as something to multiply by."""

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, inverse_sqrt, row_sums
from altopt.operator.kernels.dispatch import serving, step
from altopt.operator.layout import Layout, lay_out
from altopt.operator.ordering import community_order, order_for, too_large


class NormalizedAdjacency:
    """A_tilde of a symmetric, non-negative adjacency: symmetric, spectrum in [-1, 1].

    A node without edges has a zero row: it neither gives nor takes. With `self_loops` every node is tied to
    itself with the mean edge weight, so that scaling all weights still changes nothing.

    >>> A = NormalizedAdjacency(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> A @ np.array([[1.0], [3.0]])
    array([[3.],
           [1.]])
    """

    def __init__(self, adjacency: Any, self_loops: bool = False) -> None:
        A = sp.csr_array(adjacency)
        if self_loops:
            A = sp.csr_array(A + sp.diags_array(np.full(A.shape[0], A.data.mean() if A.nnz else 1.0)))
        self.self_loops = self_loops
        self.adjacency = A
        self.degrees: Array = row_sums(A)
        self._single: Any = None
        self._layouts: dict[bool, Layout] = {}
        self._order: Array | None = None
        self._tried = False

    @cached_property
    def matrix(self) -> Any:
        """A_tilde itself, in float64; a fit by the default views never needs it."""
        A = self.adjacency
        scale = inverse_sqrt(self.degrees)
        rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        # scale_i * scale_j first: the same product for (i, j) and (j, i), so A_tilde is symmetric to the bit
        data = A.data * (scale[rows] * scale[A.indices])
        return sp.csr_array((data, A.indices, A.indptr), shape=A.shape)

    def layout(self, ordered: bool) -> Layout:
        """How the graph is stored for many steps, as its nodes came or in an order made for caches; made once."""
        if ordered not in self._layouts:
            order = None
            if ordered:
                order = self._order if self._order is not None else community_order(self.adjacency, serving())
            self._layouts[ordered] = lay_out(self.adjacency, self.degrees, order, serving())
        return self._layouts[ordered]

    def layout_for(self, row_bytes: int) -> Layout:
        """The layout for blocks with rows of `row_bytes`: in an order of its own where that pays."""
        if self._order is None and not self._tried and too_large(self.n_nodes, row_bytes):
            self._order, self._tried = order_for(self.adjacency, row_bytes, serving()), True
        return self.layout(self._order is not None)

    @property
    def n_nodes(self) -> int:
        return int(self.adjacency.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        return (self.n_nodes, self.n_nodes)

    @property
    def isolated(self) -> Array:
        """True for nodes without edges."""
        return np.asarray(self.degrees == 0)

    def __matmul__(self, F: Array) -> Array:
        return self.step(F)

    def step(
        self,
        F: Array,
        scale: Array | float = 1.0,
        diagonal: Array | float | None = None,
        rest: Array | None = None,
        out: Array | None = None,
    ) -> Array:
        """scale A_tilde F + diagonal F + rest in one pass; scale and diagonal: one number, or one for each node."""
        matrix = self.matrix
        if F.dtype == np.float32:
            if self._single is None:
                self._single = self.matrix.astype(np.float32)
            matrix = self._single
        return step(matrix, F, scale, diagonal, rest, out)

    def as_dense(self) -> Array:
        """The matrix itself: the truth in tests, for small graphs."""
        return np.asarray(self.matrix.toarray())
