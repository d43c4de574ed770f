"""A multilayer perceptron in torch: any depth and width, dropout, mini-batches, seeded."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, row_blocks
from altopt.errors import InputError


@dataclass(frozen=True)
class MLPEncoder:
    """P = softmax(MLP(X)), trained with Adam on soft labels.

    `hidden` holds the width of each hidden layer; () is a linear map. `loss` is "mse" on the softmax output,
    sum_i w_i ||P_i - targets_i||^2 (the paper), or "ce", sum_i w_i CE(targets_i, P_i); either is divided by the
    number of rows so that the learning rate does not depend on it. `batch_size=None` is full batch.
    """

    hidden: tuple[int, ...] = (64,)
    dropout: float = 0.5
    input_dropout: float = 0.5
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    loss: Literal["mse", "ce"] = "mse"
    batch_size: int | None = None
    device: str = "cpu"

    def begin(self, n_features: int, n_classes: int, seed: int) -> "MLPLearner":
        if self.loss not in ("mse", "ce"):
            raise InputError(f"loss must be 'mse' or 'ce', but is {self.loss!r}.")
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
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )

    @contextmanager
    def _stream(self, number: int) -> Iterator[None]:
        """Random numbers that depend on the seed and the call alone; the global generator is left as it was."""
        import torch

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0]))
            yield

    def _tensor(self, X: Any) -> Any:
        import torch

        dense = X.toarray() if sp.issparse(X) else np.asarray(X)
        return torch.from_numpy(np.array(dense, dtype=np.float32)).to(self.settings.device)

    def train(self, X: Any, targets: Array, weights: Array, n_epochs: int) -> float:
        import torch

        self.n_trained += 1
        if n_epochs == 0:
            return float("nan")
        n = X.shape[0]
        size = min(self.settings.batch_size or n, n)
        whole = self._tensor(X) if size == n else None
        T, w = self._tensor(targets), self._tensor(weights)
        self.network.train()
        total = 0.0
        with self._stream(self.n_trained):
            for _ in range(n_epochs):
                order = None if whole is not None else torch.randperm(n)
                total = 0.0
                for rows in row_blocks(n, size):
                    if whole is not None:
                        batch, t, v = whole, T, w
                    else:
                        assert order is not None
                        chosen = order[rows]
                        batch, t, v = self._tensor(X[chosen.numpy()]), T[chosen], w[chosen]
                    self.optimizer.zero_grad()
                    loss = (v * self._loss(self.network(batch), t)).sum()
                    (loss / t.shape[0]).backward()
                    self.optimizer.step()
                    total += loss.item()
        return total / max(float(weights.sum()), 1e-12)

    def _loss(self, logits: Any, targets: Any) -> Any:
        import torch

        if self.settings.loss == "ce":
            return -(targets * torch.log_softmax(logits, dim=1)).sum(dim=1)
        return ((torch.softmax(logits, dim=1) - targets) ** 2).sum(dim=1)

    def predict(self, X: Any) -> Array:
        import torch

        self.network.eval()
        blocks = []
        with torch.no_grad():
            for rows in row_blocks(X.shape[0]):
                logits = self.network(self._tensor(X[rows])).double()
                blocks.append(torch.softmax(logits, dim=1).cpu().numpy())
        return np.concatenate(blocks)

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
