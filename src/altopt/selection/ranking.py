"""ROC AUC and average precision of held-out labels, one class against the rest, with intervals."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri

from altopt.arrays import Array
from altopt.defaults import DEFAULTS
from altopt.selection.draw import MIN_LABELS
from altopt.selection.estimate import LEVEL


class Ranking(NamedTuple):
    """A mean over classes, each against the rest, and its 95 % interval; NaN and (0, 1) where labels are too few."""

    value: float
    interval: tuple[float, float]


def unknown() -> Ranking:
    return Ranking(float("nan"), (0.0, 1.0))


class Sample(NamedTuple):
    """Held-out labels as a sample of the nodes: weight, class, and probabilities of each."""

    P: Array  # (n, n_classes)
    codes: Array
    weights: Array
    shares: Array  # of the classes among the unlabelled nodes
    n_rest: float  # unlabelled nodes
    factor: float  # of the variance

    def told(self) -> list[int]:
        """Classes with enough labels inside and outside; one of two, since the other says the same."""
        counts = np.bincount(self.codes, minlength=self.P.shape[1])
        enough = (counts >= MIN_LABELS) & (counts.sum() - counts >= MIN_LABELS)
        if self.P.shape[1] == 2:
            enough[0] = False
        return [int(k) for k in np.flatnonzero(enough)]

    def rest_of(self, k: int) -> tuple[float, float]:
        """Unlabelled nodes of the class and of all others, at least one each."""
        inside = self.n_rest * float(self.shares[k])
        return max(inside, 1.0), max(self.n_rest - inside, 1.0)


def roc_auc(sample: Sample) -> Ranking:
    """How often a node of a class is ranked above one of another.

    The variance is DeLong's, from the place of each label among those of the other side, or Hanley and McNeil's where
    that is larger (it does not vanish where all are in order); unlabelled nodes are a finite sample too.
    """
    classes = sample.told()
    if not classes:
        return unknown()
    areas: list[float] = []
    count = 0.0
    influence, of_rest, floor = np.zeros(len(sample.codes)), 0.0, 0.0
    for k in classes:
        inside = sample.codes == k
        places, area = placements(sample.P[:, k], inside, sample.weights)
        w = np.where(inside, sample.weights / sample.weights[inside].sum(), 0.0)
        w = np.where(inside, w, sample.weights / sample.weights[~inside].sum())
        influence += w * (places - area)
        few = float(min(inside.sum(), (~inside).sum()))
        areas, count = [*areas, area], count + few
        shrunk = (area * few + 0.5) / (few + 1.0)
        floor += hanley_mcneil(shrunk, 1.0 / np.sum(w[inside] ** 2), 1.0 / np.sum(w[~inside] ** 2))
        if sample.n_rest:
            of_rest += hanley_mcneil(shrunk, *sample.rest_of(k))
    c = len(classes)
    variance = max(float(np.sum(influence**2)), floor) / c**2
    return ranking(float(np.mean(areas)), count, sample.factor * variance + of_rest / c**2)


def placements(score: Array, inside: Array, weights: Array) -> tuple[Array, float]:
    """For each label the weight of the other side that it is in order with, ties half; and their mean, the AUC."""
    order = np.argsort(score, kind="stable")
    _, group = np.unique(score[order], return_inverse=True)
    rank = np.empty(len(score), dtype=np.int64)
    rank[order] = group
    n_groups = int(group.max()) + 1

    def below(side: Array) -> Array:
        mass = np.bincount(rank[side], weights=weights[side], minlength=n_groups)
        mass = mass / mass.sum()
        return np.asarray((np.cumsum(mass) - mass / 2)[rank])

    places = np.where(inside, below(~inside), 1.0 - below(inside))
    return places, float(np.sum((places * weights)[inside]) / weights[inside].sum())


def hanley_mcneil(area: float, n_inside: float, n_outside: float) -> float:
    """The variance of an AUC from so many of either side, if scores are exponential."""
    both_above, both_below = area / (2 - area), 2 * area**2 / (1 + area)
    spread = (n_inside - 1) * (both_above - area**2) + (n_outside - 1) * (both_below - area**2)
    return float((area * (1 - area) + spread) / (n_inside * n_outside))


def average_precision(sample: Sample, seed: int = 0, n_resamples: int = DEFAULTS.resamples) -> Ranking:
    """The mean precision at the rank of each label of the class; the variance from resampled labels of each class."""
    classes = sample.told()
    if not classes:
        return unknown()
    rng, n = np.random.default_rng(seed), len(sample.codes)
    bags = np.zeros((n_resamples + 1, n))
    bags[0] = 1.0
    for k in np.unique(sample.codes):
        own = np.flatnonzero(sample.codes == k)
        drawn = rng.integers(len(own), size=(n_resamples, len(own)))
        np.add.at(bags, (np.arange(1, n_resamples + 1)[:, None], own[drawn]), 1.0)
    found = np.zeros(n_resamples + 1)
    total, floor, of_rest = 0.0, 0.0, 0.0
    for k in classes:
        inside = sample.codes == k
        precisions = weighted_precision(sample.P[:, k], inside, bags * sample.weights)
        found += precisions / len(classes)
        count = float(inside.sum())
        total += count
        p = (precisions[0] * count + 0.5) / (count + 1.0)
        floor += p * (1 - p) / count
        of_rest += p * (1 - p) / sample.rest_of(k)[0] if sample.n_rest else 0.0
    c = len(classes)
    variance = max(float(np.var(found[1:])), floor / c**2)
    return ranking(float(found[0]), total, sample.factor * variance + of_rest / c**2)


def weighted_precision(score: Array, inside: Array, weights: Array) -> Array:
    """Average precision for each row of weights; equal scores share one threshold.

    >>> weighted_precision(np.array([0.9, 0.5, 0.1]), np.array([True, False, True]), np.ones((1, 3))).round(3).tolist()
    [0.833]
    """
    order = np.argsort(-score, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(score[order]) != 0, True))
    w = weights[:, order]
    true = np.cumsum(w * inside[order], axis=1)[:, ends]
    taken = np.cumsum(w, axis=1)[:, ends]
    gained = np.diff(true, axis=1, prepend=0.0)
    total = np.maximum(true[:, -1:], 1e-300)
    return np.asarray(np.sum(gained / total * true / np.maximum(taken, 1e-300), axis=1))


def ranking(value: float, count: float, variance: float) -> Ranking:
    """The value, and an interval on the logit around what half a label in `count` shrinks it to."""
    value = float(np.clip(value, 0.0, 1.0))
    shrunk = (value * count + 0.5) / (count + 1.0)
    half = float(ndtri((1 + LEVEL) / 2)) * np.sqrt(variance) / (shrunk * (1 - shrunk))
    low, high = (float(expit(logit(shrunk) + side)) for side in (-half, half))
    return Ranking(value, (min(low, value), max(high, value)))
