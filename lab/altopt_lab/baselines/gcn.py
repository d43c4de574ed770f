"""GCN (Kipf and Welling, 2017) of PyTorch Geometric's GCNConv."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch

from altopt.operator.kernels.dropout import Masks
from altopt_lab.baselines.baseline import Place
from altopt_lab.baselines.geometric import FirstLinear, by_ours, layers
from altopt_lab.baselines.perceptron import relu_and_dropout
from altopt_lab.baselines.surroundings import Seen, WholeGraph, whole_graph
from altopt_lab.baselines.training import Network


@dataclass(kw_only=True, eq=False)
class GCN(Network):
    """softmax(A_tilde relu(A_tilde X W1) W2), A_tilde with self-loops; dropout before each layer."""

    method: ClassVar[str] = "GCN"

    def prepare(self, place: Place) -> WholeGraph:
        return whole_graph(place, self.scale_rows)

    def network(self, n_features: int, n_classes: int, masks: Masks) -> torch.nn.Module:
        hidden = (self.hidden,) * (self.n_layers - 1)
        return Convolutions((n_features, *hidden, n_classes), self.dropout, masks)


class Convolutions(torch.nn.Module):
    def __init__(self, widths: tuple[int, ...], rate: float, masks: Masks) -> None:
        super().__init__()
        convolution = layers().GCNConv
        self.layers = torch.nn.ModuleList(
            by_ours(convolution(a, b, normalize=False)) for a, b in pairwise(widths)
        )
        first = self.layers[0]
        self.first, first.lin = FirstLinear(first.lin, rate, masks), torch.nn.Identity()
        self.rate, self.masks = rate, masks

    def forward(self, seen: Seen) -> torch.Tensor:
        H = self.layers[0](self.first(seen.X), seen.A)
        for layer in self.layers[1:]:
            H = layer(relu_and_dropout(H, self.rate, self.masks, self.training), seen.A)
        return seen.chosen(H)
