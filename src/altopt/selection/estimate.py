"""Accuracy on unlabelled nodes, from held-out labels: its limits, what choosing flattered, what labels are worth.

With weights w of the held-out labels (`Draw.node_weights`) and hits h in {0, 1}

    p = sum_i w_i h_i,        v = f sum_i w_i^2 + 1/m

p (1 - p) v is the variance of p - (share of hits on m unlabelled nodes, which are a finite sample too); f is above 1
because held-out predictions of one fit go wrong together, more so where labels were drawn by class.

p is of fits that went without a fold of the labels, after a choice. The accuracy of the whole fit is p - o + g: o is
what the choice flatters (`choice_optimism`), g what the labels of a fold are worth (`learning_gain`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from altopt.arrays import Array
from altopt.defaults import DEFAULTS, Defaults
from altopt.selection.draw import Draw

LEVEL = 0.95
WIDE = 0.3  # width of the interval from which no single number is told


@dataclass(frozen=True)
class Accuracy:
    """An estimated accuracy.

    Parameters
    ----------
    rate : float
        p, the weighted share of hits.
    spread : float
        v: p (1 - p) v is the variance of the estimate.
    optimism : float
        o, by which the choice among candidates flatters p.
    gain : float
        g, by which the fit to all labels is better than those without a fold.

    Attributes
    ----------
    value : float
        p - o + g.
    interval : (float, float)
        The lower limit for p - o, the upper one for p + g: neither is known well. A loss, g below 0, lowers both, so
        that p - o + g is between them.

    Examples
    --------
    >>> estimate = Accuracy(0.8, 1 / 100, 0.02, 0.01)
    >>> round(estimate.value, 3), [round(limit, 3) for limit in estimate.interval]
    (0.79, [0.692, 0.877])
    """

    rate: float
    spread: float
    optimism: float = 0.0
    gain: float = 0.0

    @property
    def value(self) -> float:
        return min(max(self.rate - self.optimism + self.gain, 0.0), 1.0)

    @property
    def interval(self) -> tuple[float, float]:
        lowest = self.rate - self.optimism + min(self.gain, 0.0)
        return limits(lowest, self.spread)[0], limits(self.rate + self.gain, self.spread)[1]

    @property
    def standard_error(self) -> float:
        rate = min(max(self.rate, 0.0), 1.0)  # a sum of weights may round to above 1
        return float(np.sqrt(rate * (1.0 - rate) * self.spread))


def variance_factor(draw: Draw, defaults: Defaults = DEFAULTS) -> float:
    """f: the variance of a rate of held-out hits, in binomial ones."""
    return defaults.variance_at_random if draw.at_random else defaults.variance_by_class


def spread(weights: Array, factor: float, n_rest: float) -> float:
    """v = f sum w^2 + 1/m; without unlabelled nodes it is that of a node to come."""
    return float(factor * np.sum(weights**2) + (1.0 / n_rest if n_rest else 0.0))


def limits(rate: float, spread: float, level: float = LEVEL) -> tuple[float, float]:
    """Jeffreys' limits of a rate known as well as from 1/v trials, at least one; 0 and 1 themselves are not left out.

    >>> limits(1.0, 0.1)[1], limits(0.0, 0.1)[0]
    (1.0, 0.0)
    """
    n, p = (
        1.0 / min(spread, 1.0),
        round(float(np.clip(rate, 0.0, 1.0)), 12),
    )  # a sum of weights is 1 up to rounding
    a, b = p * n + 0.5, (1.0 - p) * n + 0.5
    tail = (1.0 - level) / 2
    low = 0.0 if p == 0 else float(betaincinv(a, b, tail))
    return low, 1.0 if p == 1 else float(betaincinv(a, b, 1.0 - tail))


def choice_optimism(
    choose: Callable[[Array], Array],
    usual: Array,
    weights: Array,
    seed: int,
    order: Array | None = None,
    defaults: Defaults = DEFAULTS,
) -> float:
    """By how much a choice flatters the rate of hits of what it takes, found by repeating it on resampled labels.

    In each bag, drawn with replacement, the choice is made again: `choose` takes how often each label is in the bag,
    and gives the hits of what it would take then, for all labels. Its rate in the bag minus that on labels outside,
    less the same of the `usual` hits, which nothing was chosen by. Labels are drawn by their place in `order`. No fit
    is made.
    """
    n, total = len(usual), 0.0
    if n < 2:
        return 0.0
    rng = np.random.default_rng([seed, n])
    for _ in range(defaults.resamples):
        drawn = rng.integers(n, size=n)
        bag = np.bincount(drawn if order is None else order[drawn], minlength=n)
        inside, outside = weights * bag, weights * (bag == 0)
        if not outside.any():
            continue
        gain = np.asarray(choose(bag), dtype=float) - usual
        total += float(inside @ gain / inside.sum() - outside @ gain / outside.sum())
    return max(0.0, total / defaults.resamples)


def learning_gain(answers: Array, by_folds: list[Array]) -> float:
    """By how much the final answers are better than those of the fits without a fold, on unlabelled nodes.

    Where a fit without a fold answers otherwise than the final one, the other folds' fits are the umpires: the mean of
    their probabilities for the final answer, less that for the fold's. The final F itself would flatter its answers.

    Parameters
    ----------
    answers : array (n,) of int
        Classes by the final F.
    by_folds : list of array (n, n_classes)
        Probabilities of the same nodes by each fit without a fold.

    Examples
    --------
    >>> by_folds = [np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([[0.4, 0.6], [0.6, 0.4]])]
    >>> round(learning_gain(np.array([0, 0]), by_folds), 3)  # at the first node the second fold is overruled
    0.2
    """
    n_folds, rows = len(by_folds), np.arange(len(answers))
    if n_folds < 2 or not len(rows):
        return 0.0
    total, gain = np.sum(by_folds, axis=0), 0.0
    for P in by_folds:
        others = (total - P) / (n_folds - 1)
        gain += float(np.mean(others[rows, answers] - others[rows, P.argmax(axis=1)]))
    return gain / n_folds


def clear_winner(losses: Array, min_z: Array, min_gain: float, bag: Array) -> int:
    """Which candidate wins clearly over the first, by losses (n_candidates, n_labels) of the labels in the bag.

    >>> losses = np.array([[1.0, 1.0, 0.5, 0.5], [0.1, 0.2, 0.1, 0.2]])
    >>> clear_winner(losses, np.array([1.0, 1.0]), 0.0, np.ones(4))
    1
    """
    excess = losses - losses[0]
    mean = excess @ bag / bag.sum()
    error = np.sqrt(np.maximum((excess**2) @ bag / bag.sum() - mean**2, 0.0) / bag.sum())
    clear = mean < -np.maximum(min_z * error, min_gain)
    return int(np.argmin(np.where(clear, mean, 0.0))) if clear.any() else 0


def recalls(
    hits: Array, codes: Array, shares: Array, factor: float, n_rest: float
) -> list[tuple[float, float, float]]:
    """For each class the share of its held-out labels that were predicted, with limits; NaN where none was held out.

    >>> [round(x, 2) for x in recalls(np.array([1, 1, 0, 0]), np.zeros(4, int), np.ones(1), 1.0, 0)[0]]
    [0.5, 0.12, 0.88]
    """
    found = []
    for k, share in enumerate(shares.tolist()):
        own = hits[codes == k]
        if not len(own):
            found.append((float("nan"), 0.0, 1.0))
            continue
        v = spread(np.full(len(own), 1.0 / len(own)), factor, max(share * n_rest, 1.0) if n_rest else 0.0)
        found.append((float(own.mean()), *limits(float(own.mean()), v)))
    return found


def is_wide(interval: tuple[float, float]) -> bool:
    """Whether an interval is so wide that no single number should be told."""
    return interval[1] - interval[0] > WIDE


def too_wide(accuracy: Accuracy, n_labels: int) -> str:
    """A sentence where the interval is that wide; else none."""
    low, high = accuracy.interval
    if not is_wide(accuracy.interval):
        return ""
    return (
        f"{n_labels:,} labels cannot tell how accurate this is: between {100 * low:.0f} and {100 * high:.0f} of 100 "
        "nodes right."
    )


def nothing_learnt(accuracy: Accuracy, draw: Draw, n_labels: int) -> str:
    """A sentence where p - o is not above the share of the largest class by a standard error; else none.

    Where the interval is wide, labels cannot tell even that, unless p - o is below that share.
    """
    largest = draw.shares.max()
    needed = largest if is_wide(accuracy.interval) else largest + accuracy.standard_error
    if accuracy.rate - accuracy.optimism > needed:
        return ""
    return (
        f"Nothing was learnt that {n_labels:,} held-out labels show: {100 * accuracy.value:.0f} of 100 right, where "
        f"calling every node by the largest class gets {100 * largest:.0f}."
    )
