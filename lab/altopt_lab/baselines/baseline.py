"""The contract of a baseline: fit on a few labels, class distributions, and inductive use on another graph."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph import Graph
from altopt.graph.features import read_X, require_finite
from altopt.graph.validation import UNKNOWN, as_column, known_labels, read_y

SearchSpace = dict[str, tuple[Any, ...]]
EpochCallback = Callable[[Array], bool]

ZERO_TO_ONE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # the paper: "between 0 and 1: step size 0.1"


class GraphData(NamedTuple):
    """Nodes to classify.

    Parameters
    ----------
    X : array or sparse array of shape (n_nodes, n_features)
    graph : Graph
    codes : array of shape (n_nodes,)
        Class numbers, -1 where the label is unknown.
    """

    X: Any
    graph: Graph
    codes: Array


class ValidationSet(NamedTuple):
    """Validation nodes, which choose the epoch.

    Parameters
    ----------
    nodes : array of int
    codes : array of int
        Their class numbers; -1 for a class that no training node has.
    data : GraphData or None
        The graph they are in, where it is not the training graph.
    """

    nodes: Array
    codes: Array
    data: GraphData | None


@dataclass(kw_only=True, eq=False)
class Baseline(ABC):
    """A method that classifies the nodes of a graph; its settings are the keywords of its constructor.

    Validation labels choose the epoch, where there are epochs, and nothing else.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    label_distributions_ : array of shape (n_nodes, n_classes)
        Rows sum to one.
    transduction_ : array of shape (n_nodes,)
        The most likely class of each node.
    """

    method: ClassVar[str]  # its name in the paper
    inductive: ClassVar[bool] = True  # whether a fitted model can be applied to another graph
    why_transductive: ClassVar[str] = ""  # the reason where it is not
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
        """Fit to the labelled nodes of a graph.

        Parameters
        ----------
        X : array or sparse array of shape (n_nodes, n_features)
        y : array of shape (n_nodes,)
            Labels, -1 where unknown.
        graph : Graph, or anything that Graph reads
        validation : (nodes, labels) or None
        validation_in : (X, graph) or None
            The graph of the validation nodes, where it is not this one: in the inductive protocol the whole graph,
            of which training sees a part.
        seed : int
        on_epoch : callable or None
            Called with the labels after every epoch; training ends when it returns True.
        """
        X, graph = read_graph_data(X, graph)
        self.classes_, codes = read_y(y, X.shape[0])
        judged = None if validation is None else self._validation_set(validation, validation_in)
        self.label_distributions_ = self._learn(GraphData(X, graph, codes), judged, seed, on_epoch)
        self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]
        return self

    def apply(self, X: Any, graph: Any, y: Any = None) -> Array:
        """Class distributions of the nodes of another graph, say the whole one after training on a part.

        Nothing is trained again. `y` are the labels known in that graph: LP and C&S need them, the others ignore
        them.
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
                f"{X.shape[0]:,}: {self.why_transductive}. Take an inductive method, such as GCN."
            )
        return self._score(GraphData(X, graph, codes))

    @abstractmethod
    def _learn(
        self, data: GraphData, validation: ValidationSet | None, seed: int, on_epoch: EpochCallback | None
    ) -> Array:
        """Train, where there is something to train, and return the distributions of all nodes."""

    @abstractmethod
    def _score(self, data: GraphData) -> Array:
        """The distributions of all nodes of a graph by the fitted model."""

    @classmethod
    @abstractmethod
    def search_space(cls, *, inductive: bool = False) -> SearchSpace:
        """The choices for each setting that is tuned, from the paper's appendix where it names them."""

    @property
    def n_classes(self) -> int:
        return len(self.classes_)

    def settings(self) -> dict[str, Any]:
        """The settings as keywords of the constructor."""
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
                    f"validation_in names another graph, but {self.method} is transductive: "
                    f"{self.why_transductive}. Take an inductive method, such as GCN."
                )
            X, graph = read_graph_data(*lie_in)
            data = GraphData(X, graph, np.full(X.shape[0], UNKNOWN))
        return ValidationSet(nodes, self._codes(labels), data)


def read_graph_data(X: Any, graph: Any) -> tuple[Any, Graph]:
    """X and the graph, read and checked."""
    X, _ = read_X(X)
    require_finite(X)
    return X, Graph(graph).rows_for(X.shape[0])
