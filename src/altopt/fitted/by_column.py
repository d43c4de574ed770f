"""The share of each column of X in the feature evidence of a prediction.

The features of the nodes j of a ledger give a node sum_j p_j lambda1 P_j, P_j = encoder(x_j). Each x_j is taken apart
into what its columns of X make of it: with the block x = u V of encoder inputs,

    x_j - x = sum over columns k of  ((x_j - x) V')_k V_k,        x the mean row

and sum_j p_j lambda1 (P_j - encoder(x)) is divided among the columns:

- of an encoder that is linear but for its softmax, by the integral of the softmax's slope along the straight line from
  x to x_j, in which a column counts as much as it moves the logits: exact, nothing is sampled;
- of any other, by Shapley values from sampled orders, in each of which columns are put in one after another.

Both sum to the difference, but for inputs that are not columns of X, such as degrees.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from altopt.arrays import Array
from altopt.encoders import Learner
from altopt.inputs import Prepared

EXACT = "exact for the linear encoder"
SAMPLED = "Shapley values, from sampled orders"
MAX_NODES = 10  # nodes of the ledger whose columns are looked at, the largest amounts first
MAX_ROWS = 2000  # that the mean is taken of
MAX_PLAYERS = 24  # columns with an amount of their own where orders are sampled; the others share one
N_ORDERS = 16  # half of them are the other half backwards
N_POINTS = 32  # of the quadrature along a line
OTHERS = -1  # the number of all other columns together
SMALLEST = 1e-300
BLOCK = 2**24  # numbers of masked rows at once


@dataclass(frozen=True)
class ColumnShares:
    """Amounts of columns of X, by their number, for one class; and how they were found."""

    columns: Array
    amounts: Array
    how: str

    @classmethod
    def none(cls) -> "ColumnShares":
        return cls(np.zeros(0, np.int64), np.zeros(0), "no columns of X")


def column_shares(
    inputs: Prepared, learner: Learner, nodes: Array, weights: Array, code: int, n_features: int, seed: int
) -> ColumnShares:
    """Shares of the columns in sum_j weights_j (P_j - P of the mean row), in the class `code`."""
    largest = np.argsort(-np.abs(weights), kind="stable")[:MAX_NODES]
    rows = dense(inputs.rows(inputs.Z[nodes[largest]]))
    blocks = list(column_blocks(inputs))
    evidence = Evidence(rows, mean_row(inputs), blocks, weights[largest], learner, code, n_features)
    W = learner.slopes()
    return evidence.sampled(seed) if W is None else evidence.exact(W)


@dataclass(frozen=True)
class Evidence:
    """sum_j weights_j P_j of a few rows in one class, to be divided among the columns of X."""

    rows: Array
    mean: Array
    blocks: list[tuple[slice, Array | None]]
    weights: Array
    learner: Learner
    code: int
    n_features: int

    def exact(self, W: Array) -> ColumnShares:
        """By the softmax's slope g = integral of P_code (e_code - P), along the line from the mean row to each row."""
        points, lengths = np.polynomial.legendre.leggauss(N_POINTS)
        t, lengths = (points + 1) / 2, lengths / 2
        P = self.learner.predict(self.mean[None].astype(np.float32))[0].astype(float)
        start, amounts = np.log(np.maximum(P, SMALLEST)), np.zeros(self.n_features)
        for x, weight in zip(self.rows.astype(float) - self.mean, self.weights.tolist()):
            moved = x @ W  # of the logits
            P = softmax(start + t[:, None] * moved, axis=1)
            slope = lengths @ (P[:, [self.code]] * (np.eye(len(moved))[self.code] - P))
            for where, V in self.blocks:
                of_input = W[where] @ slope
                amounts += weight * by_features(x[where], V) * (of_input if V is None else V @ of_input)
        return ColumnShares(np.arange(self.n_features), amounts, EXACT)

    def sampled(self, seed: int) -> ColumnShares:
        """What each column gains when it is put in, on average over orders."""
        players = self.players()
        if not players:
            return ColumnShares.none()
        orders = sampled_orders(len(players), seed)
        inside = np.zeros((len(orders), len(players) + 1, len(players)), dtype=bool)
        for order, masks in zip(orders, inside):
            for step, player in enumerate(order.tolist()):
                masks[step + 1 :, player] = True
        different, back = np.unique(inside.reshape(-1, len(players)), axis=0, return_inverse=True)
        gained = np.diff(self.masked(different, players)[back].reshape(len(orders), -1), axis=1)
        amounts = np.zeros(len(players))
        for order, gains in zip(orders, gained):
            amounts[order] += gains / len(orders)
        columns = np.array([player[0] if len(player) == 1 else OTHERS for player in players])
        return ColumnShares(columns, amounts, SAMPLED)

    def players(self) -> list[Array]:
        """The columns in which the rows are furthest from the mean, each alone, and all others together."""
        size = np.zeros(self.n_features)
        for where, V in self.blocks:
            far = self.rows[:, where] - self.mean[where]
            far = np.where(np.isnan(far), 1.0, far)  # a missing value is no mean
            size += np.abs(self.weights) @ np.abs(by_features(far, V))
        largest = np.argsort(-size, kind="stable")
        players = [np.array([k]) for k in largest[:MAX_PLAYERS] if size[k] > 0]
        others = largest[MAX_PLAYERS:]
        return [*players, others] if (size[others] > 0).any() else players

    def masked(self, inside: Array, players: list[Array]) -> Array:
        """The sum for each mask, with the mean in the place of columns that it leaves out."""
        masks = np.zeros((len(inside), self.n_features), dtype=bool)
        for k, player in enumerate(players):
            masks[:, player] = inside[:, [k]]
        found = np.zeros(len(masks))
        step = max(1, BLOCK // max(self.rows.shape[1], self.n_features))
        for x, weight in zip(self.rows, self.weights.tolist()):
            for first in range(0, len(masks), step):
                kept = masks[first : first + step]
                rows = np.tile(x, (len(kept), 1))
                for where, V in self.blocks:
                    if V is None:
                        rows[:, where] = np.where(kept, x[where], self.mean[where])
                    else:
                        u = by_features(x[where] - self.mean[where], V)
                        rows[:, where] -= ((~kept * u) @ V).astype(rows.dtype)
                found[first : first + step] += weight * self.learner.predict(rows)[:, self.code]
        return found


def dense(rows: Any) -> Array:
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows)


def mean_row(inputs: Prepared) -> Array:
    """The mean of the encoder's rows, or of some spread over all of them; missing values are left out."""
    n = inputs.Z.shape[0]
    rows = inputs.rows(inputs.Z[np.unique(np.linspace(0, n - 1, min(n, MAX_ROWS)).astype(np.int64))])
    if sp.issparse(rows):
        return np.asarray(rows.mean(axis=0)).ravel()
    known = ~np.isnan(rows)
    return np.asarray(np.where(known, rows, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1))


def column_blocks(inputs: Prepared) -> Iterator[tuple[slice, Array | None]]:
    """Where the encoder's columns are made of columns of X, and V."""
    first = 0
    for block in inputs.column_maps:
        width = block if isinstance(block, int) else block.width
        if not isinstance(block, int):
            yield slice(first, first + width), block.V
        first += width


def by_features(difference: Array, V: Array | None) -> Array:
    """Rows of a block by the columns of X: u with u V = difference."""
    if V is None:
        return difference
    size = float(np.mean(np.sum(np.square(V, dtype=np.float64), axis=0))) or 1.0
    return np.asarray(difference @ V.T / size)


def sampled_orders(n_players: int, seed: int) -> list[Array]:
    rng = np.random.default_rng([seed, n_players])
    half = [rng.permutation(n_players) for _ in range(N_ORDERS // 2)]
    return [order for one in half for order in (one, one[::-1])]
