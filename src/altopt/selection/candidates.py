"""Candidates for a fit: the parts that training labels may choose, and the candidates worth comparing."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from altopt.arrays import Array
from altopt.defaults import DEFAULTS, Defaults
from altopt.encoders import Encoder, KernelEncoder, TabularEncoder
from altopt.graph import Graph
from altopt.inputs import AdjacencyInputs, BlockInputs, DegreeInputs, HopInputs, Inputs, ReducedInputs
from altopt.inputs.memory import SourceShape
from altopt.operator import NormalizedAdjacency
from altopt.operator.diffusion import Direction
from altopt.settings import check_count, check_number
from altopt.views import (
    FeatureView,
    GraphView,
    LabelView,
    NoGraphView,
    Objective,
    ViewChoice,
    view_from,
)


@dataclass(frozen=True, eq=False)
class Candidate:
    """What the encoder reads, which encoder, which views, and their weights. Told apart by identity, not by name.

    Parameters
    ----------
    name : str
        For reports.
    inputs : Inputs
        What the encoder reads.
    encoder : Encoder
        The encoder.
    feature_weight, label_weight : float
        lambda1 and lambda2.
    feature_view, graph_view, label_view : view class or ViewSettings
        The three views of F.
    n_rounds : int, optional
        At most so many rounds; None: as many as the fit asks for.
    only_after : tuple of Candidate
        Evaluated only if one of these leads so far; empty: always.
    reweights : Candidate, optional
        The candidate that this one is with other weights: its encoder outputs serve.
    min_z : float
        Standard errors by which it must win at the least.

    Examples
    --------
    >>> from altopt.encoders import LinearEncoder
    >>> default = Candidate("usual", HopInputs(), LinearEncoder())
    >>> [candidate.name for candidate in reweighted(default)][:2]
    ['usual, smoother', 'usual, features first']
    """

    name: str
    inputs: Inputs
    encoder: Encoder
    feature_weight: float = DEFAULTS.view_weight
    label_weight: float = DEFAULTS.view_weight
    feature_view: ViewChoice = FeatureView
    graph_view: ViewChoice = GraphView
    label_view: ViewChoice = LabelView
    n_rounds: int | None = None
    only_after: tuple["Candidate", ...] = ()
    reweights: "Candidate | None" = None
    min_z: float = 0.0

    def __post_init__(self) -> None:
        for name in ("feature_weight", "label_weight", "min_z"):
            check_number(self, name, least=0.0)
        if self.n_rounds is not None:
            check_count(self, "n_rounds", 0)

    @property
    def linear(self) -> bool:
        """Whether F solves a linear system in P and Y, so that a label can be taken out exactly."""
        return (
            self.feature_view.squared
            and self.label_view.squared
            and self.graph_view.quadratic
            and self.feature_weight > 0
        )

    @property
    def uses_graph(self) -> bool:
        """Whether F is smoothed along the edges."""
        return not self.graph_view.zero

    def rounds(self, requested: int) -> int:
        """How many rounds it makes of those requested."""
        return requested if self.n_rounds is None else min(requested, self.n_rounds)

    def objective(
        self, graph: Graph, A_tilde: NormalizedAdjacency, Y: Array, labelled: Array
    ) -> Callable[[Array, Array | None], Objective]:
        """From P and confidence weights to the sum of the views, for the labels Y of the nodes `labelled`."""
        of_graph = view_from(self.graph_view, A_tilde, graph=graph)
        of_labels = view_from(self.label_view, Y, labelled, self.label_weight)

        def build(P: Array, w: Array | None) -> Objective:
            confidence = (w,) if self.feature_view.needs_confidence else ()
            of_features = view_from(self.feature_view, P, self.feature_weight, *confidence)
            return Objective((of_features, of_graph, of_labels))

        return build


def default_inputs(
    n_nodes: int, n_features: int, n_labels: int | None = None, defaults: Defaults = DEFAULTS
) -> Inputs:
    """Hops 0, 1, 2 beside the diffused features; where that would take too much memory, the latter alone.

    With few labels only as many leading directions as these can tell apart: a few for each label, and twice that for
    the diffused features. Where even they are many they are kept in half precision; the encoder computes in single.
    Unknown `n_labels` count as many.
    """
    of_hops, of_diffused = defaults.hop_components, defaults.diffused_components
    if n_labels is not None:
        rounded_up = -(-defaults.directions_per_label * n_labels // 8) * 8
        few = max(defaults.min_directions, rounded_up)
        of_hops = min(few, of_hops)
        of_diffused = min(defaults.diffused_directions * few, of_diffused)
    diffused = ReducedInputs(n_components=of_diffused)
    hops = HopInputs(hops=defaults.hops, n_components=of_hops)
    blocks = BlockInputs((hops, diffused), scaling="size")
    shape = SourceShape(n_nodes, n_features, n_edges=0)
    if blocks.memory(shape).rows <= 4 * defaults.hop_limit:
        return blocks
    many = diffused.memory(shape).rows > 4 * defaults.half_limit
    return replace(diffused, storage="float16") if many else diffused


def default_restart(n_labels: int, defaults: Defaults = DEFAULTS) -> float:
    """With few labels the features of single nodes say little, and what neighbours share counts for more."""
    return defaults.restart if n_labels >= defaults.few_labels else defaults.restart_few


def alternatives(
    default: Candidate, graph: Graph, n_labels: int, defaults: Defaults = DEFAULTS
) -> list[Candidate]:
    """Candidates that differ from the default where graphs differ.

    In how tight the encoder is; and in what it reads: on heterophilous graphs the identity of a node's neighbours is
    more informative than their features. Where that shows, a forest is grown too: classes there are often intervals of
    a number, such as degrees, which trees cut out.
    """
    candidates = [
        replace(default, name=name, encoder=encoder) for name, encoder in default.encoder.variants()
    ]
    if graph.n_nodes * min(n_labels, defaults.kernel_landmarks) > defaults.kernel_limit:
        return candidates
    kernels = on_neighbour_identity(default, graph, defaults)
    candidates += kernels
    if defaults.forest_labels[0] <= n_labels <= defaults.forest_labels[1]:
        direction = natural_direction(graph)
        hops = HopInputs((0, 1, 2), direction, n_components=defaults.forest_components)
        inputs = BlockInputs((DegreeInputs(n_hops=2), hops))
        candidates.append(
            replace(
                kernels[-1], name="forest", inputs=inputs, encoder=forest(defaults), only_after=tuple(kernels)
            )
        )
    return candidates


def on_neighbour_identity(
    default: Candidate, graph: Graph, defaults: Defaults = DEFAULTS
) -> tuple[Candidate, Candidate]:
    """Kernels on rows of the adjacency, alone and beside neighbours' features and degrees; without smoothing."""
    direction = natural_direction(graph)
    ties = AdjacencyInputs(direction)
    surroundings = HopInputs((1, 2), direction)
    without_rounds = replace(
        default, graph_view=NoGraphView if default.graph_view == GraphView else default.graph_view, n_rounds=0
    )
    gamma = defaults.kernel_gamma
    return (
        replace(
            without_rounds,
            name="ties",
            inputs=BlockInputs((ties,)),
            encoder=KernelEncoder(gamma=gamma, ridge=defaults.kernel_ridge),
        ),
        replace(
            without_rounds,
            name="ties and surroundings",
            inputs=BlockInputs((ties, surroundings, DegreeInputs(n_hops=1))),
            encoder=KernelEncoder(gamma=gamma, ridge=defaults.surroundings_ridge),
        ),
    )


def natural_direction(graph: Graph) -> Direction:
    """Out-neighbours where the graph keeps the direction of its edges."""
    return "both" if graph.directed_adjacency is None else "out"


def reweighted(candidate: Candidate, defaults: Defaults = DEFAULTS) -> list[Candidate]:
    """The candidate with one of its weights a quarter or four times as large, if it uses the graph."""
    if not candidate.uses_graph:
        return []
    low, high = defaults.weight_factors
    lambda1, lambda2 = candidate.feature_weight, candidate.label_weight
    return [
        replace(
            candidate,
            name=f"{candidate.name}, {name}",
            reweights=candidate,
            feature_weight=feature_weight,
            label_weight=label_weight,
        )
        for name, feature_weight, label_weight in (
            ("smoother", low * lambda1, lambda2),
            ("features first", high * lambda1, lambda2),
            ("labels loose", lambda1, low * lambda2),
            ("labels firm", lambda1, high * lambda2),
        )
    ]


def forest(defaults: Defaults = DEFAULTS) -> TabularEncoder:
    """Extremely randomised trees: few labels, many inputs, hardly anything to tune."""
    from sklearn.ensemble import ExtraTreesClassifier  # loaded where it is wanted

    return TabularEncoder(
        ExtraTreesClassifier(
            n_estimators=defaults.forest_trees,
            min_samples_leaf=defaults.forest_leaf,
            max_features=defaults.forest_features,
        )
    )


def without_graph(default: Candidate, defaults: Defaults = DEFAULTS) -> Candidate:
    """The features alone: nothing is diffused, and F is not smoothed. It must win by a clear lead."""
    inputs = HopInputs(hops=(0,), n_components=defaults.alone_components)
    return replace(
        default, name="features alone", inputs=inputs, graph_view=NoGraphView, min_z=defaults.alone_min_z
    )
