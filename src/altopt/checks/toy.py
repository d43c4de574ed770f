"""Small random problems on which a part is held to its laws."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.graph import Graph
from altopt.operator import NormalizedAdjacency
from altopt.views import FeatureView, GraphView, LabelView, Objective, View, ViewChoice, view_from


@dataclass(frozen=True)
class ToyProblem:
    """A one-way weighted graph, encoder outputs P, labels Y of some nodes, confidence weights w, and a random F."""

    adjacency: Array  # dense, not symmetric
    P: Array
    Y: Array  # one row per node, zero where there is no label
    labelled: Array
    w: Array
    F: Array

    @cached_property
    def graph(self) -> Graph:
        return Graph(sp.csr_array(self.adjacency), directed=True)

    @cached_property
    def A_tilde(self) -> NormalizedAdjacency:
        return NormalizedAdjacency(self.graph.adjacency)

    def feature_view(self, choice: ViewChoice, weight: float = 1.0) -> View:
        return view_from(choice, self.P, weight, *((self.w,) if choice.needs_confidence else ()))

    def graph_view(self, choice: ViewChoice) -> View:
        return view_from(choice, self.A_tilde, graph=self.graph)

    def label_view(self, choice: ViewChoice, weight: float = 1.0) -> View:
        return view_from(choice, self.Y[self.labelled], self.labelled, weight)

    def objective(
        self,
        feature_view: ViewChoice = FeatureView,
        graph_view: ViewChoice = GraphView,
        label_view: ViewChoice = LabelView,
        feature_weight: float = 0.4,
        label_weight: float = 1.5,
    ) -> Objective:
        return Objective(
            (
                self.feature_view(feature_view, feature_weight),
                self.graph_view(graph_view),
                self.label_view(label_view, label_weight),
            )
        )

    def renumbered(self, order: Array) -> "ToyProblem":
        """The same problem, its nodes in another order."""
        rows = {name: getattr(self, name)[order] for name in ("P", "Y", "labelled", "w", "F")}
        return replace(self, adjacency=self.adjacency[order][:, order], **rows)


def toy_problem(
    n_nodes: int = 24, n_classes: int = 3, seed: int = 0, density: float = 0.2, n_labels: int = 6
) -> ToyProblem:
    """A random problem whose last node has no edges; at `density` 0 no node has any."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n_nodes, n_nodes)) < density, 1) * (rng.random((n_nodes, n_nodes)) + 0.1)
    A[:, -1] = 0.0
    order = rng.permutation(n_nodes - 1)  # edges do not all lead from lower to higher numbers
    A[:-1, :-1] = A[:-1, :-1][order][:, order]
    labelled = np.zeros(n_nodes, dtype=bool)
    labelled[rng.choice(n_nodes, n_labels, replace=False)] = True
    Y = np.eye(n_classes)[rng.integers(n_classes, size=n_nodes)] * labelled[:, None]
    P = rng.dirichlet(np.ones(n_classes), size=n_nodes)
    return ToyProblem(A, P, Y, labelled, rng.random(n_nodes), rng.normal(size=(n_nodes, n_classes)))
