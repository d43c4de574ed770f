"""Decisions from probabilities: labels of least expected cost, and thresholds for a wished precision or recall.

What a decision is worth is told by held-out labels, with the weights w that the accuracy is estimated with:

    cost = sum_i w_i C[y_i, decided_i],      precision = sum of w over hits / sum of w over all that pass the threshold
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.fitted.model import FittedModel
from altopt.selection.estimate import limits
from altopt.selection.leave_one_out import LeaveOneOut
from altopt.settings import is_number

Interval = tuple[float, float]
N_BAGS = 100  # in which a threshold is chosen again, for what choosing flatters


@dataclass(frozen=True)
class Decision:
    """Labels of least expected cost.

    Attributes
    ----------
    labels : ndarray (n_nodes,)
        A given label stays as it is.
    cost, interval : float, (float, float)
        Expected cost of an unlabelled node and its 95 % interval, from held-out labels.
    cost_of_likeliest : float
        The same if each node were called by its likeliest class, as in `transduction_`.
    changed : int
        Nodes whose label is another than in `transduction_`.
    """

    labels: Array = field(repr=False)
    cost: float
    interval: Interval
    cost_of_likeliest: float
    changed: int

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"Expected cost {self.cost:.4g} a node ({low:.4g} to {high:.4g}), against {self.cost_of_likeliest:.4g} "
            f"with the likeliest class; {self.changed:,} labels differ from transduction_."
        )


@dataclass(frozen=True)
class Threshold:
    """A probability from which on nodes are called by a class.

    Attributes
    ----------
    label : the class
    value : float
        The threshold: nodes whose probability of the class is at least this pass.
    precision, precision_interval : float, (float, float)
        Share of those that pass which are of the class, expected of unlabelled nodes, with a 95 % interval.
    recall, recall_interval : float, (float, float)
        Share of the class that passes.
    nodes : ndarray
        Ids of the unlabelled nodes that pass, the likeliest first.
    """

    label: Any
    value: float
    precision: float
    precision_interval: Interval
    recall: float
    recall_interval: Interval
    nodes: Array = field(repr=False)

    def __str__(self) -> str:
        (a, b), (c, d) = self.precision_interval, self.recall_interval
        return (
            f"{self.label} from a probability of {self.value:.4g} on: precision {self.precision:.2f} "
            f"({a:.2f} to {b:.2f}), recall {self.recall:.2f} ({c:.2f} to {d:.2f}), {len(self.nodes):,} unlabelled "
            "nodes."
        )


def decide(model: FittedModel, cost: Any) -> Decision:
    """Labels that minimise sum over classes t of P(t) C[t, label]."""
    C = read_cost(cost, model.classes)
    held = held_out_of(model, "decide")
    with model.lock:
        P = model.readout.soften(model.scores, model.kinds())
        codes, labels = model.codes.copy(), model.labels
        decided = np.where(codes >= 0, codes, (P @ C).argmin(axis=1))
        n_rest, changed = int((codes < 0).sum()), int((decided != labels).sum())
    truth = codes_of(held, model.classes)
    paid = C[truth, (held.probabilities @ C).argmin(axis=1)]
    usual = C[truth, held.probabilities.argmax(axis=1)]
    w = held.weights / held.weights.sum()
    value = float(w @ paid)
    return Decision(
        labels=model.classes[decided],
        cost=value,
        interval=cost_interval(value, paid, w, C, held.variance_factor, n_rest),
        cost_of_likeliest=float(w @ usual),
        changed=changed,
    )


def read_cost(cost: Any, classes: Array) -> Array:
    """C[true, decided]; in a dict, other mistakes cost 1 and what is right nothing."""
    names, c = classes.tolist(), len(classes)
    if isinstance(cost, Mapping):
        C = 1.0 - np.eye(c)
        for pair, value in cost.items():
            known = isinstance(pair, tuple) and len(pair) == 2 and all(name in names for name in pair)
            if not known or not is_number(value):
                raise InputError(
                    f"cost has {pair!r}: {value!r}. Give {{(true class, decided class): number}} with classes among "
                    f"{', '.join(map(repr, names[:10]))}."
                )
            C[names.index(pair[0]), names.index(pair[1])] = float(value)
        return C
    try:
        C = np.asarray(cost, dtype=float)
    except (TypeError, ValueError):
        C = np.empty(0)
    if C.shape != (c, c) or not np.isfinite(C).all():
        raise InputError(
            f"cost must be a dict {{(true class, decided class): number}} or {c} x {c} finite numbers, a row for each "
            f"true class in the order of classes_, but is {cost!r:.80}."
        )
    return C


def cost_interval(value: float, paid: Array, w: Array, C: Array, factor: float, n_rest: int) -> Interval:
    """A 95 % interval of the mean cost: that of a rate between least and largest cost with the same variance.

    One label more at the largest cost keeps the variance from vanishing.
    """
    least, largest = float(C.min()), float(C.max())
    if largest == least:
        return value, value
    n = 1.0 / float(np.sum(w**2))
    variance = (float(w @ (paid - value) ** 2) * n + (largest - value) ** 2) / (n + 1.0)
    variance *= factor / n + (1.0 / n_rest if n_rest else 0.0)
    p = (value - least) / (largest - least)
    inside = (p * n + 0.5) / (n + 1.0)
    spread = variance / (largest - least) ** 2 / (inside * (1.0 - inside))
    low, high = limits(p, spread)
    return least + low * (largest - least), least + high * (largest - least)


def threshold(model: FittedModel, label: Any, precision: float | None, recall: float | None) -> Threshold:
    """The lowest threshold with the wished precision, or the highest one with the wished recall."""
    wish = precision if recall is None else recall
    if (precision is None) == (recall is None) or not is_number(wish) or not 0 < float(wish or 0) <= 1:
        raise InputError(
            f"threshold needs precision= or recall=, one of them and above 0 up to 1, but got precision={precision!r} "
            f"and recall={recall!r}."
        )
    found = np.flatnonzero(model.classes == label)
    if not len(found):
        listed = ", ".join(repr(c) for c in model.classes.tolist()[:10])
        raise InputError(f"{label!r} is not among the classes. Name one of {listed}.")
    k, held = int(found[0]), held_out_of(model, "threshold")
    sample = Passing(held.probabilities[:, k], codes_of(held, model.classes) == k, held.weights)
    if not sample.inside.any() or sample.inside.all():
        raise InputError(
            f"threshold needs held-out labels of {label!r} and of other classes; there are none."
        )
    if precision is None:
        value, flattery = sample.for_recall(float(recall or 0)), 0.0
    else:
        value, flattery = sample.for_precision(float(precision), label, model.seed)
    with model.lock:
        P = model.readout.soften(model.scores, model.kinds())[:, k]
        rest = np.flatnonzero((model.codes < 0) & (value <= P))
        n_class = float(P[model.codes < 0].sum())
        nodes = model.graph.ids[rest[np.argsort(-P[rest], kind="stable")]]
    hits, reached = sample.precision(value) - flattery, sample.recall(value)
    passes = sample.score >= value
    factor = held.variance_factor
    return Threshold(
        label=model.classes[k],
        value=value,
        precision=hits,
        precision_interval=limits(hits, effective(sample.weights[passes], factor, len(rest))),
        recall=reached,
        recall_interval=limits(reached, effective(sample.weights[sample.inside], factor, n_class)),
        nodes=nodes,
    )


def effective(weights: Array, factor: float, n_rest: float) -> float:
    """v of a rate over labels with these weights, that stands for n_rest nodes."""
    share = weights / weights.sum()
    return float(factor * np.sum(share**2) + (1.0 / n_rest if n_rest >= 1 else 0.0))


@dataclass(frozen=True)
class Passing:
    """Held-out labels by their probability of a class: who passes a threshold, and who should."""

    score: Array
    inside: Array  # whether the label is of the class
    weights: Array

    def precision(self, value: float) -> float:
        passes = self.score >= value
        total = float(self.weights[passes].sum())
        return float(self.weights[passes & self.inside].sum()) / total if total > 0 else 0.0

    def recall(self, value: float) -> float:
        passes = self.score >= value
        return float(self.weights[passes & self.inside].sum() / self.weights[self.inside].sum())

    def for_recall(self, recall: float) -> float:
        """The highest threshold that so much of the class passes."""
        order = np.argsort(-self.score, kind="stable")
        reached = np.cumsum((self.weights * self.inside)[order]) / self.weights[self.inside].sum()
        return float(self.score[order][int(np.searchsorted(reached, recall - 1e-12))])

    def lowest(self, precision: float, bag: Array) -> float | None:
        """The lowest threshold with this precision among the labels in the bag; None where there is none."""
        order = np.argsort(-self.score, kind="stable")
        w = (self.weights * bag)[order]
        ends = np.append(np.diff(self.score[order]) != 0, True)  # equal scores pass together
        passed = np.cumsum(w)
        right = np.cumsum(w * self.inside[order])
        enough = np.flatnonzero(ends & (passed > 0) & (right >= precision * passed - 1e-12))
        return float(self.score[order][enough[-1]]) if len(enough) else None

    def for_precision(self, precision: float, label: Any, seed: int) -> tuple[float, float]:
        """The lowest threshold that reaches it, less what choosing it flatters; and that."""
        every = np.ones(len(self.score))
        flattery = self.flattery(precision, seed)
        value = self.lowest(min(precision + flattery, 1.0), every)
        if value is None:
            best = max((self.precision(one) for one in np.unique(self.score).tolist()), default=0.0)
            raise InputError(
                f"no threshold of {label!r} reaches a precision of {precision:g} on {len(self.score):,} held-out "
                f"labels: the best has {max(best - flattery, 0.0):.2f}. Wish for less, or give more labels."
            )
        return value, max(min(flattery, self.precision(value) - precision), 0.0)

    def flattery(self, precision: float, seed: int) -> float:
        """By how much precision is higher on the labels that chose a threshold than on others, from resampled ones."""
        rng, n, gaps = np.random.default_rng([seed, len(self.score)]), len(self.score), []
        for _ in range(N_BAGS):
            bag = np.bincount(rng.integers(n, size=n), minlength=n)
            value = self.lowest(precision, bag)
            outside = (bag == 0) & (self.score >= (np.inf if value is None else value))
            if value is None or not outside.any():
                continue
            chosen = Passing(self.score, self.inside, self.weights * bag).precision(value)
            other = Passing(self.score, self.inside, self.weights * (bag == 0)).precision(value)
            gaps.append(chosen - other)
        return max(float(np.mean(gaps)), 0.0) if gaps else 0.0


def held_out_of(model: FittedModel, name: str) -> LeaveOneOut:
    """Held-out probabilities of the fit; a sentence where there are none."""
    held = model.leave_one_out
    if isinstance(held, str):
        raise InputError(f"{name} {held}")
    if not len(held.weights):
        raise InputError(f"{name} needs held-out labels, and no label could be held out. Give more labels.")
    return held


def codes_of(held: LeaveOneOut, classes: Array) -> Array:
    """The class numbers of the held-out labels."""
    number = {name: k for k, name in enumerate(classes.tolist())}
    return np.array([number[name] for name in held.given.tolist()])
