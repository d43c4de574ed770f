"""A fit evaluated on its own labels: the candidate chosen, accuracy, a temperature, and what the graph is worth."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.graph.validation import UNKNOWN
from altopt.selection.candidates import ALONE, FEATURES_ONLY, Candidate, mixture, reweighted
from altopt.selection.choice import Choice
from altopt.selection.compare import Judged, choose
from altopt.selection.cross_fit import CrossFitter, Fold, assemble_folds, class_mass_factors, own_rows
from altopt.selection.draw import class_weights
from altopt.selection.estimate import clear_winner
from altopt.selection.fit_data import FitData
from altopt.selection.folds import some_of_each, stratified_folds
from altopt.selection.graph_help import GraphHelp
from altopt.selection.held_out import HeldOut, Repeated, Verdict, judge
from altopt.selection.leave_one_out import (
    LeaveOneOut,
    concluded,
    empty_leave_one_out,
    exact_sample,
    without_own_label,
)
from altopt.selection.mixed import Mixed
from altopt.selection.probabilities import at_best_temperature
from altopt.training.alternate import Schedule, Solvers
from altopt.training.journal import Journal
from altopt.training.pseudo_labels import PseudoLabels
from altopt.training.samples import sample_of, shuffled

FEWEST_FOLDS = 2  # where there is no time for more
NOT_COMPARED = "On a graph of this size plans are not compared. Name inputs, encoder or graph_view instead."


@dataclass(frozen=True)
class CrossFit:
    """What the fits without a fold say of the evaluated nodes."""

    scores: Array  # F of each node from the fit without its fold
    folds: list[Fold]  # without P, where that is too large to be kept
    leave_one_out: Array | None  # F without the own label, computed at once where the folds are not kept


class Evaluator:
    """Fits candidates with labels held out, compares them, and evaluates the one that is fitted.

    Each candidate is fitted once without each fold of the labels. Candidates that differ in the weights of the views
    share the encoder outputs of these fits.

    Parameters
    ----------
    data : FitData
        The data of the fit.
    solvers : Solvers
        Of F in the rounds and at the end.
    rule : PseudoLabels
        How F becomes pseudo labels.
    schedule : Schedule
        Of the fit; those without a fold are shorter.
    journal : Journal, optional
        Finished steps: each fit without a fold, and what follows from it.

    Attributes
    ----------
    nodes, codes : array (n_evaluated,)
        The evaluated nodes and their classes: labelled nodes of classes with two labels or more.
    exact : array (n_evaluated,) of bool
        Those whose own label is taken out exactly.
    keeps_folds : bool
        Whether F is small enough to keep the encoder output of every fold.
    fitter : CrossFitter
        Makes the fits without a fold.

    Examples
    --------
    >>> from altopt.encoders import LinearEncoder
    >>> from altopt.graph import Graph
    >>> from altopt.inputs import HopInputs
    >>> from altopt.operator import NormalizedAdjacency
    >>> from altopt.solvers import Direct
    >>> from altopt.training.pseudo_labels import ClassBalanced
    >>> graph = Graph([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)])
    >>> data = FitData(
    ...     graph=graph,
    ...     A_tilde=NormalizedAdjacency(graph.adjacency),
    ...     X=np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]),
    ...     codes=np.array([0, 0, -1, 1, 1, -1]),
    ...     n_classes=2,
    ...     dtype=np.dtype(float),
    ...     restart=0.2,
    ...     n_diffusion=10,
    ...     seed=0,
    ... )
    >>> evaluator = Evaluator(data, Solvers(Direct(), Direct()), ClassBalanced(), Schedule(10, 1, 10, seed=0))
    >>> scores = evaluator.held_out_scores(Candidate("usual", HopInputs(), LinearEncoder()))
    >>> scores.argmax(axis=1).tolist(), evaluator.codes.tolist()
    ([0, 0, 1, 1], [0, 0, 1, 1])
    """

    def __init__(
        self,
        data: FitData,
        solvers: Solvers,
        rule: PseudoLabels,
        schedule: Schedule,
        journal: Journal | None = None,
    ) -> None:
        defaults = data.defaults
        self.data, self.journal = data, journal or Journal()
        self.counts = np.bincount(data.codes[data.labelled], minlength=data.n_classes)
        # a class with a single label cannot be held out
        self.nodes = np.flatnonzero(data.labelled & (self.counts[data.codes] > 1))
        self.codes, self.key = data.codes[self.nodes], data.key[self.nodes]
        self.sample_weight = None if data.sample_weight is None else data.sample_weight[self.nodes]
        self.rest = sample_of(~data.labelled, defaults.confidence_sample, data.seed, data.order)
        self.exact = exact_sample(self.key, len(data.codes), data.seed, defaults)
        self.keeps_folds = not data.large
        most = defaults.n_folds * defaults.choosing_labels
        many = len(self.nodes) > most
        fold = stratified_folds(
            data.codes,
            data.seed,
            FEWEST_FOLDS if many or data.large else defaults.n_folds,
            data.key,
        )
        self.fitter = CrossFitter(
            data=data,
            nodes=self.nodes,
            fold=fold,
            solvers=solvers,
            rule=rule,
            schedule=replace(schedule, n_rounds=0) if data.large else schedule,
            rest=self.rest,
            journal=self.journal,
            keeps_P=self.keeps_folds,
        )
        self.chooser = self.fitter
        if many and not data.large:  # a sample of the labels chooses
            chosen = some_of_each(self.codes, most, data.seed, self.key)
            few = np.full(len(data.codes), UNKNOWN)
            few[self.nodes[chosen]] = self.codes[chosen]
            fold = stratified_folds(few, data.seed, defaults.n_folds, data.key)
            self.chooser = replace(self.fitter, fold=fold, _ready={}, _folds={}, _learners={})
        self.fold_of_nodes = np.unique(self.fitter.fold[self.nodes], return_inverse=True)[1]
        self._names: dict[Candidate, str] = {}
        self._cross_fits: dict[Candidate, CrossFit] = {}
        self._mixtures: dict[Candidate, Mixed] = {}
        self._leave_one_out: dict[Candidate, Array] = {}
        self._all_labels: dict[Candidate, list[Array]] = {}
        self._inverse_diagonals: dict[Any, Array] = {}

    @property
    def rest_by_key(self) -> Array:
        """Places in `rest`, shuffled from the order of the nodes' keys, so that their numbers play no part."""
        return shuffled(np.argsort(self.data.key[self.rest], kind="stable"), self.data.seed)

    def name(self, candidate: Candidate) -> str:
        """What the candidate's steps are called: two may share a name, but each comes at its own place."""
        return self._names.setdefault(candidate, f"{len(self._names)} {candidate.name}")

    def held_out_scores(self, candidate: Candidate) -> Array:
        """F of the evaluated nodes from fits without the labels of their fold."""
        return self.cross_fit(candidate).scores

    def leave_one_out_scores(self, candidate: Candidate) -> Array:
        """F of the evaluated nodes from all labels but their own, with P from an encoder that never saw their fold."""
        fitted = self.cross_fit(candidate)
        if fitted.leave_one_out is not None:
            return fitted.leave_one_out
        if candidate not in self._leave_one_out:
            rows = self._with_all_labels(candidate)
            whole = assemble_folds(fitted.folds, own_rows(fitted.folds, rows))
            self._leave_one_out[candidate] = self._without_own_label(candidate, whole)
        return self._leave_one_out[candidate]

    def rest_scores(self, candidate: Candidate) -> list[Array]:
        """F of the sample of unlabelled nodes, from the fits that the leave-one-out scores come from."""
        folds = self.cross_fit(candidate).folds
        return [part[fold.n_held_out :] for fold, part in zip(folds, self._with_all_labels(candidate))]

    def _with_all_labels(self, candidate: Candidate) -> list[Array]:
        """For each fold F of its nodes and of the sample from all labels, with P that never saw the fold's."""
        folds = self.cross_fit(candidate).folds
        if candidate not in self._all_labels:
            known = [fold.with_all_labels for fold in folds if fold.with_all_labels is not None]
            self._all_labels[candidate] = known or self._of_each(
                folds, "all labels", self.fitter.scores_with_all_labels, candidate
            )
        return self._all_labels[candidate]

    def cross_fit(self, candidate: Candidate) -> CrossFit:
        """The candidate's fits without a fold, made once."""
        if candidate not in self._cross_fits:
            self._cross_fits[candidate] = self._cross_fit(candidate)
        return self._cross_fits[candidate]

    def _cross_fit(self, candidate: Candidate) -> CrossFit:
        folds = self._folds(candidate)
        scores = assemble_folds(folds, [fold.F for fold in folds])
        if self.keeps_folds:
            return CrossFit(scores, folds, None)
        with_all_labels = [fold.with_all_labels for fold in folds if fold.with_all_labels is not None]
        own = self._without_own_label(candidate, assemble_folds(folds, own_rows(folds, with_all_labels)))
        return CrossFit(scores, folds, own)

    def _folds(self, candidate: Candidate) -> list[Fold]:
        """The folds' fits; of a mixture, its parts' mixed."""
        if candidate not in self._mixtures:
            return self.fitter.folds(candidate, self.name(candidate))
        mixed = self._mixtures[candidate]
        each = [self.fitter.folds(part, self.name(part)) for part in mixed.parts]
        return [mixed.fold(list(folds)) for folds in zip(*each)]

    def _of_each(
        self, folds: list[Fold], what: str, scores: Callable[[Candidate, Fold], Array], candidate: Candidate
    ) -> list[Array]:
        """F of each fold's nodes by a further solve, each a step of its own."""
        steps = [f"{self.name(candidate)}, {what} of fold {k}" for k in range(len(folds))]
        return [
            self.journal.array(step, partial(scores, candidate, fold)) for step, fold in zip(steps, folds)
        ]

    def _without_own_label(self, candidate: Candidate, F: Array) -> Array:
        if candidate.unsmoothed or candidate.class_masses:  # the own label is not in F
            return F
        # g depends on the system alone, which candidates that differ in the encoder share
        system = (candidate.graph_view, candidate.feature_weight, candidate.label_weight)
        if system not in self._inverse_diagonals:
            self._inverse_diagonals[system] = self.fitter.inverse_diagonal(
                candidate, self.exact, self.name(candidate)
            )
        g = self._inverse_diagonals[system]
        return without_own_label(F, self.data.Y(self.nodes), g, candidate.label_weight)

    # the choice

    @property
    def n_folds(self) -> int:
        """Folds that may choose: one where it has labels enough."""
        enough = len(self.nodes) >= self.data.defaults.choosing_labels
        return 1 if enough else len(self.chooser.numbers)

    @property
    def judged_first(self) -> Array:
        """Which of the evaluated nodes are in the first fold that chooses, as a mask."""
        return self.chooser.masks(self.chooser.numbers[0])[0]

    def codes_of(self, k: int) -> Array:
        """The classes of the labels of the k-th fold that chooses."""
        return self.codes[self.chooser.masks(self.chooser.numbers[k])[0]]

    def weights_of(self, k: int) -> Array:
        """The given weights of these labels; 1 where none were given."""
        judged = self.chooser.masks(self.chooser.numbers[k])[0]
        return np.ones(int(judged.sum())) if self.sample_weight is None else self.sample_weight[judged]

    @property
    def class_weights(self) -> Array | None:
        """How much commoner each class is among the other nodes than among the labels, where `class_prior` says so."""
        return class_weights(self.data.class_prior, self.counts, int((~self.data.labelled).sum()))

    def held_out(self, candidate: Candidate, k: int) -> Judged:
        """F of these labels' nodes from a fit without them."""
        if candidate in self._mixtures:
            mixed = self._mixtures[candidate]
            return Judged(mixed.rows([self.held_out(part, k).F for part in mixed.parts]), 0.0)
        fold, name = self.chooser.numbers[k], self.name(candidate)
        F, seconds = self.chooser.held_out(candidate, fold, name)
        return Judged(F, seconds, *self.chooser.of_edges(candidate, fold, name))

    def mix(self, parts: list[Candidate], weights: list[float], temperatures: list[float]) -> Candidate:
        """A mixture of candidates without smoothing."""
        rows = [self.data.inputs(part)[1] for part in parts]
        candidate = mixture([self.fitter.ready(part) for part in parts], rows, weights, temperatures)
        self._mixtures[candidate] = Mixed(parts, weights, temperatures)
        return candidate

    def choose(self, default: Candidate, others: list[Candidate], tune_weights: bool = False) -> Choice:
        """The candidate to take; with `tune_weights` the weights of its views are chosen too."""
        defaults = self.data.defaults
        if self.data.large and len(self.nodes):
            self.cross_fit(default)  # before the fit, whose F, P and start would take memory beside it
            return Choice(default, [], NOT_COMPARED)
        choice = choose(default, others, self, defaults)
        if choice.plan.name in FEATURES_ONLY:
            warnings.warn(
                f"The graph does not help here, so its edges are not used: {choice.reason} See graph_help_.",
                stacklevel=5,
            )
        if tune_weights and self.keeps_folds:
            choice = choice.then(choose(choice.plan, reweighted(choice.plan, defaults), self, defaults))
        return choice

    def in_full(self, taken: Candidate) -> Candidate:
        """The candidate as it is fitted to all labels; of a mixture, its parts."""
        if taken not in self._mixtures:
            return taken.in_full()
        mixed = self._mixtures[taken]
        return self.mix([part.in_full() for part in mixed.parts], mixed.weights, mixed.temperatures)

    def leave_one_out(
        self, choice: Choice, F: Array, kinds: Array, ids: Array, classes: Array
    ) -> tuple[LeaveOneOut, Verdict | None]:
        """Accuracy and margins of the labelled nodes, and how to read the fitted F, if labels could be held out.

        `kinds` says of each node what is known of it (NodeKind).
        """
        if not len(self.nodes):
            return empty_leave_one_out(ids, classes), None
        scores, exact = self.leave_one_out_scores(choice.plan), self.exact
        masses = None
        if choice.plan.class_masses:
            masses = class_mass_factors(F, self.data.codes[self.data.labelled])
            F = F * masses
        labels = np.flatnonzero(exact)
        order = np.argsort(self.key[labels], kind="stable")
        labels, rest = labels[order], self.rest_by_key
        held = HeldOut(
            codes=self.codes[labels],
            fold=self.fold_of_nodes[labels],
            scores=scores[labels],
            counts=self.counts,
            n_rest=int((~self.data.labelled).sum()),
            rest=F[self.rest[rest]],
            rest_by_folds=[scores[rest] for scores in self.rest_scores(choice.plan)],
            rest_kinds=kinds[self.rest[rest]],
            isolated=np.diff(self.data.graph.adjacency.indptr)[self.nodes[labels]] == 0,
            rate_of_features=self.rate_of_features(choice),
            class_prior=self.data.class_prior,
            classes=classes,
            seed=self.data.seed,
            repeated=self.repeated(choice),
            all_codes=self.codes_of(0) if self.n_folds else None,
            all_order=np.argsort(self.key[self.judged_first], kind="stable") if self.n_folds else None,
            sample_weight=None if self.sample_weight is None else self.sample_weight[labels],
            all_sample_weight=None if self.sample_weight is None else self.sample_weight[self.judged_first],
            defaults=self.data.defaults,
        )
        verdict = judge(held).rearranged(np.argsort(order))
        if masses is not None:
            verdict = replace(verdict, readout=verdict.readout.scaled(masses))
        result = concluded(verdict, scores, exact, ids[self.nodes], self.codes, classes)
        return result, verdict

    def repeated(self, choice: Choice) -> Repeated | None:
        """The choice as it would be made on other labels, from what the candidates say of those of the first fold."""
        candidates = [entry.candidate for entry in choice.judged]
        if len(candidates) < 2:
            return None
        defaults, codes = self.data.defaults, self.codes_of(0)
        judged = [at_best_temperature(self.held_out(candidate, 0).F, codes) for candidate in candidates]
        losses = np.stack([of.losses for of in judged])
        hits = np.stack([of.P.argmax(axis=1) == codes for of in judged])
        min_z = np.full(len(candidates), defaults.min_z)
        least = defaults.usual_lead / len(codes)
        return Repeated(hits[0], lambda bag: hits[clear_winner(losses, min_z, least, bag)])

    def rate_of_features(self, choice: Choice) -> float | None:
        """Share of held-out labels that the features alone predict, where they were a candidate."""
        alone = next((entry for entry in choice.judged if entry.candidate.name == ALONE), None)
        return None if alone is None else alone.accuracy

    def graph_help(self, choice: Choice, verdict: Verdict | None, classes: Array) -> GraphHelp | None:
        """What the graph is worth, where the candidate without it was evaluated; labels weigh as in the accuracy."""
        judged = {entry.candidate.name: entry for entry in choice.judged}
        if ALONE not in judged or verdict is None:
            return None
        alone = judged[ALONE]
        taken = next((entry for entry in choice.judged if entry.candidate is choice.plan), alone)
        other = choice.judged[0] if taken is alone else taken
        n_labels = min(alone.n_labels, other.n_labels)
        masks = [self.chooser.masks(k)[0] for k in self.chooser.numbers]
        n_folds = 1 + int(np.searchsorted(np.cumsum([mask.sum() for mask in masks]), n_labels))
        codes = np.concatenate([self.codes_of(k) for k in range(n_folds)])
        correct = [
            np.concatenate([self.held_out(q.candidate, k).F.argmax(axis=1) for k in range(n_folds)]) == codes
            for q in (other, alone)
        ]
        nodes = np.concatenate([np.flatnonzero(mask) for mask in masks[:n_folds]])
        given = self.sample_weight
        weights = verdict.draw.node_weights(codes, self.counts, None if given is None else given[nodes])
        return GraphHelp.of(correct, codes, weights, classes)
