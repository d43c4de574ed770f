"""Self-attention over a node's hops: how much each distance counts is learned, node by node."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from altopt.encoders.encoder import Encoder
from altopt.errors import InputError, require_extra
from altopt.settings import check_choice, check_count, check_number

if TYPE_CHECKING:
    from altopt.encoders.torch.attention import AttentionLearner


@dataclass(frozen=True)
class AttentionEncoder(Encoder):
    """Self-attention over the hops of HopInputs. Needs torch: ``pip install "altopt[torch]"``.

    A row is read as a sequence of `n_hops` blocks x_h of equal length. With e_h = W_e x_h + position_h,

        A = softmax(Q K' / sqrt(width / heads)) V over the hops,    P = softmax(W mean_h relu(norm(e_h + A_h)))

    trained with Adam on soft labels, as MLPEncoder is.

    Parameters
    ----------
    n_hops : int, default 3
        The number of hops of HopInputs.
    width : int, default 64
        Numbers per hop inside the network; a multiple of `heads`.
    heads : int, default 2
        Attention heads.
    dropout : float, default 0.5
    learning_rate, weight_decay : float, default 0.01 and 5e-4
        Of Adam.
    loss : {"mse", "ce"}, default "ce"
    batch_size : int or None, default None
        Rows per step; None takes all rows in one step.
    device : str, default "cpu"
        torch's name of the device.

    Examples
    --------
    >>> import numpy as np
    >>> from altopt.encoders import AttentionEncoder
    >>> X = np.array([[0.0, 1.0], [0.2, 0.9], [1.0, 0.0], [0.8, 0.1]])  # two hops of one number each
    >>> learner = AttentionEncoder(n_hops=2, width=8, dropout=0.0).begin(n_inputs=2, n_classes=2, seed=0)
    >>> loss = learner.train(X, np.eye(2)[[0, 0, 1, 1]], np.ones(4), n_epochs=200)
    >>> learner.predict(X).argmax(axis=1)
    array([0, 0, 1, 1])
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
    fused: ClassVar[bool | None] = None  # Adam in one pass, where torch can
    uses_torch = True

    def __post_init__(self) -> None:
        for name in ("n_hops", "width", "heads"):
            check_count(self, name)
        check_number(self, "dropout", least=0, below=1)
        check_number(self, "learning_rate", least=0)
        check_number(self, "weight_decay", least=0)
        check_choice(self, "loss", ("mse", "ce"))
        check_count(self, "batch_size", optional=True)
        if self.width % self.heads:
            raise InputError(
                f"width must be a multiple of heads, but is {self.width} for {self.heads} heads."
            )

    def begin(self, n_inputs: int, n_classes: int, seed: int) -> "AttentionLearner":
        if n_inputs % self.n_hops:
            raise InputError(
                f"AttentionEncoder(n_hops={self.n_hops}) reads rows of {self.n_hops} equal blocks, but these have "
                f"{n_inputs:,} columns. Give it HopInputs with {self.n_hops} hops (--inputs hops)."
            )
        require_extra("torch", "torch", "AttentionEncoder")
        from altopt.encoders.torch.attention import AttentionLearner

        return AttentionLearner(self, n_inputs, n_classes, seed)
