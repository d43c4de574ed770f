"""A_tilde = D^-1/2 A D^-1/2, the normalised adjacency, as a linear operator."""

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from altopt.arrays import Array, inverse_sqrt, row_sums
from altopt.operator.kernels.backend import Backend, make_backend
from altopt.operator.kernels.product import step
from altopt.operator.kernels.reorder import community_order
from altopt.operator.layout import Layout, lay_out
from altopt.operator.ordering import exceeds_cache, order_for


class NormalizedAdjacency:
    """A_tilde = D^-1/2 A D^-1/2 of a symmetric, non-negative adjacency A: symmetric, spectrum in [-1, 1].

    The row of an isolated node is zero.

    Parameters
    ----------
    adjacency : sparse matrix of shape (n_nodes, n_nodes)
        A, symmetric with non-negative weights.
    self_loops : bool
        Whether every node is tied to itself with the mean edge weight, so that A_tilde does not depend on the scale
        of the weights.

    Attributes
    ----------
    adjacency : scipy.sparse.csr_array
        A, with the self-loops.
    degrees : array of shape (n_nodes,)
        d, the row sums of A.
    matrix : scipy.sparse.csr_array
        A_tilde in float64, made when it is first read.
    isolated : array of bool, shape (n_nodes,)
        True for nodes without edges.

    Examples
    --------
    >>> path = NormalizedAdjacency(sp.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    >>> path.degrees
    array([1., 2., 1.])
    >>> (path @ np.array([[1.0], [0.0], [1.0]])).round(4)
    array([[0.    ],
           [1.4142],
           [0.    ]])

    Scipy's solvers take it as a LinearOperator; here (I - A_tilde / 2) x = b:

    >>> from scipy.sparse.linalg import aslinearoperator, cg
    >>> A = path.as_linear_operator()
    >>> x, _ = cg(aslinearoperator(np.eye(3)) - 0.5 * A, np.array([1.0, 0.0, 0.0]))
    >>> (x - 0.5 * A @ x).round(4)
    array([1., 0., 0.])
    """

    def __init__(self, adjacency: Any, self_loops: bool = False) -> None:
        A = sp.csr_array(adjacency)
        if self_loops:
            A = sp.csr_array(A + sp.diags_array(np.full(A.shape[0], A.data.mean() if A.nnz else 1.0)))
        self.self_loops = self_loops
        self.adjacency = A
        self.degrees: Array = row_sums(A)
        self._layouts: dict[bool, Layout] = {}  # by whether the nodes are in cache order
        self._cache_order: Array | None = None  # None: undecided, or the nodes' own order is kept
        self._order_decided = False

    @cached_property
    def matrix(self) -> Any:
        """A_tilde as a CSR matrix in float64; a fit with the default views never needs it."""
        A = self.adjacency
        scale = inverse_sqrt(self.degrees)
        rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        # scale_i * scale_j first: the same product for (i, j) and (j, i), so A_tilde is symmetric to the bit
        data = A.data * (scale[rows] * scale[A.indices])
        return sp.csr_array((data, A.indices, A.indptr), shape=A.shape)

    @cached_property
    def _matrix_float32(self) -> Any:
        return self.matrix.astype(np.float32)

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
        matrix = self._matrix_float32 if F.dtype == np.float32 else self.matrix
        return step(matrix, F, scale, diagonal, rest, out)

    def as_linear_operator(self) -> LinearOperator:
        """A_tilde as scipy's LinearOperator, for scipy.sparse.linalg's solvers and eigensolvers."""
        return LinearOperator(
            self.shape,
            matvec=self.step,
            rmatvec=self.step,
            matmat=self.step,
            rmatmat=self.step,
            dtype=np.float64,
        )

    def as_dense(self) -> Array:
        """A_tilde as a dense matrix: the truth in tests, for small graphs."""
        return np.asarray(self.matrix.toarray())

    # storage for many steps

    def backend(self, width: int, dtype: Any = np.float32, *, cache_order: bool | None = None) -> Backend:
        """The backend for steps on blocks of `width` columns stored as `dtype`.

        `cache_order` says whether the nodes are put in an order in which neighbours lie close together; None
        decides by `layout_for`.
        """
        row_bytes = width * np.dtype(dtype).itemsize
        layout = self.layout_for(row_bytes) if cache_order is None else self.layout(cache_order)
        return make_backend(layout, width, dtype)

    def layout(self, cache_order: bool) -> Layout:
        """The adjacency as backends store it, in the nodes' own order or in cache order; made once each."""
        if cache_order not in self._layouts:
            order = None
            if cache_order:
                order = (
                    self._cache_order if self._cache_order is not None else community_order(self.adjacency)
                )
            self._layouts[cache_order] = lay_out(self.adjacency, self.degrees, order)
        return self._layouts[cache_order]

    def layout_for(self, row_bytes: int) -> Layout:
        """The layout for blocks with rows of `row_bytes`.

        Stateful: the first block that exceeds the caches decides, by its row length, whether cache order pays. The
        decision holds for all later blocks of any width, so that there is one copy of the graph; blocks asked for
        before it keep the nodes' own order. Results in the two orders differ by rounding alone.
        """
        if not self._order_decided and exceeds_cache(self.n_nodes, row_bytes):
            self._cache_order, self._order_decided = order_for(self.adjacency, row_bytes), True
        return self.layout(self._cache_order is not None)
