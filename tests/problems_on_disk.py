"""Small problems in memory and on disk, for fits of both kinds."""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from altopt import AltOpt
from altopt.inputs import ReducedInputs
from altopt.scale.graph_folder import GraphFolder


def communities(n=400, n_classes=10, n_features=20, seed=0, weighted=False):
    """Edges mostly within classes, features that hint at them, a tenth of the labels; some nodes are alone."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    ends = rng.integers(0, n, (2, 8 * n))
    keep = (y[ends[0]] == y[ends[1]]) | (rng.random(8 * n) < 0.05)
    ends = ends[:, keep & (ends[0] > 5) & (ends[1] > 5) & (ends[0] != ends[1])]
    values = rng.uniform(0.5, 2.0, ends.shape[1]).astype(np.float32) if weighted else np.ones(ends.shape[1])
    A = sp.coo_array((values, (ends[0], ends[1])), shape=(n, n)).tocsr()
    A = A.maximum(A.T) if weighted else ((A + A.T) > 0).astype(float)
    X = (rng.normal(size=(n_classes, n_features))[y] + 2.0 * rng.normal(size=(n, n_features))).astype(
        np.float32
    )
    known = np.full(n, -1)
    some = rng.choice(n, n // 4, replace=False)
    known[some] = y[some]
    return sp.csr_array(A), X, known


def same_candidate(**settings):
    """AltOpt with the candidate that fits on files make."""
    return AltOpt(inputs=ReducedInputs(), random_state=0, **settings)


def on_disk(folder: Path, A, X, y):
    return GraphFolder.of(A, X, y, folder)
