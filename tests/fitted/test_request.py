"""Requests to update: every form is read, and what is wrong is refused as a whole."""

import copy

import numpy as np
import pyarrow as pa
import pytest

from altopt import AltOpt, InputError
from problems import two_communities
from updated_models import assert_is_the_solution, fingerprint, fitted

# refusals leave everything as it was

REFUSALS = {
    "an unknown node": ({"labels": {"nobody": 0}}, "labels names node 'nobody', which is not in the graph"),
    "two labels": ({"labels": [("n3", 0), ("n3", 1)]}, "gives node 'n3' two different labels"),
    "a foreign class": ({"labels": {"n3": 7}}, "the label 7, which is not among the classes"),
    "an edge to nowhere": ({"edges": [("n3", "nobody")]}, "edges names node 'nobody', which is not in the graph"),
    "two weights": ({"edges": [("n3", "n4", 1.0), ("n4", "n3", 2.0)]}, "two weights. Decide on one"),
    "a negative weight": ({"edges": [("n3", "n4", -1.0)]}, "the weight -1.0"),
    "an edge that is not there": ({"edges": [("n0", "n59", 0)]}, "there is no such edge"),
    "an edge of four": ({"edges": [("n0", "n59", 0, 1)]}, "but edges holds"),
    "no features": ({"nodes": ["new"]}, "nodes names 'new', but features is not given"),
    "too few features": ({"nodes": ["new", "newer"], "features": np.ones((1, 8))}, "2 new nodes but features has 1"),
    "features too wide": ({"nodes": ["new"], "features": np.ones((1, 9))}, "9 features"),
    "features that are not numbers": ({"nodes": ["new"], "features": np.full((1, 8), np.nan)}, "has NaN in row 0"),
    "no ids": ({"features": np.ones((1, 8))}, "does not say their ids"),
    "a known node": ({"nodes": ["n3"], "features": np.ones((1, 8))}, "'n3', which is in the graph already"),
    "a node twice": ({"nodes": ["a", "a"], "features": np.ones((2, 8))}, "names 'a' twice"),
    "something good first": (
        {"labels": {"n8": 1}, "edges": [("n3", "n9"), ("n0", "n59", 0)], "nodes": ["q"], "features": np.ones((1, 8))},
        "there is no such edge",
    ),
    "labels of no form": ({"labels": 3}, "labels must be"),
    "a tolerance of nothing": ({"labels": {"n3": 1}, "tolerance": 0.0}, "tolerance must be a number above 0"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSALS)
@pytest.mark.parametrize("updated", [False, True])
def test_wrong_input_is_refused_in_one_sentence_and_changes_nothing(what, updated):
    model = fitted([f"n{k}" for k in range(60)])
    assert model.graph_.adjacency[0, 59] == 0
    if updated:
        model.update({"n44": 0})
    before = fingerprint(model)
    asked, words = REFUSALS[what]
    with pytest.raises(InputError, match=words):
        model.update(**asked)
    assert fingerprint(model) == before
    change = model.update({"n45": 0})
    assert_is_the_solution(model, change)


def test_views_that_are_not_quadratic_are_refused():
    X, y, _, A = two_communities(n=60)
    model = AltOpt.paper("N", total_epochs=4, n_rounds=1, random_state=0).fit(X, y, graph=A)
    with pytest.raises(InputError, match="update needs views that are quadratic"):
        model.update({3: 1})


def test_tables_dicts_and_pairs_are_the_same_update():
    names = [f"n{k}" for k in range(60)]
    forms = [
        {"labels": {"n50": 1, "n51": None}, "edges": [("n3", "n4", 2.0)]},
        {"labels": [("n50", 1), ("n51", -1)], "edges": [["n4", "n3", 2]]},
        {
            "labels": pa.table({"node": ["n50", "n51"], "label": [1, None]}),
            "edges": pa.table({"source": ["n3"], "target": ["n4"], "weight": [2.0]}),
        },
    ]
    base, found = fitted(names), []
    for form in forms:
        model = copy.deepcopy(base)
        model.update(**form)
        found.append(fingerprint(model))
    assert len(set(found)) == 1
