"""From F to pseudo labels: how F becomes distributions, which unlabelled nodes to trust, and how much."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from altopt.arrays import Array, row_blocks
from altopt.operator.kernels.rows import most_certain_per_class, softmax_rows
from altopt.training.class_priors import estimate_priors, prior_factors


class Readout(NamedTuple):
    """What F says of each node, without its whole distribution: how sure, and which class."""

    w: Array  # certainty, 1 - H(S_i) / log c
    label: Array  # the class of the largest entry
    n_classes: int
    factors: Array | None = None  # of the classes, which F's columns were multiplied by before
    priors: Array | None = None  # of the classes, which the factors keep to


@runtime_checkable
class PseudoLabels(Protocol):
    """A rule that makes training material for the encoder out of F."""

    def soften(self, F: Array) -> Array:
        """S: F as distributions over the classes, each row by itself."""

    def read(self, F: Array, priors: Array | None = None) -> Readout:
        """Certainty and class of each row of S, which is not kept; `priors` are those of the reading before."""

    def choose(self, reading: Readout, labelled: Array, seed: int) -> tuple[Array, Array]:
        """Unlabelled nodes to train on, and a weight for each."""

    def labelled_targets(self, S: Array, Y: Array) -> Array:
        """What the encoder should learn on labelled nodes, given their rows of S and Y."""

    def next_start(self, F: Array) -> Array:
        """Where the next update of F starts."""


@dataclass(frozen=True)
class TopPerClass:
    """The paper's rule: S = softmax(F / temperature), the n_pseudo surest nodes of each class, weight w_i.

    A class with fewer candidates gives what it has: nothing is padded from another class, and labelled nodes
    are never taken.
    """

    n_pseudo: int = 100
    temperature: float = 0.1
    min_confidence: float = 0.0

    def soften(self, F: Array) -> Array:
        return softmax_rows(F, self.temperature, of_shares=False).S

    def read(self, F: Array, priors: Array | None = None) -> Readout:
        found = softmax_rows(F, self.temperature, of_shares=False, keep=False)
        return Readout(found.w, found.label, F.shape[1])

    def choose(self, reading: Readout, labelled: Array, seed: int) -> tuple[Array, Array]:
        w, label = reading.w, reading.label
        allowed = ~labelled & (w >= self.min_confidence)
        nodes = most_certain_per_class(w, label, allowed, reading.n_classes, self.n_pseudo)
        return nodes, w[nodes]

    def labelled_targets(self, S: Array, Y: Array) -> Array:
        return S

    def next_start(self, F: Array) -> Array:
        return self.soften(F)


@dataclass(frozen=True)
class ClassBalanced:
    """All unlabelled nodes, weight w_i^2, each class with the same total, the sum at most `times_labelled` labels'.

    S = softmax(shares of F / temperature). Above `limit` unlabelled nodes a seeded sample serves: what the
    encoder needs is a spread of nodes, not every one.

    With `trust`, F's columns are multiplied before that, so that each class has about as many nodes as the first F said
    (`class_sizes`): what an encoder mistakes once it would teach itself in every round.
    """

    temperature: float = 0.2
    min_confidence: float = 0.0
    times_labelled: float = 5.0
    limit: int = 6000
    trust: float | None = None  # in the priors of classes by the first F; None: F is taken as it is
    label_shares: tuple[float, ...] = ()  # the classes' shares of the given labels; alike where not said

    def soften(self, F: Array) -> Array:
        return softmax_rows(F, self.temperature, of_shares=True).S

    def read(self, F: Array, priors: Array | None = None) -> Readout:
        if self.trust is None:
            found = softmax_rows(F, self.temperature, of_shares=True, keep=False)
            return Readout(found.w, found.label, F.shape[1])
        if priors is None:
            alike = np.full(F.shape[1], 1.0 / F.shape[1])
            priors = estimate_priors(
                F, self.temperature, np.array(self.label_shares) if self.label_shares else alike
            )
        factors = prior_factors(F, priors, self.trust)
        w, label = np.empty(len(F)), np.empty(len(F), dtype=np.int32)
        for rows in row_blocks(len(F)):
            found = softmax_rows(F[rows] * factors, self.temperature, of_shares=True, keep=False)
            w[rows], label[rows] = found.w, found.label
        return Readout(w, label, F.shape[1], factors, priors)

    def choose(self, reading: Readout, labelled: Array, seed: int) -> tuple[Array, Array]:
        nodes = np.flatnonzero(~labelled)
        if len(nodes) > self.limit:
            nodes = np.sort(np.random.default_rng(seed).choice(nodes, self.limit, replace=False))
        nodes = nodes[reading.w[nodes] >= self.min_confidence]
        w, label = reading.w[nodes] ** 2, reading.label[nodes]
        total = min(self.times_labelled * labelled.sum(), w.sum())
        per_class = np.bincount(label, weights=w, minlength=reading.n_classes).astype(float)
        present = max(int(np.count_nonzero(per_class)), 1)
        share = np.divide(total / present, per_class, out=np.zeros_like(per_class), where=per_class > 0)
        return nodes, w * share[label]

    def labelled_targets(self, S: Array, Y: Array) -> Array:
        return Y

    def next_start(self, F: Array) -> Array:
        return F


@dataclass(frozen=True)
class ConfidenceThreshold:
    """ALT-OPT-N's rule: S = softmax(F), every node whose certainty w_i passes min_confidence, weight w_i."""

    min_confidence: float = 0.0

    def soften(self, F: Array) -> Array:
        return softmax_rows(F, 1.0, of_shares=False).S

    def read(self, F: Array, priors: Array | None = None) -> Readout:
        found = softmax_rows(F, 1.0, of_shares=False, keep=False)
        return Readout(found.w, found.label, F.shape[1])

    def choose(self, reading: Readout, labelled: Array, seed: int) -> tuple[Array, Array]:
        nodes = np.flatnonzero(~labelled & (reading.w > self.min_confidence))
        return nodes, reading.w[nodes]

    def labelled_targets(self, S: Array, Y: Array) -> Array:
        return S

    def next_start(self, F: Array) -> Array:
        return F


@dataclass(frozen=True)
class NoPseudoLabels:
    """The ablation without pseudo labels: F is softened by `rule`, but the encoder sees true labels only."""

    rule: PseudoLabels

    def soften(self, F: Array) -> Array:
        return self.rule.soften(F)

    def read(self, F: Array, priors: Array | None = None) -> Readout:
        return self.rule.read(F, priors)

    def choose(self, reading: Readout, labelled: Array, seed: int) -> tuple[Array, Array]:
        return np.empty(0, dtype=np.int64), np.empty(0)

    def labelled_targets(self, S: Array, Y: Array) -> Array:
        return Y

    def next_start(self, F: Array) -> Array:
        return self.rule.next_start(F)
