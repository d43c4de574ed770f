"""The learner of MLPEncoder: ReLU and dropout in one native pass where possible."""

from typing import Any

import torch

from altopt.encoders.mlp import MLPEncoder
from altopt.encoders.torch.learner import NetworkLearner
from altopt.operator.kernels import dispatch
from altopt.operator.kernels.dropout import Masks, dropout, relu_dropout_


class MLPLearner(NetworkLearner):
    def __init__(self, settings: MLPEncoder, n_inputs: int, n_classes: int, seed: int) -> None:
        self.settings = settings
        widest = max(n_inputs, n_classes, *settings.hidden, 1)
        super().__init__(settings, n_inputs, n_classes, seed, widest)

    def _build(self, n_inputs: int, n_classes: int) -> torch.nn.Module:
        layers: list[torch.nn.Module] = [torch.nn.Dropout(self.settings.input_dropout)]
        width = n_inputs
        for size in self.settings.hidden:
            layers += [torch.nn.Linear(width, size), torch.nn.ReLU(), torch.nn.Dropout(self.settings.dropout)]
            width = size
        return torch.nn.Sequential(*layers, torch.nn.Linear(width, n_classes))

    def _divisor(self, n_rows: int) -> int:
        return 1 if self.settings.reduction == "sum" else n_rows

    def _fused(self) -> bool:
        return self.settings.fused is not False and self._on_cpu and dispatch.native_available()

    def _logits(self, x: Any, mask_seed: int, number: int) -> Any:
        """As torch does it, or with ReLU and dropout in one pass."""
        if not self._fused():
            return self.network(x)
        *hidden, last = self._maps()
        masks = Masks(mask_seed, number * (1 + len(hidden)))
        if self.settings.input_dropout > 0:
            x = dropout(x, self.settings.input_dropout, masks)
        for layer in hidden:
            x = relu_dropout_(layer(x), self.settings.dropout, masks)
        return last(x)

    def _maps(self) -> list[Any]:
        return [layer for layer in self.network if isinstance(layer, torch.nn.Linear)]

    def _answer(self, x: Any) -> Any:
        *hidden, last = self._maps()
        for layer in hidden:
            x = layer(x).relu_()
        return last(x)
