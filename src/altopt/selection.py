"""From F to pseudo labels: how F becomes distributions, which unlabelled nodes to trust, and how much."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from altopt.arrays import Array, certainty, shares, softmax


@runtime_checkable
class PseudoLabels(Protocol):
    """A rule that makes training material for the encoder out of F."""

    def soften(self, F: Array) -> Array:
        """S: F as distributions over the classes."""

    def choose(self, S: Array, labelled: Array, seed: int) -> tuple[Array, Array]:
        """Unlabelled nodes to train on, and a weight for each."""

    def labelled_targets(self, S: Array, Y: Array) -> Array:
        """What the encoder should learn on labelled nodes, given their rows of S and Y."""

    def carry(self, F: Array, S: Array) -> Array:
        """Where the next update of F starts."""


def surest_per_class(S: Array, w: Array, candidates: Array, n_pseudo: int) -> Array:
    """The `n_pseudo` candidates of highest w in each class (by argmax S), as sorted node numbers.

    A class with fewer candidates gives what it has: nothing is padded from another class, and nodes outside
    `candidates` are never taken.

    >>> S = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.3, 0.7]])
    >>> surest_per_class(S, certainty(S), np.array([True, True, True, True]), 2)
    array([0, 2, 3])
    """
    nodes = np.flatnonzero(candidates)
    predicted = S[nodes].argmax(axis=1)
    # by class, the surest first; ties by node number, so that the choice is reproducible
    order = np.lexsort((nodes, -w[nodes], predicted))
    by_class = predicted[order]
    rank = np.arange(len(order)) - np.searchsorted(by_class, by_class)
    return np.sort(nodes[order[rank < n_pseudo]])


@dataclass(frozen=True)
class SurestPerClass:
    """The paper's rule: S = softmax(F / temperature), the n_pseudo surest nodes of each class, weight w_i."""

    n_pseudo: int = 100
    temperature: float = 0.1
    min_confidence: float = 0.0

    def soften(self, F: Array) -> Array:
        return softmax(F, self.temperature)

    def choose(self, S: Array, labelled: Array, seed: int) -> tuple[Array, Array]:
        w = certainty(S)
        nodes = surest_per_class(S, w, ~labelled & (w >= self.min_confidence), self.n_pseudo)
        return nodes, w[nodes]

    def labelled_targets(self, S: Array, Y: Array) -> Array:
        return S

    def carry(self, F: Array, S: Array) -> Array:
        return S


@dataclass(frozen=True)
class EveryoneWeighted:
    """All unlabelled nodes, weight w_i^2, each class with the same total, the sum at most `times_labelled` labels'.

    S = softmax(shares of F / temperature). Above `limit` unlabelled nodes a seeded sample serves: what the
    encoder needs is a spread of nodes, not every one.
    """

    temperature: float = 0.15
    min_confidence: float = 0.0
    times_labelled: float = 5.0
    limit: int = 6000

    def soften(self, F: Array) -> Array:
        return softmax(shares(F), self.temperature)

    def choose(self, S: Array, labelled: Array, seed: int) -> tuple[Array, Array]:
        nodes = np.flatnonzero(~labelled)
        if len(nodes) > self.limit:
            nodes = np.sort(np.random.default_rng(seed).choice(nodes, self.limit, replace=False))
        w = certainty(S[nodes])
        nodes, w = nodes[w >= self.min_confidence], w[w >= self.min_confidence] ** 2
        total = min(self.times_labelled * labelled.sum(), w.sum())
        predicted = S[nodes].argmax(axis=1)
        per_class = np.bincount(predicted, weights=w, minlength=S.shape[1]).astype(float)
        present = max(int(np.count_nonzero(per_class)), 1)
        share = np.divide(total / present, per_class, out=np.zeros_like(per_class), where=per_class > 0)
        return nodes, w * share[predicted]

    def labelled_targets(self, S: Array, Y: Array) -> Array:
        return Y

    def carry(self, F: Array, S: Array) -> Array:
        return F


@dataclass(frozen=True)
class CertainEnough:
    """ALT-OPT-N's rule: S = softmax(F), every node whose certainty w_i passes min_confidence, weight w_i."""

    min_confidence: float = 0.0

    def soften(self, F: Array) -> Array:
        return softmax(F)

    def choose(self, S: Array, labelled: Array, seed: int) -> tuple[Array, Array]:
        w = certainty(S)
        nodes = np.flatnonzero(~labelled & (w > self.min_confidence))
        return nodes, w[nodes]

    def labelled_targets(self, S: Array, Y: Array) -> Array:
        return S

    def carry(self, F: Array, S: Array) -> Array:
        return F


@dataclass(frozen=True)
class NoPseudoLabels:
    """The ablation without pseudo labels: F is softened by `rule`, but the encoder sees true labels only."""

    rule: PseudoLabels

    def soften(self, F: Array) -> Array:
        return self.rule.soften(F)

    def choose(self, S: Array, labelled: Array, seed: int) -> tuple[Array, Array]:
        return np.empty(0, dtype=np.int64), np.empty(0)

    def labelled_targets(self, S: Array, Y: Array) -> Array:
        return Y

    def carry(self, F: Array, S: Array) -> Array:
        return self.rule.carry(F, S)
