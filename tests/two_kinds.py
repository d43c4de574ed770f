"""A generated graph with two kinds of edges, each of which tells something, and one that tells nothing."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

N_LABELS = 60


@dataclass(frozen=True)
class TwoKinds:
    X: Any
    y: Any
    kinds: dict[str, Any]


def edges_between(rng, y, n_edges, share_within):
    """Edges whose target is of the source's class with this probability."""
    source = rng.integers(0, len(y), n_edges)
    within = rng.random(n_edges) < share_within
    target = rng.integers(0, len(y), n_edges)
    by_class = [np.flatnonzero(y == k) for k in range(y.max() + 1)]
    target[within] = [rng.choice(by_class[y[i]]) for i in source[within]]
    return symmetric(source, target, len(y))


def symmetric(source, target, n):
    keep = source != target
    A = sp.csr_array((np.ones(keep.sum()), (source[keep], target[keep])), shape=(n, n))
    A = sp.csr_array(A + A.T)
    A.data[:] = 1.0
    return A


def two_good_kinds(seed=0, n=400, n_classes=3, share_within=0.65):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = np.eye(n_classes)[y] @ rng.normal(size=(n_classes, 8)) * 0.5 + rng.normal(size=(n, 8))
    kinds = {name: edges_between(rng, y, 2 * n, share_within) for name in ("cites", "same author")}
    return TwoKinds(X, y, kinds)


def with_random_kind(data, seed=0):
    rng = np.random.default_rng(seed)
    return {"cites": data.kinds["cites"], "random": edges_between(rng, data.y, 2 * len(data.y), 0.0)}


def with_opposed_kind(data, seed=0, share=0.9):
    """A kind that ties each class to the next one."""
    rng = np.random.default_rng(seed)
    source = rng.integers(0, len(data.y), 2 * len(data.y))
    n_classes = data.y.max() + 1
    following = [np.flatnonzero(data.y == (k + 1) % n_classes) for k in range(n_classes)]
    target = np.array([rng.choice(following[data.y[i]]) for i in source])
    anywhere = rng.random(len(source)) > share
    target[anywhere] = rng.integers(0, len(data.y), anywhere.sum())
    return {"cites": data.kinds["cites"], "opposed": symmetric(source, target, len(data.y))}


def hidden(data, seed=0, n_labels=None):
    """y with a few labels known."""
    rng = np.random.default_rng(seed)
    y = np.full(len(data.y), -1)
    known = rng.choice(len(data.y), n_labels or N_LABELS, replace=False)
    y[known] = data.y[known]
    return y
