"""Where the nodes of a graph stand in a picture: neighbours are drawn together, strangers pushed apart."""

from typing import Any

import numpy as np
import scipy.sparse as sp

N_SMOOTHED, N_ROUNDS, N_STRANGERS = 40, 250, 6
NEAREST = 0.05  # squared distance below which nodes push no harder
LONGEST = 3.0  # that a node moves in the first round
PULL_TO_CENTRE = 0.01


def positions(adjacency: Any, order: Any, seed: int = 0) -> Any:
    """x and y of each node in [0, 1]; the same graph is always drawn alike.

    Nodes begin on a disc in the given order, community after community. In each round every edge pulls its ends
    together by d / sqrt(1 + d^2), and every node is pushed by a few others, drawn at random, by 1 / d each; steps
    shrink to nothing.
    """
    n = adjacency.shape[0]
    edges = sp.csr_array((np.ones(adjacency.nnz), adjacency.indices, adjacency.indptr), shape=(n, n)).tocoo()
    rng = np.random.default_rng(seed)
    degrees = np.maximum(np.bincount(edges.row, minlength=n), 1.0)[:, None]
    at = smoothed(disc(n)[np.argsort(order)], edges.tocsr(), degrees)
    for step in LONGEST * (1.0 - np.arange(N_ROUNDS) / N_ROUNDS):
        gap = at[edges.col] - at[edges.row]
        pull = gap / np.sqrt(1.0 + np.sum(gap**2, axis=1, keepdims=True))
        force: Any = np.stack([np.bincount(edges.row, pull[:, k], minlength=n) for k in (0, 1)], axis=1)
        force *= 0.9 / np.sqrt(degrees)
        for _ in range(N_STRANGERS):
            away = at - at[rng.integers(0, n, n)]
            square = np.sum(away**2, axis=1, keepdims=True)
            force += 6.0 * away / (NEAREST + square)
        force -= PULL_TO_CENTRE * at
        length = np.sqrt(np.sum(force**2, axis=1, keepdims=True))
        at = at + step * 0.3 * force / (1.0 + 0.3 * length)
    at = at - np.median(at, axis=0)
    at = within(at, 1.15 * float(np.quantile(np.hypot(*at.T), 0.97)))
    low, high = at.min(axis=0), at.max(axis=0)
    return (at - low) / max(float(np.max(high - low)), 1e-12)


def smoothed(at: Any, edges: Any, degrees: Any) -> Any:
    """Each node near the mean of its neighbours, as wide as before in both directions: what is tied lies together."""
    size = at.std()
    for _ in range(N_SMOOTHED):
        at = 0.5 * at + 0.5 * np.where(degrees > 0, (edges @ at) / degrees, at)
        at = at - at.mean(axis=0)
        spread, turn = np.linalg.eigh(at.T @ at / len(at) + 1e-9 * np.eye(2))
        at = within(size * (at @ turn) / np.sqrt(spread), 2.0 * size)
    return at


def within(at: Any, radius: float) -> Any:
    """What lies outside a disc moved onto its rim: a few loose nodes must not shrink all others."""
    length = np.hypot(at[:, 0], at[:, 1])[:, None]
    return at * np.minimum(1.0, radius / np.maximum(length, 1e-12))


def disc(n: int) -> Any:
    """n points that fill a disc from its centre, two of which are about 1 apart."""
    k = np.arange(n)
    radius, angle = 0.6 * np.sqrt(k + 0.5), k * np.pi * (3.0 - np.sqrt(5.0))
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
