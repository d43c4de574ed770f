"""What held-out labels say of a fit: how they were drawn, its accuracy, its probabilities, and how it ranks."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.defaults import DEFAULTS, Defaults
from altopt.selection.calibration import (
    NodeKind,
    TemperedShares,
    calibration_error,
    column_factors,
    match_confidence,
)
from altopt.selection.draw import ClassPrior, Draw, attainable, drawn_by_class, how_drawn, shares_of_rest
from altopt.selection.estimate import (
    Accuracy,
    choice_optimism,
    learning_gain,
    recalls,
    spread,
    variance_factor,
)
from altopt.selection.ranking import Ranking, Sample, average_precision, roc_auc
from altopt.training.class_priors import predicted_counts

# temperatures tried, unlabelled nodes that factors are found from for each, and the least probability of a label
N_TEMPERATURES, N_ROWS, LEAST = 9, 1000, 1e-6
N_TURNS = 3  # of accuracy, temperature and column factors, which depend on each other
FEATURES_COUNT = 2  # labels of nodes without edges, held out, that the rate of the features alone counts as


@dataclass(frozen=True)
class Repeated:
    """A choice that can be made again on resampled labels, for its optimism.

    Parameters
    ----------
    hits : array (n_labels,) of bool
        Of the candidate that stays where no other wins.
    choose : callable
        Takes how often each label is in a bag; gives the hits of what would be chosen then.
    """

    hits: Array
    choose: Any


@dataclass(frozen=True)
class HeldOut:
    """Held-out labels and what fits without them say.

    Evaluated labels come in an order that does not follow from the numbers of the nodes, as do unlabelled nodes: bags
    of labels and the first of these nodes are drawn by their place.

    Parameters
    ----------
    codes, fold : array (n_evaluated,) of int
        Class and fold of each evaluated label.
    scores : array (n_evaluated, n_classes)
        F of these nodes without their own label.
    counts : array (n_classes,) of int
        Labels of each class, those that cannot be held out included.
    n_rest : int
        Unlabelled nodes.
    rest : array (n_sample, n_classes)
        F of unlabelled nodes, or of a sample.
    rest_by_folds : list of array (n_sample, n_classes)
        F of the same nodes from the fits that `scores` come from, one a fold.
    rest_kinds : array (n_sample,)
        NodeKind of these nodes.
    isolated : array (n_evaluated,) of bool
        Evaluated nodes without edges.
    rate_of_features : float, optional
        Share of held-out labels that the features alone predict, where they were tried.
    class_prior : ClassPrior
        What is known of the class shares.
    repeated : Repeated, optional
        The choice among candidates, over all labels that can be held out.
    all_codes : array
        The classes of those labels.
    all_order : array, optional
        Those labels in an order that does not follow from the numbers of the nodes.
    sample_weight, all_sample_weight : array, optional
        Given weights of the evaluated labels, and of all that can be held out.
    """

    codes: Array
    fold: Array
    scores: Array
    counts: Array
    n_rest: int
    rest: Array
    rest_by_folds: list[Array]
    rest_kinds: Array
    isolated: Array
    rate_of_features: float | None
    class_prior: ClassPrior
    classes: Array
    seed: int
    repeated: Repeated | None = None
    all_codes: Array | None = None
    all_order: Array | None = None
    sample_weight: Array | None = None
    all_sample_weight: Array | None = None
    defaults: Defaults = DEFAULTS

    @property
    def known_shares(self) -> Array | None:
        """Class shares of the unlabelled nodes, where those of all nodes are known."""
        if not isinstance(self.class_prior, np.ndarray):
            return None
        return shares_of_rest(self.class_prior, self.counts, self.n_rest)

    def read_with(self, readout: TemperedShares) -> "Reading":
        """How F is read, with column factors where class shares are known; those of a fold's fit are its own.

        Where labels were drawn by class a fold's fit has fewer of the very classes that it is asked for. Its columns
        are scaled so that unlabelled nodes have the classes as by the final F, whose labels are as many of each.
        """
        shares, T = self.known_shares, readout.temperature
        known = self.rest_kinds != NodeKind.UNREACHED
        by_class = self.class_prior is None and drawn_by_class(self.counts, self.defaults.draw_level)
        if not known.any() or (shares is None and not by_class):
            return Reading(readout, self.scores, self.rest_by_folds)
        if shares is None:
            shares = readout.soften(self.rest[known]).mean(axis=0)
        else:
            shares = attainable(shares, self.counts)
            factors = column_factors(self.rest[known], shares, T, self.defaults)
            readout = replace(readout, factors=tuple(factors.tolist()))
        by_fold = [column_factors(F[known], shares, T, self.defaults) for F in self.rest_by_folds]
        rest = [F * b for F, b in zip(self.rest_by_folds, by_fold)]
        return Reading(readout, self.scores * np.stack(by_fold)[self.fold], rest)

    def likeliest_temperature(self) -> float:
        """T at which held-out labels are likeliest, each T with the factors it needs to keep to the known shares.

        Where these make nearly all nodes one class, mean confidence is the same at most T and cannot tell.
        """
        low, high = np.log(self.defaults.power_bounds)
        few = replace(
            self,
            rest=self.rest[:N_ROWS],
            rest_by_folds=[F[:N_ROWS] for F in self.rest_by_folds],
            rest_kinds=self.rest_kinds[:N_ROWS],
        )
        rows, losses = np.arange(len(self.codes)), []
        temperatures = np.exp(np.linspace(low, high, N_TEMPERATURES))
        for T in temperatures.tolist():
            reading = few.read_with(TemperedShares(T))
            P = reading.plain.soften(reading.scores)
            weights = self.weights(self.draw(reading))
            losses.append(-float(np.sum(weights * np.log(np.maximum(P[rows, self.codes], LEAST)))))
        return float(temperatures[int(np.argmin(losses))])

    def draw(self, reading: "Reading") -> Draw:
        """How the labels were drawn."""
        rest = predicted_counts(self.rest)
        by_folds = [predicted_counts(F) for F in reading.rest_by_folds]
        mean = np.mean(by_folds, axis=0) if by_folds else rest
        return how_drawn(
            self.class_prior,
            self.counts,
            self.codes,
            reading.predicted,
            rest,
            mean,
            self.n_rest,
            self.classes,
            self.defaults,
        )

    def weights(self, draw: Draw) -> Array:
        """The weight of each evaluated label."""
        return draw.node_weights(self.codes, self.counts, self.sample_weight)

    def accuracy(self, draw: Draw, reading: "Reading") -> Accuracy:
        """Accuracy on the unlabelled nodes."""
        weights = self.weights(draw)
        v = spread(weights, variance_factor(draw, self.defaults), self.n_rest)
        rate = float(np.sum(weights * (reading.predicted == self.codes)))
        return Accuracy(rate, v, self.optimism(draw), self.gain(reading))

    def gain(self, reading: "Reading") -> float:
        """By how much the final F is better than the folds' fits."""
        answers = reading.readout.soften(self.rest).argmax(axis=1)
        return learning_gain(
            answers, [reading.plain.soften(F, self.rest_kinds) for F in reading.rest_by_folds]
        )

    def tempered(
        self, readout: TemperedShares, draw: Draw, predicted: Array, accuracy: float
    ) -> TemperedShares:
        """The readout at the temperatures at which unlabelled nodes are as confident as they are accurate.

        Nodes without edges have one of their own, for their held-out labels and, as much as two, the features alone;
        nodes that nothing is known of have the class shares. The others make up the mean.
        """
        n_labels = 1.0 / float(np.sum(self.weights(draw) ** 2))
        kinds, rest = (
            (self.rest_kinds, self.rest) if len(self.rest) else (np.zeros(len(self.scores)), self.scores)
        )
        alone, unreached = kinds == NodeKind.ISOLATED, kinds == NodeKind.UNREACHED
        tied = ~(alone | unreached)
        left = accuracy * len(kinds) - unreached.sum() * float(draw.shares.max())
        readout = replace(readout, unreached=tuple(draw.shares.tolist()))
        factors, least = readout.factors, 1.0 / len(self.counts)
        if alone.any():
            features = accuracy if self.rate_of_features is None else self.rate_of_features
            hits = (predicted == self.codes)[self.isolated]
            rate = max((hits.sum() + FEATURES_COUNT * features) / (len(hits) + FEATURES_COUNT), least)
            isolated = match_confidence(rest[alone], float(rate), n_labels, factors, self.defaults)
            readout, left = replace(readout, isolated=isolated), left - alone.sum() * rate
        if not tied.any():
            return readout
        target = float(np.clip(left / tied.sum(), least, 1.0))
        return replace(
            readout, temperature=match_confidence(rest[tied], target, n_labels, factors, self.defaults)
        )

    def optimism(self, draw: Draw) -> float:
        """By how much the choice among candidates flatters that accuracy."""
        if self.repeated is None or self.all_codes is None:
            return 0.0
        weights = draw.node_weights(self.all_codes, self.counts, self.all_sample_weight)
        return choice_optimism(
            self.repeated.choose, self.repeated.hits, weights, self.seed, self.all_order, self.defaults
        )


@dataclass(frozen=True)
class Reading:
    """How F is read: the final one, and what the folds' fits say of held-out labels and of unlabelled nodes."""

    readout: TemperedShares
    scores: Array  # held-out rows of F, with the column factors of their fold
    rest_by_folds: list[Array]  # unlabelled nodes, likewise

    @property
    def plain(self) -> TemperedShares:
        """For rows that have their column factors already."""
        return replace(self.readout, factors=None)

    @property
    def predicted(self) -> Array:
        """The classes of held-out labels, without them."""
        return np.asarray(self.scores.argmax(axis=1))


@dataclass(frozen=True)
class Verdict:
    """What held-out labels say of a fit."""

    draw: Draw
    accuracy: Accuracy
    readout: TemperedShares
    scores: Array  # held-out rows of F, with the column factors they are read with
    probabilities: Array  # of the held-out nodes
    weights: Array  # of the held-out labels
    variance_factor: float
    predicted: Array
    calibration_error: float
    auc: Ranking
    average_precision: Ranking
    recall: list[tuple[float, float, float]]

    def rearranged(self, order: Array) -> "Verdict":
        """With the labels in another order."""
        aligned = ("scores", "probabilities", "weights", "predicted")
        return replace(self, **{name: getattr(self, name)[order] for name in aligned})


def judge(held: HeldOut) -> Verdict:
    """Accuracy, temperature and, with given class shares, column factors by turns; then calibration and ranking."""
    defaults = held.defaults
    readout = TemperedShares(1.0 if held.known_shares is None else held.likeliest_temperature())
    for _ in range(N_TURNS):
        reading = held.read_with(readout)
        draw = held.draw(reading)
        accuracy = held.accuracy(draw, reading)
        readout = held.tempered(reading.readout, draw, reading.predicted, accuracy.value)
    weights, predicted = held.weights(draw), reading.predicted
    reading = held.read_with(readout)
    P = reading.plain.soften(reading.scores, held.isolated * NodeKind.ISOLATED)
    factor = variance_factor(draw, defaults)
    ranked = Sample(P, held.codes, weights, draw.shares, held.n_rest, defaults.variance_by_class)
    return Verdict(
        draw=draw,
        accuracy=accuracy,
        readout=reading.readout,
        scores=reading.scores,
        probabilities=P,
        weights=weights,
        variance_factor=factor,
        predicted=reading.predicted,
        calibration_error=calibration_error(P, held.codes, weights),
        auc=roc_auc(ranked),
        average_precision=average_precision(ranked, held.seed, defaults.resamples),
        recall=recalls(predicted == held.codes, held.codes, draw.shares, factor, held.n_rest),
    )
