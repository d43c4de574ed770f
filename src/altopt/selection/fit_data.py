"""What a fit works on, whatever the plan: graph, features and labels, checked; encoder inputs made once."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from altopt.arrays import Array, one_hot
from altopt.graph import Graph
from altopt.inputs import EAGER, Inputs, InputSource, Prepared, encoder_rows
from altopt.operator import NormalizedAdjacency
from altopt.selection.candidates import Candidate
from altopt.training.alternate import Problem


@dataclass
class FitData:
    graph: Graph
    A_tilde: NormalizedAdjacency
    X: Any
    codes: Array  # the class of each node, -1 where unknown
    n_classes: int
    dtype: Any  # of F and P
    restart: float
    n_diffusion: int
    seed: int
    eager: int = EAGER  # numbers of encoder inputs up to which they are made once
    _made: dict[Inputs, tuple[Prepared, Any]] = field(default_factory=dict)

    @property
    def labelled(self) -> Array:
        return np.asarray(self.codes >= 0)

    def Y(self, nodes: Array) -> Array:
        """One-hot rows of labelled nodes, given as a mask."""
        return one_hot(self.codes[nodes], self.n_classes, self.dtype)

    def inputs(self, plan: Candidate) -> tuple[Prepared, Any]:
        """The plan's encoder inputs as they are kept, and as the encoder reads them."""
        if plan.inputs not in self._made:
            source = InputSource(self.graph, self.A_tilde, self.X, self.restart, self.n_diffusion, self.seed)
            made = plan.inputs.prepare(source)
            self._made[plan.inputs] = made, encoder_rows(made, self.eager)
        return self._made[plan.inputs]

    def drop_other_inputs(self, plan: Candidate) -> None:
        """Keep this plan's inputs only."""
        self._made = {inputs: made for inputs, made in self._made.items() if inputs == plan.inputs}

    def with_data_dependent_settings(self, plan: Candidate) -> Candidate:
        """The plan with what its inputs decide."""
        return replace(plan, encoder=plan.encoder.fitted_to(self.inputs(plan)[1]))

    def problem(
        self, plan: Candidate, labelled: Array | None = None, validation: tuple[Array, Array] | None = None
    ) -> Problem:
        """The plan's problem with all labels, or with those of a mask of nodes."""
        labelled = self.labelled if labelled is None else labelled
        Y = self.Y(labelled)
        objective = plan.objective(self.graph, self.A_tilde, Y, labelled)
        confidence = plan.feature_view.needs_confidence
        return Problem(self.inputs(plan)[1], Y, labelled, self.dtype, objective, confidence, validation)
