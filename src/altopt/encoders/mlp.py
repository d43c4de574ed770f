"""A multilayer perceptron in torch: any depth and width, dropout, mini-batches, seeded."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from altopt.encoders.encoder import Encoder
from altopt.errors import InputError, require_extra
from altopt.operator.kernels import dispatch

if TYPE_CHECKING:
    from altopt.encoders.torch.mlp import MLPLearner


@dataclass(frozen=True)
class MLPEncoder(Encoder):
    """P = softmax(MLP(X)), trained with Adam on soft labels.

    `hidden` holds the width of each hidden layer; () is a linear map. `loss` is "mse" on the softmax output,
    sum_i w_i ||P_i - targets_i||^2 (the paper), or "ce", sum_i w_i CE(targets_i, P_i); either is divided by the
    number of rows so that the learning rate does not depend on it. `batch_size=None` is full batch. `fused` says
    whether ReLU and dropout are one native pass, and Adam one of torch: None where they can be, False never.
    """

    hidden: tuple[int, ...] = (64,)
    dropout: float = 0.5
    input_dropout: float = 0.5
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    loss: Literal["mse", "ce"] = "mse"
    batch_size: int | None = None
    device: str = "cpu"
    fused: bool | None = None
    uses_torch = True

    def begin(self, n_inputs: int, n_classes: int, seed: int) -> "MLPLearner":
        if self.loss not in ("mse", "ce"):
            raise InputError(f"loss must be 'mse' or 'ce', but is {self.loss!r}.")
        if self.fused and not (dispatch.native_available() and self.device == "cpu"):
            raise InputError(
                f"fused=True needs the native kernels and device='cpu', but device is {self.device!r} and: "
                f"{dispatch.description()}. Leave fused out."
            )
        require_extra("torch", "torch", "MLPEncoder")
        from altopt.encoders.torch.mlp import MLPLearner

        return MLPLearner(self, n_inputs, n_classes, seed)
