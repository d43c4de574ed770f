"""Which nodes to label next: those that bring the most doubtful nodes near a label, each counted once.

The encoder answers for a node by the inputs of labelled nodes like it; s_eq in [0, 1] is how alike the inputs (diffused
features, so graph and features both) of e and q are. c_e = max of s over the labelled nodes is how well e is covered
already. A label at q would be expected to put right, of the errors that doubt lets one expect,

    gain(q) = u_q sum_e doubt_e max(0, s_eq - c_e),        u_q = lambda2 G_qq / (1 + lambda2 G_qq)

u_q being the share of the new label that F takes up at q: with G = H^-1 one label changes F_q by u_q (y_q - F_q).
Nodes are picked one after another, c_e growing with each: a batch spreads. Sums run over a seeded sample of nodes and
picks come from another; G_qq is found by a local push from each candidate, never for all nodes.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.fitted.system import LiveSystem, live_system

CANDIDATES, WITNESSES = 1000, 3000  # nodes that may be picked, and nodes that a pick is judged by
TRUST = 3.0  # labels per class at which the model's own doubt counts as much as plain coverage
ROUGH = 1e-3  # tolerance of the pushes for G_qq


def suggest(model: Any, n: int, among: Any) -> list[tuple[Any, float]]:
    """n unlabelled nodes with what each label is expected to gain, given those before it; best first."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise InputError(f"n must be a whole number from 1 on, but is {n!r}.")
    free = np.flatnonzero(~model.labelled_ & model.reached_)  # the others are like nobody
    free = free if len(free) else np.flatnonzero(~model.labelled_)
    allowed = free
    if among is not None:
        places = np.unique(model.graph_.positions(among))
        allowed = places[~model.labelled_[places]]
    if not len(allowed):
        raise InputError(
            "there is no unlabelled node to suggest. Name unlabelled nodes in among=, or leave it out."
        )
    rng = np.random.default_rng([model.seed_, int(model.labelled_.sum())])
    candidates = sample(allowed, max(CANDIDATES, 2 * n), rng)
    witnesses = sample(free, WITNESSES, rng)
    inputs = directions(model, witnesses)
    covered = coverage(model, inputs, np.flatnonzero(model.labelled_))
    alike = np.maximum(inputs @ directions(model, candidates).T, 0.0)
    doubt = doubts(model, witnesses) * (len(free) / len(witnesses))
    picked = greedy(alike, covered, doubt, uptake(model, candidates), neighbours(model, candidates), n)
    return [(model.graph_.ids.item(int(candidates[q])), gain) for q, gain in picked]


def sample(nodes: Array, most: int, rng: np.random.Generator) -> Array:
    return nodes if len(nodes) <= most else np.sort(rng.choice(nodes, most, replace=False))


def directions(model: Any, nodes: Array) -> Array:
    """The encoder's inputs of nodes, scaled to unit length; zero where there are none."""
    rows = model.inputs_.rows(model.inputs_.Z[nodes])
    rows = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def coverage(model: Any, inputs: Array, labelled: Array, block: int = 2048) -> Array:
    """c: each witness's likeness to the labelled node most like it."""
    covered = np.zeros(len(inputs), dtype=np.float32)
    for first in range(0, len(labelled), block):
        alike = inputs @ directions(model, labelled[first : first + block]).T
        np.maximum(covered, alike.max(axis=1), out=covered)
    return covered


def doubts(model: Any, nodes: Array) -> Array:
    """How likely each node's label is wrong.

    A model of few labels does not know what it does not know, so its own doubt is mixed with the mean of it: for
    l labels of c classes in the proportion l to TRUST c. First the graph is covered, then the doubtful are asked for.
    """
    own = 1.0 - model._reading().soften(model.scores_[nodes]).max(axis=1)
    trust = model.labelled_.sum() / (model.labelled_.sum() + TRUST * len(model.classes_))
    return np.asarray(trust * own + (1 - trust) * own.mean(), dtype=np.float64)


def uptake(model: Any, candidates: Array) -> Array:
    """u_q = lambda2 G_qq / (1 + lambda2 G_qq); 1 for models whose G is not to be had by a push."""
    live: LiveSystem | None = live_system(model)
    if live is None:
        return np.ones(len(candidates))
    own = np.empty(len(candidates))
    for k, q in enumerate(candidates.tolist()):
        found = live.column(q, ROUGH)
        own[k] = found.moves[0, 0]  # the push starts at q
    return live.lambda2 * own / (1.0 + live.lambda2 * own)


def neighbours(model: Any, candidates: Array) -> Any:
    """Who of the candidates is tied to whom."""
    return sp.csr_array(model.graph_.adjacency[candidates][:, candidates])


def greedy(
    alike: Array, covered: Array, doubt: Array, uptake: Array, ties: Any, n: int
) -> list[tuple[int, float]]:
    """The best candidate, then the best given that one, and so on; none next to another while others are left."""
    alike, covered = alike.astype(np.float32), covered.copy()
    there = np.ones(alike.shape[1], dtype=bool)
    apart = there.copy()
    picked: list[tuple[int, float]] = []
    while len(picked) < n and there.any():
        gains = uptake * (doubt @ np.maximum(alike - covered[:, None], 0.0))
        usable = there & apart if (there & apart).any() else there
        q = int(np.argmax(np.where(usable, gains, -1.0)))
        picked.append((q, float(gains[q])))
        there[q] = False
        apart[ties.indices[ties.indptr[q] : ties.indptr[q + 1]]] = False
        np.maximum(covered, alike[:, q], out=covered)
    return picked
