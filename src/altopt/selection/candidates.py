"""Candidates for a fit: the parts that training labels may choose, and the candidates worth comparing."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from altopt.arrays import Array
from altopt.defaults import DEFAULTS, Defaults
from altopt.encoders import Encoder, KernelEncoder, LinearEncoder, MixtureEncoder
from altopt.graph import Graph
from altopt.inputs import (
    AdjacencyInputs,
    BlockInputs,
    ExtremeInputs,
    FeatureInputs,
    FeaturelessInputs,
    HopInputs,
    Inputs,
    InputSource,
    LabelShareInputs,
    ReducedInputs,
    StructureInputs,
)
from altopt.inputs.keys import is_identity
from altopt.inputs.memory import SourceShape
from altopt.operator import NormalizedAdjacency
from altopt.operator.columns import MEASUREMENT
from altopt.operator.diffusion import Average, Direction
from altopt.selection.trees import boosted_trees, forest
from altopt.settings import check_count, check_number
from altopt.solvers import ChebyshevSteps, ConjugateGradient, Solver
from altopt.training.alternate import Solvers
from altopt.views import (
    FeatureView,
    GraphView,
    LabelView,
    NoGraphView,
    Objective,
    ViewChoice,
    view_from,
)

ALONE, LINEAR, CURVED = "features alone", "linear on features", "kernel on features"
BESIDE, EMBEDDING = "features and spectral embedding", "spectral embedding"
BOOSTED = "boosted trees on features"
FEATURES_ONLY = (ALONE, LINEAR, CURVED, BOOSTED)  # candidates that make no use of the graph


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
    class_masses : bool
        Whether F is read with factors under which the classes stand as they do among the labels.
    reweights : Candidate, optional
        The candidate that this one is with other weights: its encoder outputs serve.
    full_encoder : Encoder, optional
        The encoder of the fit with all labels, where a smaller one serves without a fold of them.

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
    class_masses: bool = False
    reweights: "Candidate | None" = None
    full_encoder: Encoder | None = None

    def __post_init__(self) -> None:
        for name in ("feature_weight", "label_weight"):
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

    @property
    def unsmoothed(self) -> bool:
        """Whether F of an unlabelled node is the encoder's answer, which was trained on labels alone."""
        return self.linear and not self.uses_graph and self.n_rounds == 0

    def solvers(self, usual: Solvers) -> Solvers:
        """Where labels are held fast, conjugate gradients: Chebyshev's steps cannot know how narrow the spectrum is."""
        if not self.class_masses:
            return usual
        return Solvers(*(conjugate(solver) for solver in (usual.rounds, usual.last)))

    def in_full(self) -> "Candidate":
        """The candidate as it is fitted to all labels."""
        return self if self.full_encoder is None else replace(self, encoder=self.full_encoder)

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


def conjugate(solver: Solver) -> Solver:
    """Conjugate gradients to the same accuracy in the place of Chebyshev's steps; any other solver as it is."""
    if isinstance(solver, ChebyshevSteps) and solver.rtol is not None and solver.converges:
        return ConjugateGradient(rtol=solver.rtol)
    return solver


def default_inputs(
    n_nodes: int, n_features: int, n_labels: int | None = None, defaults: Defaults = DEFAULTS
) -> Inputs:
    """Hops 0, 1, 2 beside the diffused features; where that would take too much memory, the latter alone.

    With few labels only as many leading directions as these can tell apart: a few for each label, and twice that for
    the diffused features. Where even they are many they are kept in half precision; the encoder computes in single.
    Unknown `n_labels` count as many.
    """
    of_hops = hop_directions(n_labels, defaults)
    diffused = diffused_inputs(n_nodes, n_features, n_labels, defaults)
    hops = HopInputs(hops=defaults.hops, n_components=of_hops)
    blocks = BlockInputs((hops, replace(diffused, storage="float32")), scaling="size")
    shape = SourceShape(n_nodes, n_features, n_edges=0)
    return blocks if blocks.memory(shape).rows <= 4 * defaults.hop_limit else diffused


def hop_directions(n_labels: int | None, defaults: Defaults = DEFAULTS) -> int:
    """Leading directions of each hop that so many labels can tell apart."""
    if n_labels is None:
        return defaults.hop_components
    rounded_up = -(-defaults.directions_per_label * n_labels // 8) * 8
    return min(max(defaults.min_directions, rounded_up), defaults.hop_components)


def diffused_inputs(
    n_nodes: int, n_features: int, n_labels: int | None = None, defaults: Defaults = DEFAULTS
) -> ReducedInputs:
    """The diffused features alone, in half precision where they are many."""
    n_components = defaults.diffused_directions * hop_directions(n_labels, defaults)
    inputs = ReducedInputs(n_components=n_components)
    many = inputs.memory(SourceShape(n_nodes, n_features, n_edges=0)).rows > 4 * defaults.hop_limit
    return replace(inputs, storage="float16") if many else inputs


def default_restart(n_labels: int, defaults: Defaults = DEFAULTS) -> float:
    """With few labels the features of single nodes say little, and what neighbours share counts for more."""
    return defaults.restart if n_labels >= defaults.few_labels else defaults.restart_few


def alternatives(
    default: Candidate,
    source: InputSource,
    n_labels: int,
    n_classes: int,
    defaults: Defaults = DEFAULTS,
    *,
    built: bool = False,
) -> list[Candidate]:
    """Candidates that differ from the default where data differ, the cheap ones first.

    The features alone, which pseudo labels teach too. Without these: a linear model of the features; of them and the
    labels around a node; of them and their means around it; of who is tied to whom, in two weights; a kernel on ties;
    with more labels trees on features, surroundings and the place in the graph. With smoothing: the graph alone.
    """
    graph = source.graph
    ties, features, scaling = AdjacencyInputs(natural_direction(graph)), FeatureInputs(), row_scaling(source)
    near = HopInputs((0, 1), mean_over(graph), defaults.hop_components, row_exponent=0.0)
    alone, of_ties = features_alone(default, source, defaults), defaults.ties_share
    candidates = [
        without_graph(default, defaults),
        alone,
        replace(
            alone,
            name="features and labels around",
            inputs=BlockInputs((BlockInputs((features,), scaling), LabelShareInputs()), scaling=None),
        ),
        replace(alone, name="linear on features around", inputs=near),
        replace(
            alone,
            name="ties and features",
            inputs=BlockInputs((ties, features), scaling),
            encoder=linear((1.0 - of_ties) * defaults.linear_C),
        ),
        replace(
            alone,
            name="ties before features",
            inputs=BlockInputs((ties, features), scaling, shares=(of_ties, 1.0 - of_ties)),
        ),
    ]
    if default.linear and max(graph.n_nodes, graph.n_edges) * n_classes <= defaults.large:
        candidates.append(graph_alone(default, alone, defaults))
    if not built:
        candidates += with_embedding(default, is_identity(source.X), defaults)
    if graph.n_nodes * min(n_labels, defaults.kernel_rows // 2) <= defaults.kernel_limit:
        kernel = KernelEncoder(gamma=defaults.kernel_gamma, ridge=defaults.kernel_ridge)
        candidates += [
            replace(alone, name="kernel on ties", inputs=BlockInputs((ties,)), encoder=kernel),
            replace(alone, name=CURVED, encoder=kernel),
            replace(alone, name="kernel on features around", inputs=near, encoder=kernel),
        ]
    surroundings = surroundings_of(graph, source.X, defaults)
    if n_labels >= defaults.boosting_labels * n_classes * (n_classes - 1) // 2:
        inputs = BlockInputs((*surroundings, LabelShareInputs(totals=True, divided=True)), scaling=None)
        candidates.append(
            replace(alone, name="boosted trees", inputs=inputs, encoder=boosted_trees(defaults))
        )
    elif n_labels >= defaults.forest_labels:
        inputs = BlockInputs(surroundings, scaling=None)
        candidates.append(
            replace(
                alone,
                name="forest",
                inputs=inputs,
                encoder=forest(defaults.n_trees, defaults),
                full_encoder=forest(defaults.forest_trees, defaults),
            )
        )
    # wider X is never read as it is, but by its leading directions, which trees would cut up again
    if n_labels >= defaults.forest_labels and source.X.shape[1] <= defaults.hop_components:
        candidates.append(boosted_on_features(alone, source.X.shape[1], defaults))
    return candidates


def boosted_on_features(alone: Candidate, n_features: int, defaults: Defaults = DEFAULTS) -> Candidate:
    """Trees on columns as they are, without noise from around: for classes that are bands of a column, or need two."""
    own = HopInputs((0,), n_components=max(n_features, 1), row_exponent=0.0)
    encoder = boosted_trees(defaults, max_features=1.0)
    return replace(alone, name=BOOSTED, inputs=BlockInputs((own,), scaling=None), encoder=encoder)


def without_graph(default: Candidate, defaults: Defaults = DEFAULTS) -> Candidate:
    """The features alone: nothing is diffused or smoothed, but pseudo labels teach the encoder."""
    inputs = HopInputs(hops=(0,), n_components=defaults.diffused_directions * defaults.hop_components)
    return replace(default, name=ALONE, inputs=inputs, graph_view=NoGraphView)


def with_embedding(default: Candidate, featureless: bool, defaults: Defaults = DEFAULTS) -> list[Candidate]:
    """The usual candidate on a spectral embedding of the graph: alone, and beside features where there are any.

    Nodes of one community reach the same nodes in two hops, whatever their features say.
    """
    embedding = FeaturelessInputs(HopInputs((2,), n_components=defaults.embedding_directions))
    alone = replace(default, name=EMBEDDING, inputs=BlockInputs((embedding,), scaling="size"))
    if featureless:
        return [alone]
    beside = BlockInputs((default.inputs, embedding), scaling="size")
    return [replace(default, name=BESIDE, inputs=beside), alone]


def features_alone(default: Candidate, source: InputSource, defaults: Defaults = DEFAULTS) -> Candidate:
    """A linear model of the features: no edges, no rounds."""
    return linear_on_features(default, BlockInputs((FeatureInputs(),), row_scaling(source)), defaults)


def row_scaling(source: InputSource) -> Literal["unit", "size"]:
    """How blocks of features are scaled: the length of a text says nothing, that of measurements does."""
    kinds = source.columns.kind
    return "size" if 2 * np.sum(kinds == MEASUREMENT) > len(kinds) else "unit"


def linear_on_features(default: Candidate, inputs: Inputs, defaults: Defaults = DEFAULTS) -> Candidate:
    """Logistic regression on the features of labelled nodes."""
    encoder = linear(defaults.linear_C)
    return replace(default, name=LINEAR, inputs=inputs, encoder=encoder, graph_view=NoGraphView, n_rounds=0)


def graph_alone(default: Candidate, alone: Candidate, defaults: Defaults = DEFAULTS) -> Candidate:
    """Given labels held fast and spread along the edges; the features answer only where no label reaches."""
    return replace(
        default,
        name="graph alone",
        inputs=alone.inputs,
        encoder=alone.encoder,
        feature_weight=defaults.clamped_feature_weight,
        label_weight=defaults.clamped_label_weight,
        n_rounds=0,
        class_masses=True,
    )


def surroundings_of(graph: Graph, X: Any, defaults: Defaults = DEFAULTS) -> tuple[Inputs, ...]:
    """What trees read of a node: features, their means and range around it, and its place in the graph."""
    direction, mean = natural_direction(graph), mean_over(graph)
    hops = HopInputs((0, 1, 2), mean, defaults.tree_columns, row_exponent=0.0)
    narrow = X.shape[1] <= defaults.tree_columns
    return (hops, StructureInputs(), *((ExtremeInputs(direction),) if narrow else ()))


def mixture(
    parts: list[Candidate], rows: list[Any], weights: list[float], temperatures: list[float]
) -> Candidate:
    """Candidates without smoothing as one: the weighted mean of their encoders' tempered answers."""
    encoder = MixtureEncoder(
        encoders=tuple(part.encoder for part in parts),
        widths=tuple(int(block.shape[1]) for block in rows),
        weights=tuple(weights),
        temperatures=tuple(temperatures),
    )
    named = zip(parts, weights)
    name = " + ".join(f"{weight:.2f} {part.name}" for part, weight in named)
    inputs = BlockInputs(tuple(part.inputs for part in parts), scaling=None)
    return replace(parts[0], name=name, inputs=inputs, encoder=encoder)


def natural_direction(graph: Graph) -> Direction:
    """Out-neighbours where the graph keeps the direction of its edges."""
    return "both" if graph.directed_adjacency is None else "out"


def mean_over(graph: Graph) -> Average:
    """Whose mean tells of a node: all neighbours, or those that its edges lead to."""
    return "mean" if graph.directed_adjacency is None else "out"


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


def linear(C: float) -> LinearEncoder:
    """Logistic regression as it is: its probabilities are not sharpened."""
    return LinearEncoder(C=C, sharpness=1.0)
