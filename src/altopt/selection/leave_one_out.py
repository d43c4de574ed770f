"""What each labelled node would be called without its own label: exact for F, honest for the encoder."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv

from altopt.arrays import Array
from altopt.solvers import ConjugateGradient
from altopt.views import Objective

NUMBERS = 2**22  # of a block of unit vectors that are solved for at once, which are 8 to 64
MOST = 2000  # labelled nodes whose own influence is solved for; above, a seeded sample
WORK = 4e7  # nodes times unit vectors, above which the sample is smaller still
FEWEST = 200
# why there is none
NOT_HELD_BACK = (
    "needs labels held back, which this fit did not do. Fit with cross_fit=True and the squared feature and "
    "label views."
)
OUT_OF_DATE = (
    "would speak of labels and edges as they were at the fit; an update changed them since. Fit again."
)


class Margins(NamedTuple):
    """Labelled nodes, what they were given and what all other evidence says of them."""

    nodes: Array  # ids
    given: Array  # labels
    predictions: Array  # labels
    margin: Array  # share of the given class minus the largest other

    def only(self, some: Array) -> "Margins":
        return Margins(*(column[some] for column in self))


@dataclass(frozen=True)
class LeaveOneOut:
    """One entry for each labelled node that was judged; above 2,000 of them a sample.

    F of a node without its own label is exact for the encoder output that was used, and that comes from an
    encoder which never saw the labels of the node's fold. `accuracy` counts each class by how many nodes are
    predicted to have it, since labels are often balanced by design; `interval` holds it with 95 %.
    """

    judged: Margins
    scores: Array  # F without the own label, one row each
    accuracy: float
    interval: tuple[float, float]
    calibration_error: float  # of probabilities at the fitted temperature
    of_all: Margins  # all labelled nodes; beyond the sample with their own influence approximated

    @property
    def nodes(self) -> Array:
        return self.judged.nodes

    @property
    def given(self) -> Array:
        return self.judged.given

    @property
    def predictions(self) -> Array:
        return self.judged.predictions

    @property
    def margin(self) -> Array:
        return self.judged.margin

    def suspicious(self) -> list[tuple[Any, Any, Any, float]]:
        """(node, given, suggested, margin) of all labelled nodes, the most suspicious first."""
        order = np.argsort(self.of_all.margin, kind="stable")
        return list(zip(*(column[order].tolist() for column in self.of_all)))


def exact_sample(nodes: Array, n_nodes: int, seed: int) -> Array:
    """Which of the labelled nodes are judged exactly, as a mask: all, or a seeded sample."""
    most = max(FEWEST, min(MOST, int(WORK / n_nodes)))
    mask = np.ones(len(nodes), dtype=bool)
    if len(nodes) > most:
        mask[:] = False
        mask[np.random.default_rng(seed).choice(len(nodes), most, replace=False)] = True
    return mask


def solved_inverse_diagonal(
    objective: Callable[[Array], Objective], nodes: Array, n_nodes: int, dtype: Any
) -> Array:
    """g_ii of G = H^-1 for each of the nodes, from block solves H G = E, E unit vectors.

    `objective` makes the views' sum for a right-hand side: lambda1 P + lambda2 M Y = E.
    """
    g, width = np.empty(len(nodes)), block_width(n_nodes)
    for first in range(0, len(nodes), width):
        some = nodes[first : first + width]
        E = np.zeros((n_nodes, len(some)), dtype=dtype)
        E[some, np.arange(len(some))] = 1.0
        solved = ConjugateGradient(rtol=1e-8 if E.dtype == np.float64 else 1e-5).solve(objective(E), E).F
        g[first : first + width] = solved[some, np.arange(len(some))]
    return g


def block_width(n_nodes: int) -> int:
    """How many unit vectors are solved for at once."""
    return int(min(64, max(8, NUMBERS // n_nodes)))


def neumann_diagonal(objective: Objective, nodes: Array, n_nodes: int) -> Array | None:
    """g_ii up to walks of length two: (1 + sum_j a_ij^2 c^2 / (d_i d_j)) / d_i, with H = diag(d) - c A_tilde."""
    system = objective.system(n_nodes)
    if system is None:
        return None
    d, c, A = system.diagonal, system.coupling, system.A_tilde
    # a_ij^2 = A_ij^2 / (degree_i degree_j): A_tilde itself would take much room
    inverse = np.zeros_like(A.degrees)
    np.divide(1.0, A.degrees, out=inverse, where=A.degrees > 0)
    squares = inverse[nodes] * (A.adjacency[nodes].power(2) @ (inverse / d))
    return np.asarray((1.0 + c**2 * squares / d[nodes]) / d[nodes])


def without_own_label(F: Array, Y: Array, g: Array, label_weight: float) -> Array:
    """F_i^(-i) = (F_i - lambda2 g_ii y_i) / (1 - lambda2 g_ii): row i as a solve without label i would give it."""
    taken = (label_weight * g)[:, None]
    return np.asarray((F - taken * Y) / (1.0 - taken))


def effective_sample_size(weights: Array) -> float:
    """How many labels that count alike say as much as these do."""
    return float(np.sum(weights) ** 2 / np.sum(weights**2))


def accuracy_with_interval(right: Array, weights: Array, level: float = 0.95) -> tuple[float, float, float]:
    """The weighted share of right ones, and where it lies with `level` (Jeffreys, at the effective sample size)."""
    p = float(np.sum(weights * right) / np.sum(weights))
    n = effective_sample_size(weights)
    tail = (1.0 - level) / 2
    a, b = p * n + 0.5, (1 - p) * n + 0.5
    return p, float(betaincinv(a, b, tail)), float(betaincinv(a, b, 1.0 - tail))


def margins(shares: Array, codes: Array) -> Array:
    """Share of the given class minus the largest other."""
    rows = np.arange(len(codes))
    others = shares.copy()
    others[rows, codes] = -np.inf
    return np.asarray(shares[rows, codes] - others.max(axis=1))
