"""How the labels were drawn: at random, by class or unevenly; and the class shares of all nodes that follow."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import gammainc, gammaincc

from altopt.arrays import Array
from altopt.defaults import DEFAULTS, Defaults
from altopt.errors import InputError
from altopt.settings import is_number
from altopt.training.class_priors import EM_STEPS, priors_from_confusion

Kind = Literal["at random", "by class", "unevenly", "known shares"]
ClassPrior = (
    Array | Literal["labels"] | None
)  # shares in the order of the classes; the labels' own; not known
MIN_LABELS = 3  # below which a class, or a cell of a test, is too small to be told of
SUM_TOLERANCE = 0.005  # by which given shares may miss the sum 1 unnoticed
MIN_SHARE = 1e-9  # smallest share that can be given
MAX_LISTED = 6  # classes whose shares a sentence lists


@dataclass(frozen=True)
class Draw:
    """How the labels were drawn, or are taken to be.

    Parameters
    ----------
    kind : str
        "at random", "by class", "unevenly", or "known shares" where the user gave them.
    shares : array (n_classes,)
        Class shares of all nodes: those of the labels, given, or estimated.
    sentence : str
        What was assumed.
    """

    kind: Kind
    shares: Array
    sentence: str

    @property
    def at_random(self) -> bool:
        return self.kind == "at random"

    def node_weights(self, codes: Array, counts: Array, given: Array | None = None) -> Array:
        """A weight for each evaluated node, of class `codes`; `counts` are the labels of each class.

        Weights that were given multiply these.

        At random all weigh the same, and a label that could not be held out counts as a miss (Good and Turing's
        allowance for classes without a label): weights sum to the share of labels of classes that could be. Otherwise
        classes weigh as their shares, and weights sum to 1, or to the known share of classes with a label.
        """
        given = np.ones(len(codes)) if given is None else given
        evaluated = np.bincount(codes, weights=given, minlength=len(counts))
        if self.at_random:
            return np.asarray(given * counts[evaluated > 0].sum() / counts.sum() / max(given.sum(), 1e-300))
        share = np.where(evaluated > 0, self.shares, 0.0)
        total = share.sum()
        share = share / total if total > 0 else (evaluated > 0) / max((evaluated > 0).sum(), 1)
        if self.kind == "known shares":
            share = share * self.shares[counts > 0].sum()  # no node of a class without a label will be right
        return np.asarray((share / np.where(evaluated > 0, evaluated, 1.0))[codes] * given)


def read_class_prior(class_prior: Any, classes: Array) -> ClassPrior:
    """`AltOpt(class_prior=...)` checked: None, "labels", or the share of each class in the order of `classes`.

    >>> read_class_prior({"a": 0.9, "b": 0.1}, np.array(["a", "b"])).tolist()
    [0.9, 0.1]
    """
    if class_prior is None:
        return None
    if isinstance(class_prior, str) and class_prior == "labels":
        return "labels"
    if not isinstance(class_prior, Mapping):
        raise InputError(
            f"class_prior must be None, 'labels' or a dict {{class: share}}, but is {class_prior!r}."
        )
    named, known = list(class_prior), classes.tolist()
    strange, missing = [k for k in named if k not in known], [k for k in known if k not in class_prior]
    if strange or missing:
        wrong = f"names {strange[0]!r}, which is no class" if strange else f"lacks the class {missing[0]!r}"
        raise InputError(f"class_prior {wrong}. Give one share for each of {listed(known)}.")
    for name, share in class_prior.items():
        if not is_number(share) or float(share) < MIN_SHARE:
            raise InputError(f"class_prior has {share!r} for {name!r}. A share must be a number above 0.")
    shares = np.array([float(class_prior[name]) for name in known])
    if abs(shares.sum() - 1.0) > SUM_TOLERANCE:
        warnings.warn(f"class_prior sums to {shares.sum():g}; shares were divided by that.", stacklevel=5)
    return np.asarray(shares / shares.sum())


def listed(names: list[Any]) -> str:
    shown = ", ".join(repr(name) for name in names[:MAX_LISTED])
    return f"{shown} and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else shown


def drawn_by_class(counts: Array, level: float = DEFAULTS.draw_level) -> bool:
    """Whether so even counts of labels are hardly by chance, or many classes have the same largest count.

    >>> drawn_by_class(np.array([20, 20, 20])), drawn_by_class(np.array([31, 12, 9]))
    (True, False)
    >>> drawn_by_class(np.array([20, 20, 20, 7]))  # the last class had no more
    True
    """
    counts = counts[counts > 0]
    c, mean, largest = len(counts), counts.mean(), counts.max()
    if largest - counts.min() <= 1:
        return True
    evenness = float(np.sum((counts - mean) ** 2) / mean)
    if gammainc((c - 1) / 2, evenness / 2) < level:
        return True
    return bool(largest >= MIN_LABELS and np.sum(counts == largest) >= max(MIN_LABELS, c / 2))


def differ(held_out: Array, rest: Array, level: float = DEFAULTS.draw_level) -> bool:
    """Whether predictions on held-out labels and on unlabelled nodes, as counts, come from different classes.

    A chi-squared test of two samples; cells that expect fewer than three are put together.

    >>> differ(np.array([90, 10]), np.array([500, 500])), differ(np.array([48, 52]), np.array([500, 500]))
    (True, False)
    """
    n, m = held_out.sum(), rest.sum()
    if not n or not m:
        return False
    expected = n * (held_out + rest) / (n + m)
    few = expected < MIN_LABELS
    observed = np.append(held_out[~few], held_out[few].sum())
    expected = np.append(expected[~few], expected[few].sum())
    kept = expected > 0
    statistic = float(np.sum((observed[kept] - expected[kept]) ** 2 / expected[kept]) * (n + m) / m)
    return bool(kept.sum() > 1 and gammaincc((kept.sum() - 1) / 2, statistic / 2) < level)


def how_drawn(
    class_prior: ClassPrior,
    counts: Array,
    given: Array,
    predicted: Array,
    rest: Array,
    rest_by_folds: Array,
    n_rest: int,
    classes: Array,
    defaults: Defaults = DEFAULTS,
) -> Draw:
    """How the labels were drawn, from their counts and from held-out predictions.

    Parameters
    ----------
    class_prior : ClassPrior
        What the user knows.
    counts : array (n_classes,) of int
        Labels of each class.
    given, predicted : array (n_evaluated,) of int
        The classes of the evaluated labels, and what they were predicted to be without them.
    rest, rest_by_folds : array (n_classes,)
        How often each class is predicted on unlabelled nodes: by the final F, and by the fits without a fold.
    n_rest : int
        Unlabelled nodes; `rest` may count a sample of them.
    classes : array (n_classes,)
        Names.
    """
    own = counts / counts.sum()
    if isinstance(class_prior, np.ndarray):
        sentence = f"Classes weigh as class_prior says: {told(classes, class_prior)}."
        return Draw("known shares", shares_of_rest(class_prior, counts, n_rest), sentence)
    if class_prior == "labels":
        return Draw("at random", own, "The labels have the classes in their own shares, as class_prior says.")
    if drawn_by_class(counts, defaults.draw_level):
        kind: Kind = "by class"
    elif differ(np.bincount(predicted, minlength=len(counts)), rest_by_folds, defaults.draw_level):
        kind = "unevenly"
    else:
        sentence = "Counted as a random draw of labels. If they were picked otherwise, give class_prior=."
        return Draw("at random", own, sentence)
    shares = assumed_shares(given, predicted, rest, rest_by_folds, defaults)
    if kind == "by class":
        sentence = f"Labels look drawn by class ({per_class(counts)})."
    else:
        sentence = (
            "Held-out labels and the rest of the graph are told apart: labels were not drawn at random."
        )
    sentence += (
        f" Class shares of {told(classes, shares)} are assumed. If you know the true ones, give class_prior=: labels "
        "and probabilities will follow."
    )
    return Draw(kind, shares, sentence)


def shares_of_rest(class_prior: Array, counts: Array, n_rest: int) -> Array:
    """Class shares of the unlabelled nodes, where those of all nodes are known; no class is ruled out."""
    left = np.maximum(class_prior * (counts.sum() + n_rest) - counts, 1.0)
    return np.asarray(left / left.sum() if n_rest else class_prior)


def class_weights(class_prior: ClassPrior, counts: Array, n_rest: int) -> Array | None:
    """Shares of the classes among the unlabelled nodes over those among the labels; None where they are not known.

    >>> class_weights(np.array([0.9, 0.1]), np.array([5, 5]), 90)  # 85 and 5 of 90 are left
    array([1.88888889, 0.11111111])
    """
    if not isinstance(class_prior, np.ndarray):
        return None
    return np.asarray(shares_of_rest(class_prior, counts, n_rest) * counts.sum() / np.maximum(counts, 1))


def attainable(shares: Array, counts: Array) -> Array:
    """These shares without classes that have no label, and so cannot be predicted; at sum 1."""
    found = np.where(counts > 0, shares, 0.0)
    return np.asarray(found / found.sum())


def assumed_shares(
    given: Array, predicted: Array, rest: Array, rest_by_folds: Array, defaults: Defaults = DEFAULTS
) -> Array:
    """Class shares of all nodes: half as predicted, half by EM over the confusion of held-out labels."""
    if not rest.sum():
        return np.full(len(rest), 1.0 / len(rest))
    by_confusion = priors_from_confusion(
        given, predicted, rest_by_folds, defaults.confusion_count / len(rest), EM_STEPS
    )
    return np.asarray((rest / rest.sum() + by_confusion) / 2)


def per_class(counts: Array) -> str:
    counts = counts[counts > 0]
    low, high = int(counts.min()), int(counts.max())
    return f"{high} of each" if low == high else f"{low} to {high} of each"


def told(classes: Array, shares: Array) -> str:
    """The shares of the largest classes in words.

    >>> told(np.array(["a", "b"]), np.array([0.25, 0.75]))
    'b 75 %, a 25 %'
    """
    order = np.argsort(-shares, kind="stable")
    shown = ", ".join(f"{classes[k]} {100 * shares[k]:.0f} %" for k in order[:MAX_LISTED].tolist())
    return f"{shown} and {len(order) - MAX_LISTED} more" if len(order) > MAX_LISTED else shown
