"""Inputs along one kind of edges: as if the graph had no other, in a fit, for new nodes and after updates."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from altopt import AltOpt, Graph
from altopt.errors import InputError
from altopt.inputs import (
    BlockInputs,
    FeatureInputs,
    HopInputs,
    InputSource,
    KindInputs,
    LabelShareInputs,
    StructureInputs,
)
from altopt.operator import NormalizedAdjacency
from two_kinds import hidden, two_good_kinds

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
KINDS = ("cites", "same author")
APART = BlockInputs(
    (HopInputs((0, 1, 2), "mean"), LabelShareInputs(), StructureInputs()), scaling=None
).apart(KINDS)


@pytest.fixture(scope="module")
def data():
    return two_good_kinds(seed=5, n=90)


def source_of(graph, data):
    codes = hidden(data)
    return InputSource(graph, NormalizedAdjacency(graph.adjacency), data.X, 0.2, 10, 0, codes, 3)


@pytest.mark.parametrize("inputs", [HopInputs(), LabelShareInputs(), StructureInputs()])
def test_they_are_those_of_the_kind_alone(data, inputs):
    both, alone = Graph(data.kinds), Graph(data.kinds["cites"])
    made = KindInputs("cites", inputs).prepare(source_of(both, data))
    assert_array_equal(made.rows(made.Z), inputs.prepare(source_of(alone, data)).rows(made.Z))


def test_apart_keeps_what_edges_play_no_part_in(data):
    assert FeatureInputs().apart(KINDS) == FeatureInputs()
    assert HopInputs((0,)).apart(KINDS) == HopInputs((0,))
    parts = HopInputs((0, 1)).apart(KINDS).parts
    assert parts == (HopInputs((0,)), *(KindInputs(kind, HopInputs((1,))) for kind in KINDS))
    assert APART.reads_kinds
    assert APART.reads_labels
    assert not HopInputs().reads_kinds


def test_a_kind_that_the_graph_has_not_is_refused(data):
    with pytest.raises(InputError, match="no such kind: its kinds are 'cites', 'same author'"):
        KindInputs("likes", HopInputs()).prepare(source_of(Graph(data.kinds), data))
    with pytest.raises(InputError, match="edges without kinds"):
        KindInputs("likes", HopInputs()).prepare(source_of(Graph(data.kinds["cites"]), data))
    with pytest.raises(InputError, match="name of a kind"):
        KindInputs(3, HopInputs())


@pytest.fixture(scope="module")
def fitted(data):
    model = AltOpt(random_state=0, cross_fit=False, inputs=APART)
    return model.fit(data.X, hidden(data), graph=data.kinds)


def dense(model):
    rows = model.inputs_.rows(model.inputs_.Z)
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


def test_updates_by_push_and_by_a_new_solve_read_the_same(fitted):
    fast, slow = copy.deepcopy(fitted), copy.deepcopy(fitted)
    slow.fitted_.system = lambda: None
    for model in (fast, slow):
        model.update(
            nodes=[90], features=np.ones((1, 8)), edges={"cites": [(90, 3)], "same author": [(90, 7)]}
        )
        model.update(edges={"same author": [(0, 1, 2.0)]}, refresh=True)
    assert_allclose(dense(fast), dense(slow), atol=1e-5)
    assert_allclose(fast.scores_, slow.scores_, atol=1e-5)


def test_a_stored_model_reads_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    again = AltOpt.load(tmp_path / "m")
    x, edges = np.ones((1, 8)), {"cites": [(0, 3)], "same author": [(0, 8)]}
    assert_array_equal(dense(again), dense(fitted))
    assert_allclose(again.predict_proba(x, edges=edges), fitted.predict_proba(x, edges=edges))
    only = fitted.predict_proba(x, edges={"cites": [(0, 3)]})
    assert np.abs(only - fitted.predict_proba(x, edges={"same author": [(0, 3)]})).max() > 0
