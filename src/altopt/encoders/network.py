"""A torch module of your own as an encoder: trained on soft labels, in batches, on any device."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from altopt.encoders.encoder import Encoder
from altopt.errors import InputError, require_extra
from altopt.settings import check_choice, check_count, check_number

if TYPE_CHECKING:
    from altopt.encoders.torch.network import OwnNetworkLearner


@dataclass(frozen=True)
class TorchEncoder(Encoder):
    """Your own torch module: P = softmax(module(X)), trained with Adam on soft labels.

    ``AltOpt(encoder=module)`` is short for ``AltOpt(encoder=TorchEncoder(module))``. A saved model holds the weights
    alone: hand the module over again, ``AltOpt.load(path, encoder=module)``. Needs torch: ``pip install
    "altopt[torch]"``.

    Parameters
    ----------
    module : callable (n_inputs, n_classes) -> torch.nn.Module, or torch.nn.Module
        Maps float32 rows (n, n_inputs) to logits (n, n_classes). A function, or a class of modules, is called with
        torch's generator seeded. A module itself is copied, and each fit begins with the weights it has; its
        torch.nn.LazyLinear layers find the width of the inputs.
    learning_rate, weight_decay : float, default 0.01 and 5e-4
        Of Adam.
    loss : {"ce", "mse"}, default "ce"
    batch_size : int or None, default None
        Rows per step; None takes all rows in one step.
    device : str, default "cpu"
        torch's name of the device.
    patience : int or None, default None
        Stop a round's training when the loss on rows held out of it has not fallen for that many epochs, and keep the
        weights that were best there. None trains on all rows, for every epoch; so do fewer than 20 rows.
    held_out : float, default 0.1
        Share of the rows that `patience` watches.

    Examples
    --------
    >>> import numpy as np
    >>> from torch import nn
    >>> from altopt.encoders import TorchEncoder
    >>> X = np.array([[0.0, 1.0], [0.2, 0.9], [1.0, 0.0], [0.8, 0.1]])
    >>> encoder = TorchEncoder(lambda n_inputs, n_classes: nn.Linear(n_inputs, n_classes))
    >>> learner = encoder.begin(n_inputs=2, n_classes=2, seed=0)
    >>> loss = learner.train(X, np.eye(2)[[0, 0, 1, 1]], np.ones(4), n_epochs=100)
    >>> learner.predict(X).argmax(axis=1)
    array([0, 0, 1, 1])
    """

    module: Any
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    loss: Literal["mse", "ce"] = "ce"
    batch_size: int | None = None
    device: str = "cpu"
    patience: int | None = None
    held_out: float = 0.1
    uses_torch = True
    fused = None

    def __post_init__(self) -> None:
        if not makes_module(self.module):
            raise InputError(
                "TorchEncoder: module must be a torch.nn.Module or a function (n_inputs, n_classes) -> module, "
                f"but is {self.module!r}."
            )
        check_number(self, "learning_rate", least=0)
        check_number(self, "weight_decay", least=0)
        check_choice(self, "loss", ("mse", "ce"))
        check_count(self, "batch_size", optional=True)
        check_count(self, "patience", optional=True)
        check_number(self, "held_out", above=0, below=1)

    def begin(self, n_inputs: int, n_classes: int, seed: int) -> "OwnNetworkLearner":
        require_extra("torch", "torch", "TorchEncoder")
        from altopt.encoders.torch.network import OwnNetworkLearner

        return OwnNetworkLearner(self, n_inputs, n_classes, seed)


def makes_module(value: Any) -> bool:
    """Whether it is a torch module, a class of them, or a function, which may make one."""
    torch = sys.modules.get("torch")  # who has a module has imported it
    if isinstance(value, type):
        return torch is not None and issubclass(value, torch.nn.Module)
    return callable(value) and not hasattr(value, "fit") and not isinstance(value, Encoder)
