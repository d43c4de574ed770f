"""Small fitted models to update, and what must hold after every update."""

import copy
import hashlib

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from altopt import AltOpt, Graph
from altopt.operator import NormalizedAdjacency
from altopt.solvers import Direct
from problems import two_communities

MADE: dict = {}  # fitted models, each made once


def fitted(names=None, weights=False, n=60, **settings):
    key = repr((names, weights, n, settings))
    if key not in MADE:
        MADE[key] = newly_fitted(names, weights, n, **settings)
    return copy.deepcopy(MADE[key])


def newly_fitted(names, weights, n, **settings):
    X, y, _, A = two_communities(n=n)
    if weights:
        A = sp.csr_array(A * (1 + np.abs(np.subtract.outer(np.arange(n), np.arange(n))) % 3))
    graph = Graph(A) if names is None else Graph(A, nodes=names)
    return AltOpt(random_state=0, cross_fit=False, **settings).fit(X, y, graph=graph)


def from_scratch(model):
    objective = model.fitted_.objective()
    return Direct().solve(objective, model.scores_).F


def roots_of_degrees(model):
    degrees = NormalizedAdjacency(model.graph_.adjacency, model.self_loops).degrees
    return np.sqrt(np.where(degrees > 0, degrees, 1.0))


def assert_is_the_solution(model, change):
    """Each row within sqrt(degree) times the stated bound of the solution from scratch."""
    roots = roots_of_degrees(model)
    off = np.linalg.norm(model.scores_ - from_scratch(model), axis=1) / roots
    assert off.max() <= change.error_bound + 1e-12
    reading = model.fitted_.readout.read(model.scores_)
    assert_allclose(model.confidence_, reading.w, atol=1e-12)
    free = ~model.labelled_
    assert_array_equal(model.transduction_[free], model.classes_[reading.label[free]])
    assert_array_equal(model.transduction_[~free], model.classes_[model.Y_.argmax(axis=1)])
    assert_allclose(model.label_distributions_.sum(axis=1), 1.0, rtol=1e-6)
    assert len(model.reached_) == len(model.scores_) == model.graph_.n_nodes == len(model.encoder_output_)


def fingerprint(model):
    """All a user can see of a model, as one number."""
    marks = hashlib.sha256()
    arrays = [
        model.scores_,
        model.encoder_output_,
        model.labelled_,
        model.Y_,
        model.confidence_,
        model.reached_,
    ]
    arrays += [model.graph_.adjacency.indptr, model.graph_.adjacency.indices, model.graph_.adjacency.data]
    for array in [*arrays, *model.inputs_.state().values()]:
        marks.update(np.ascontiguousarray(array).tobytes())
    marks.update(repr((model.transduction_.tolist(), model.graph_.ids.tolist())).encode())
    return marks.hexdigest()
