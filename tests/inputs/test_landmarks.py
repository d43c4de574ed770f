"""Scaling on landmarks keeps the distances between features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import pairwise_distances

from altopt import AltOpt, Graph, InputError
from altopt.inputs import InputSource, LandmarkInputs
from altopt.inputs.landmarks import far_apart
from altopt.operator import NormalizedAdjacency
from problems import two_communities


def prepared(inputs, X):
    graph = Graph([(0, 1)], n_nodes=len(X))
    return inputs.prepare(InputSource(graph, NormalizedAdjacency(graph.adjacency), X, 1.0, 0, 0))


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
def test_distances_are_kept(distance):
    X = np.random.default_rng(0).normal(size=(40, 3))
    made = prepared(LandmarkInputs(n_components=6, n_landmarks=12, distance=distance), X)
    read = made.columns.transform(X)
    read = read / np.linalg.norm(read, axis=1, keepdims=True) if distance == "cosine" else read
    assert_allclose(pairwise_distances(made.Z), pairwise_distances(read), atol=2e-3)
    assert not made.Z[:, 3:].any(), "three columns span no more"


def test_landmarks_lie_far_apart():
    X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [-8.0]])
    assert {int(k) for k in far_apart(X, 3)} in ({5, 4, 2}, {5, 4, 0}, {5, 4, 1}, {5, 4, 3})
    assert len(set(far_apart(X, 6).tolist())) == 6


def test_a_model_on_landmarks_is_stored_and_serves_new_nodes(tmp_path):
    X, y, truth, A = two_communities()
    model = AltOpt(inputs=LandmarkInputs(n_components=8, n_landmarks=40), random_state=0).fit(X, y, graph=A)
    assert np.mean(model.transduction_ == truth) > 0.7
    model.save(tmp_path / "m")
    again = AltOpt.load(tmp_path / "m")
    assert (again.predict(X[:3], edges=[(0, 1)]) == model.predict(X[:3], edges=[(0, 1)])).all()


def test_wrong_settings_are_refused():
    with pytest.raises(InputError, match="n_landmarks must be a whole number from 2 on"):
        LandmarkInputs(n_landmarks=1)
    with pytest.raises(InputError, match="distance must be 'cosine' or 'euclidean'"):
        LandmarkInputs(distance="hops")
