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
from altopt.defaults import DEFAULTS
from altopt.errors import InputError
from altopt.fitted.model import FittedModel


def suggest(model: FittedModel, n: int, among: Any) -> list[tuple[Any, float]]:
    """n unlabelled nodes with the expected gain of each label, given those before it; best first."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise InputError(f"n must be a whole number from 1 on, but is {n!r}.")
    with model.lock:
        graph, labelled = model.graph, model.labelled
        unlabelled = np.flatnonzero(~labelled & model.reached)  # unreached nodes are similar to none
        unlabelled = unlabelled if len(unlabelled) else np.flatnonzero(~labelled)
        allowed = unlabelled
        if among is not None:
            positions = np.unique(graph.positions(among))
            allowed = positions[~labelled[positions]]
        if not len(allowed):
            raise InputError(
                "there is no unlabelled node to suggest. Name unlabelled nodes in among=, or leave it out."
            )
        rng = np.random.default_rng([model.seed, int(labelled.sum())])
        candidates = sample(allowed, max(DEFAULTS.suggest_candidates, 2 * n), rng)
        witnesses = sample(unlabelled, DEFAULTS.suggest_witnesses, rng)
        inputs = directions(model, witnesses)
        covered = coverage(model, inputs, np.flatnonzero(labelled))
        similarity = np.maximum(inputs @ directions(model, candidates).T, 0.0)
        doubt = doubts(model, witnesses) * (len(unlabelled) / len(witnesses))
        edges = sp.csr_array(graph.adjacency[candidates][:, candidates])
        picked = greedy(similarity, covered, doubt, uptake(model, candidates), edges, n)
        return [(graph.ids.item(int(candidates[q])), gain) for q, gain in picked]


def sample(nodes: Array, size: int, rng: np.random.Generator) -> Array:
    """A sorted random sample of at most `size` nodes."""
    return nodes if len(nodes) <= size else np.sort(rng.choice(nodes, size, replace=False))


def directions(model: FittedModel, nodes: Array) -> Array:
    """The encoder's inputs of nodes, scaled to unit length; zero rows stay zero."""
    rows = model.inputs.rows(model.inputs.Z[nodes])
    rows = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def coverage(model: FittedModel, inputs: Array, labelled: Array, block: int = 2048) -> Array:
    """c: each witness's similarity to the labelled node most similar to it."""
    covered = np.zeros(len(inputs), dtype=np.float32)
    for first in range(0, len(labelled), block):
        similarity = inputs @ directions(model, labelled[first : first + block]).T
        np.maximum(covered, similarity.max(axis=1), out=covered)
    return covered


def doubts(model: FittedModel, nodes: Array) -> Array:
    """How likely each node's label is wrong.

    A model of few labels is overconfident where it knows least, so its own doubt is mixed with the mean doubt: for
    l labels of c classes in the proportion l to `suggest_trust` c. First the graph is covered, then doubtful nodes
    are asked for.
    """
    own = 1.0 - model.readout.soften(model.scores[nodes], model.kinds(nodes)).max(axis=1)
    n_labels = model.labelled.sum()
    trust = n_labels / (n_labels + DEFAULTS.suggest_trust * len(model.classes))
    return np.asarray(trust * own + (1 - trust) * own.mean(), dtype=np.float64)


def uptake(model: FittedModel, candidates: Array) -> Array:
    """u_q = lambda2 G_qq / (1 + lambda2 G_qq); 1 for models whose G a push does not give."""
    system = model.system()
    if system is None:
        return np.ones(len(candidates))
    own = np.empty(len(candidates))
    for k, q in enumerate(candidates.tolist()):
        own[k] = system.column(q, DEFAULTS.exact_rtol).moves[0, 0]  # the push starts at q
    return system.lambda2 * own / (1.0 + system.lambda2 * own)


def greedy(
    similarity: Array, covered: Array, doubt: Array, uptake: Array, edges: Any, n: int
) -> list[tuple[int, float]]:
    """The best candidate, then the best given that one, and so on; no two neighbours while others are left."""
    similarity, covered = similarity.astype(np.float32), covered.copy()
    left = np.ones(similarity.shape[1], dtype=bool)
    not_adjacent = left.copy()
    picked: list[tuple[int, float]] = []
    while len(picked) < n and left.any():
        gains = uptake * (doubt @ np.maximum(similarity - covered[:, None], 0.0))
        usable = left & not_adjacent if (left & not_adjacent).any() else left
        q = int(np.argmax(np.where(usable, gains, -1.0)))
        picked.append((q, float(gains[q])))
        left[q] = False
        not_adjacent[edges.indices[edges.indptr[q] : edges.indptr[q + 1]]] = False
        np.maximum(covered, similarity[:, q], out=covered)
    return picked
