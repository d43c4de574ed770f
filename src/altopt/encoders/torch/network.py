"""The learner of TorchEncoder: a module of the user's, tried before it is trained, and stopped early."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from altopt.arrays import Array
from altopt.encoders.network import TorchEncoder
from altopt.encoders.torch.learner import NetworkLearner
from altopt.errors import InputError

MIN_ROWS = 20  # of which some can be held out to stop early


class OwnNetworkLearner(NetworkLearner):
    def __init__(self, settings: TorchEncoder, n_inputs: int, n_classes: int, seed: int) -> None:
        self.settings = settings
        self._watch: Watch | None = None
        super().__init__(settings, n_inputs, n_classes, seed, max(n_inputs, n_classes, 1))

    def _build(self, n_inputs: int, n_classes: int) -> torch.nn.Module:
        given = self.settings.module
        with explained(f"could not be made for {n_inputs} inputs and {n_classes} classes"):
            is_module = isinstance(given, torch.nn.Module)
            network = copy.deepcopy(given) if is_module else given(n_inputs, n_classes)
        if not isinstance(network, torch.nn.Module):
            raise InputError(
                f"encoder must make a torch.nn.Module, but made {type(network).__name__}. "
                "Return the module from the function (n_inputs, n_classes) -> module."
            )
        network = network.float().eval()
        with explained(f"does not read rows of {n_inputs} inputs"), torch.no_grad():
            logits = network(torch.zeros(2, n_inputs))
        if not isinstance(logits, torch.Tensor) or logits.shape != (2, n_classes):
            made = tuple(logits.shape) if isinstance(logits, torch.Tensor) else type(logits).__name__
            raise InputError(
                f"encoder must map rows (n, {n_inputs}) to logits (n, {n_classes}), but made {made} of 2 rows. Give a "
                "function (n_inputs, n_classes) -> module, which knows both widths."
            )
        if not any(p.requires_grad for p in network.parameters()):
            raise InputError("encoder has no parameters to train. Give a module with some.")
        return network

    def train(self, X: Any, targets: Array, weights: Array, n_epochs: int) -> float:
        if self.settings.patience is None or X.shape[0] < MIN_ROWS:
            return super().train(X, targets, weights, n_epochs)
        rng = np.random.default_rng([self.seed, self.n_trained, 1])
        order = rng.permutation(X.shape[0])
        n_watched = max(1, round(self.settings.held_out * len(order)))
        watched, kept = np.sort(order[:n_watched]), np.sort(order[n_watched:])
        self._watch = Watch(self, (X[watched], targets[watched], weights[watched]), self.settings.patience)
        try:
            loss = super().train(X[kept], targets[kept], weights[kept], n_epochs)
            self._watch.keep_best()
        finally:
            self._watch = None
        return loss

    def _is_done(self) -> bool:
        return self._watch is not None and self._watch.is_done()

    def _logits(self, x: Any, mask_seed: int, number: int) -> Any:
        with explained(f"cannot be trained on {len(x)} rows"):
            return self.network(x)


class Watch:
    """The loss on rows held out of training, and the weights at which it was least."""

    def __init__(self, learner: OwnNetworkLearner, rows: tuple[Any, Array, Array], patience: int) -> None:
        self.learner, self.rows, self.patience = learner, rows, patience
        self.least, self.since = float("inf"), 0
        self.best: dict[str, Any] | None = None

    def is_done(self) -> bool:
        """Whether that loss has not fallen for `patience` epochs; called after each."""
        X, targets, weights = self.rows
        P = np.maximum(self.learner.predict(X), 1e-12)
        self.learner.network.train()
        errors = (
            -(targets * np.log(P)).sum(axis=1)
            if self.learner.settings.loss == "ce"
            else ((P - targets) ** 2).sum(axis=1)
        )
        loss = float(weights @ errors)
        if loss < self.least:
            self.least, self.since = loss, 0
            self.best = copy.deepcopy(self.learner.network.state_dict())
        else:
            self.since += 1
        return self.since >= self.patience

    def keep_best(self) -> None:
        if self.best is not None:
            self.learner.network.load_state_dict(self.best)


@contextmanager
def explained(what: str) -> Iterator[None]:
    """An error of the user's module as one sentence."""
    try:
        yield
    except InputError:
        raise
    except Exception as cause:
        first = (str(cause).strip().splitlines() or [type(cause).__name__])[0].rstrip(".")
        raise InputError(f"encoder {what}: {type(cause).__name__}, {first}.") from cause
