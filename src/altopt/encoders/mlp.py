"""A multilayer perceptron in torch: any depth and width, dropout, mini-batches, seeded."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from altopt.arrays import BLOCK_ROWS, Array, row_blocks, working_dtype
from altopt.encoders.batches import Batches
from altopt.errors import InputError
from altopt.kernels import choose

CACHED_ROWS = 4096  # rows whose activations stay in a processor's cache


@dataclass(frozen=True)
class MLPEncoder:
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

    def begin(self, n_features: int, n_classes: int, seed: int) -> "MLPLearner":
        if self.loss not in ("mse", "ce"):
            raise InputError(f"loss must be 'mse' or 'ce', but is {self.loss!r}.")
        if self.fused and not (choose.serving() is not None and self.device == "cpu"):
            raise InputError(
                f"fused=True needs the native kernels and device='cpu', but device is {self.device!r} and: "
                f"{choose.description()}. Leave fused out."
            )
        return MLPLearner(self, n_features, n_classes, seed)


class MLPLearner:
    def __init__(self, settings: MLPEncoder, n_features: int, n_classes: int, seed: int) -> None:
        import torch

        self.settings = settings
        self.seed = seed
        self.n_trained = 0  # calls of train so far: each draws from a stream of its own
        layers: list[torch.nn.Module] = [torch.nn.Dropout(settings.input_dropout)]
        width = n_features
        with self._stream(0):
            for size in settings.hidden:
                layers += [torch.nn.Linear(width, size), torch.nn.ReLU(), torch.nn.Dropout(settings.dropout)]
                width = size
            layers.append(torch.nn.Linear(width, n_classes))
        self.network = torch.nn.Sequential(*layers).to(settings.device)
        self.optimizer = adam(self.network, settings)
        on_cpu = torch.device(settings.device).type == "cpu"
        self._block = CACHED_ROWS if on_cpu else BLOCK_ROWS

    @contextmanager
    def _stream(self, number: int) -> Iterator[None]:
        """Random numbers that depend on the seed and the call alone; the global generator is left as it was."""
        import torch

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0]))
            yield

    def _tensor(self, X: Any) -> Any:
        """X as a float32 tensor to read from: the same memory, where it can be."""
        import torch

        if isinstance(X, torch.Tensor):
            return X
        dense = X.toarray() if sp.issparse(X) else np.asarray(X)
        return torch.from_numpy(np.require(dense, np.float32, ["C", "W"])).to(self.settings.device)

    def train(self, X: Any, targets: Array, weights: Array, n_epochs: int) -> float:
        from altopt.kernels.dropout import Masks

        self.n_trained += 1
        if n_epochs == 0:
            return float("nan")
        rng = np.random.default_rng([self.seed, self.n_trained])
        masks = Masks(int(rng.integers(2**63)))
        batches = Batches((X, targets, weights), self.settings.batch_size, self._block, rng, self._tensor)
        self.network.train()
        total = 0.0
        with self._stream(self.n_trained):
            for _ in range(n_epochs):
                total = 0.0
                for n_rows, blocks in batches.epoch():
                    self.optimizer.zero_grad()
                    for rows in blocks:
                        x, t, w = batches.block(rows)
                        loss = (w * self._loss(self._logits(x, masks), t)).sum()
                        (loss / n_rows).backward()
                        total += loss.item()
                    self.optimizer.step()
        return total / max(float(weights.sum()), 1e-12)

    def _logits(self, x: Any, masks: Any) -> Any:
        """The network in training: as torch does it, or with ReLU and dropout in one pass."""
        from altopt.kernels.dropout import dropout, relu_dropout_

        if self.settings.fused is False:
            return self.network(x)
        *hidden, last = self._maps()
        if self.settings.input_dropout > 0:
            x = dropout(x, self.settings.input_dropout, masks)
        for layer in hidden:
            x = relu_dropout_(layer(x), self.settings.dropout, masks)
        return last(x)

    def _maps(self) -> list[Any]:
        import torch

        return [layer for layer in self.network if isinstance(layer, torch.nn.Linear)]

    def _loss(self, logits: Any, targets: Any) -> Any:
        import torch

        if self.settings.loss == "ce":
            return -(targets * torch.log_softmax(logits, dim=1)).sum(dim=1)
        return ((torch.softmax(logits, dim=1) - targets) ** 2).sum(dim=1)

    def predict(self, X: Any) -> Array:
        import torch

        *hidden, last = self._maps()
        P = np.empty((X.shape[0], last.out_features), working_dtype(X.shape[0], last.out_features))
        with torch.no_grad():
            for rows in row_blocks(X.shape[0], self._block):
                x = self._tensor(X[rows])
                for layer in hidden:
                    x = layer(x).relu_()
                P[rows] = torch.softmax(last(x), dim=1).cpu().numpy()
        return P

    def state(self) -> dict[str, Array]:
        arrays = {f"network.{name}": value.cpu().numpy() for name, value in self.network.state_dict().items()}
        arrays["n_trained"] = np.array([self.n_trained])
        for number, moments in self.optimizer.state_dict()["state"].items():
            for name, value in moments.items():
                arrays[f"adam.{number}.{name}"] = np.asarray(value.cpu().numpy())
        return {name: value.copy() for name, value in arrays.items()}

    def restore(self, state: dict[str, Array]) -> None:
        import torch

        self.n_trained = int(state["n_trained"][0])
        tensors = {name: torch.from_numpy(np.array(value)) for name, value in state.items()}
        self.network.load_state_dict(
            {name.removeprefix("network."): t for name, t in tensors.items() if name.startswith("network.")}
        )
        optimizer = self.optimizer.state_dict()
        moments: dict[int, dict[str, Any]] = {}
        for name, t in tensors.items():
            if name.startswith("adam."):
                _, number, moment = name.split(".")
                moments.setdefault(int(number), {})[moment] = t
        self.optimizer.load_state_dict({**optimizer, "state": moments})


def adam(network: Any, settings: MLPEncoder) -> Any:
    """Adam, all parameters in one pass where this torch can do that on this device."""
    import torch

    options: dict[str, Any] = {"lr": settings.learning_rate, "weight_decay": settings.weight_decay}
    if settings.fused is not False:
        try:
            return torch.optim.Adam(network.parameters(), fused=True, **options)
        except RuntimeError:  # before torch 2.4 on a CPU
            pass
    return torch.optim.Adam(network.parameters(), **options)
