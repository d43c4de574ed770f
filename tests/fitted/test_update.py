"""Updates: after any sequence of changes F is what a solve from scratch gives, within the bound that is stated."""

import copy
import pickle

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from numpy.testing import assert_allclose, assert_array_equal

from altopt import AltOpt, Graph, InputError
from altopt.arrays import certainty
from altopt.datasets import communities
from altopt.fitted.system import with_arcs
from altopt.inputs import (
    Prepared,
)
from altopt.solvers import JacobiSteps
from altopt.views import GraphView, NoGraphView, SquaredLaplacianView
from parts import INPUTS
from problems import two_communities
from updated_models import assert_is_the_solution, fingerprint, fitted, from_scratch, roots_of_degrees

# any sequence of changes


class AnySequence(RuleBasedStateMachine):
    """Random labels, edges and nodes, one after another, on graphs of all kinds."""

    @initialize(
        weights=st.booleans(), self_loops=st.booleans(), coarse=st.booleans(), seed=st.integers(0, 2**20)
    )
    def begin(self, weights, self_loops, coarse, seed):
        names = [f"n{k}" for k in range(40)]
        self.model = fitted(names, weights, 40, self_loops=self_loops and not weights)
        self.tolerance = 1e-3 if coarse else None
        self.rng = np.random.default_rng(seed)
        self.change = None

    def node(self):
        return self.rng.choice(self.model.graph_.ids.tolist())

    @rule()
    def label(self):
        labels = {self.node(): int(self.rng.integers(-1, 2)) for _ in range(self.rng.integers(1, 4))}
        self.change = self.model.update(labels=labels, tolerance=self.tolerance)

    @rule()
    def add_or_reweigh_edges(self):
        pairs = [(self.node(), self.node(), float(self.rng.integers(1, 4))) for _ in range(3)]
        pairs = [(a, b, 1.0) if self.model.self_loops else (a, b, w) for a, b, w in pairs]
        unique = {frozenset(pair[:2]): pair for pair in pairs}
        self.change = self.model.update(edges=list(unique.values()), tolerance=self.tolerance)

    @precondition(lambda self: self.model.graph_.n_edges > 5)
    @rule()
    def remove_edges(self):
        upper = sp.coo_array(sp.triu(self.model.graph_.adjacency))
        chosen = self.rng.choice(upper.nnz, 2, replace=False)
        ids = self.model.graph_.ids
        pairs = [(ids[upper.row[k]], ids[upper.col[k]], 0) for k in chosen]
        self.change = self.model.update(edges=pairs, tolerance=self.tolerance)

    @rule(refresh=st.booleans())
    def add_nodes(self, refresh):
        n = self.model.graph_.n_nodes
        names = [f"n{n}", f"n{n + 1}"]
        edges = [(names[0], self.node()), (names[0], names[1])]
        labels = {names[1]: int(self.rng.integers(-1, 2))}
        X = self.rng.normal(size=(2, 8))
        self.change = self.model.update(labels, edges, names, X, refresh, tolerance=self.tolerance)
        assert {name for name, before, _ in self.change.moved if before is None} == set(names)

    @rule()
    def ask_what_if(self):
        before, node = fingerprint(self.model), self.node()
        answer = self.model.what_if({node: 1}, tolerance=self.tolerance)
        assert not answer.stored
        assert fingerprint(self.model) == before
        other = copy.deepcopy(self.model)
        stored = other.update(labels={node: 1}, tolerance=1e-9)
        rows = dict(zip(answer.nodes, answer.scores))
        roots = dict(zip(other.graph_.ids.tolist(), roots_of_degrees(other)))
        allowed = answer.error_bound + stored.error_bound
        for name, row in zip(other.graph_.ids.tolist(), other.scores_):
            now = rows.get(name, self.model.scores_[self.model.graph_.position(name)])
            assert np.linalg.norm(now - row) <= allowed * roots[name] + 1e-12

    @invariant()
    def is_the_solution(self):
        if getattr(self, "change", None) is not None:
            assert_is_the_solution(self.model, self.change)
            assert self.change.residual < 2e-3


TestAnySequence = AnySequence.TestCase
TestAnySequence.settings = settings(
    max_examples=12, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)


def test_a_hundred_changes_one_after_another():
    machine = AnySequence()
    machine.begin(weights=True, self_loops=False, coarse=False, seed=7)
    rules = [
        machine.label,
        machine.add_or_reweigh_edges,
        machine.remove_edges,
        lambda: machine.add_nodes(False),
    ]
    for k in range(100):
        rules[int(machine.rng.integers(len(rules)))]()
        if k % 10 == 9:
            machine.is_the_solution()
    assert np.linalg.norm(machine.model.scores_ - from_scratch(machine.model)) < 1e-4


# single changes


def test_a_label_moves_those_around_it_and_says_so():
    model = fitted()
    before = model.transduction_.copy()
    change = model.update(labels={40: 1 - before[40], 41: 1 - before[41]})
    expected = [(k, before[k], model.transduction_[k]) for k in np.flatnonzero(before != model.transduction_)]
    assert change.moved == expected
    assert (40, before[40], 1 - before[40]) in change.moved
    assert model.labelled_[[40, 41]].all()
    assert_is_the_solution(model, change)


def test_a_withdrawn_label_is_as_if_it_had_never_been_given():
    model = fitted()
    other = copy.deepcopy(model)
    other.update(labels={33: 0})
    other.update(labels={33: None})
    assert_allclose(other.scores_, model.scores_, atol=1e-7)
    assert_array_equal(other.labelled_, model.labelled_)


def test_an_edge_added_and_removed_leaves_no_trace():
    model = fitted()
    other = copy.deepcopy(model)
    assert other.graph_.adjacency[3, 4] == 0
    other.update(edges=[(3, 4)])
    assert other.graph_.adjacency[3, 4] == 1
    other.update(edges=[(4, 3, 0)])
    assert (other.graph_.adjacency != model.graph_.adjacency).nnz == 0
    assert_allclose(other.scores_, model.scores_, atol=1e-7)


def test_a_new_node_gets_what_predict_gives_it():
    model = fitted()
    X = np.random.default_rng(5).normal(size=(2, 8))
    expected = model.predict_proba(X, edges=[(0, 5), (0, 9), (1, 7)])
    model.update(features=X, edges=[(60, 5), (60, 9), (61, 7)])
    assert_allclose(model.label_distributions_[60:], expected, atol=1e-4)
    assert model.graph_.n_nodes == 62


def test_a_model_that_built_its_graph_ties_new_nodes_to_their_nearest():
    X, y, _, _ = two_communities(n=60)
    model = AltOpt(random_state=0, cross_fit=False).fit(X, y)
    change = model.update(features=X[:1] + 0.01)
    assert model.graph_.degrees[60] == 10
    assert_is_the_solution(model, change)
    assert model.predict(X[:3]).shape == (3,)


def test_refresh_renews_what_the_encoder_says_nearby_only():
    model = fitted()
    kept, renewed = copy.deepcopy(model), copy.deepcopy(model)
    kept.update(edges=[(2, 31)])
    assert_array_equal(kept.encoder_output_, model.encoder_output_)
    change = renewed.update(edges=[(2, 31)], refresh=True)
    changed = np.flatnonzero(np.any(renewed.encoder_output_ != model.encoder_output_, axis=1))
    near = {2, 31, *model.graph_.adjacency[[2]].indices, *model.graph_.adjacency[[31]].indices}
    assert {2, 31} <= set(changed.tolist()) <= near
    assert_is_the_solution(renewed, change)
    again = copy.deepcopy(model)
    again.update(edges=[(2, 31)], refresh=True)
    again.update(edges=[(2, 31, 0)], refresh=True)
    for part, was in zip(again.inputs_.Z.parts, model.inputs_.Z.parts, strict=True):
        assert_allclose(part, was, atol=1e-4)


@pytest.mark.parametrize("view", [GraphView, NoGraphView], ids=["pushed", "solved anew"])
def test_an_edge_that_is_there_already_renews_nothing(view):
    model = fitted(graph_view=view)
    source, target = (int(ends[0]) for ends in model.graph_.adjacency.nonzero())
    before = fingerprint(model)
    P = model.encoder_output_.copy()
    change = model.update(edges=[(source, target)], refresh=True)
    assert_array_equal(model.encoder_output_, P)
    if view is GraphView:
        assert change.n_changed == 0
        assert fingerprint(model) == before


def directed_model(kind, **settings):
    X, y, _, A = two_communities(n=60)
    graph = Graph(sp.csr_array(sp.triu(A)), directed=True)
    return AltOpt(inputs=kind, random_state=0, cross_fit=False, n_rounds=1, **settings).fit(X, y, graph=graph)


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("view", [GraphView, NoGraphView], ids=["pushed", "solved anew"])
def test_every_kind_of_inputs_takes_new_nodes_and_edges(name, view, tmp_path):
    model = directed_model(INPUTS[name], graph_view=view)
    X = np.random.default_rng(5).normal(size=(2, 8))
    edges = pa.table({"source": [60, 60, 7, 60], "target": [5, 9, 61, 61]})
    ids = [60, 61]
    for _ in range(2):  # the second time on a model that has grown
        P = model.predict_proba(X, edges=edges, ids=ids)
        n = model.graph_.n_nodes
        model.update(features=X, edges=[(n, 5), (n, 9), (7, n + 1), (n, n + 1)])
        assert_allclose(model.label_distributions_[n:], P, atol=1e-5)
        edges = pa.table({"source": [62, 62, 7, 62], "target": [5, 9, 63, 63]})
        ids = [62, 63]
    change = model.update(edges=[(3, 59), (60, 30), (61, 7, 0)], refresh=True)
    if view is GraphView:
        assert_is_the_solution(model, change)
    rows = model.inputs_.rows(model.inputs_.Z[np.arange(64)])
    near = [3, 59, 60, 30, 61, 7]
    assert_allclose(model.encoder_.predict(rows)[near], model.encoder_output_[near], atol=1e-3)
    model.save(tmp_path / "model")
    loaded = AltOpt.load(tmp_path / "model")
    assert fingerprint(loaded) == fingerprint(model)
    loaded.update(features=X[:1], edges=[(64, 60)], refresh=True)
    model.update(features=X[:1], edges=[(64, 60)], refresh=True)
    assert_allclose(loaded.scores_, model.scores_, atol=1e-6)


@pytest.mark.parametrize("name", INPUTS)
def test_both_ways_to_update_renew_the_same(name):
    """The push and the solve on all nodes are told the same edges."""
    asked = {"edges": [(31, 2), (60, 3), (2, 60)], "features": np.ones((1, 8)), "refresh": True}
    pushed = directed_model(INPUTS[name])
    anew = copy.deepcopy(pushed)
    anew.fitted_.solver = JacobiSteps(n_steps=300)
    for model in (pushed, anew):
        arc = sp.coo_array(model.graph_.directed_adjacency)
        back = (int(arc.col[0]), int(arc.row[0]))  # an edge that gets its other direction
        model.update(**{**asked, "edges": [*asked["edges"], back]})
    assert (pushed.graph_.directed_adjacency != anew.graph_.directed_adjacency).nnz == 0
    assert_allclose(pushed.encoder_output_, anew.encoder_output_, atol=1e-6)
    assert_allclose(pushed.scores_, anew.scores_, atol=1e-5)
    for state, other in zip(pushed.inputs_.state().values(), anew.inputs_.state().values(), strict=True):
        assert_allclose(state, other, atol=1e-5)


def test_directed_edges_are_set_one_after_another():
    rng = np.random.default_rng(3)
    A = np.where(rng.random((8, 8)) < 0.3, rng.random((8, 8)), 0.0)
    np.fill_diagonal(A, 0.0)
    arcs = [
        (int(s), int(t), float(w))
        for s, t, w in rng.integers([10, 10, 3], size=(60, 3)) / [1, 1, 7]
        if s != t
    ]
    expected = np.zeros((10, 10))
    expected[:8, :8] = A
    for source, target, weight in arcs:
        expected[source, target] = weight
        if expected[target, source] or not weight:
            expected[target, source] = weight
    found = with_arcs(sp.csr_array(A), 10, arcs)
    assert_array_equal(found.toarray(), expected)
    assert found.nnz == np.count_nonzero(expected)


class Unchanging(Prepared):
    """Inputs of a user's own without the optional methods."""

    def __init__(self, inner):
        self.Z, self.inner = inner.Z, inner

    def rows(self, Z):
        return self.inner.rows(Z)

    def extend(self, new):
        return self.inner.extend(new)

    def state(self):
        return self.inner.state()


def test_inputs_that_cannot_be_renewed_are_refused_before_anything_changed():
    model = fitted()
    model.fitted_.inputs = Unchanging(model.inputs_)
    before = fingerprint(model)
    with pytest.raises(
        InputError, match=r"refresh=True needs encoder inputs with renewed\(\), which Unchanging"
    ):
        model.update({3: 1}, edges=[(2, 31)], refresh=True)
    with pytest.raises(InputError, match=r"Adding nodes needs encoder inputs with with_rows\(\)"):
        model.update(features=np.ones((1, 8)))
    assert fingerprint(model) == before
    assert_is_the_solution(model, model.update({3: 1}, edges=[(2, 31)]))


@pytest.fixture(scope="module")
def judged():
    X, y, _, A = two_communities(n=60)
    return AltOpt(random_state=0, n_rounds=1).fit(X, y, graph=A)


@pytest.mark.parametrize(
    "asked", [{"labels": {40: 1}}, {"edges": [(2, 31)]}, {"features": np.ones((1, 8)), "edges": [(60, 3)]}]
)
def test_what_was_said_of_labels_at_the_fit_is_not_said_of_others(judged, asked, tmp_path):
    model = copy.deepcopy(judged)
    told = model.suspicious_labels(all=True)
    model.what_if({40: 1})
    model.update()
    assert model.suspicious_labels(all=True) == told
    kept = model.temperature_, model.choice_, model.graph_help_
    model.update(**asked)
    model.save(tmp_path / "model")
    for one in (model, AltOpt.load(tmp_path / "model")):
        with pytest.raises(
            InputError, match="suspicious_labels is out of date: the model was updated after fitting"
        ):
            one.suspicious_labels()
        with pytest.raises(AttributeError, match=r"leave_one_out_ is out of date: .* Call fit\(\) again"):
            one.leave_one_out_  # noqa: B018
        assert not hasattr(one, "leave_one_out_")
        assert (one.temperature_, one.choice_, one.graph_help_) == kept
    X, y, _, A = two_communities(n=60)
    assert model.fit(X, y, graph=A).suspicious_labels(all=True) == told


def test_a_fit_that_held_nothing_back_forgets_what_an_earlier_one_did(judged):
    X, y, _, A = two_communities(n=60)
    model = copy.deepcopy(judged).set_params(cross_fit=False).fit(X, y, graph=A)
    with pytest.raises(
        InputError, match="suspicious_labels needs held-out labels, and this fit held none out"
    ):
        model.suspicious_labels()
    assert model.graph_help_ is None
    model.update({40: 1})
    with pytest.raises(AttributeError, match="leave_one_out_ needs held-out labels"):
        model.leave_one_out_  # noqa: B018


def test_reached_follows_labels_and_edges():
    X = np.zeros((6, 3))
    X[:3] = np.eye(3)
    y = np.array([0, 1, -1, -1, -1, -1])
    model = AltOpt(random_state=0, n_rounds=1, cross_fit=False).fit(
        X, y, graph=Graph([(0, 1), (1, 2), (3, 4)], n_nodes=6)
    )
    assert model.reached_.tolist() == [True] * 3 + [False] * 3
    model.update(labels={4: 1})
    assert model.reached_.tolist() == [True] * 5 + [False]
    model.update(labels={4: -1}, edges=[(5, 0)])
    assert model.reached_.tolist() == [True] * 3 + [False] * 2 + [True]


@pytest.fixture
def islands():
    """Two communities, ten nodes with features but no edges, two without either; as many labels of each class."""
    made = communities(200, 2, mean_degree=6, signal=0.5, seed=4)
    X = np.concatenate([made.X, made.X[:10], np.zeros((2, made.X.shape[1]))])
    y = np.full(212, -1)
    for k in range(2):
        y[np.flatnonzero(made.y == k)[:15]] = k
    A = sp.block_diag([made.graph.adjacency, sp.csr_array((12, 12))], format="csr")
    return X, y, A


def test_nodes_without_evidence_have_the_class_shares_until_an_edge_comes(islands, tmp_path):
    X, y, A = islands
    model = AltOpt(random_state=0, class_prior={0: 0.3, 1: 0.7}).fit(X, y, graph=A)
    assert_allclose(model.label_distributions_[-2:], [model.fitted_.readout.unreached] * 2)
    assert model.label_distributions_[-1, 1] == pytest.approx(0.7, abs=0.08)
    assert not model.reached_[-1]
    before = model.fitted_.isolated.sum()
    assert model.fitted_.isolated[-12:].all()
    assert model.fitted_.readout.isolated is not None

    model.update(edges=[(211, int(np.flatnonzero(y == 0)[0])), (205, int(np.flatnonzero(y == 1)[0]))])
    assert model.reached_[-1]
    assert model.fitted_.isolated.sum() == before - 2
    expected = model.fitted_.readout.soften(model.scores_)
    assert_allclose(model.label_distributions_[[205, 211]], expected[[205, 211]])
    assert_allclose(model.confidence_, certainty(model.label_distributions_))
    unlabelled = ~model.labelled_
    assert_array_equal(model.transduction_[unlabelled], model.label_distributions_.argmax(axis=1)[unlabelled])

    model.save(tmp_path / "model")
    again = AltOpt.load(tmp_path / "model")
    assert_array_equal(again.label_distributions_, model.label_distributions_)
    model.update(edges=[(211, int(np.flatnonzero(y == 0)[0]), 0.0)])
    assert not model.reached_[-1]
    assert_allclose(model.label_distributions_[-1], model.fitted_.readout.unreached)


def test_new_nodes_without_evidence_have_the_class_shares(islands):
    X, y, A = islands
    model = AltOpt(random_state=0).fit(X, y, graph=A)
    nothing = np.zeros((3, X.shape[1]))
    nothing[2] = X[0]
    P = model.predict_proba(nothing, edges=[(1, 0)])
    assert_allclose(P[0], model.fitted_.readout.unreached)
    assert P[1].max() > P[0].max()
    alone = model.fitted_.readout
    assert alone.isolated is not None
    assert_allclose(P.sum(axis=1), 1.0)


def test_a_directed_graph_keeps_its_direction(tmp_path):
    X, y, _, A = two_communities(n=60)
    upper = sp.csr_array(sp.triu(A))
    model = AltOpt(random_state=0, cross_fit=False).fit(X, y, graph=Graph(upper, directed=True))
    change = model.update(edges=[(31, 2)])
    assert model.graph_.directed_adjacency[31, 2] == 1
    assert model.graph_.directed_adjacency[2, 31] == 0
    assert model.graph_.adjacency[2, 31] == 1
    assert_is_the_solution(model, change)
    model.save(tmp_path / "model")
    assert (AltOpt.load(tmp_path / "model").graph_.adjacency != model.graph_.adjacency).nnz == 0


def test_an_updated_model_is_stored_and_goes_on(tmp_path):
    model = fitted([f"n{k}" for k in range(60)])
    model.update({"n50": 1}, [("new", "n3"), ("n1", "n2", 0)] if model.graph_.adjacency[1, 2] else [("new", "n3")],
                 ["new"], np.ones((1, 8)))  # fmt: skip
    model.save(tmp_path / "model")
    loaded = AltOpt.load(tmp_path / "model")
    assert fingerprint(loaded) == fingerprint(model)
    assert_is_the_solution(loaded, loaded.update({"new": 0}))
    assert fingerprint(pickle.loads(pickle.dumps(model))) == fingerprint(model)


def test_single_precision_keeps_its_bound():
    """Large models hold F in float32; rounding must not be lost from the bound."""
    model = fitted()
    for name in ("scores", "encoder_output"):
        setattr(model.fitted_, name, getattr(model.fitted_, name).astype(np.float32))
    rng = np.random.default_rng(0)
    for _ in range(50):
        change = model.update(labels={int(rng.integers(60)): int(rng.integers(2))}, tolerance=1e-4)
    assert model.scores_.dtype == np.float32
    assert_is_the_solution(model, change)


@pytest.mark.parametrize(
    "make",
    [
        lambda: AltOpt(graph_view=SquaredLaplacianView, random_state=0, cross_fit=False),
        lambda: AltOpt(graph_view=NoGraphView, random_state=0, cross_fit=False),
        lambda: AltOpt(self_loops=True, random_state=0, cross_fit=False),
        lambda: AltOpt.paper(total_epochs=10, n_rounds=1, random_state=0),
    ],
)
def test_models_that_no_push_serves_are_solved_anew(make):
    X, y, _, A = two_communities(n=60)
    A = sp.lil_array(A * 2.0)
    A[0, 1] = A[1, 0] = 5.0
    model = make().fit(X, y, graph=sp.csr_array(A))
    before = fingerprint(model)
    assert not model.what_if({40: 1}).stored
    assert fingerprint(model) == before
    change = model.update({40: 1}, [(60, 3), (0, 1, 0)], None, np.ones((1, 8)))
    assert model.labelled_[40]
    assert model.graph_.adjacency[0, 1] == 0
    assert next(move for move in change.moved if move[1] is None)[0] == 60
    if change.error_bound is not None:
        assert np.linalg.norm(model.scores_ - from_scratch(model)) <= change.error_bound + 1e-9
    objective = model.fitted_.objective()
    start = model.scores_ if model.start_ is None else model.start_
    assert_allclose(model.fitted_.solver.solve(objective, start).F, model.scores_, atol=1e-5)


def test_a_weight_that_changes_every_self_loop_is_within_its_bound():
    model = fitted(self_loops=True)
    change = model.update(edges=[(0, 1, 0.5)])
    assert np.linalg.norm(model.scores_ - from_scratch(model)) <= change.error_bound + 1e-9
