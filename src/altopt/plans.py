"""A plan: the parts of a fit that training labels may choose, and the plans worth comparing."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from altopt.arrays import Array
from altopt.encoders import Encoder, LinearEncoder
from altopt.graph import Graph
from altopt.inputs import BlockInputs, HopInputs, Inputs, ReducedInputs
from altopt.operator import NormalizedAdjacency
from altopt.views import (
    FeatureView,
    GraphView,
    LabelView,
    NoGraphView,
    Objective,
    SoftmaxFeatureView,
    made_from,
)

MOST = 40_000_000  # numbers in the encoder's inputs up to which hops are read beside the diffused features


@dataclass(frozen=True)
class Plan:
    """What the encoder reads, which encoder, which views, and how much they count."""

    name: str
    inputs: Inputs
    encoder: Encoder
    feature_weight: float = 2.0
    label_weight: float = 2.0
    feature_view: Any = FeatureView
    graph_view: Any = GraphView
    label_view: Any = LabelView

    @property
    def linear(self) -> bool:
        """Whether F solves a linear system in P and Y, so that a label can be taken out exactly."""
        return (
            self.feature_view is FeatureView
            and self.label_view is LabelView
            and getattr(self.graph_view, "quadratic", True)
            and self.feature_weight > 0
        )

    def objective(
        self, graph: Graph, A_tilde: NormalizedAdjacency, Y: Array, labelled: Array
    ) -> Callable[[Array, Array], Objective]:
        """From P and confidence weights to the views' sum, for the labels Y of the nodes `labelled`."""
        of_graph = made_from(self.graph_view, A_tilde, graph=graph)
        of_labels = made_from(self.label_view, Y, labelled, self.label_weight)

        def build(P: Array, w: Array) -> Objective:
            if self.feature_view is SoftmaxFeatureView:
                return Objective((SoftmaxFeatureView(P, self.feature_weight, w=w), of_graph, of_labels))
            return Objective((made_from(self.feature_view, P, self.feature_weight), of_graph, of_labels))

        return build


def usual_inputs(n_nodes: int, n_features: int) -> Inputs:
    """Hops 0, 1, 2 beside the diffused features; where that would take too much memory, the latter alone."""
    both = BlockInputs((HopInputs(), ReducedInputs()), scaling="size")
    return both if n_nodes * both.width(n_nodes, n_features, 0) <= MOST else ReducedInputs()


def rivals(usual: Plan) -> list[Plan]:
    """Plans that differ from the usual one where graphs differ: in how freely the encoder fits, and in whether the
    graph is of use at all."""
    found = []
    if isinstance(usual.encoder, LinearEncoder):
        for word, factor in (("tighter", 0.2), ("freer", 4.0)):
            encoder = replace(usual.encoder, C=factor * usual.encoder.C)
            found.append(replace(usual, name=word, encoder=encoder))
    return found


def without_graph(usual: Plan) -> Plan:
    """The features alone: nothing is diffused, and F is not smoothed."""
    return replace(
        usual, name="features alone", inputs=HopInputs(hops=(0,), n_components=256), graph_view=NoGraphView
    )
