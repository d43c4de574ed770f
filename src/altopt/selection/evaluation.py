"""A fit judged by its own labels: the plan chosen, honest accuracy, a temperature, and what the graph is worth."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from altopt.arrays import Array, shares
from altopt.selection.calibration import TemperedShares, calibration_error, match_confidence
from altopt.selection.candidates import Candidate, reweighted
from altopt.selection.compare import Choice, choose
from altopt.selection.cross_fit import (
    N_FOLDS,
    Fold,
    assemble_folds,
    cross_fit,
    inverse_diagonal,
    resolve_with_weights,
    scores_with_all_labels,
)
from altopt.selection.fit_data import FitData
from altopt.selection.leave_one_out import (
    LeaveOneOut,
    Margins,
    accuracy_with_interval,
    effective_sample_size,
    exact_sample,
    margins,
    without_own_label,
)
from altopt.training.alternate import Schedule, Solvers
from altopt.training.class_priors import class_weights, predicted_shares
from altopt.training.pseudo_labels import PseudoLabels

ENOUGH = 20_000  # unlabelled nodes whose confidence is looked at
KEPT = 1_000_000  # numbers of F up to which the folds' P are kept, and weights compared with them
LARGE = 5_000_000  # numbers of F from which plans are not compared, and the usual one is judged on two folds


@dataclass(frozen=True)
class GraphHelp:
    """Accuracy on held-out labels with the graph and from the features alone; classes count by predicted size."""

    with_graph: float
    features_alone: float
    per_class: dict[Any, Any]  # the share of each class's labels found, with and without

    @property
    def gain(self) -> float:
        return self.with_graph - self.features_alone


class Evaluator:
    """Holds labels back from plans, and says how each did."""

    def __init__(
        self,
        material: FitData,
        solvers: Solvers,
        rule: PseudoLabels,
        schedule: Schedule,
    ) -> None:
        self.material, self.solvers, self.rule = material, solvers, rule
        self.large = len(material.codes) * material.n_classes >= LARGE
        self.schedule = replace(schedule, n_rounds=0) if self.large else schedule
        counts = np.bincount(material.codes[material.labelled], minlength=material.n_classes)
        # without its label nothing is left to know a class by that has only one
        tells = material.labelled & (counts[material.codes] > 1)
        self.nodes = np.flatnonzero(tells)
        self.codes = material.codes[self.nodes]
        self.exact = exact_sample(self.nodes, len(material.codes), material.seed)
        self.keeps = len(material.codes) * material.n_classes <= KEPT
        self._folds: dict[str, list[Fold]] = {}
        self._by_fold: dict[str, Array] = {}
        self._by_one: dict[str, Array] = {}
        self._influences: dict[Any, Array] = {}

    def by_fold(self, plan: Candidate) -> Array:
        """F of the judged nodes from fits without the labels of their fold, once for each plan."""
        if plan.name not in self._by_fold:
            if plan.weighs in self._folds:
                folds = [self._weighed(plan, fold) for fold in self._folds[plan.weighs]]
            else:
                folds = self._fitted(plan)
            if self.keeps:
                self._folds[plan.name] = folds
            self._by_fold[plan.name] = assemble_folds(folds, lambda fold: fold.F)
        return self._by_fold[plan.name]

    def by_one(self, plan: Candidate) -> Array:
        """F of the judged nodes from all labels but the own, with P from an encoder that never saw their fold."""
        if plan.name not in self._by_one:
            self.by_fold(plan)
        if plan.name not in self._by_one:
            own = assemble_folds(self._folds[plan.name], lambda fold: self._with_own(plan, fold))
            self._by_one[plan.name] = self._without_own(plan, own)
        return self._by_one[plan.name]

    def _fitted(self, plan: Candidate) -> list[Fold]:
        """The folds' fits; where P is too large to be kept, what it is wanted for is worked out at once."""
        n_folds = 2 if self.large else N_FOLDS
        fits = cross_fit(self.material, plan, self.nodes, self.solvers, self.rule, self.schedule, n_folds)
        if self.keeps:
            return list(fits)
        folds, own = [], []
        for fold in fits:
            own.append(self._with_own(plan, fold))
            folds.append(replace(fold, P=fold.P[:0].copy()))
            del fold
        rows = iter(own)
        self._by_one[plan.name] = self._without_own(plan, assemble_folds(folds, lambda fold: next(rows)))
        return folds

    def _weighed(self, plan: Candidate, fold: Fold) -> Fold:
        return resolve_with_weights(self.material, plan, fold, self.nodes, self.solvers)

    def _with_own(self, plan: Candidate, fold: Fold) -> Array:
        return scores_with_all_labels(self.material, plan, fold, self.nodes, self.solvers)

    def _without_own(self, plan: Candidate, F: Array) -> Array:
        # g depends on the system alone, which plans that differ in the encoder share
        system = (plan.graph_view, plan.feature_weight, plan.label_weight)
        if system not in self._influences:
            self._influences[system] = inverse_diagonal(self.material, plan, self.nodes, self.exact)
        Y = self.material.Y(self.nodes)
        return without_own_label(F, Y, self._influences[system], plan.label_weight)

    def choose(
        self, usual: Candidate, others: list[Candidate], alone: Candidate | None, weigh: bool = False
    ) -> Choice:
        """The plan to take; `alone` is the one without the graph, which is always looked at.

        With `weigh` the views' weights are chosen too, for the plan that was taken.
        """
        if self.large and len(self.nodes):
            self.by_one(usual)  # now: after the fit its F, P and start would lie beside
            reason = (
                "On a graph of this size plans are not compared. Name inputs, encoder or graph_view instead."
            )
            return Choice(usual, [], reason)
        alternatives = [*others, *([] if alone is None else [alone])]
        choice = choose(usual, alternatives, self.codes, self.by_fold)
        if alone is not None and choice.plan is alone:
            warnings.warn(
                f"The graph does not help here, so its edges are not used: {choice.reason} See graph_help_.",
                stacklevel=4,
            )
        if weigh and self.keeps:
            choice = choice.then(choose(choice.plan, reweighted(choice.plan), self.codes, self.by_fold))
        return choice

    def leave_one_out(
        self, plan: Candidate, F: Array, ids: Array, classes: Array
    ) -> tuple[LeaveOneOut, TemperedShares | None]:
        """Honest accuracy and margins of the labelled nodes, and the reading that suits the fitted F, if any can."""
        if not len(self.nodes):
            return empty_leave_one_out(ids, classes), None
        held, codes, exact = self.by_one(plan), self.codes, self.exact
        said = held.argmax(axis=1)
        weights = class_weights(codes[exact], predicted_shares(F))
        accuracy, low, high = accuracy_with_interval((said == codes)[exact], weights)
        unlabelled = np.flatnonzero(~self.material.labelled)
        if len(unlabelled) > ENOUGH:
            unlabelled = np.random.default_rng(self.material.seed).choice(unlabelled, ENOUGH, replace=False)
        some = F[unlabelled] if len(unlabelled) else held
        reading = TemperedShares(match_confidence(some, accuracy, effective_sample_size(weights)))
        error = calibration_error(reading.soften(held[exact]), codes[exact], weights)
        of_all = Margins(ids[self.nodes], classes[codes], classes[said], margins(shares(held), codes))
        found = LeaveOneOut(of_all.only(exact), held[exact], accuracy, (low, high), error, of_all)
        return found, reading

    def graph_help(self, classes: Array, F: Array) -> GraphHelp | None:
        """What the graph is worth, where it was looked at."""
        if not {"usual", "features alone"} <= set(self._by_fold):
            return None
        right = [self._by_fold[name].argmax(axis=1) == self.codes for name in ("usual", "features alone")]
        weights = class_weights(self.codes, predicted_shares(F))
        total = [float(np.sum(weights * hit) / weights.sum()) for hit in right]
        there = np.unique(self.codes)
        found = [tuple(float(hit[self.codes == k].mean()) for hit in right) for k in there]
        return GraphHelp(total[0], total[1], dict(zip(classes[there].tolist(), found)))


def empty_leave_one_out(ids: Array, classes: Array) -> LeaveOneOut:
    """What is known where no label can be held back: nothing."""
    labels, numbers = classes[:0], np.empty(0)
    scores = np.empty((0, len(classes)))
    margin = Margins(ids[:0], labels, labels, numbers)
    return LeaveOneOut(margin, scores, float("nan"), (0.0, 1.0), float("nan"), margin)
