"""The two products of graph networks, X W and A_tilde H, by our kernels, with gradients."""

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch.autograd.function import once_differentiable

from altopt.arrays import Array
from altopt.inputs import unit_sum
from altopt.operator import NormalizedAdjacency
from altopt.operator.diffusion import steps
from altopt.operator.kernels.dropout import Masks, dropout
from altopt.operator.kernels.product import step


class Features:
    """X, to be multiplied by a layer's weights; a sparse X stays sparse, forth and back.

    Dropout of a sparse X is dropout of its entries: zeros stay zero.
    """

    def __init__(self, X: Any, scale_rows: bool = False) -> None:
        X = unit_sum(X) if scale_rows else X
        self.shape: tuple[int, int] = X.shape
        self.rows: Any = None
        if sp.issparse(X):
            self.rows = sp.csr_array(X)
            # a copy where need be: the ones of a graph without weights are a single number that cannot be written to
            self.entries = torch.from_numpy(np.require(self.rows.data, np.float32, ["C", "W"]))
            numbered = sp.csr_array(
                (np.arange(self.rows.nnz), self.rows.indices, self.rows.indptr), shape=self.shape
            )
            self.columns = sp.csr_array(numbered.T)  # X': for each entry, which of X's entries it is
            self.order = torch.from_numpy(self.columns.data)
        else:
            self.entries = torch.from_numpy(np.require(X, np.float32, ["C", "W"]))

    def times(self, W: torch.Tensor, rate: float = 0.0, masks: Masks | None = None) -> torch.Tensor:
        """X W' for W as a Linear holds it; with dropout of X where `masks` are given."""
        entries = self.entries if masks is None or rate == 0.0 else dropout(self.entries, rate, masks)
        if self.rows is None:
            return entries @ W.T
        return SparseProduct.apply(W, self, entries)  # type: ignore[no-untyped-call, no-any-return]


class SparseProduct(torch.autograd.Function):
    """X W' for a sparse X; the gradient of W is G' X."""

    @staticmethod
    def forward(ctx: Any, W: torch.Tensor, X: Features, entries: torch.Tensor) -> torch.Tensor:
        ctx.X = X
        ctx.save_for_backward(entries)
        return product(X.rows, entries, W.detach().T)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, G: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        (entries,) = ctx.saved_tensors
        return product(ctx.X.columns, entries[ctx.X.order], G).T, None, None


def product(matrix: Any, entries: torch.Tensor, block: torch.Tensor) -> torch.Tensor:
    """The matrix with these entries in its places, times a dense block."""
    filled = sp.csr_array((entries.numpy(), matrix.indices, matrix.indptr), shape=matrix.shape)
    return torch.from_numpy(step(filled, np.ascontiguousarray(block.numpy())))


class Propagation:
    """A_tilde as PyTorch Geometric's layers use it, with self-loops of weight one or without."""

    def __init__(self, adjacency: Any, self_loops: bool = True) -> None:
        if self_loops:
            adjacency = adjacency + sp.eye_array(adjacency.shape[0], dtype=adjacency.dtype, format="csr")
        self.operator = NormalizedAdjacency(adjacency)
        self._edges: tuple[torch.Tensor, torch.Tensor] | None = None

    def __matmul__(self, H: torch.Tensor) -> torch.Tensor:
        return Propagate.apply(H, self.operator)  # type: ignore[no-untyped-call, no-any-return]

    def diffuse(self, H: torch.Tensor, restart: float, n_steps: int) -> torch.Tensor:
        """Z <- (1 - restart) A_tilde Z + restart H from Z = H, whatever the number of steps one node of the tape."""
        return Diffuse.apply(H, self.operator, restart, n_steps)  # type: ignore[no-untyped-call, no-any-return]

    def edge_index(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The same matrix as PyTorch Geometric's layers take it: the two ends and the weight of each edge."""
        if self._edges is None:
            A = self.operator.matrix.tocoo()
            ends = torch.from_numpy(np.stack(A.coords).astype(np.int64))
            self._edges = ends, torch.from_numpy(A.data.astype(np.float32))
        return self._edges

    def hops(self, X: Any, nodes: Array, n_hops: int) -> list[Array]:
        """Rows `nodes` of X, A_tilde X, A_tilde^2 X, ..., without forming the others; dense but the first."""
        rows = sp.csr_array(sp.eye_array(self.operator.n_nodes, dtype=np.float32, format="csr")[nodes])
        A = sp.csr_array(self.operator.matrix, dtype=np.float32)
        hops = [X[nodes]]
        for _ in range(n_hops):
            rows = rows @ A
            hop = rows @ X
            hops.append(hop.toarray() if sp.issparse(hop) else np.asarray(hop))
        return hops


class Propagate(torch.autograd.Function):
    """A_tilde H; A_tilde is symmetric, so the gradient is the same product."""

    @staticmethod
    def forward(ctx: Any, H: torch.Tensor, operator: NormalizedAdjacency) -> torch.Tensor:
        ctx.operator = operator
        return torch.from_numpy(operator.step(as_array(H)))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, G: torch.Tensor) -> tuple[torch.Tensor, None]:
        return torch.from_numpy(ctx.operator.step(as_array(G))), None


class Diffuse(torch.autograd.Function):
    """A polynomial of A_tilde times H, and so is the gradient."""

    @staticmethod
    def forward(
        ctx: Any, H: torch.Tensor, operator: NormalizedAdjacency, restart: float, n_steps: int
    ) -> torch.Tensor:
        ctx.how = (operator, restart, n_steps)
        return torch.from_numpy(polynomial(as_array(H), *ctx.how))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, G: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        return torch.from_numpy(polynomial(as_array(G), *ctx.how)), None, None, None


def polynomial(H: Array, operator: NormalizedAdjacency, restart: float, n_steps: int) -> Array:
    out = np.empty_like(H)
    diffused = steps(operator, H, restart, n_steps, out)
    return H.copy() if diffused is H else diffused


def as_array(H: torch.Tensor) -> Array:
    return np.ascontiguousarray(H.detach().numpy())
