"""Every kind of encoder inputs in a fit, and the settings that are refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from altopt import AltOpt, Graph, InputError
from altopt.checks import check_inputs
from altopt.inputs import (
    AdjacencyInputs,
    BlockInputs,
    DegreeInputs,
    HopInputs,
    InputSource,
    RawInputs,
    ReducedInputs,
    encoder_rows,
)
from altopt.inputs.rows import LazyRows
from altopt.operator import NormalizedAdjacency
from parts import INPUTS
from toy_inputs import N, as_if_wide, dense, directed, features, prepared, source_of


@pytest.fixture(params=INPUTS)
def kind(request):
    return INPUTS[request.param]


@pytest.mark.parametrize("name", ["reduced", "hops", "out-means", "in-means", "blocks, as they are"])
def test_inputs_of_a_wide_X_keep_the_contract(name, monkeypatch):
    as_if_wide(monkeypatch)
    check_inputs(INPUTS[name])


def test_rows_made_block_by_block_are_the_rows(kind):
    made = prepared(kind)
    lazy = LazyRows(made)
    assert lazy.shape == encoder_rows(made).shape
    assert_allclose(dense(lazy[10:25]), dense(encoder_rows(made))[10:25], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("keeps_direction", [True, False])
@pytest.mark.parametrize("restart", [0.2, 1.0])
@pytest.mark.parametrize("form", [sp.csr_array, dense])
def test_the_bytes_kept_are_those_stated(kind, keeps_direction, restart, form):
    if not keeps_direction and ("'out'" in repr(kind) or "'in'" in repr(kind)):
        pytest.skip("needs a directed graph")
    A = directed()
    graph = Graph(A, directed=True) if keeps_direction else Graph(sp.csr_array(A.maximum(A.T)))
    source = source_of(graph, form(features()), restart)
    assert kind.prepare(source).nbytes == kind.memory(source.shape).kept


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (AdjacencyInputs("out"), "direction='out' needs a directed graph"),
        (HopInputs(direction="in"), "direction='in' needs a directed graph"),
    ],
)
def test_what_cannot_be_made_is_refused(kind, message):
    graph = Graph(np.array([[0, 1], [1, 2]]), n_nodes=N)
    with pytest.raises(InputError, match=message):
        kind.prepare(InputSource(graph, NormalizedAdjacency(graph.adjacency), features(), 0.2, 10, 0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: HopInputs(hops=(2, 1)), "hops must be increasing whole numbers"),
        (lambda: HopInputs(hops=()), "hops must be increasing whole numbers"),
        (lambda: HopInputs(hops=(-1, 1)), "each of hops must be a whole number from 0 on, but is -1"),
        (lambda: HopInputs(n_components=0), "n_components must be a whole number from 1 on, but is 0"),
        (lambda: HopInputs(n_components=True), "n_components must be a whole number from 1 on, but is True"),
        (lambda: HopInputs(row_exponent=float("nan")), "row_exponent must be a number, but is nan"),
        (lambda: ReducedInputs(n_power=-1), "n_power must be a whole number from 0 on, but is -1"),
        (lambda: ReducedInputs(storage="int8"), "storage must be 'float32' or 'float16', but is 'int8'"),
        (lambda: AdjacencyInputs("up"), "direction must be 'both', 'out' or 'in', but is 'up'"),
        (lambda: DegreeInputs(n_hops=-1), "n_hops must be a whole number from 0 on, but is -1"),
        (lambda: BlockInputs(()), "needs at least one part"),
        (lambda: BlockInputs([RawInputs()]), "parts must be a tuple of inputs"),
        (
            lambda: BlockInputs((RawInputs(),), scaling="loud"),
            "scaling must be 'unit', 'level', 'size' or None",
        ),
    ],
)
def test_settings_are_checked_where_they_are_made(make, message):
    with pytest.raises(InputError, match=message):
        make()


class Unhashable(RawInputs):
    __hash__ = None


@pytest.mark.parametrize(
    ("inputs", "message"), [(Unhashable(), "must be hashable"), ("hops", "must be an instance")]
)
def test_what_is_no_input_is_refused_before_the_fit(inputs, message):
    with pytest.raises(InputError, match=message):
        AltOpt(inputs=inputs).fit(np.eye(4), [0, 1, -1, -1], graph=[(0, 1), (2, 3)])


def test_every_kind_fits_predicts_later_nodes_and_is_stored(kind, tmp_path):
    A, X = directed(), features()
    y = np.where(np.arange(N) < 30, np.arange(N) % 3, -1)
    model = AltOpt(inputs=kind, n_rounds=1, cross_fit=False, random_state=0).fit(
        X, y, graph=Graph(A, directed=True)
    )
    P = model.predict_proba(features(seed=4)[:3], edges=[(0, 1), (0, 2), (1, 7)])
    assert_allclose(P.sum(axis=1), 1.0, atol=1e-6)
    model.save(tmp_path / "m")
    again = AltOpt.load(tmp_path / "m")
    assert again.inputs == kind
    assert_array_equal(again.predict_proba(features(seed=4)[:3], edges=[(0, 1), (0, 2), (1, 7)]), P)


def test_undirected_kinds_work_on_the_graph_built_from_X(tmp_path):
    X = features().toarray()
    y = np.where(np.arange(N) < 30, np.arange(N) % 3, -1)
    kind = BlockInputs((RawInputs(), AdjacencyInputs(), HopInputs(n_components=6), DegreeInputs()))
    model = AltOpt(inputs=kind, n_rounds=1, cross_fit=False, random_state=0).fit(X, y)
    assert_allclose(model.predict_proba(X[:4] + 0.1).sum(axis=1), 1.0, atol=1e-6)
