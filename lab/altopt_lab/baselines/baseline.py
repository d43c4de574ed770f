"""What a baseline must do: fit on a few labels, say how likely each class is, and carry what it learned elsewhere."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph import Graph
from altopt.graph.validation import UNKNOWN, as_column, known_labels, read_X, read_y, require_finite

SearchSpace = dict[str, tuple[Any, ...]]
EpochCallback = Callable[[Array], bool]

ZERO_TO_ONE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # the paper: "between 0 and 1: step size 0.1"


class GraphData(NamedTuple):
    """Nodes to label: their features, the graph they lie in, and what is known of their labels."""

    X: Any  # dense or CSR, one row per node
    graph: Graph
    codes: Array  # class numbers, -1 where unknown


class ValidationSet(NamedTuple):
    """Validation nodes and their class numbers; -1 for a class that no training node has."""

    nodes: Array
    codes: Array
    data: GraphData | None  # where they lie, if not where the training is


@dataclass(kw_only=True, eq=False)
class Baseline(ABC):
    """A peer under its settings, which are its constructor's keywords.

    `fit` leaves `classes_`, `label_distributions_` (n x c, rows sum to one) and `transduction_`; a method that
    trains leaves `n_epochs_`, `best_epoch_`, `epoch_seconds_` and `validation_accuracies_` too (`training.py`).
    Validation labels choose the epoch, where there are epochs, and touch nothing else.
    """

    method: ClassVar[str]  # its name in the paper
    inductive: ClassVar[bool] = True  # whether what it learned can be applied to another graph
    why_transductive: ClassVar[str] = ""  # else why not
    needs_labels: ClassVar[bool] = False  # whether `apply` needs the labels known there

    def fit(
        self,
        X: Any,
        y: Any,
        graph: Any,
        validation: tuple[Any, Any] | None = None,
        *,
        validation_in: tuple[Any, Any] | None = None,
        seed: int = 0,
        on_epoch: EpochCallback | None = None,
    ) -> Self:
        """`y` holds -1 where unknown; `on_epoch` is shown every epoch's labels and ends the training by saying True.

        Validation nodes are nodes of this graph, or of the one with the features in `validation_in=(X, graph)`: in
        the inductive protocol the whole graph, of which training sees a part.
        """
        X, graph = read_graph_data(X, graph)
        self.classes_, codes = read_y(y, X.shape[0])
        judged = None if validation is None else self._validation_set(validation, validation_in)
        self.label_distributions_ = self._learn(GraphData(X, graph, codes), judged, seed, on_epoch)
        self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]
        return self

    def apply(self, X: Any, graph: Any, y: Any = None) -> Array:
        """The distributions in another graph (say, the whole one after training on a part), nothing retrained.

        `y` are the labels known there. LP and C&S propagate them and need them; the others do not look.
        """
        X, graph = read_graph_data(X, graph)
        codes = np.full(X.shape[0], UNKNOWN) if y is None else self._codes(y)
        if self.needs_labels and not (codes != UNKNOWN).any():
            raise InputError(
                f"{self.method} propagates labels, but none is known in the graph that it is applied to. "
                "Pass y= with the training labels of that graph, -1 elsewhere."
            )
        if not self.inductive and X.shape[0] != len(self.transduction_):
            raise InputError(
                f"{self.method} was trained on {len(self.transduction_):,} nodes and cannot be applied to "
                f"{X.shape[0]:,}: {self.why_transductive}. Take a method that carries over, such as GCN."
            )
        return self._score(GraphData(X, graph, codes))

    @abstractmethod
    def _learn(
        self, data: GraphData, validation: ValidationSet | None, seed: int, on_epoch: EpochCallback | None
    ) -> Array:
        """Train, where there is something to train; the distributions of all nodes."""

    @abstractmethod
    def _score(self, data: GraphData) -> Array:
        """The distributions of all nodes under what was learned."""

    @classmethod
    @abstractmethod
    def search_space(cls, *, inductive: bool = False) -> SearchSpace:
        """The choices for each setting that is tuned; the paper's appendix, where it says."""

    @property
    def n_classes(self) -> int:
        return len(self.classes_)

    def settings(self) -> dict[str, Any]:
        """What the constructor was given."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _codes(self, y: Any) -> Array:
        values = as_column(y)
        codes = np.full(len(values), UNKNOWN)
        number = {label: k for k, label in enumerate(self.classes_.tolist())}
        known = np.flatnonzero(known_labels(values))
        codes[known] = [number.get(label, UNKNOWN) for label in values[known].tolist()]
        return codes

    def _validation_set(self, validation: tuple[Any, Any], lie_in: tuple[Any, Any] | None) -> ValidationSet:
        nodes, labels = np.asarray(validation[0]), as_column(validation[1])
        nodes = np.flatnonzero(nodes) if nodes.dtype == bool else nodes
        if len(nodes) != len(labels) or not len(nodes):
            raise InputError(
                f"validation names {len(nodes):,} nodes and {len(labels):,} labels. Give one label for each node, "
                "at least one, or validation=None."
            )
        data = None
        if lie_in is not None:
            if not self.inductive:
                raise InputError(
                    f"validation_in names another graph, but {self.method} has to stay where it was trained: "
                    f"{self.why_transductive}. Take a method that carries over, such as GCN."
                )
            X, graph = read_graph_data(*lie_in)
            data = GraphData(X, graph, np.full(X.shape[0], UNKNOWN))
        return ValidationSet(nodes, self._codes(labels), data)


def read_graph_data(X: Any, graph: Any) -> tuple[Any, Graph]:
    """X and the graph, read and checked."""
    X, _ = read_X(X)
    require_finite(X)
    return X, Graph(graph).rows_for(X.shape[0])
