"""Self-attention over a node's hops: which distance to look at is learned, node by node."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from altopt.encoders.encoder import Encoder
from altopt.errors import InputError, require_extra

if TYPE_CHECKING:
    from altopt.encoders.torch.attention import AttentionLearner


@dataclass(frozen=True)
class AttentionEncoder(Encoder):
    """P = softmax(W mean_h A(h)): a node's row is read as a sequence of `n_hops` blocks, which attend to each other.

    Made for HopInputs, whose rows are what a node has at each hop: n_hops is the number of its hops. Each block is
    mapped to `width` numbers by the same map, told which hop it is, attends to the others with `heads` heads, and
    the mean over hops is read out. Trained with Adam as MLPEncoder is, on "ce" or "mse".
    """

    n_hops: int = 3
    width: int = 64
    heads: int = 2
    dropout: float = 0.5
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    loss: Literal["mse", "ce"] = "ce"
    batch_size: int | None = None
    device: str = "cpu"
    fused: ClassVar[bool | None] = None  # Adam in one pass, where it can be
    uses_torch = True

    def begin(self, n_inputs: int, n_classes: int, seed: int) -> "AttentionLearner":
        if self.loss not in ("mse", "ce"):
            raise InputError(f"loss must be 'mse' or 'ce', but is {self.loss!r}.")
        if self.heads < 1 or self.width % self.heads:
            raise InputError(
                f"width must be a multiple of heads, but is {self.width} for {self.heads} heads."
            )
        if self.n_hops < 1 or n_inputs % self.n_hops:
            raise InputError(
                f"AttentionEncoder(n_hops={self.n_hops}) reads rows of {self.n_hops} equal blocks, but these have "
                f"{n_inputs:,} columns. Give it HopInputs with {self.n_hops} hops (--inputs hops)."
            )
        require_extra("torch", "torch", "AttentionEncoder")
        from altopt.encoders.torch.attention import AttentionLearner

        return AttentionLearner(self, n_inputs, n_classes, seed)
