"""Dropout, alone or after ReLU: one native pass where it was built and fits, else torch's own."""

from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from altopt.operator.kernels import dispatch
from altopt.threads import kernel_threads


@dataclass
class Masks:
    """Where masks come from: the k-th one drawn is a function of the seed and k alone."""

    seed: int
    n_drawn: int = 0

    def draw(self) -> int:
        self.n_drawn += 1
        return self.n_drawn - 1


def fits(x: torch.Tensor) -> bool:
    """Whether the native pass can take x as it lies in memory."""
    return (
        dispatch.serving() is not None
        and x.device.type == "cpu"
        and x.dtype == torch.float32
        and x.is_contiguous()
    )


def dropout(x: torch.Tensor, rate: float, masks: Masks) -> torch.Tensor:
    """x mask / (1 - rate), for an x that needs no gradient."""
    if not fits(x):
        return torch.nn.functional.dropout(x, rate)
    out = torch.empty_like(x)
    dispatch.serving().dropout(flat(x), flat(out), rate, masks.seed, masks.draw(), False, kernel_threads())
    return out


def relu_dropout_(x: torch.Tensor, rate: float, masks: Masks) -> torch.Tensor:
    """max(x, 0) mask / (1 - rate), written over x where the native pass fits."""
    if not fits(x):
        return torch.nn.functional.dropout(torch.relu(x), rate)
    return ReluDropout.apply(x, rate, masks)  # type: ignore[no-untyped-call, no-any-return]


class ReluDropout(torch.autograd.Function):
    """The native pass with its gradient, for which the output is all that is kept."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, rate: float, masks: Masks) -> torch.Tensor:
        dispatch.serving().dropout(flat(x), flat(x), rate, masks.seed, masks.draw(), True, kernel_threads())
        ctx.rate = rate
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        (out,) = ctx.saved_tensors
        into = torch.empty_like(out)
        dispatch.serving().dropout_backward(
            flat(out), flat(gradient.contiguous()), flat(into), ctx.rate, kernel_threads()
        )
        return into, None, None


def flat(x: torch.Tensor) -> Any:
    """The same numbers in memory as a flat numpy array."""
    return x.detach().view(-1).numpy()
