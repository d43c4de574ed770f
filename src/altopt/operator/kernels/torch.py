"""The backend on torch tensors: for accelerators, where the compiled kernels do not run."""

from typing import Any

import numpy as np
import torch

from altopt.arrays import Array
from altopt.operator.layout import Layout


class TorchBackend:
    """Blocks are tensors of shape (n_nodes, width); float16 is for storage alone, sums are float32.

    Parameters
    ----------
    layout : Layout
    width : int
        Columns of F.
    dtype : float16, float32 or float64
        In which blocks are stored.
    device : str
        As torch names it.
    """

    def __init__(self, layout: Layout, width: int, dtype: Any, device: str) -> None:
        self.layout, self.width, self.device = layout, width, torch.device(device)
        self.dtype = {"float16": torch.float16, "float32": torch.float32, "float64": torch.float64}[
            np.dtype(dtype).name
        ]
        self.compute_dtype = torch.float64 if self.dtype == torch.float64 else torch.float32
        n = layout.n_nodes
        weights = np.ones(len(layout.indices)) if layout.weights is None else layout.weights
        self._A = torch.sparse_csr_tensor(
            torch.from_numpy(layout.indptr),
            torch.from_numpy(layout.indices.astype(np.int64)),
            torch.from_numpy(np.asarray(weights)).to(self.compute_dtype),
            size=(n, n),
            check_invariants=False,
        ).to(self.device)
        self._degrees = self._column(layout.degrees)
        self._root = self._column(np.sqrt(layout.degrees))
        self._order = slice(None) if layout.order is None else layout.order

    def _column(self, values: Array) -> torch.Tensor:
        return torch.from_numpy(np.array(values)).to(self.device, self.compute_dtype)[:, None]

    @property
    def description(self) -> str:
        return f"torch {self.device} {str(self.dtype).removeprefix('torch.')}"

    def empty(self) -> torch.Tensor:
        return torch.zeros((self.layout.n_nodes, self.width), dtype=self.dtype, device=self.device)

    def vector(self, values: Array | float) -> torch.Tensor:
        return self._column(self.layout.vector(values))

    def to_layout(
        self, F: Array, factor: Array | float = 1.0, first: int = 0, out: torch.Tensor | None = None
    ) -> torch.Tensor:
        rows = np.ascontiguousarray(F[self._order, first : first + self.width])
        block = self.vector(factor) * torch.from_numpy(rows).to(self.device, self.compute_dtype) / self._root
        return block.to(self.dtype) if out is None else out.copy_(block)

    def from_layout(self, block: torch.Tensor, out: Array, first: int = 0) -> Array:
        out[self._order, first : first + self.width] = (block * self._root).cpu().numpy()
        return out

    def add_rows(self, block: torch.Tensor, nodes: Array, rows: Array) -> None:
        at = torch.from_numpy(self.layout.rows(nodes).astype(np.int64)).to(self.device)
        added = torch.from_numpy(np.ascontiguousarray(rows)).to(self.device, self.compute_dtype)
        block[at] += (added / self._root[at]).to(self.dtype)

    def step(
        self,
        X: torch.Tensor,
        out: torch.Tensor,
        scale: torch.Tensor,
        diagonal: torch.Tensor | None = None,
        rest: torch.Tensor | None = None,
        *,
        gain: float = 1.0,
        keep: float = 0.0,
        beta: float = 0.0,
        norm: torch.Tensor | None = None,
    ) -> float:
        wide = X.to(self.compute_dtype)
        inner = (self._A @ wide) * (scale / self._degrees)
        if diagonal is not None:
            inner += diagonal * wide
        if rest is not None:
            inner += rest
        total = 0.0 if norm is None else float((inner * inner * (norm * self._degrees)).sum())
        inner *= gain
        if keep:
            inner += keep * wide
        if beta:
            inner += beta * out.to(self.compute_dtype)
        out.copy_(inner)
        return total

    def dots(self, A: torch.Tensor, B: torch.Tensor, weights: torch.Tensor | None = None) -> Array:
        each = self._degrees if weights is None else weights * self._degrees
        return np.asarray((A.to(self.compute_dtype) * B * each).sum(dim=0).double().cpu().numpy())

    def advance(
        self,
        F: torch.Tensor,
        R: torch.Tensor,
        D: torch.Tensor,
        HD: torch.Tensor,
        alpha: Array,
        scale: torch.Tensor,
    ) -> tuple[Array, float]:
        steps = torch.from_numpy(alpha).to(self.device, self.compute_dtype)
        F += steps * D
        R -= steps * HD
        rz = (R * R * (scale * self._degrees)).sum(dim=0).double().cpu().numpy()
        return np.asarray(rz), float(self.dots(R, R).sum())

    def search_direction(self, D: torch.Tensor, R: torch.Tensor, scale: torch.Tensor, beta: Array) -> None:
        D *= torch.from_numpy(beta).to(self.device, self.compute_dtype)
        D += scale * R
