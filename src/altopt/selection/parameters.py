"""The parameters of AltOpt as a record, and the parts that they stand for."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from altopt.arrays import Array, rough_storage
from altopt.defaults import Defaults, checked
from altopt.encoders import Encoder, LinearEncoder, as_encoder
from altopt.inputs import as_inputs
from altopt.selection.candidates import Candidate, default_inputs, default_restart
from altopt.solvers import ChebyshevSteps, ConjugateGradient, JacobiSteps, as_solver
from altopt.training.alternate import Schedule, Solvers
from altopt.training.class_priors import prior_trust
from altopt.training.pseudo_labels import (
    ClassBalanced,
    ConfidenceThreshold,
    NoPseudoLabels,
    PseudoLabels,
    TopPerClass,
)
from altopt.views import FeatureView, GraphView, LabelView, ViewChoice, as_view_choice


@dataclass(frozen=True)
class Parameters:
    """The parameters that AltOpt was given, under the same names; None where a default is to be found.

    `AltOpt` documents each. The methods resolve them: a part as it was given, else the one that serves best without
    evidence.
    """

    feature_weight: float | None
    label_weight: float | None
    restart: float | None
    n_diffusion: int
    temperature: float
    n_rounds: int | Literal["full"]
    n_warmup: int
    n_epochs: int
    n_pseudo: int | None
    min_confidence: float
    encoder: Any
    inputs: Any
    solver: Any
    feature_view: Any
    graph_view: Any
    label_view: Any
    cross_fit: bool
    self_loops: bool
    n_neighbors: int
    classes: Any
    class_prior: Any
    random_state: Any
    defaults: Defaults | None

    @property
    def numbers(self) -> Defaults:
        """The numbers of the recipe."""
        return checked(self.defaults)

    @property
    def encoder_is_free(self) -> bool:
        """Whether encoder and inputs were left to be chosen."""
        return self.encoder is None and self.inputs is None

    @property
    def weights_are_free(self) -> bool:
        """Whether the views' weights were left to be chosen."""
        return self.feature_weight is None and self.label_weight is None

    def resolved_encoder(self) -> Encoder:
        return LinearEncoder() if self.encoder is None else as_encoder(self.encoder)

    def resolved_restart(self, n_labels: int) -> float:
        return default_restart(n_labels, self.numbers) if self.restart is None else self.restart

    def default_candidate(self, n_nodes: int, n_features: int, n_labels: int | None = None) -> Candidate:
        """The parts as given, and where nothing is given, those that serve best without evidence."""
        if self.inputs is None:
            inputs = default_inputs(n_nodes, n_features, n_labels, self.numbers)
        else:
            inputs = as_inputs(self.inputs)
        weight = self.numbers.view_weight
        return Candidate(
            "usual",
            inputs,
            self.resolved_encoder(),
            weight if self.feature_weight is None else self.feature_weight,
            weight if self.label_weight is None else self.label_weight,
            *self.views(),
        )

    def views(self) -> tuple[ViewChoice, ViewChoice, ViewChoice]:
        """The feature view, the graph view and the label view."""
        return (
            as_view_choice(FeatureView if self.feature_view is None else self.feature_view, "feature_view"),
            as_view_choice(GraphView if self.graph_view is None else self.graph_view, "graph_view"),
            as_view_choice(LabelView if self.label_view is None else self.label_view, "label_view"),
        )

    def solvers(self, n_nodes: int, n_classes: int) -> Solvers:
        """The solvers of F: rough in the rounds, where F only ranks nodes by certainty, fine at the end."""
        if self.solver is not None:
            solver = as_solver(self.solver)
            return Solvers(solver, solver)
        views, numbers = self.views(), self.numbers
        if not all(view.quadratic for view in views):
            return Solvers(JacobiSteps(numbers.jacobi_rounds), JacobiSteps(numbers.jacobi_last))
        rough, fine = numbers.rtol_rounds, numbers.rtol_last
        if self.feature_weight != 0 and views[0].squared:
            storage = rough_storage(n_nodes, n_classes)
            return Solvers(ChebyshevSteps(rtol=rough, storage=storage), ChebyshevSteps(rtol=fine))
        return Solvers(ConjugateGradient(rtol=rough), ConjugateGradient(rtol=fine))

    def schedule(self, candidate: Candidate, seed: int) -> Schedule:
        """Rounds and epochs of a candidate's fit."""
        stop_below = self.numbers.stop_when_changed_below if self.n_pseudo is None else None
        if self.n_rounds == "full":
            return Schedule(self.n_warmup, self.n_epochs, 1, seed, stop_below)
        return Schedule(self.n_warmup, candidate.rounds(self.n_rounds), self.n_epochs, seed, stop_below)

    def pseudo_labels(self, Y: Array | None = None) -> PseudoLabels:
        """The rule that makes pseudo labels out of F; with the labels Y it keeps to estimated class priors."""
        rule: PseudoLabels
        if self.views()[0].needs_confidence:
            rule = ConfidenceThreshold(self.min_confidence)
        elif self.n_pseudo is None:
            numbers = self.numbers
            rule = ClassBalanced(
                self.temperature,
                self.min_confidence,
                times_labelled=numbers.pseudo_times_labelled,
                limit=numbers.pseudo_limit,
                defaults=numbers,
            )
            if Y is not None:
                label_shares = Y.mean(axis=0)
                trust = prior_trust(len(Y), len(label_shares), numbers)
                rule = replace(rule, trust=trust, label_shares=tuple(label_shares.tolist()))
        else:
            rule = TopPerClass(self.n_pseudo, self.temperature, self.min_confidence)
        return NoPseudoLabels(rule) if self.n_pseudo == 0 else rule
