"""An update by push: it ends, its bound is true, an interrupt leaves the model whole, threads take turns."""

import copy
import pickle
import sys
import threading
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import altopt.fitted.push as push_module
import altopt.fitted.system as system_module
from altopt import AltOpt
from altopt.datasets import communities
from altopt.errors import InputError
from altopt.fitted.system import LinearSystem
from updated_models import assert_is_the_solution, fingerprint, fitted, from_scratch, roots_of_degrees


def measured(model):
    """max_k ||r_k|| / sqrt(d_k), from nothing but the model's graph, labels, F and P."""
    m = model.fitted_
    graph = m.graph
    weights = {view.name: float(view.weight) for view in m.objective().views}
    fresh = LinearSystem(graph, m.normalized(graph), weights, m.codes, len(m.classes))
    return fresh.left_by_fit(m.scores, m.encoder_output)


@pytest.mark.parametrize("label_weight", [1e5, 1e7, 1e9])
def test_an_update_ends_with_a_true_bound_whatever_the_label_weight(label_weight):
    model = fitted(label_weight=label_weight)
    for labels in ({40: 1}, {40: -1, 41: 0}):
        change = model.update(labels)
        assert np.isfinite(model.scores_).all()
        off = np.linalg.norm(model.scores_ - from_scratch(model), axis=1) / roots_of_degrees(model)
        assert off.max() <= change.error_bound + 1e-12
        assert change.error_bound < 1e-3


def test_a_push_out_of_work_gives_way_to_a_solve(monkeypatch):
    model, alone = fitted(), fitted()
    labels, edges = {40: 1, 41: -1}, [(2, 31), (0, 2, 0)]
    expected = alone.update(labels, edges=edges)
    monkeypatch.setattr("altopt.operator.kernels.push.edge_limit", lambda rows, compiled: 3)
    change = model.update(labels, edges=edges)
    assert_is_the_solution(model, change)
    np.testing.assert_allclose(model.scores_, alone.scores_, atol=1e-5)
    assert [entry[0] for entry in change.moved] == [entry[0] for entry in expected.moved]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_bound_never_skips_what_is_not_finite(value):
    """A NaN that got into F, by whatever way: the update says so, or finds F anew, but promises nothing false."""
    model = fitted()
    model.fitted_.system()
    model.fitted_.scores[7, 1] = value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            change = model.update({40: 1})
        except InputError:
            return
    assert np.isfinite(model.scores_).all()
    assert_is_the_solution(model, change)


def interrupting(calls, at):
    """Raises KeyboardInterrupt at the `at`-th line that runs in altopt.fitted."""

    def trace(frame, event, arg):
        if "altopt/fitted" not in frame.f_code.co_filename or frame.f_code.co_name == "certainly":
            return trace if frame.f_code.co_name != "certainly" else None
        if event == "line":
            calls[0] += 1
            if calls[0] == at:
                raise KeyboardInterrupt
        return trace

    return trace


@pytest.mark.parametrize("request_", ["labels", "edges", "nodes", "what_if"])
def test_ctrl_c_at_any_line_of_an_update_leaves_the_model_whole(request_):
    """Interrupted anywhere, the model is as before, or as after; and it can be used."""

    def ask(model):
        if request_ == "labels":
            model.update({40: 1, 41: -1})
        elif request_ == "edges":
            model.update({3: 0}, edges=[(2, 31), (0, 2, 0)], refresh=True)
        elif request_ == "nodes":
            model.update(features=np.ones((1, 8)), edges=[(60, 3)], labels={60: 1})
        else:
            model.what_if({40: 1})

    untouched, changed = fitted(), fitted()
    untouched.fitted_.system()
    ask(changed)
    before, after = fingerprint(untouched), fingerprint(changed)
    model, at, seen = copy.deepcopy(untouched), 1, {before: 0, after: 0}
    model.fitted_.system()
    while True:
        calls = [0]
        earlier = sys.gettrace()
        sys.settrace(interrupting(calls, at))
        try:
            ask(model)
            interrupted = False
        except KeyboardInterrupt:
            interrupted = True
        finally:
            sys.settrace(earlier)
        if not interrupted:
            break
        mark = fingerprint(model)
        assert mark in seen, f"interrupted at line {at}: neither before nor after"
        seen[mark] += 1
        bound = model.what_if({50: 1}).error_bound
        assert measured(model) <= bound * model.fitted_.candidate.feature_weight + 1e-15
        if mark != before:
            model = copy.deepcopy(untouched)
            model.fitted_.system()
        at += 1 + at // 15
    assert seen[before] > 10


def test_400_updates_from_4_threads_keep_the_promise():
    model = fitted(n=120)
    bounds, errors = [], []

    def work(k):
        try:
            for j in range(100):
                change = model.update({(k * 31 + j) % 120: (k + j) % 2})
                bounds.append(change.error_bound)
                model.what_if({(k * 7 + j) % 120: 0})
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert measured(model) <= bounds[-1] * model.fitted_.candidate.feature_weight * (1 + 1e-6)
    assert_is_the_solution(model, model.what_if({}))


def test_what_is_read_while_another_thread_updates_is_of_one_moment(tmp_path):
    """Every label and edge set at once: a reader finds all of them or none, in every attribute, copy and store."""
    model = fitted()
    half = dict.fromkeys(range(20, 40), 0)
    other = dict.fromkeys(half, 1)
    nodes = list(half)
    errors, stop = [], threading.Event()

    def one_moment(read):
        assert len(set(np.asarray(read.transduction_)[nodes].tolist())) == 1
        states = {int(read.transduction_[nodes[0]])}
        assert states <= {0, 1}

    def ask(k):
        try:
            while not stop.is_set():
                assert len(set(model.transduction_[nodes].tolist())) == 1
                F = model.scores_
                kept = F.copy()
                P = model.label_distributions_
                assert np.isfinite(P).all()
                one_moment(pickle.loads(pickle.dumps(model)))
                one_moment(copy.deepcopy(model))
                model.save(tmp_path / f"model{k}")
                one_moment(AltOpt.load(tmp_path / f"model{k}"))
                model.predict(np.ones((1, 8)), edges=[(0, 5)])
                model.suggest(2)
                assert_array_equal(F, kept)  # an array that was handed out stays as it was
        except Exception as error:
            errors.append(error)

    model.update(half)
    threads = [threading.Thread(target=ask, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for k in range(25):
        model.update(other if k % 2 else half, edges=[(1, 50, 1.0 if k % 2 else 2.0)])
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors


def test_many_updates_take_no_more_memory_and_keep_their_bound(monkeypatch):
    """Replaced rows and the log of edges are laid out again; the sums stay true."""
    monkeypatch.setattr(system_module, "MAX_LOG", 20)
    model = fitted(weights=True)
    rng = np.random.default_rng(0)
    system = model.fitted_.system()
    for _ in range(120):
        a, b = rng.choice(60, 2, replace=False).tolist()
        change = model.update({a: int(rng.integers(2))}, edges=[(a, b, 1.0 + rng.random())])
    assert model.fitted_.system() is system
    assert len(system.log) <= 20 + len(system.base) // 64 + 1
    assert system.n_extra <= 20 + len(system.base) + 120
    assert_is_the_solution(model, change)
    assert measured(model) <= change.error_bound * system.lambda1 * (1 + 1e-6)


def test_rounding_is_part_of_the_bound(monkeypatch):
    """A tolerance below what float64 can tell: the bound says so."""
    monkeypatch.setattr(push_module, "MIN_TOLERANCE", np.inf)
    d = communities(n_nodes=80, n_classes=3, seed=0)
    y = np.where(np.arange(80) < 20, d.y, -1)
    model = AltOpt(random_state=0, cross_fit=False).fit(d.X, y, graph=d.graph)
    rng = np.random.default_rng(0)
    for _ in range(200):
        change = model.update({int(rng.integers(80)): int(rng.integers(3))}, tolerance=1e-16)
    assert measured(model) <= change.residual
