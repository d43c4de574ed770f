"""RandomWalks, Contrast and Reconstruction in a fit: they label, are stored, and are made once."""

import numpy as np
import pytest

from altopt import AltOpt, InputError
from altopt.operator import NormalizedAdjacency
from altopt.views import Contrast, RandomWalks, Reconstruction, reconstruction_graph
from altopt.views import walks as module
from problems import two_communities


@pytest.mark.parametrize(
    "choice",
    [RandomWalks(n_components=16), RandomWalks(p=0.5, q=2.0, n_walks=5, n_components=16), Contrast(2.0)],
)
def test_a_model_labels_and_is_stored(choice, tmp_path):
    X, y, truth, A = two_communities()
    model = AltOpt(graph_view=choice, cross_fit=False, random_state=0).fit(X, y, graph=A)
    assert np.mean(model.transduction_ == truth) > 0.85
    model.save(tmp_path / "m")
    again = AltOpt.load(tmp_path / "m")
    assert again.graph_view == choice
    assert (again.transduction_ == model.transduction_).all()


def test_weights_solved_from_features_are_those_of_the_view():
    X, y, truth, A = two_communities()
    graph = reconstruction_graph(X, A)
    model = AltOpt(graph_view=Reconstruction(), random_state=0).fit(X, y, graph=graph)
    assert np.mean(model.transduction_ == truth) > 0.85
    view = Reconstruction().view(graph, NormalizedAdjacency(graph.adjacency))
    np.testing.assert_allclose(view.W.toarray(), graph.directed_adjacency.toarray(), atol=1e-12)


def test_walks_are_made_once_for_a_graph(monkeypatch):
    X, y, _, A = two_communities()
    made, embed = [], module.embedding_of
    monkeypatch.setattr(module, "embedding_of", lambda *args: made.append(1) or embed(*args))
    AltOpt(graph_view=RandomWalks(n_components=7), random_state=0).fit(X, y, graph=A)
    assert len(made) == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RandomWalks(window=0), "window must be a whole number from 1 on"),
        (lambda: RandomWalks(p=0.0), "p must be a number above 0"),
        (lambda: RandomWalks(length=1), "length must be a whole number from 2 on"),
        (lambda: Contrast(-1.0), "negatives must be a number"),
    ],
)
def test_wrong_settings_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
