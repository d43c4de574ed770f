"""Renumbering the nodes changes no label, also where samples of nodes are drawn."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from altopt import AltOpt
from altopt.datasets.communities import generate
from altopt.defaults import DEFAULTS
from altopt.graph import Graph
from altopt.operator import NormalizedAdjacency
from altopt.selection.fit_data import FitData

N = 9_000  # more unlabelled nodes than pseudo labels are drawn from


@pytest.fixture(scope="module")
def case():
    made = generate(N, 5, 0.0, 3 * N, 16, "dense", 0.3, 0)
    A = sp.csr_array((np.ones(len(made.indices)), made.indices, made.indptr), shape=(N, N))
    y = np.where(np.random.default_rng(1).random(N) < 0.02, made.y, -1)
    return A, made.X, y


def test_hardly_a_label_changes(case):
    """Rounding is all that differs, which the rounds enlarge: nodes between two classes may change sides."""
    A, X, y = case
    assert (y < 0).sum() > DEFAULTS.pseudo_limit
    new = np.random.default_rng(2).permutation(N)
    one = AltOpt(random_state=0).fit(X, y, graph=A)
    other = AltOpt(random_state=0).fit(X[new], y[new], graph=A[new][:, new])
    changed = one.transduction_[new] != other.transduction_
    two_best = np.sort(one.label_distributions_[new], axis=1)[:, -2:]
    assert changed.mean() < 0.01
    assert np.median(np.diff(two_best[changed], axis=1)) < 0.05
    assert one.choice_["plan"] == other.choice_["plan"]
    assert abs(one.leave_one_out_.accuracy - other.leave_one_out_.accuracy) < 0.01


def test_without_features_a_node_is_known_by_its_surroundings(case):
    A, _, y = case
    new = np.random.default_rng(2).permutation(N)

    def data(A, y):
        graph = Graph(A)
        X = sp.csr_array(sp.eye_array(N, format="csr"))
        return FitData(graph, NormalizedAdjacency(graph.adjacency), X, y, 5, np.dtype(float), 0.2, 10, seed=0)

    one, other = data(A, y).key, data(A[new][:, new], y[new]).key
    assert_allclose(one[new], other, atol=1e-10)
    assert len(np.unique(one.round(9))) > 0.9 * N
