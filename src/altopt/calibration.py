"""How sure to sound: a temperature that makes probabilities come true, and how far they are from doing so."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

from altopt.arrays import Array

COLDEST, HOTTEST = 0.02, 2.0
BINS = 10


def fitted_temperature(soften: Callable[[float], Array], codes: Array, weights: Array, usual: float) -> float:
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


def matched_temperature(
    soften: Callable[[float], Array], accuracy: float, n_labels: float, usual: float
) -> float:
    """The temperature at which the mean confidence is what held-out labels say of the accuracy.

    A loop that learns from its own labels grows surer than it has reason to, and surer than the shorter fits that
    held-out labels are judged by: so it is the confidence of the final F that is matched, on unlabelled nodes.
    `accuracy` comes from about `n_labels` labels; the fewer, the more the usual temperature counts.
    """
    doubt = accuracy * (1.0 - accuracy) + 0.05

    def loss(log_T: float) -> float:
        sure = float(np.mean(soften(float(np.exp(log_T))).max(axis=1)))
        return n_labels * (sure - accuracy) ** 2 / doubt + float(log_T - np.log(usual)) ** 2

    bounds = (np.log(COLDEST), np.log(HOTTEST))
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
