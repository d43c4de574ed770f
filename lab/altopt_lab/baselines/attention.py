"""The attention of PyTorch Geometric's GATConv, computed by rows of a sparse matrix instead of by messages."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from torch.autograd.function import once_differentiable

from altopt.operator.kernels.dropout import Masks, dropout
from altopt_lab.baselines.products import product

SLOPE = 0.2  # of the leaky ReLU below zero, GATConv's own


class AttentionPattern:
    """The sparsity pattern of the attention: node i attends to the columns of row i.

    It is symmetric and has self-loops, so that no row is empty.

    Parameters
    ----------
    adjacency : sparse array of shape (n_nodes, n_nodes)
    """

    def __init__(self, adjacency: Any) -> None:
        n = adjacency.shape[0]
        A = sp.csr_array(adjacency + sp.eye_array(n, dtype=adjacency.dtype, format="csr"))
        A.sort_indices()
        numbered = sp.csr_array((np.arange(A.nnz), A.indices, A.indptr), shape=A.shape)
        self.matrix = A
        self.columns = torch.from_numpy(A.indices.astype(np.int64))
        self.rows = torch.from_numpy(np.repeat(np.arange(n), np.diff(A.indptr)))
        self.flip = torch.from_numpy(sp.csr_array(numbered.T).data)  # entry (i, j) -> entry (j, i)
        self.offsets = torch.from_numpy(A.indptr.astype(np.int64))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # torch calls its sparse rows a beta
            self.empty = torch.sparse_csr_tensor(
                self.offsets, self.columns, torch.zeros(A.nnz), A.shape, check_invariants=False
            )

    def total(self, entries: torch.Tensor) -> torch.Tensor:
        """The sum of each row's entries, which may be several side by side."""
        return torch.segment_reduce(entries, "sum", offsets=self.offsets, axis=0)

    def edge_index(self) -> torch.Tensor:
        """The same as PyTorch Geometric takes it."""
        return torch.stack([self.columns, self.rows])


class Heads(NamedTuple):
    """How much each node attends to each neighbour, one column a head, before and after dropout."""

    whole: torch.Tensor
    kept: torch.Tensor
    negative: torch.Tensor  # where the leaky ReLU was on its flat side


def attend(layer: Any, H: torch.Tensor, pattern: AttentionPattern, rate: float, masks: Masks) -> torch.Tensor:
    """out_i = sum_j a_ij H_j + bias for each head of a GATConv, a_i = softmax_j leaky(s_j + t_i), H its linear map."""
    H = H.view(len(H), layer.heads, layer.out_channels)
    s, t = (H * layer.att_src).sum(-1), (H * layer.att_dst).sum(-1)
    rate = rate if layer.training else 0.0
    out: torch.Tensor = SparseAttention.apply(H, s, t, pattern, rate, masks)  # type: ignore[no-untyped-call]
    bias: torch.Tensor = layer.bias
    return out.flatten(1) + bias


class SparseAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        H: torch.Tensor,
        s: torch.Tensor,
        t: torch.Tensor,
        pattern: AttentionPattern,
        rate: float,
        masks: Masks,
    ) -> torch.Tensor:
        e = s[pattern.columns] + t[pattern.rows]
        negative = e < 0
        e = torch.where(negative, SLOPE * e, e)
        e -= torch.segment_reduce(e, "max", offsets=pattern.offsets, axis=0)[pattern.rows]
        whole = e.exp_()
        whole /= pattern.total(whole)[pattern.rows]
        kept = dropout(whole, rate, masks) if rate > 0 else whole
        ctx.pattern, ctx.heads = pattern, Heads(whole, kept, negative)
        ctx.save_for_backward(H)
        return weighted(pattern, kept, H)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, G: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, None, None, None]:
        (H,), pattern = ctx.saved_tensors, ctx.pattern
        whole, kept, negative = ctx.heads
        G = G.contiguous()
        slope = agreement(pattern, G, H)
        if kept is not whole:
            slope *= kept
            slope /= whole.clamp_min(torch.finfo(whole.dtype).tiny)
        slope -= pattern.total(slope * whole)[pattern.rows]
        slope *= whole
        slope = torch.where(negative, SLOPE * slope, slope)
        of_H = weighted(pattern, kept[pattern.flip], G)
        return of_H, pattern.total(slope[pattern.flip]), pattern.total(slope), None, None, None


def weighted(pattern: AttentionPattern, weights: torch.Tensor, H: torch.Tensor) -> torch.Tensor:
    """sum_j w_ij H_j, head by head."""
    heads = [product(pattern.matrix, w.contiguous(), H[:, k]) for k, w in enumerate(weights.unbind(1))]
    return torch.stack(heads, dim=1)


def agreement(pattern: AttentionPattern, G: torch.Tensor, H: torch.Tensor) -> torch.Tensor:
    """G_i . H_j on every entry (i, j), head by head."""
    heads = [
        torch.sparse.sampled_addmm(pattern.empty, G[:, k], H[:, k].T, beta=0.0).values()
        for k in range(H.shape[1])
    ]
    return torch.stack(heads, dim=1)
