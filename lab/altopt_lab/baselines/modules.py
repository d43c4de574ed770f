"""Torch modules that the baselines share: the perceptron, ReLU with dropout, and batches of rows of X."""

from itertools import pairwise
from typing import Any, NamedTuple

import scipy.sparse as sp
import torch

from altopt.arrays import Array
from altopt.operator.kernels.dropout import Masks, relu_dropout_
from altopt_lab.baselines.geometric import FirstLinear
from altopt_lab.baselines.products import Features


def relu_and_dropout(H: torch.Tensor, rate: float, masks: Masks, training: bool) -> torch.Tensor:
    """Both in one pass over H where they can be; H is overwritten."""
    return relu_dropout_(H, rate, masks) if training and rate > 0 else torch.relu(H)


class Perceptron(torch.nn.Module):
    """Linear maps with ReLU and dropout between them, and dropout of the features."""

    def __init__(self, widths: tuple[int, ...], rate: float, masks: Masks) -> None:
        super().__init__()
        linear = [torch.nn.Linear(a, b) for a, b in pairwise(widths)]
        self.first, self.others = FirstLinear(linear[0], rate, masks), torch.nn.ModuleList(linear[1:])
        self.rate, self.masks = rate, masks

    def forward(self, X: Features) -> torch.Tensor:
        H: torch.Tensor = self.first(X)
        for layer in self.others:
            H = layer(relu_and_dropout(H, self.rate, self.masks, self.training))
        return H


class Rows(NamedTuple):
    """Features of which a network reads the rows of the nodes it scores."""

    X: Any
    scale_rows: bool

    def batch(self, nodes: Array | None) -> Features:
        X = sp.csr_array(self.X) if sp.issparse(self.X) else self.X
        return Features(X if nodes is None else X[nodes], self.scale_rows)
