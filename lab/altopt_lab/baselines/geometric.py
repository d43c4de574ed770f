"""Layers of PyTorch Geometric that propagate with our kernels: the same mathematics, faster products."""

from typing import Any

import torch

from altopt.errors import InputError
from altopt.operator.kernels.dropout import Masks
from altopt_lab.baselines.products import Features


def layers() -> Any:
    """torch_geometric.nn, imported on first use."""
    try:
        import torch_geometric.nn
    except ImportError as missing:
        raise InputError(
            "This baseline needs PyTorch Geometric. Install it with: pip install 'altopt[graphs]'."
        ) from missing
    return torch_geometric.nn


def with_our_product(layer: Any) -> Any:
    """The layer, propagating by `graph @ x`; the graph must be normalised before."""

    def propagate(edge_index: Any, x: torch.Tensor, edge_weight: Any = None) -> torch.Tensor:
        product: torch.Tensor = edge_index @ x
        return product

    layer.propagate = propagate
    return layer


class FirstLinear(torch.nn.Module):
    """A Linear on sparse or dense features, with dropout of these."""

    def __init__(self, linear: Any, rate: float, masks: Masks) -> None:
        super().__init__()
        self.linear, self.rate, self.masks = linear, rate, masks

    def forward(self, X: Features) -> torch.Tensor:
        product = X.times(self.linear.weight, self.rate, self.masks if self.training else None)
        return product if self.linear.bias is None else product + self.linear.bias
