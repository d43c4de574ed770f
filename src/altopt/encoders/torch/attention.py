"""The learner of AttentionEncoder: self-attention over hops."""

from typing import Any

import torch

from altopt.encoders.attention import AttentionEncoder
from altopt.encoders.torch.learner import NetworkLearner


class HopAttention(torch.nn.Module):
    """(rows, n_hops * k) -> (rows, n_classes)."""

    def __init__(self, settings: AttentionEncoder, n_inputs: int, n_classes: int) -> None:
        super().__init__()
        width = settings.width
        self.n_hops, self.heads = settings.n_hops, settings.heads
        self.embed = torch.nn.Linear(n_inputs // settings.n_hops, width)
        self.position = torch.nn.Parameter(0.1 * torch.randn(settings.n_hops, width))
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.project = torch.nn.Linear(width, width)
        self.norm = torch.nn.LayerNorm(width)
        self.read_out = torch.nn.Linear(width, n_classes)
        self.dropout = torch.nn.Dropout(settings.dropout)

    def forward(self, x: Any) -> Any:
        h = self.embed(x.view(len(x), self.n_hops, -1)) + self.position
        h = self.norm(h + self.project(self._attended(h)))
        return self.read_out(self.dropout(torch.relu(h)).mean(dim=1))

    def _attended(self, h: Any) -> Any:
        """softmax(Q K' / sqrt(width of a head)) V over the hops of each row."""
        n, hops, width = h.shape
        parts = self.qkv(h).view(n, hops, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # each (n, heads, hops, width of a head)
        share = torch.softmax(query @ key.transpose(-1, -2) / (width // self.heads) ** 0.5, dim=-1)
        return (share @ value).transpose(1, 2).reshape(n, hops, width)


class AttentionLearner(NetworkLearner):
    def __init__(self, settings: AttentionEncoder, n_inputs: int, n_classes: int, seed: int) -> None:
        self.settings = settings
        widest = max(n_inputs, settings.n_hops * 3 * settings.width, n_classes)
        super().__init__(settings, n_inputs, n_classes, seed, widest)

    def _build(self, n_inputs: int, n_classes: int) -> torch.nn.Module:
        return HopAttention(self.settings, n_inputs, n_classes)
