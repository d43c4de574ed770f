"""A fit evaluated on its own labels: the candidate chosen, accuracy, a temperature, and what the graph is worth."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from altopt.arrays import Array, shares
from altopt.selection.candidates import Candidate, reweighted
from altopt.selection.compare import Choice, brier, choose
from altopt.selection.cross_fit import CrossFitter, Fold, assemble_folds, stratified_folds
from altopt.selection.estimate import clear_winner
from altopt.selection.fit_data import FitData
from altopt.selection.held_out import HeldOut, Repeated, Verdict, judge
from altopt.selection.leave_one_out import (
    LeaveOneOut,
    Margins,
    exact_sample,
    margins,
    without_own_label,
)
from altopt.training.alternate import Schedule, Solvers
from altopt.training.journal import Journal
from altopt.training.pseudo_labels import PseudoLabels


@dataclass(frozen=True)
class GraphHelp:
    """Accuracy on held-out labels with the graph and from the features alone; labels weigh as they were drawn.

    Parameters
    ----------
    with_graph, features_alone : float
        The two accuracies.
    per_class : dict
        For each class the share of its held-out labels predicted correctly, (with the graph, features alone).

    Attributes
    ----------
    gain : float
        with_graph - features_alone.

    Examples
    --------
    >>> GraphHelp(0.75, 0.5, {"a": (1.0, 0.5), "b": (0.5, 0.5)}).gain
    0.25
    """

    with_graph: float
    features_alone: float
    per_class: dict[Any, Any]

    @property
    def gain(self) -> float:
        return self.with_graph - self.features_alone


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
        self.codes = data.codes[self.nodes]
        self.sample_weight = None if data.sample_weight is None else data.sample_weight[self.nodes]
        self.rest = sampled(np.flatnonzero(~data.labelled), defaults.confidence_sample, data.seed)
        self.exact = exact_sample(len(self.nodes), len(data.codes), data.seed, defaults)
        self.keeps_folds = len(data.codes) * data.n_classes <= defaults.keep_folds
        n_folds = defaults.n_folds_large if data.large else defaults.n_folds
        self.fitter = CrossFitter(
            data=data,
            nodes=self.nodes,
            fold=stratified_folds(data.codes, data.seed, n_folds),
            solvers=solvers,
            rule=rule,
            schedule=replace(schedule, n_rounds=0) if data.large else schedule,
            rest=self.rest,
            journal=self.journal,
        )
        self.fold_of_nodes = np.unique(self.fitter.fold[self.nodes], return_inverse=True)[1]
        self._names: dict[Candidate, str] = {}
        self._cross_fits: dict[Candidate, CrossFit] = {}
        self._leave_one_out: dict[Candidate, Array] = {}
        self._all_labels: dict[Candidate, list[Array]] = {}
        self._inverse_diagonals: dict[Any, Array] = {}

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
        if self.keeps_folds:
            folds = self._folds(candidate)
            return CrossFit(assemble_folds(folds, [fold.F for fold in folds]), folds, None)
        folds = list(self.fitter.folds(candidate, self.name(candidate), keep_P=False))
        scores = assemble_folds(folds, [fold.F for fold in folds])
        with_all_labels = [fold.with_all_labels for fold in folds if fold.with_all_labels is not None]
        own = self._without_own_label(candidate, assemble_folds(folds, own_rows(folds, with_all_labels)))
        return CrossFit(scores, folds, own)

    def _folds(self, candidate: Candidate) -> list[Fold]:
        """The folds' fits; with other weights of a candidate whose fits are known, from its P."""
        known = None if candidate.reweights is None else self._cross_fits.get(candidate.reweights)
        if known is None or not self.keeps_folds:
            return list(self.fitter.folds(candidate, self.name(candidate)))
        scores = self._of_each(known.folds, "weights", self.fitter.scores_with_weights, candidate)
        return [replace(fold, F=F) for fold, F in zip(known.folds, scores)]

    def _of_each(
        self, folds: list[Fold], what: str, scores: Callable[[Candidate, Fold], Array], candidate: Candidate
    ) -> list[Array]:
        """F of each fold's nodes by a further solve, each a step of its own."""
        steps = [f"{self.name(candidate)}, {what} of fold {k}" for k in range(len(folds))]
        return [
            self.journal.array(step, partial(scores, candidate, fold)) for step, fold in zip(steps, folds)
        ]

    def _without_own_label(self, candidate: Candidate, F: Array) -> Array:
        # g depends on the system alone, which candidates that differ in the encoder share
        system = (candidate.graph_view, candidate.feature_weight, candidate.label_weight)
        if system not in self._inverse_diagonals:
            self._inverse_diagonals[system] = self.fitter.inverse_diagonal(
                candidate, self.exact, self.name(candidate)
            )
        g = self._inverse_diagonals[system]
        return without_own_label(F, self.data.Y(self.nodes), g, candidate.label_weight)

    def choose(
        self, default: Candidate, others: list[Candidate], alone: Candidate | None, tune_weights: bool = False
    ) -> Choice:
        """The candidate to take; `alone` is the one without the graph.

        With `tune_weights` the weights of the views are chosen too, for the candidate taken.
        """
        defaults = self.data.defaults
        if self.data.large and len(self.nodes):
            self.cross_fit(default)  # before the fit, whose F, P and start would take memory beside it
            reason = (
                "On a graph of this size plans are not compared. Name inputs, encoder or graph_view instead."
            )
            return Choice(default, [], reason)
        candidates = [*others, *([] if alone is None else [alone])]
        choice = choose(default, candidates, self.codes, self.held_out_scores, defaults)
        if alone is not None and choice.considered:
            choice = replace(choice, compared_alone=(default, alone))
        if choice.plan is alone:
            warnings.warn(
                f"The graph does not help here, so its edges are not used: {choice.reason} See graph_help_.",
                stacklevel=5,
            )
        if tune_weights and self.keeps_folds:
            variants = reweighted(choice.plan, defaults)
            choice = choice.then(choose(choice.plan, variants, self.codes, self.held_out_scores, defaults))
        return choice

    def leave_one_out(
        self, choice: Choice, F: Array, kinds: Array, ids: Array, classes: Array
    ) -> tuple[LeaveOneOut, Verdict | None]:
        """Accuracy and margins of the labelled nodes, and how to read the fitted F, if labels could be held out.

        `kinds` says of each node what is known of it (NodeKind).
        """
        if not len(self.nodes):
            return empty_leave_one_out(ids, classes), None
        scores, exact = self.leave_one_out_scores(choice.plan), self.exact
        held = HeldOut(
            codes=self.codes[exact],
            fold=self.fold_of_nodes[exact],
            scores=scores[exact],
            counts=self.counts,
            n_rest=int((~self.data.labelled).sum()),
            rest=F[self.rest],
            rest_by_folds=self.rest_scores(choice.plan),
            rest_kinds=kinds[self.rest],
            isolated=np.diff(self.data.graph.adjacency.indptr)[self.nodes[exact]] == 0,
            rate_of_features=self.rate_of_features(choice),
            class_prior=self.data.class_prior,
            classes=classes,
            seed=self.data.seed,
            repeated=self.repeated(choice),
            all_codes=self.codes,
            sample_weight=None if self.sample_weight is None else self.sample_weight[exact],
            all_sample_weight=self.sample_weight,
            defaults=self.data.defaults,
        )
        verdict = judge(held)
        all_labelled = Margins(
            ids[self.nodes],
            classes[self.codes],
            classes[scores.argmax(axis=1)],
            margins(shares(scores), self.codes),
        )
        evaluated = all_labelled.subset(exact)._replace(predictions=classes[verdict.predicted])
        result = LeaveOneOut(
            evaluated=evaluated,
            scores=scores[exact],
            accuracy=verdict.accuracy.value,
            interval=verdict.accuracy.interval,
            calibration_error=verdict.calibration_error,
            all_labelled=all_labelled,
            draw=verdict.draw.sentence,
            auc=verdict.auc.value,
            auc_interval=verdict.auc.interval,
            average_precision=verdict.average_precision.value,
            average_precision_interval=verdict.average_precision.interval,
            recall=dict(zip(classes.tolist(), verdict.recall)),
        )
        return result, verdict

    def repeated(self, choice: Choice) -> Repeated | None:
        """The choice as it would be made on other labels, from what the considered candidates say of held-out ones."""
        candidates = [entry.candidate for entry in choice.considered]
        if len(candidates) < 2:
            return None
        defaults = self.data.defaults
        scores = [self.held_out_scores(candidate) for candidate in candidates]
        losses = np.stack([brier(F, self.codes, defaults) for F in scores])
        hits = np.stack([F.argmax(axis=1) == self.codes for F in scores])
        few = len(self.codes) < defaults.many_labels
        min_z = np.array([max(c.min_z, defaults.min_z_few if few else defaults.min_z) for c in candidates])
        return Repeated(hits[0], lambda bag: hits[clear_winner(losses, min_z, defaults.min_gain, bag)])

    def rate_of_features(self, choice: Choice) -> float | None:
        """Share of held-out labels that the features alone predict, where they were a candidate."""
        if choice.compared_alone is None:
            return None
        return float(np.mean(self.held_out_scores(choice.compared_alone[1]).argmax(axis=1) == self.codes))

    def graph_help(self, choice: Choice, verdict: Verdict | None, classes: Array) -> GraphHelp | None:
        """What the graph is worth, where the candidate without it was evaluated; labels weigh as in the accuracy."""
        if choice.compared_alone is None or verdict is None:
            return None
        correct = [
            self.held_out_scores(candidate).argmax(axis=1) == self.codes
            for candidate in choice.compared_alone
        ]
        weights = verdict.draw.node_weights(self.codes, self.counts, self.sample_weight)
        with_graph, alone = (float(np.sum(weights * hit) / weights.sum()) for hit in correct)
        present = np.unique(self.codes)
        per_class = [tuple(float(hit[self.codes == k].mean()) for hit in correct) for k in present]
        return GraphHelp(with_graph, alone, dict(zip(classes[present].tolist(), per_class)))


def own_rows(folds: list[Fold], rows: list[Array]) -> list[Array]:
    """Each fold's own rows, without those of the sample below them."""
    return [part[: fold.n_held_out] for fold, part in zip(folds, rows)]


def sampled(nodes: Array, limit: int, seed: int) -> Array:
    """These nodes, or a seeded sample of them."""
    if len(nodes) <= limit:
        return nodes
    return np.sort(np.random.default_rng(seed).choice(nodes, limit, replace=False))


def empty_leave_one_out(ids: Array, classes: Array) -> LeaveOneOut:
    """The result where no label can be held out: nothing is known."""
    labels = classes[:0]
    nothing = Margins(ids[:0], labels, labels, np.empty(0))
    return LeaveOneOut(
        evaluated=nothing,
        scores=np.empty((0, len(classes))),
        accuracy=float("nan"),
        interval=(0.0, 1.0),
        calibration_error=float("nan"),
        all_labelled=nothing,
    )
