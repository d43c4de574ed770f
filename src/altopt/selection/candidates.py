"""A plan: the parts of a fit that training labels may choose, and the plans worth comparing."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from altopt.arrays import Array
from altopt.encoders import Encoder, KernelEncoder, TabularEncoder
from altopt.graph import Graph
from altopt.inputs import AdjacencyInputs, BlockInputs, DegreeInputs, HopInputs, Inputs, ReducedInputs
from altopt.operator import NormalizedAdjacency
from altopt.operator.diffusion import Direction
from altopt.views import (
    FeatureView,
    GraphView,
    LabelView,
    NoGraphView,
    Objective,
    ViewChoice,
    view_from,
)

MOST_KERNEL = 100_000_000  # nodes times labels up to which kernels are compared
LEAST_FOREST, MOST_FOREST = 200, 10_000  # labels from and up to which a forest is
MOST = 40_000_000  # numbers in the encoder's inputs up to which hops are read beside the diffused features
HALF = 100_000_000  # and from which these are kept in float16
DIRECTIONS_A_LABEL, LEAST_DIRECTIONS = 2, 16  # of each hop that the encoder reads
USUAL_WEIGHT = 2.0  # lambda1 and lambda2
RESTART, RESTART_FEW, FEW = 0.2, 0.1, 30  # of the diffusion, and with fewer labels than that

WEIGHTS = (
    ("smoother", "feature_weight", 0.25),
    ("features first", "feature_weight", 4.0),
    ("labels loose", "label_weight", 0.25),
    ("labels firm", "label_weight", 4.0),
)

TIES, SURROUNDINGS = "ties", "ties and surroundings"


@dataclass(frozen=True)
class Candidate:
    """What the encoder reads, which encoder, which views, and how much they count."""

    name: str
    inputs: Inputs
    encoder: Encoder
    feature_weight: float = USUAL_WEIGHT
    label_weight: float = USUAL_WEIGHT
    feature_view: ViewChoice = FeatureView
    graph_view: ViewChoice = GraphView
    label_view: ViewChoice = LabelView
    n_rounds: int | None = None  # at most so many; None: as many as the fit is asked for
    follows: tuple[str, ...] = ()  # plans one of which must lead, else this one is not worth a look
    weighs: str = ""  # the plan that this one is with other weights
    clearly: float = 0.0  # by how many standard errors it must win at the least

    @property
    def linear(self) -> bool:
        """Whether F solves a linear system in P and Y, so that a label can be taken out exactly."""
        return (
            self.feature_view.squared
            and self.label_view.squared
            and self.graph_view.quadratic
            and self.feature_weight > 0
        )

    def rounds(self, asked: int) -> int:
        return asked if self.n_rounds is None else min(asked, self.n_rounds)

    def objective(
        self, graph: Graph, A_tilde: NormalizedAdjacency, Y: Array, labelled: Array
    ) -> Callable[[Array, Array | None], Objective]:
        """From P and confidence weights to the views' sum, for the labels Y of the nodes `labelled`."""
        of_graph = view_from(self.graph_view, A_tilde, graph=graph)
        of_labels = view_from(self.label_view, Y, labelled, self.label_weight)

        def build(P: Array, w: Array | None) -> Objective:
            confidence = (w,) if self.feature_view.needs_confidence else ()
            of_features = view_from(self.feature_view, P, self.feature_weight, *confidence)
            return Objective((of_features, of_graph, of_labels))

        return build


def default_inputs(n_nodes: int, n_features: int, n_labels: int | None = None) -> Inputs:
    """Hops 0, 1, 2 beside the diffused features; where that would take too much memory, the latter alone.

    With few labels only as many leading directions as these can tell apart: a few for each label, and twice that
    for the diffused features. Where even they are many they are kept in half precision; the encoder computes in
    single. Unknown `n_labels` count as many.
    """
    hops, diffused = HopInputs(), ReducedInputs()
    if n_labels is not None:
        few = max(LEAST_DIRECTIONS, -(-DIRECTIONS_A_LABEL * n_labels // 8) * 8)
        hops = replace(hops, n_components=min(few, hops.n_components))
        diffused = replace(diffused, n_components=min(2 * few, diffused.n_components))
    both = BlockInputs((hops, diffused), scaling="size")
    if n_nodes * both.width(n_nodes, n_features, 0) <= MOST:
        return both
    many = n_nodes * diffused.width(n_nodes, n_features, 0) > HALF
    return replace(diffused, storage="float16") if many else diffused


def default_restart(n_labels: int) -> float:
    """With a handful of labels little tells features apart, and what neighbours share counts for more."""
    return RESTART if n_labels >= FEW else RESTART_FEW


def alternatives(usual: Candidate, graph: Graph, n_labels: int) -> list[Candidate]:
    """Plans that differ from the usual one where graphs differ.

    In how freely the encoder fits; and in what it reads: on graphs whose neighbours differ in class, to whom a node
    is tied says more than what it is tied to is like. Where that shows, a forest is grown too: classes there are
    often ranges of a number, such as degrees, which trees cut out.
    """
    found = [replace(usual, name=name, encoder=encoder) for name, encoder in usual.encoder.variants()]
    if graph.n_nodes * min(n_labels, 2000) <= MOST_KERNEL:
        direction: Direction = "both" if graph.directed_adjacency is None else "out"
        ties, around = AdjacencyInputs(direction), HopInputs((1, 2), direction)
        for word, parts, ridge in (
            (TIES, (ties,), 0.1),
            (SURROUNDINGS, (ties, around, DegreeInputs(n_hops=1)), 0.5),
        ):
            kernel = KernelEncoder(gamma=3.0, ridge=ridge)
            view = NoGraphView if usual.graph_view is GraphView else usual.graph_view
            found.append(
                replace(
                    usual, name=word, inputs=BlockInputs(parts), encoder=kernel, graph_view=view, n_rounds=0
                )
            )
        if LEAST_FOREST <= n_labels <= MOST_FOREST:
            near = BlockInputs((DegreeInputs(n_hops=2), HopInputs((0, 1, 2), direction, n_components=32)))
            after = (TIES, SURROUNDINGS)
            found.append(replace(found[-1], name="forest", inputs=near, encoder=forest(), follows=after))
    return found


def reweighted(plan: Candidate) -> list[Candidate]:
    """The plan with one of its weights a quarter or four times as large, where the graph is looked at."""
    if plan.graph_view is NoGraphView:
        return []
    return [
        replace(
            plan, name=f"{plan.name}, {name}", weighs=plan.name, **{weight: factor * getattr(plan, weight)}
        )
        for name, weight, factor in WEIGHTS
    ]


def forest() -> TabularEncoder:
    """Trees with splits drawn at random: few labels, many inputs, hardly anything to set."""
    from sklearn.ensemble import ExtraTreesClassifier  # loaded where it is wanted

    return TabularEncoder(ExtraTreesClassifier(n_estimators=300, min_samples_leaf=2, max_features=0.3))


def without_graph(usual: Candidate) -> Candidate:
    """The features alone: nothing is diffused, and F is not smoothed. A graph is not put aside on a slight lead."""
    alone = HopInputs(hops=(0,), n_components=256)
    return replace(usual, name="features alone", inputs=alone, graph_view=NoGraphView, clearly=2.0)
