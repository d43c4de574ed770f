"""From F to pseudo labels: how F becomes distributions, which unlabelled nodes to train on, and their weights."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from altopt.arrays import Array, row_blocks
from altopt.defaults import DEFAULTS, Defaults
from altopt.errors import InputError
from altopt.operator.kernels.rows import most_certain_per_class, softmax_rows
from altopt.settings import check_count, check_number
from altopt.training.class_priors import estimate_priors, prior_factors
from altopt.training.samples import evenly, sample_of


class Readout(NamedTuple):
    """Certainty and class of each row of F, without its whole distribution."""

    w: Array  # certainty, 1 - H(S_i) / log c
    label: Array  # the class of the largest entry
    n_classes: int
    factors: Array | None = None  # by which the columns of F were multiplied before
    priors: Array | None = None  # class priors that the factors keep to


class PseudoLabels(ABC):
    """A rule that makes training targets for the encoder out of F."""

    @abstractmethod
    def soften(self, F: Array) -> Array:
        """S: F as distributions over the classes, each row by itself."""

    @abstractmethod
    def read(self, F: Array, priors: Array | None = None, order: Array | None = None) -> Readout:
        """Certainty and class of each row of S, which is not kept; `priors` are those of the reading before.

        `order`: all nodes, by what they are like. Samples are drawn from it, so that their numbers play no part.
        """

    @abstractmethod
    def choose(
        self, reading: Readout, labelled: Array, seed: int, order: Array | None = None
    ) -> tuple[Array, Array]:
        """Unlabelled nodes to train on, and a weight for each."""

    @abstractmethod
    def labelled_targets(self, S: Array, Y: Array) -> Array:
        """The encoder's targets on labelled nodes, given their rows of S and Y."""

    def next_start(self, F: Array) -> Array:
        """Where the next update of F starts."""
        return F

    def with_limit(self, limit: int) -> "PseudoLabels":
        """The rule with at most `limit` pseudo labels a round, if it has such a limit."""
        return self


@dataclass(frozen=True)
class TopPerClass(PseudoLabels):
    """The paper's rule: S = softmax(F / temperature), the n_pseudo most certain nodes of each class, weight w_i.

    A class with fewer candidates gives what it has: nothing is padded from another class, and labelled nodes
    are never taken.

    Parameters
    ----------
    n_pseudo : int
        Nodes per class.
    temperature : float
        Of the softmax.
    min_confidence : float
        Certainty w_i below which a node is never taken.

    Examples
    --------
    >>> rule = TopPerClass(n_pseudo=1)
    >>> F = np.array([[1.0, 0.0], [0.6, 0.4], [0.1, 0.9], [0.2, 0.8]])
    >>> nodes, weights = rule.choose(rule.read(F), labelled=np.array([True, False, False, False]), seed=0)
    >>> nodes.tolist()
    [1, 2]
    """

    n_pseudo: int = 100
    temperature: float = 0.1
    min_confidence: float = 0.0

    def __post_init__(self) -> None:
        check_count(self, "n_pseudo", 0)
        check_number(self, "temperature", above=0.0)
        check_confidence(self)

    def soften(self, F: Array) -> Array:
        return softmax_rows(F, self.temperature, of_shares=False).S

    def read(self, F: Array, priors: Array | None = None, order: Array | None = None) -> Readout:
        softened = softmax_rows(F, self.temperature, of_shares=False, keep=False)
        return Readout(softened.w, softened.label, F.shape[1])

    def choose(
        self, reading: Readout, labelled: Array, seed: int, order: Array | None = None
    ) -> tuple[Array, Array]:
        w, label = reading.w, reading.label
        allowed = ~labelled & (w >= self.min_confidence)
        nodes = most_certain_per_class(w, label, allowed, reading.n_classes, self.n_pseudo)
        return nodes, w[nodes]

    def labelled_targets(self, S: Array, Y: Array) -> Array:
        return S

    def next_start(self, F: Array) -> Array:
        return self.soften(F)


@dataclass(frozen=True)
class ClassBalanced(PseudoLabels):
    """Every unlabelled node, weighted by certainty squared; the default rule.

    S = softmax(shares of F / temperature). Weights are rescaled so that all classes have the same total and the overall
    total is at most `times_labelled` times the number of labels. Above `limit` unlabelled nodes a seeded sample serves:
    the encoder needs a spread of nodes, not every one.

    With `trust`, the columns of F are multiplied first, so that the classes follow the priors estimated from the first
    F (`class_priors`): otherwise an encoder would teach itself its own bias in every round.

    Parameters
    ----------
    temperature : float
        Of the softmax.
    min_confidence : float
        Certainty below which a node is never taken.
    times_labelled : float
        Total weight of pseudo labels, in given labels.
    limit : int
        Pseudo labels a round.
    trust : float, optional
        In the class priors estimated from the first F; None: F is read as it is.
    label_shares : tuple of float
        Class shares of the given labels; uniform where empty.
    defaults : Defaults
        Numbers of the estimation of priors.

    Examples
    --------
    >>> rule = ClassBalanced()
    >>> F = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> nodes, weights = rule.choose(rule.read(F), labelled=np.array([True, False, False, False]), seed=0)
    >>> nodes.tolist(), bool(np.isclose(weights[0] + weights[1], weights[2]))
    ([1, 2, 3], True)
    """

    temperature: float = DEFAULTS.temperature
    min_confidence: float = 0.0
    times_labelled: float = DEFAULTS.pseudo_times_labelled
    limit: int = DEFAULTS.pseudo_limit
    trust: float | None = None
    label_shares: tuple[float, ...] = ()
    defaults: Defaults = DEFAULTS

    def __post_init__(self) -> None:
        check_number(self, "temperature", above=0.0)
        check_number(self, "times_labelled", least=0.0)
        check_count(self, "limit")
        check_number(self, "trust", least=0.0, optional=True)
        check_confidence(self)

    def soften(self, F: Array) -> Array:
        return softmax_rows(F, self.temperature, of_shares=True).S

    def read(self, F: Array, priors: Array | None = None, order: Array | None = None) -> Readout:
        rows = evenly(len(F), self.defaults.prior_sample, order)
        factors, priors = self.factors(F if len(rows) == len(F) else F[rows], priors)
        return self.read_with(F, factors, priors)

    def factors(self, F: Array, priors: Array | None = None) -> tuple[Array | None, Array | None]:
        """Column factors of F and the class priors they keep to, from these rows; None without `trust`."""
        if self.trust is None:
            return None, None
        if priors is None:
            uniform = np.full(F.shape[1], 1.0 / F.shape[1])
            label_shares = np.array(self.label_shares) if self.label_shares else uniform
            priors = estimate_priors(F, self.temperature, label_shares, self.defaults)
        return prior_factors(F, priors, self.trust, self.defaults), priors

    def read_with(self, F: Array, factors: Array | None, priors: Array | None) -> Readout:
        """Certainty and class of each row under column factors that are known."""
        if factors is None:
            softened = softmax_rows(F, self.temperature, of_shares=True, keep=False)
            return Readout(softened.w, softened.label, F.shape[1])
        w, label = np.empty(len(F)), np.empty(len(F), dtype=np.int32)
        for rows in row_blocks(len(F)):
            softened = softmax_rows(F[rows] * factors, self.temperature, of_shares=True, keep=False)
            w[rows], label[rows] = softened.w, softened.label
        return Readout(w, label, F.shape[1], factors, priors)

    def choose(
        self, reading: Readout, labelled: Array, seed: int, order: Array | None = None
    ) -> tuple[Array, Array]:
        nodes = sample_of(~labelled, self.limit, seed, order)
        certain, weights = self.weigh(
            reading.w[nodes], reading.label[nodes], reading.n_classes, int(labelled.sum())
        )
        return nodes[certain], weights

    def weigh(self, w: Array, label: Array, n_classes: int, n_labelled: int) -> tuple[Array, Array]:
        """Which unlabelled nodes, of these certainties and classes, are taken, and the weight of each that is."""
        certain = w >= self.min_confidence
        w, label = w[certain] ** self.defaults.certainty_exponent, label[certain]
        total = min(self.times_labelled * n_labelled, w.sum())
        per_class = np.bincount(label, weights=w, minlength=n_classes).astype(float)
        n_present = max(int(np.count_nonzero(per_class)), 1)
        factor = np.divide(total / n_present, per_class, out=np.zeros_like(per_class), where=per_class > 0)
        return certain, w * factor[label]

    def labelled_targets(self, S: Array, Y: Array) -> Array:
        return Y

    def with_limit(self, limit: int) -> Self:
        return replace(self, limit=limit)


@dataclass(frozen=True)
class ConfidenceThreshold(PseudoLabels):
    """The rule of ALT-OPT-N: S = softmax(F), every node whose certainty w_i passes min_confidence, weight w_i.

    Parameters
    ----------
    min_confidence : float
        Certainty that a node must pass.

    Examples
    --------
    >>> rule = ConfidenceThreshold(0.5)
    >>> reading = rule.read(np.array([[9.0, 0.0], [0.1, 0.0], [0.0, 9.0]]))
    >>> rule.choose(reading, labelled=np.array([True, False, False]), seed=0)[0].tolist()
    [2]
    """

    min_confidence: float = 0.0

    def __post_init__(self) -> None:
        check_confidence(self)

    def soften(self, F: Array) -> Array:
        return softmax_rows(F, 1.0, of_shares=False).S

    def read(self, F: Array, priors: Array | None = None, order: Array | None = None) -> Readout:
        softened = softmax_rows(F, 1.0, of_shares=False, keep=False)
        return Readout(softened.w, softened.label, F.shape[1])

    def choose(
        self, reading: Readout, labelled: Array, seed: int, order: Array | None = None
    ) -> tuple[Array, Array]:
        nodes = np.flatnonzero(~labelled & (reading.w > self.min_confidence))
        return nodes, reading.w[nodes]

    def labelled_targets(self, S: Array, Y: Array) -> Array:
        return S


@dataclass(frozen=True)
class NoPseudoLabels(PseudoLabels):
    """The ablation without pseudo labels: F is softened by `rule`, but the encoder sees true labels only.

    Parameters
    ----------
    rule : PseudoLabels
        How F is softened and carried to the next round.

    Examples
    --------
    >>> rule = NoPseudoLabels(TopPerClass())
    >>> len(rule.choose(rule.read(np.eye(2)), labelled=np.array([True, False]), seed=0)[0])
    0
    """

    rule: PseudoLabels

    def soften(self, F: Array) -> Array:
        return self.rule.soften(F)

    def read(self, F: Array, priors: Array | None = None, order: Array | None = None) -> Readout:
        return self.rule.read(F, priors, order)

    def choose(
        self, reading: Readout, labelled: Array, seed: int, order: Array | None = None
    ) -> tuple[Array, Array]:
        return np.empty(0, dtype=np.int64), np.empty(0)

    def labelled_targets(self, S: Array, Y: Array) -> Array:
        return Y

    def next_start(self, F: Array) -> Array:
        return self.rule.next_start(F)


def check_confidence(rule: TopPerClass | ClassBalanced | ConfidenceThreshold) -> None:
    if not 0 <= rule.min_confidence <= 1:
        raise InputError(
            f"{type(rule).__name__}: min_confidence must be a number from 0 to 1, but is {rule.min_confidence!r}."
        )
