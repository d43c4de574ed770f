"""Temperature scaling, and the expected calibration error."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from scipy.optimize import minimize_scalar

from altopt.arrays import Array, certainty, shares
from altopt.defaults import DEFAULTS, Defaults
from altopt.errors import InputError
from altopt.settings import check_count, check_number, is_number
from altopt.training.pseudo_labels import Readout
from altopt.training.samples import evenly

N_BINS = 10
BLOCK_SIZE = 2**22  # numbers of F that are read at once
SMALLEST = 1e-300  # factor of a column
# the search for column factors: steps at most, the part of a gap that one closes, bounds of log b, and when it ends
MAX_FACTOR_STEPS, FACTOR_STEP, FACTOR_BOUNDS, FACTOR_TOLERANCE = 200, 0.7, (-12.0, 12.0), 1e-4


class NodeKind(IntEnum):
    """What there is to know of a node beside its row of F."""

    TIED = 0  # it has edges, or a given label
    ISOLATED = 1  # it has none, only features
    UNREACHED = 2  # no features, and no labelled node is connected


@dataclass(frozen=True)
class TemperedShares:
    """Probabilities handed to users: a node's shares of F, times a factor for each class, to the power 1/T, normalised.

        P_ik = (b_k s_ik)^(1/T) / sum_l (b_l s_il)^(1/T),        s_i the shares of F_i: without negative parts, at sum 1

    At T = 1 and without factors the shares themselves. A softmax of shares, which makes pseudo labels, is neither quite
    certain nor quite uncertain at a temperature that is right on average; a power can be both.

    Parameters
    ----------
    temperature : float
        T > 0; above 1 less confident than the shares.
    factors : tuple of float, optional
        b, one for each class; None: all 1.
    isolated : float, optional
        T of nodes without edges, where it is another.
    unreached : tuple of float, optional
        The row of nodes that nothing is known of: class shares.
    block_size : int
        Numbers of F that are read at once.

    Examples
    --------
    >>> TemperedShares(0.5).soften(np.array([[3.0, 1.0]])).round(6).tolist()
    [[0.9, 0.1]]
    """

    temperature: float
    factors: tuple[float, ...] | None = None
    isolated: float | None = None
    unreached: tuple[float, ...] | None = None
    block_size: int = BLOCK_SIZE

    def __post_init__(self) -> None:
        check_number(self, "temperature", above=0.0)
        check_number(self, "isolated", above=0.0, optional=True)
        check_count(self, "block_size")
        for name, least in (("factors", SMALLEST), ("unreached", 0.0)):
            numbers = getattr(self, name)
            if numbers is not None and not all(is_number(b) and b >= least for b in numbers):
                raise InputError(f"TemperedShares: {name} must be numbers above 0, but are {numbers!r}.")

    def scaled(self, factors: Array) -> "TemperedShares":
        """The same reading of F that has these column factors besides."""
        before = np.ones(len(factors)) if self.factors is None else np.array(self.factors)
        return replace(self, factors=tuple(np.maximum(before * factors, SMALLEST).tolist()))

    def soften(self, F: Array, kinds: Array | None = None) -> Array:
        """A distribution for each row; `kinds` are those of the nodes (NodeKind), None: all tied."""
        S = shares(F)
        if self.factors is not None:
            S *= np.asarray(self.factors, dtype=S.dtype)
        S /= S.max(axis=1, keepdims=True)  # small entries may underflow, the largest must not
        if kinds is None or self.isolated is None:
            S **= 1.0 / self.temperature
        else:
            alone = kinds == NodeKind.ISOLATED
            S **= np.where(alone, 1.0 / self.isolated, 1.0 / self.temperature).astype(S.dtype)[:, None]
        S /= S.sum(axis=1, keepdims=True)
        if kinds is not None and self.unreached is not None:
            S[kinds == NodeKind.UNREACHED] = self.unreached
        return S

    def read(self, F: Array, kinds: Array | None = None) -> Readout:
        """Certainty and class of each row, block by block."""
        n, n_classes = F.shape
        w, label = np.empty(n, dtype=F.dtype), np.empty(n, dtype=np.int64)
        step = max(1, self.block_size // n_classes)
        for first in range(0, n, step):
            rows = slice(first, first + step)
            S = self.soften(F[rows], None if kinds is None else kinds[rows])
            w[rows], label[rows] = certainty(S), S.argmax(axis=1)
        return Readout(w, label, n_classes)


def match_confidence(
    F: Array,
    accuracy: float,
    n_labels: float,
    factors: tuple[float, ...] | None = None,
    defaults: Defaults = DEFAULTS,
) -> float:
    """The temperature of TemperedShares at which the mean confidence is the accuracy on held-out labels.

    A loop that learns from its own labels grows overconfident, more so than the shorter fits that held-out labels
    come from: so the confidence of the final F on unlabelled nodes is matched. `accuracy` comes from about `n_labels`
    labels; half a hit and half a miss are added to them, so that a few make nothing certain.
    """
    target = (accuracy * n_labels + 0.5) / (n_labels + 1.0)

    def loss(log_T: float) -> float:
        S = TemperedShares(float(np.exp(log_T)), factors).soften(F)
        return (float(np.mean(S.max(axis=1))) - target) ** 2

    return minimising_temperature(loss, defaults.power_bounds)


def column_factors(F: Array, target: Array, temperature: float, defaults: Defaults = DEFAULTS) -> Array:
    """Factors of TemperedShares under which the mean of the probabilities is the target; where that is 0, they are 1.

    >>> F = np.array([[0.6, 0.4], [0.5, 0.5], [0.8, 0.2]])
    >>> b = column_factors(F, np.array([0.4, 0.6]), 1.0)
    >>> TemperedShares(1.0, tuple(b)).soften(F).mean(axis=0).round(3).tolist()
    [0.4, 0.6]
    """
    rows = F
    if len(F) > defaults.prior_sample:  # some of all sizes, wherever they stand
        size = F @ np.sqrt(np.arange(1.0, F.shape[1] + 1.0))
        rows = F[evenly(len(F), defaults.prior_sample, np.argsort(size, kind="stable"))]
    P = TemperedShares(temperature).soften(rows).astype(np.float64)
    log_b, asked = np.zeros(len(target)), target > 0
    for _ in range(MAX_FACTOR_STEPS):
        scaled = P * np.exp(log_b)
        mean = np.mean(scaled / scaled.sum(axis=1, keepdims=True), axis=0)
        gap = np.log(np.where(asked, target, 1.0) / np.where(asked, np.maximum(mean, 1e-12), 1.0))
        log_b = np.clip(log_b + FACTOR_STEP * gap, *FACTOR_BOUNDS)
        if np.abs(target - mean).max() < FACTOR_TOLERANCE:
            break
    return np.asarray(np.exp(np.where(asked, log_b - log_b[asked].mean(), 0.0) * temperature))


def minimising_temperature(loss: Callable[[float], float], bounds: tuple[float, float]) -> float:
    """T within the bounds that minimises a loss of log T."""
    log_bounds = (np.log(bounds[0]), np.log(bounds[1]))
    result = minimize_scalar(loss, bounds=log_bounds, method="bounded", options={"xatol": 0.01})
    return float(np.exp(result.x))


def calibration_error(S: Array, codes: Array, weights: Array | None = None) -> float:
    """The expected calibration error: |accuracy - confidence| in ten bins of confidence, weighted by their size.

    >>> calibration_error(np.array([[0.75, 0.25]] * 4), np.array([0, 0, 0, 1]))
    0.0
    """
    weights = np.ones(len(S)) if weights is None else weights
    confidence, correct = S.max(axis=1), S.argmax(axis=1) == codes
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    gaps = np.bincount(bins, weights=weights * (correct - confidence), minlength=N_BINS)
    return float(np.abs(gaps).sum() / weights.sum())
