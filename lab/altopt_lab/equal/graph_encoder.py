"""An encoder that sees the graph: a peer's network in the place of the MLP, as the authors' released code has a GCN."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from altopt.arrays import Array
from altopt.datasets import Dataset
from altopt.encoders.encoder import Encoder, Learner
from altopt.encoders.torch.learner import adam
from altopt.inputs import Inputs, InputSource, Prepared
from altopt.inputs.memory import InputMemory, SourceShape
from altopt.inputs.raw import PreparedRaw
from altopt.operator.kernels.dropout import Masks
from altopt_lab.baselines import BASELINES
from altopt_lab.baselines.baseline import GraphData
from altopt_lab.baselines.training import GraphInput, Network


@dataclass(frozen=True)
class NodeNumbers(Inputs):
    """The number of each node: an encoder that holds all of X and the graph finds the rest by itself."""

    def prepare(self, source: InputSource) -> Prepared:
        return PreparedRaw(np.arange(source.X.shape[0], dtype=np.float32)[:, None])

    def restore(self, state: dict[str, Array]) -> Prepared:
        return PreparedRaw(state["Z"])

    def memory(self, shape: SourceShape) -> InputMemory:
        return InputMemory(4.0 * shape.n_nodes)


@dataclass(frozen=True)
class GraphEncoder(Encoder):
    """P = softmax(network(X, A)), trained with Adam on the sum of weighted losses of the rows asked for.

    Parameters
    ----------
    kind : Network
        The peer whose network it is, with its settings.
    n_features : int
    graph_input : GraphInput
        What the network reads.
    loss : "mse" or "ce"
    """

    kind: Network
    n_features: int
    graph_input: GraphInput = field(repr=False)
    loss: str = "mse"
    uses_torch = True

    def begin(self, n_inputs: int, n_classes: int, seed: int) -> "GraphLearner":
        return GraphLearner(self, n_classes, seed)


class GraphLearner(Learner):
    def __init__(self, settings: GraphEncoder, n_classes: int, seed: int) -> None:
        self.settings, kind = settings, settings.kind
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = kind.network(settings.n_features, n_classes, Masks(seed))
        self.optimizer = adam(self.network, kind.learning_rate, kind.weight_decay)

    def __deepcopy__(self, memo: dict[int, Any]) -> "GraphLearner":
        """Itself: F and P of the best round are kept, and nothing else is asked of it."""
        return self

    def train(self, X: Any, targets: Array, weights: Array, n_epochs: int) -> float:
        batch = self.settings.graph_input.batch(nodes_of(X))
        goal = torch.from_numpy(np.asarray(targets, dtype=np.float32))
        w = torch.from_numpy(np.asarray(weights, dtype=np.float32))
        self.network.train()
        loss = torch.tensor(float("nan"))
        for _ in range(n_epochs):
            self.optimizer.zero_grad()
            log_P = torch.log_softmax(self.network(batch), dim=1)
            if self.settings.loss == "ce":
                loss = -(w * (goal * log_P).sum(dim=1)).sum()
            else:
                loss = (w * ((log_P.exp() - goal) ** 2).sum(dim=1)).sum()
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
        return float(loss.detach()) / max(float(weights.sum()), 1e-12)

    def predict(self, X: Any) -> Array:
        self.network.eval()
        with torch.no_grad():
            logits = self.network(self.settings.graph_input.batch(nodes_of(X)))
        return np.asarray(torch.softmax(logits.double(), dim=1).numpy())

    def state(self) -> dict[str, Array]:
        return {name: value.numpy().copy() for name, value in self.network.state_dict().items()}

    def restore(self, state: dict[str, Array]) -> None:
        self.network.load_state_dict({name: torch.from_numpy(value) for name, value in state.items()})


def nodes_of(X: Any) -> Array:
    return np.asarray(X)[:, 0].astype(np.int64)


def graph_encoder(data: Dataset, settings: dict[str, Any], loss: str, network: str = "GCN") -> GraphEncoder:
    """The network of a peer on a data set, under the settings that it shares with an MLP."""
    shared = {key: settings[key] for key in ("learning_rate", "dropout", "weight_decay", "scale_rows")}
    kind: Any = BASELINES[network](**shared)
    graph: Any = data.graph
    codes = np.full(data.X.shape[0], -1)
    return GraphEncoder(kind, data.X.shape[1], kind.prepare(GraphData(data.X, graph, codes)), loss)
