"""A torch network as a learner: trained in batches, the blocks of a batch in parallel, seeded, storable."""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, Protocol

import numpy as np
import scipy.sparse as sp
import torch

from altopt.arrays import BLOCK_ROWS, Array, allocate, row_blocks, working_dtype
from altopt.encoders.encoder import Learner
from altopt.encoders.torch.batches import Batches
from altopt.errors import InputError
from altopt.threads import parallel_map

CACHE_NUMBERS = 2**19  # numbers of a layer that fit in a processor's cache: the size of a block
MIN_BLOCK_ROWS = 1024  # a smaller block is not worth its overhead


class Training(Protocol):
    """The settings of a network that concern its training."""

    @property
    def learning_rate(self) -> float: ...
    @property
    def weight_decay(self) -> float: ...
    @property
    def loss(self) -> Literal["mse", "ce"]: ...
    @property
    def batch_size(self) -> int | None: ...
    @property
    def device(self) -> str: ...
    @property
    def fused(self) -> bool | None: ...


class NetworkLearner(Learner):
    """P = softmax(network(X)), trained with Adam on soft labels. A subclass builds the network."""

    def __init__(self, settings: Training, n_inputs: int, n_classes: int, seed: int, widest: int) -> None:
        self.training, self.n_classes = settings, n_classes
        self.seed = seed
        check_device(settings.device)
        self.n_trained = 0  # calls of train so far: each draws from a stream of its own
        with self._stream(0):
            network = self._build(n_inputs, n_classes)
        self.network: Any = network.to(settings.device)
        self.optimizer = adam(
            self.network, settings.learning_rate, settings.weight_decay, fused=settings.fused is not False
        )
        self._on_cpu = torch.device(settings.device).type == "cpu"
        self._block = (
            min(max(CACHE_NUMBERS // widest, MIN_BLOCK_ROWS), BLOCK_ROWS) if self._on_cpu else BLOCK_ROWS
        )

    @abstractmethod
    def _build(self, n_inputs: int, n_classes: int) -> torch.nn.Module:
        """The network, its weights drawn."""

    @contextmanager
    def _stream(self, number: int) -> Iterator[None]:
        """Random numbers that depend on the seed and the call alone; the global generator is left as it was."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0]))
            yield

    def _tensor(self, X: Any) -> Any:
        """X as a float32 tensor to read from: the same memory, where it can be."""
        if isinstance(X, torch.Tensor):
            return X
        dense = X.toarray() if sp.issparse(X) else np.asarray(X)
        return torch.from_numpy(np.require(dense, np.float32, ["C", "W"])).to(self.training.device)

    def train(self, X: Any, targets: Array, weights: Array, n_epochs: int) -> float:
        self.n_trained += 1
        if n_epochs == 0:
            return float("nan")
        rng = np.random.default_rng([self.seed, self.n_trained])
        mask_seed = int(rng.integers(2**63))
        batches = Batches((X, targets, weights), self.training.batch_size, self._block, rng, self._tensor)
        parameters = [p for p in self.network.parameters() if p.requires_grad]
        self.network.train()
        total, n_blocks = 0.0, 0

        def gradient(job: tuple[int, int, slice]) -> tuple[Any, float]:
            number, n_rows, rows = job
            x, t, w = batches.block(rows)
            loss = (w * self._loss(self._logits(x, mask_seed, number), t)).sum()
            return torch.autograd.grad(
                loss / self._divisor(n_rows), parameters, allow_unused=True
            ), loss.item()

        # torch draws its masks one after another, in whichever order blocks come: one at a time keeps the bits
        at_once = -(-batches.size // self._block) if self._fused() else 1
        with self._stream(self.n_trained), parallel_map(at_once) as run:
            for _ in range(n_epochs):
                total = 0.0
                for n_rows, blocks in batches.epoch():
                    jobs = [(n_blocks + k, n_rows, rows) for k, rows in enumerate(blocks)]
                    n_blocks += len(blocks)
                    self.optimizer.zero_grad()
                    for gradients, loss in run(gradient, jobs):
                        for p, g in zip(parameters, gradients):
                            if g is not None:  # a parameter that the network does not use
                                p.grad = g.contiguous() if p.grad is None else p.grad.add_(g)
                        total += loss
                    self.optimizer.step()
                if self._is_done():
                    break
        return total / max(float(weights.sum()), 1e-12)

    def _divisor(self, n_rows: int) -> int:
        """What the summed loss of a step's rows is divided by."""
        return n_rows

    def _is_done(self) -> bool:
        """Whether training ends before its last epoch; asked after each."""
        return False

    def _fused(self) -> bool:
        """Whether dropout draws from masks that are numbered, so that blocks may be worked on in any order."""
        return False

    def _logits(self, x: Any, mask_seed: int, number: int) -> Any:
        """The network in training on block `number`."""
        return self.network(x)

    def _answer(self, x: Any) -> Any:
        """The network's logits for a block, nothing dropped; may write to what it makes, not to x."""
        return self.network(x)

    def _loss(self, logits: Any, targets: Any) -> Any:
        if self.training.loss == "ce":
            return -(targets * torch.log_softmax(logits, dim=1)).sum(dim=1)
        return ((torch.softmax(logits, dim=1) - targets) ** 2).sum(dim=1)

    def predict(self, X: Any) -> Array:
        P = allocate((X.shape[0], self.n_classes), working_dtype(X.shape[0], self.n_classes))
        blocks = row_blocks(X.shape[0], self._block)
        self.network.eval()

        @torch.no_grad()
        def fill(rows: slice) -> None:
            P[rows] = torch.softmax(self._answer(self._tensor(X[rows])), dim=1).cpu().numpy()

        with parallel_map(len(blocks) if self._on_cpu else 1) as run:
            for _ in run(fill, blocks):
                pass
        return P

    def state(self) -> dict[str, Array]:
        arrays = {f"network.{name}": value.cpu().numpy() for name, value in self.network.state_dict().items()}
        arrays["n_trained"] = np.array([self.n_trained])
        for number, moments in self.optimizer.state_dict()["state"].items():
            for name, value in moments.items():
                arrays[f"adam.{number}.{name}"] = np.asarray(value.cpu().numpy())
        return {name: value.copy() for name, value in arrays.items()}

    def restore(self, state: dict[str, Array]) -> None:
        self.n_trained = int(state["n_trained"][0])
        tensors = {name: torch.from_numpy(np.array(value)) for name, value in state.items()}
        weights = {
            name.removeprefix("network."): t for name, t in tensors.items() if name.startswith("network.")
        }
        own = self.network.state_dict()
        for name in weights.keys() & own.keys():  # a file holds a single number as a list of one
            if own[name].ndim == 0 and weights[name].shape == (1,):
                weights[name] = weights[name].reshape(())
        require_same_kind(weights, own)
        self.network.load_state_dict(weights)
        optimizer = self.optimizer.state_dict()
        moments: dict[int, dict[str, Any]] = {}
        for name, t in tensors.items():
            if name.startswith("adam."):
                _, number, moment = name.split(".")
                moments.setdefault(int(number), {})[moment] = t
        self.optimizer.load_state_dict({**optimizer, "state": moments})


def check_device(device: str) -> None:
    """Refuse a device that this torch cannot compute on."""
    try:
        torch.zeros(1, device=device)
    except (
        Exception
    ) as cause:  # an AssertionError where torch has no CUDA, a RuntimeError where a name is unknown
        first = (str(cause).strip().splitlines() or [type(cause).__name__])[0].rstrip(".")
        raise InputError(
            f"device={device!r} cannot be used here: {first}. {devices()} Leave device out to compute on the CPU."
        ) from cause


def devices() -> str:
    """What torch could compute on instead, as a sentence."""
    if torch.cuda.is_available():
        return f"torch finds {torch.cuda.device_count()} CUDA device(s)."
    return "torch finds no CUDA device."


def require_same_kind(weights: dict[str, Any], own: dict[str, Any]) -> None:
    """Refuse stored weights that this network could not have had."""
    if weights.keys() != own.keys():
        odd = min(weights.keys() ^ own.keys())
        raise InputError(
            f"The stored weights are of another network: network.{odd} is in one of the two alone."
        )
    for name, weight in weights.items():
        same = weight.dtype == own[name].dtype and weight.shape == own[name].shape
        if not (same and bool(torch.isfinite(weight).all())):
            raise InputError(
                f"The stored weights network.{name} are not finite numbers of the network's shape."
            )


def adam(network: Any, learning_rate: float, weight_decay: float, *, fused: bool = True) -> Any:
    """Adam, all parameters in one pass where this torch can do that on this device."""
    options: dict[str, Any] = {"lr": learning_rate, "weight_decay": weight_decay}
    if fused:
        try:
            return torch.optim.Adam(network.parameters(), fused=True, **options)
        except RuntimeError:  # before torch 2.4 on a CPU
            pass
    return torch.optim.Adam(network.parameters(), **options)
