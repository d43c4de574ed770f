"""What a fit works on, whatever the candidate: graph, features and labels, checked; encoder inputs made once."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from altopt.arrays import Array, one_hot
from altopt.defaults import DEFAULTS, Defaults
from altopt.graph import Graph
from altopt.graph.validation import UNKNOWN
from altopt.inputs import EAGER, BlockInputs, Inputs, InputSource, Prepared, encoder_rows
from altopt.operator import NormalizedAdjacency
from altopt.selection.candidates import Candidate
from altopt.selection.draw import ClassPrior
from altopt.training.alternate import Problem


@dataclass
class FitData:
    """The data of a fit, and the encoder inputs made from them so far.

    Parameters
    ----------
    graph : Graph
        Nodes in the order of X's rows.
    A_tilde : NormalizedAdjacency
        D^-1/2 A D^-1/2 of the graph.
    X : array or sparse matrix (n_nodes, n_features)
        Features.
    codes : array (n_nodes,) of int
        The class of each node, -1 where unknown.
    n_classes : int
        Number of classes.
    dtype : numpy dtype
        Of F and P.
    restart, n_diffusion : float, int
        Of the diffusion of X.
    seed : int
        The same seed gives the same bits.
    class_prior : ClassPrior
        What is known of the class shares of all nodes.
    built : bool
        Whether the graph was built from X, so that its edges are no evidence of their own.
    sample_weight : array (n_nodes,), optional
        Weights of the labelled nodes in the encoder's training and in the estimated accuracy, 1 on average.
    eager : int
        Numbers of encoder inputs up to which they are made once.
    defaults : Defaults
        The numbers of the recipe.
    telling : tuple of str
        Kinds of edges that are worth reading each by itself.

    Attributes
    ----------
    labelled : array (n_nodes,) of bool
        Where a label is known.
    large : bool
        Whether F is so large that candidates are not compared.

    Examples
    --------
    >>> graph = Graph([(0, 1), (1, 2)])
    >>> A_tilde = NormalizedAdjacency(graph.adjacency)
    >>> data = FitData(graph, A_tilde, np.eye(3), np.array([0, -1, 1]), 2, np.dtype(float), 0.2, 10, seed=0)
    >>> data.labelled.tolist()
    [True, False, True]
    >>> data.Y(data.labelled).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    graph: Graph
    A_tilde: NormalizedAdjacency
    X: Any
    codes: Array
    n_classes: int
    dtype: Any
    restart: float
    n_diffusion: int
    seed: int
    class_prior: ClassPrior = None
    sample_weight: Array | None = None
    built: bool = False
    eager: int = EAGER
    defaults: Defaults = DEFAULTS
    telling: tuple[str, ...] = ()
    _made: dict[Inputs, tuple[Prepared, Any]] = field(default_factory=dict)
    _parts: dict[Inputs, Prepared] = field(default_factory=dict)  # blocks that several inputs may have

    @property
    def labelled(self) -> Array:
        return np.asarray(self.codes >= 0)

    @property
    def large(self) -> bool:
        """Whether F is so large that candidates are not compared."""
        return len(self.codes) * self.n_classes >= self.defaults.large

    @cached_property
    def source(self) -> InputSource:
        """What encoder inputs are made from; the kinds of the columns are found once."""
        return InputSource(
            self.graph,
            self.A_tilde,
            self.X,
            self.restart,
            self.n_diffusion,
            self.seed,
            self.codes,
            self.n_classes,
        )

    @property
    def key(self) -> Array:
        """A number for each node that follows from what it is like, not from its place in the order."""
        return self.source.key

    @cached_property
    def order(self) -> Array:
        """All nodes in the order of their keys."""
        return np.argsort(self.key, kind="stable")

    def Y(self, nodes: Array) -> Array:
        """One-hot rows of labelled nodes, given as a mask or by number."""
        return one_hot(self.codes[nodes], self.n_classes, self.dtype)

    def inputs(self, candidate: Candidate, labelled: Array | None = None) -> tuple[Prepared, Any]:
        """The candidate's encoder inputs as they are kept, and as the encoder reads them.

        Inputs that are made from labels are made anew for the mask `labelled` of those that the encoder may know.
        """
        if candidate.inputs.reads_labels and labelled is not None:
            prepared = self._prepare(candidate.inputs, np.where(labelled, self.codes, UNKNOWN))
            return prepared, encoder_rows(prepared, self.eager)
        if candidate.inputs not in self._made:
            prepared = self._prepare(candidate.inputs, self.codes)
            self._made[candidate.inputs] = prepared, encoder_rows(prepared, self.eager)
        return self._made[candidate.inputs]

    def _prepare(self, inputs: Inputs, codes: Array) -> Prepared:
        """Blocks are prepared one by one, so that candidates which have a block in common share it."""
        if isinstance(inputs, BlockInputs):
            parts = []
            for part in inputs.parts:
                if part.reads_labels:
                    parts.append(self._prepare(part, codes))
                    continue
                if part not in self._parts:
                    self._parts[part] = self._prepare(part, codes)
                parts.append(self._parts[part])
            return inputs.prepare_from(parts, self.source.with_codes(codes))
        return inputs.prepare(self.source.with_codes(codes))

    def keep(self, inputs: Inputs, prepared: Prepared) -> None:
        """These inputs, or this block of inputs, are made already."""
        self._made[inputs] = prepared, encoder_rows(prepared, self.eager)
        self._parts[inputs] = prepared

    def drop_other_inputs(self, candidate: Candidate) -> None:
        """Keep this candidate's inputs only; their parts too, where labels make them anew for every fold."""
        inputs = candidate.inputs
        self._made = {other: made for other, made in self._made.items() if other == inputs}
        kept = inputs.parts if isinstance(inputs, BlockInputs) and inputs.reads_labels else ()
        self._parts = {part: made for part, made in self._parts.items() if part in kept}

    def with_data_dependent_settings(self, candidate: Candidate) -> Candidate:
        """The candidate ready to be fitted: with what its inputs decide, without its relations to others."""
        encoder = candidate.encoder.fitted_to(self.inputs(candidate)[1])
        return replace(candidate, encoder=encoder, reweights=None)

    def problem(
        self,
        candidate: Candidate,
        labelled: Array | None = None,
        validation: tuple[Array, Array] | None = None,
    ) -> Problem:
        """The candidate's problem with all labels, or with those of a mask of nodes."""
        rows = self.inputs(candidate, labelled)[1]
        labelled = self.labelled if labelled is None else labelled
        Y = self.Y(labelled)
        return Problem(
            rows=rows,
            Y=Y,
            labelled=labelled,
            dtype=self.dtype,
            objective=candidate.objective(self.graph, self.A_tilde, Y, labelled),
            needs_confidence=candidate.feature_view.needs_confidence,
            validation=validation,
            label_weights=None if self.sample_weight is None else self.sample_weight[labelled],
            defaults=self.defaults,
            order=self.order,
        )


def eager_limit(n_nodes: int, n_classes: int, cross_fit: bool, defaults: Defaults = DEFAULTS) -> int:
    """Numbers of encoder inputs up to which they are made once: more where they are read for every fold."""
    many_reads = cross_fit and n_nodes * n_classes < defaults.large
    return defaults.hop_limit if many_reads else EAGER


def encoder_rows_bytes(
    inputs_bytes: float, n_nodes: int, n_classes: int, cross_fit: bool, defaults: Defaults = DEFAULTS
) -> float:
    """Bytes of the encoder's rows where they are made once for inputs of so many bytes; 0 where block by block."""
    made_once = inputs_bytes <= 4.0 * eager_limit(n_nodes, n_classes, cross_fit, defaults)
    return inputs_bytes if made_once else 0.0
