"""A multilayer perceptron in torch: any depth and width, dropout, mini-batches, seeded."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from altopt.encoders.encoder import Encoder
from altopt.errors import InputError, require_extra
from altopt.operator.kernels import dispatch
from altopt.settings import check_choice, check_count, check_counts, check_number

if TYPE_CHECKING:
    from altopt.encoders.torch.mlp import MLPLearner


@dataclass(frozen=True)
class MLPEncoder(Encoder):
    """A multilayer perceptron with ReLU, trained with Adam on soft labels.

    P = softmax(MLP(X)), where the parameters minimise, over the n training rows,

        loss "mse":   sum_i w_i ||P_i - targets_i||^2 / n
        loss "ce":    sum_i w_i CE(targets_i, P_i) / n

    or, with reduction "sum", the sums themselves, as the paper has it: beside a sum weight decay counts 1/n as much.

    Needs torch: ``pip install "altopt[torch]"``.

    Parameters
    ----------
    hidden : tuple of int, default (64,)
        Width of each hidden layer; () is a linear map.
    dropout, input_dropout : float, default 0.5
        Share of the hidden units, and of the inputs, set to zero in training.
    learning_rate, weight_decay : float, default 0.01 and 5e-4
        Of Adam.
    loss : {"mse", "ce"}, default "mse"
    reduction : {"mean", "sum"}, default "mean"
        Over the rows of a step.
    batch_size : int or None, default None
        Rows per step; None takes all rows in one step.
    device : str, default "cpu"
        torch's name of the device.
    fused : bool or None, default None
        Whether ReLU and dropout are one native pass, and Adam one pass of torch. None: where possible.

    Examples
    --------
    >>> import numpy as np
    >>> from altopt.encoders import MLPEncoder
    >>> X = np.array([[0.0, 1.0], [0.2, 0.9], [1.0, 0.0], [0.8, 0.1]])
    >>> learner = MLPEncoder(hidden=(8,), input_dropout=0.0).begin(n_inputs=2, n_classes=2, seed=0)
    >>> loss = learner.train(X, np.eye(2)[[0, 0, 1, 1]], np.ones(4), n_epochs=100)
    >>> learner.predict(X).argmax(axis=1)
    array([0, 0, 1, 1])
    """

    hidden: tuple[int, ...] = (64,)
    dropout: float = 0.5
    input_dropout: float = 0.5
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    loss: Literal["mse", "ce"] = "mse"
    reduction: Literal["mean", "sum"] = "mean"
    batch_size: int | None = None
    device: str = "cpu"
    fused: bool | None = None
    uses_torch = True

    def __post_init__(self) -> None:
        check_counts(self, "hidden")
        check_number(self, "dropout", least=0, below=1)
        check_number(self, "input_dropout", least=0, below=1)
        check_number(self, "learning_rate", least=0)
        check_number(self, "weight_decay", least=0)
        check_choice(self, "loss", ("mse", "ce"))
        check_choice(self, "reduction", ("mean", "sum"))
        check_count(self, "batch_size", optional=True)
        check_choice(self, "fused", (True, False, None))

    def begin(self, n_inputs: int, n_classes: int, seed: int) -> "MLPLearner":
        if self.fused and not (dispatch.native_available() and self.device == "cpu"):
            raise InputError(
                f"fused=True needs the native kernels and device='cpu', but device is {self.device!r} and: "
                f"{dispatch.description()}. Leave fused out."
            )
        require_extra("torch", "torch", "MLPEncoder")
        from altopt.encoders.torch.mlp import MLPLearner

        return MLPLearner(self, n_inputs, n_classes, seed)
