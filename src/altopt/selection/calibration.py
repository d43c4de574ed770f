"""How sure to sound: a temperature that makes probabilities come true, and how far they are from doing so."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from altopt.arrays import Array, certainty, shares
from altopt.training.pseudo_labels import Readout

COLDEST, HOTTEST = 0.02, 2.0  # of a softmax of shares
SHARPEST, FLATTEST = 0.1, 10.0  # of TemperedShares
USUAL = 1.5  # of TemperedShares: shares of F are mostly too sure by as much
BINS = 10
NUMBERS = 2**22  # of F that are read at once


@dataclass(frozen=True)
class TemperedShares:
    """How F is read to the user: a node's shares to the power 1/T, at sum one.

    At T = 1 the shares themselves. A softmax of shares, which makes pseudo labels, can sound neither quite sure nor
    quite unsure at a temperature that is right on average; a power can.
    """

    temperature: float

    def soften(self, F: Array) -> Array:
        """A distribution for each row."""
        S = shares(F)
        S /= S.max(axis=1, keepdims=True)  # what is tiny may vanish, the largest must not
        S **= 1.0 / self.temperature
        S /= S.sum(axis=1, keepdims=True)
        return S

    def read(self, F: Array) -> Readout:
        """How sure each row is and of which class, block by block."""
        n, n_classes = F.shape
        w, label = np.empty(n, dtype=F.dtype), np.empty(n, dtype=np.int64)
        step = max(1, NUMBERS // n_classes)
        for first in range(0, n, step):
            S = self.soften(F[first : first + step])
            w[first : first + step], label[first : first + step] = certainty(S), S.argmax(axis=1)
        return Readout(w, label, n_classes)


def fit_temperature(soften: Callable[[float], Array], codes: Array, weights: Array, usual: float) -> float:
    """The temperature at which the given classes are likeliest, held back towards the usual one.

    soften(T) gives a distribution for each node, codes the class it should give most to. A few labels cannot
    tell temperatures apart: the usual one counts as much as ten labels at half a unit of its logarithm.
    """
    rows = np.arange(len(codes))

    def loss(log_T: float) -> float:
        S = soften(float(np.exp(log_T)))
        told = -np.log(np.maximum(S[rows, codes], 1e-6))
        return float(np.sum(weights * told) / np.mean(weights) + 10 * (log_T - np.log(usual)) ** 2)

    bounds = (np.log(COLDEST), np.log(HOTTEST))
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 0.01}).x))


def match_confidence(F: Array, accuracy: float, n_labels: float) -> float:
    """The temperature of TemperedShares at which the mean confidence is what held-out labels say of the accuracy.

    A loop that learns from its own labels grows surer than it has reason to, and surer than the shorter fits that
    held-out labels are judged by: so it is the confidence of the final F that is matched, on unlabelled nodes.
    `accuracy` comes from about `n_labels` labels; the fewer, the more the usual temperature counts.
    """
    doubt = accuracy * (1.0 - accuracy) + 0.05

    def loss(log_T: float) -> float:
        sure = float(np.mean(TemperedShares(float(np.exp(log_T))).soften(F).max(axis=1)))
        return n_labels * (sure - accuracy) ** 2 / doubt + float(log_T - np.log(USUAL)) ** 2

    bounds = (np.log(SHARPEST), np.log(FLATTEST))
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 0.01}).x))


def calibration_error(S: Array, codes: Array, weights: Array | None = None) -> float:
    """The expected calibration error: |accuracy - confidence| in ten bins of confidence, by how many fall in each.

    >>> calibration_error(np.array([[0.75, 0.25]] * 4), np.array([0, 0, 0, 1]))
    0.0
    """
    weights = np.ones(len(S)) if weights is None else weights
    sure, right = S.max(axis=1), S.argmax(axis=1) == codes
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, weights=weights * (right - sure), minlength=BINS)
    return float(np.abs(gaps).sum() / weights.sum())
