"""Probabilities of held-out labels, as users are given them: at the best temperature, and mixed."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from altopt.arrays import Array, shares, tempered

LEAST = 1e-6  # no probability is taken for less: one label must not decide alone
N_STEPS = 200  # of expectation and maximisation for the weights of a mixture, which settle long before
LOG_TEMPERATURES = (-2.3, 2.3)


class Probabilities(NamedTuple):
    """A candidate's probabilities of the judged labels at the temperature that suits it."""

    P: Array
    of_given: Array  # the probability of each given class
    losses: Array  # -log of the probability of the given class, times what the label counts for
    temperature: float


def mixture_weights(likelihoods: Array, label_weights: Array | None = None) -> Array:
    """w that maximises sum_i log(sum_q w_q p_iq), rows weighted, by expectation and maximisation.

    >>> mixture_weights(np.array([[0.9, 0.1], [0.8, 0.3], [0.7, 0.2]])).round(2)
    array([1., 0.])
    """
    w = np.full(likelihoods.shape[1], 1.0 / likelihoods.shape[1])
    for _ in range(N_STEPS):
        parts = likelihoods * w
        w = np.average(parts / parts.sum(axis=1, keepdims=True), axis=0, weights=label_weights)
    return np.asarray(w)


def at_best_temperature(F: Array, codes: Array, weights: Array | float = 1.0) -> Probabilities:
    """Probabilities as users are given them, at the temperature under which the given classes are likeliest.

    A weak prior holds the temperature at 1: a few labels cannot tell. `weights` are what the labels count for.
    """
    S, rows = np.maximum(shares(F), LEAST), np.arange(len(codes))

    def of_given(T: float) -> Array:
        return np.asarray(np.maximum(tempered(S, T)[rows, codes], LEAST))

    result = minimize_scalar(
        lambda log_T: float(-np.sum(weights * np.log(of_given(float(np.exp(log_T))))) + log_T**2),
        bounds=LOG_TEMPERATURES,
        method="bounded",
        options={"xatol": 0.01},
    )
    T = float(np.exp(result.x))
    p = of_given(T)
    return Probabilities(tempered(S, T), p, -np.log(p) * weights, T)
