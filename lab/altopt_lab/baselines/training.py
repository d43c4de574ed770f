"""The training of all networks: Adam on the labelled nodes, early stopping on validation nodes."""

import time
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from altopt.arrays import Array
from altopt.encoders.torch.learner import adam
from altopt.graph.validation import UNKNOWN
from altopt.operator.columns import signed_sqrt
from altopt.operator.kernels.dropout import Masks
from altopt.threads import threads_for
from altopt_lab.baselines.baseline import Baseline, EpochCallback, GraphData, SearchSpace, ValidationSet

# the paper's appendix; scale_rows is our addition: some graphs need words as 0/1
COMMON_SPACE: SearchSpace = {
    "learning_rate": (0.01, 0.05),
    "dropout": (0.0, 0.5, 0.8),
    "weight_decay": (5e-4, 5e-5, 0.0),
    "scale_rows": (True, False),
}


class GraphInput(Protocol):
    """A graph prepared once for a network, from which batches are taken."""

    def batch(self, nodes: Array | None) -> Any:
        """The input that scores these nodes; None: all of them."""


class Score(NamedTuple):
    """Validation accuracy of an epoch; ties are broken by the lower loss."""

    accuracy: float
    minus_loss: float


@dataclass(kw_only=True, eq=False)
class Network(Baseline):
    """A baseline that is a torch network; a subclass gives `prepare` and `network`.

    Without validation nodes the last epoch is kept. With them the best one is, and training stops early.

    Parameters
    ----------
    hidden, n_layers : int
        Width of the hidden layers, and the number of layers.
    dropout, learning_rate, weight_decay : float
    n_epochs : int
        Epochs at most.
    patience : int or None
        Training ends when neither accuracy nor loss of the validation nodes has improved for so many epochs.
    scale_rows : bool
        Divide each row of X by its sum.
    root : bool
        Take the square roots of the features.

    Attributes
    ----------
    n_epochs_, best_epoch_ : int
    epoch_seconds_ : array of shape (n_epochs_,)
    validation_accuracies_ : array of shape (n_epochs_,)
        Empty without validation nodes.
    network_ : torch.nn.Module
    """

    hidden: int = 64
    n_layers: int = 2
    dropout: float = 0.5
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    n_epochs: int = 500
    patience: int | None = 100
    scale_rows: bool = True
    root: bool = False

    @abstractmethod
    def prepare(self, data: GraphData) -> GraphInput:
        """What is computed once for a graph."""

    @abstractmethod
    def network(self, n_features: int, n_classes: int, masks: Masks) -> torch.nn.Module:
        """A fresh network from what `GraphInput.batch` gives to logits; weights drawn from torch's generator."""

    @classmethod
    def search_space(cls, *, inductive: bool = False) -> SearchSpace:
        return dict(COMMON_SPACE)

    def _learn(
        self, data: GraphData, validation: ValidationSet | None, seed: int, on_epoch: EpochCallback | None
    ) -> Array:
        graph_input = self.prepare(self._read(data))
        n, d = data.X.shape
        with torch.random.fork_rng(devices=[]), threads_for(n * self.hidden, with_torch=True):
            torch.manual_seed(seed)
            self.network_ = self.network(d, self.n_classes, Masks(seed))
            self._train(data, graph_input, validation, on_epoch)
            return distributions(self.network_, graph_input.batch(None))

    def _read(self, data: GraphData) -> GraphData:
        """The data with the features that the network reads."""
        return data._replace(X=signed_sqrt(data.X)) if self.root else data

    def _score(self, data: GraphData) -> Array:
        with threads_for(data.X.shape[0] * self.hidden, with_torch=True):
            return distributions(self.network_, self.prepare(self._read(data)).batch(None))

    def _train(
        self,
        data: GraphData,
        graph_input: GraphInput,
        validation: ValidationSet | None,
        on_epoch: EpochCallback | None,
    ) -> None:
        network = self.network_
        nodes, targets = self.training_targets(data)
        batch = graph_input.batch(nodes)
        validation_batch = None
        if validation is not None:
            validation_input = (
                graph_input if validation.data is None else self.prepare(self._read(validation.data))
            )
            validation_batch = validation_input.batch(validation.nodes)
        optimizer = adam(network, self.learning_rate, self.weight_decay)
        best, best_weights, seconds, scores = Score(-1.0, 0.0), None, [], []
        lowest, progress = np.inf, 0
        self.best_epoch_ = self.n_epochs
        for epoch in range(1, self.n_epochs + 1):
            began = time.perf_counter()
            network.train()
            optimizer.zero_grad()
            self.loss(network(batch), targets, epoch).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            seconds.append(time.perf_counter() - began)
            if validation is not None:
                score = judge(network, validation_batch, validation.codes)
                scores.append(score.accuracy)
                if score > best:
                    best, self.best_epoch_, progress = score, epoch, epoch
                    best_weights = {name: value.clone() for name, value in network.state_dict().items()}
                if -score.minus_loss < lowest:
                    lowest, progress = -score.minus_loss, epoch
                if self.patience is not None and epoch - progress >= self.patience:
                    break
            if on_epoch is not None and on_epoch(
                self.classes_[distributions(network, graph_input.batch(None)).argmax(1)]
            ):
                break
        self.n_epochs_ = len(seconds)
        self.epoch_seconds_ = np.array(seconds)  # training alone, without looking at validation nodes
        self.validation_accuracies_ = np.array(scores)
        if best_weights is None:
            self.best_epoch_ = self.n_epochs_
        else:
            network.load_state_dict(best_weights)

    def training_targets(self, data: GraphData) -> tuple[Array, torch.Tensor]:
        """The training nodes and their targets; here the labelled nodes and their classes."""
        nodes = np.flatnonzero(data.codes != UNKNOWN)
        return nodes, torch.from_numpy(data.codes[nodes])

    def loss(self, logits: torch.Tensor, targets: torch.Tensor, epoch: int) -> torch.Tensor:
        """The loss of an epoch on the training nodes."""
        return cross_entropy(logits, targets)


def judge(network: torch.nn.Module, batch: Any, codes: Array) -> Score:
    network.eval()
    with torch.no_grad():
        logits = network(batch)
    known = np.flatnonzero(codes != UNKNOWN)
    right = np.mean(logits.argmax(1).numpy() == codes)
    loss = float(cross_entropy(logits[known], torch.from_numpy(codes[known]))) if len(known) else 0.0
    return Score(float(right), -loss)


def distributions(network: torch.nn.Module, batch: Any) -> Array:
    """Softmax of the logits, in float64 so that rows sum to one to the last digits."""
    network.eval()
    with torch.no_grad():
        return np.asarray(torch.softmax(network(batch).double(), dim=1).numpy())
