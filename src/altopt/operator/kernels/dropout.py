"""Dropout in torch, alone or after ReLU: one compiled pass where it fits, else torch's own."""

from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from altopt.operator.kernels.dispatch import native_available
from altopt.operator.kernels.mask import apply_dropout, dropout_gradient


@dataclass
class Masks:
    """A source of dropout masks: the k-th mask is a function of the seed and k alone.

    Parameters
    ----------
    seed : int
    n_drawn : int
        Number of the next mask.

    Examples
    --------
    >>> masks = Masks(seed=0)
    >>> masks.draw(), masks.draw()
    (0, 1)
    """

    seed: int
    n_drawn: int = 0

    def draw(self) -> int:
        """The number of the next mask."""
        self.n_drawn += 1
        return self.n_drawn - 1


def fits(x: torch.Tensor) -> bool:
    """Whether the compiled pass can take x as it lies in memory."""
    return native_available() and x.device.type == "cpu" and x.dtype == torch.float32 and x.is_contiguous()


def dropout(x: torch.Tensor, rate: float, masks: Masks) -> torch.Tensor:
    """x mask / (1 - rate), for an x that needs no gradient."""
    if not fits(x):
        return torch.nn.functional.dropout(x, rate)
    out = torch.empty_like(x)
    apply_dropout(flat(x), flat(out), rate, masks.seed, masks.draw(), relu=False)
    return out


def relu_dropout_(x: torch.Tensor, rate: float, masks: Masks) -> torch.Tensor:
    """max(x, 0) mask / (1 - rate), in place where the compiled pass fits."""
    if not fits(x):
        return torch.nn.functional.dropout(torch.relu(x), rate)
    return ReluDropout.apply(x, rate, masks)  # type: ignore[no-untyped-call, no-any-return]


class ReluDropout(torch.autograd.Function):
    """The compiled pass with its gradient, which needs the output alone."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, rate: float, masks: Masks) -> torch.Tensor:
        apply_dropout(flat(x), flat(x), rate, masks.seed, masks.draw(), relu=True)
        ctx.rate = rate
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        (out,) = ctx.saved_tensors
        into = torch.empty_like(out)
        dropout_gradient(flat(out), flat(gradient.contiguous()), flat(into), ctx.rate)
        return into, None, None


def flat(x: torch.Tensor) -> Any:
    """The same memory as a flat numpy array."""
    return x.detach().view(-1).numpy()
