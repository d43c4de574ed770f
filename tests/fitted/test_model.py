"""FittedModel: the one owner of what a fit leaves behind."""

import copy
import pickle
import threading
from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from altopt import AltOpt, Graph
from altopt.fitted.attributes import FittedAttributes
from altopt.fitted.model import FittedModel, PerNode, components_of, reached_nodes
from problems import two_communities
from updated_models import fingerprint, fitted

ATTRIBUTES = [name for name, value in vars(FittedAttributes).items() if isinstance(value, property)]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_are_there_after_fit_and_cannot_be_set(name):
    assert not hasattr(AltOpt(), name)
    with pytest.raises(NotFittedError, match=r"not fitted yet. Call fit\(\) first"):
        getattr(AltOpt(), name)
    with pytest.raises(AttributeError):
        setattr(AltOpt(), name, None)


@pytest.mark.parametrize("name", ["scores_", "encoder_output_", "confidence_", "reached_", "classes_"])
def test_arrays_of_the_model_are_handed_out_read_only(name):
    model = fitted()
    with pytest.raises(ValueError, match="read-only"):
        getattr(model, name)[0] = 0


def test_reading_changes_nothing():
    """A getter that writes would race with another thread, and cost the first reader after each update."""
    model = fitted([f"n{k}" for k in range(60)])
    model.update({"n50": 1}, edges=[("n3", "n9")])
    held = dict(vars(model.fitted_))
    mark = pickle.dumps(model.fitted_)
    for name in ATTRIBUTES:
        try:
            getattr(model, name)
        except AttributeError:  # leave_one_out_ of a fit that held nothing back
            assert name == "leave_one_out_"
    assert all(vars(model.fitted_)[key] is value for key, value in held.items())
    assert pickle.dumps(model.fitted_) == mark


def test_every_per_node_array_grows_with_new_nodes():
    model = fitted()
    per_node = [entry.name for entry in fields(FittedModel) if entry.type is PerNode]
    assert {"scores", "encoder_output", "codes", "labels", "confidence", "reached"} <= set(per_node)
    model.update(features=np.ones((2, 8)), edges=[(60, 3), (61, 60)])
    assert {name: len(getattr(model.fitted_, name)) for name in per_node} == dict.fromkeys(per_node, 62)


def test_threads_may_read_and_ask_while_another_updates():
    model = fitted()
    errors, stop = [], threading.Event()

    def ask():
        rng = np.random.default_rng(0)
        while not stop.is_set():
            try:
                explanation = model.explain(int(rng.integers(60)))
                total = explanation.label_evidence + explanation.feature_evidence + explanation.tail
                np.testing.assert_allclose(total, explanation.evidence, atol=1e-9)
                model.suggest(2)
                assert model.graph_.n_nodes == 60
            except Exception as error:
                errors.append(error)
                return

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    rng = np.random.default_rng(1)
    for _ in range(30):
        change = model.update(
            {int(rng.integers(60)): int(rng.integers(2))}, edges=[(3, 40, 1 + rng.random())]
        )
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors
    from updated_models import assert_is_the_solution

    assert_is_the_solution(model, change)


def test_updates_from_several_threads_are_all_taken_in():
    model, alone = fitted(), fitted()
    labels = {node: int(node % 2) for node in range(20, 60)}
    parts = [dict(list(labels.items())[k::4]) for k in range(4)]

    def give(part):
        for node, label in part.items():
            model.update({node: label})

    threads = [threading.Thread(target=give, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone.update(labels)
    assert_array_equal(model.labelled_, alone.labelled_)
    assert_array_equal(model.transduction_[20:], [labels[node] for node in range(20, 60)])
    np.testing.assert_allclose(model.scores_, alone.scores_, atol=1e-6)


def test_a_copy_shares_nothing_that_changes():
    model = fitted()
    other = copy.deepcopy(model)
    before = fingerprint(model)
    other.update({40: 1}, edges=[(2, 31)], refresh=True)
    assert fingerprint(model) == before
    assert fingerprint(other) != before


def test_a_failed_fit_leaves_no_half_model():
    X, y, _, A = two_communities(n=60)
    model = fitted()
    with pytest.raises(ValueError):
        model.fit(X, y[:-1], graph=A)
    assert not hasattr(model, "scores_")


def test_reached_nodes_have_features_or_a_label_in_their_component():
    graph = Graph([(0, 1), (2, 3)], n_nodes=5)
    components = components_of(graph.adjacency)
    codes = np.array([0, -1, -1, -1, -1])
    reached = reached_nodes(5, np.array([1, 3, 4]), components, codes)
    assert reached.tolist() == [True, True, True, False, False]


def test_the_objective_is_that_of_the_fit():
    model = fitted()
    F = model.scores_
    parts = model.fitted_.objective().parts(F)
    last = model.trace_[-1]
    for name in ("features", "graph", "labels"):
        assert parts[name] == pytest.approx(last[name], rel=1e-6)
