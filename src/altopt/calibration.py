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
