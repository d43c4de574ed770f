"""An order for caches: a permutation that brings neighbours together, taken where it pays, never seen from outside."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from altopt import AltOpt
from altopt.datasets.communities import communities
from altopt.datasets.splits import hide, per_class
from altopt.operator import NormalizedAdjacency, ordering
from altopt.operator.kernels import dispatch
from altopt.operator.layout import lay_out

KERNELS = ["scipy"] if dispatch.COMPILED is None else ["scipy", "native"]


@pytest.fixture(params=KERNELS)
def kernels(request, monkeypatch):
    monkeypatch.setenv("ALTOPT_KERNELS", request.param)


@pytest.fixture(scope="module")
def data():
    return communities(6000, 5, seed=1)


@pytest.mark.usefixtures("kernels")
def test_an_order_is_a_permutation_and_the_same_each_time(data):
    A = data.graph.adjacency
    order = ordering.community_order(A)
    assert_array_equal(np.sort(order), np.arange(A.shape[0]))
    assert_array_equal(order, ordering.community_order(A))


@pytest.mark.skipif(dispatch.COMPILED is None, reason="the native kernels were not built")
def test_communities_are_found_again(data):
    A = data.graph.adjacency
    order = ordering.community_order(A)
    assert ordering.near_share(A, None, 300) < 0.15
    assert ordering.near_share(A, order, 300) > 0.45


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("weighted", [False, True])
def test_a_layout_in_another_order_is_the_same_graph(weighted):
    rng = np.random.default_rng(0)
    A = sp.random_array((40, 40), density=0.1, rng=rng, format="csr")
    A = sp.csr_array(A + A.T)
    A.data = A.data if weighted else np.ones_like(A.data)
    order = rng.permutation(40)
    laid = lay_out(A, np.asarray(A.sum(axis=1)).ravel(), order)
    weights = np.ones(A.nnz) if laid.weights is None else laid.weights
    moved = sp.csr_array((weights, laid.indices, laid.indptr), shape=A.shape)
    assert_allclose(moved.toarray(), A.toarray()[np.ix_(order, order)])
    assert (laid.weights is None) is not weighted
    nodes = np.array([3, 7, 39])
    assert_array_equal(laid.order[laid.rows(nodes)], nodes)


@pytest.mark.usefixtures("kernels")
def test_no_order_where_it_would_not_pay(data, monkeypatch):
    A = data.graph.adjacency
    assert ordering.order_for(A, 64) is None  # the block fits in the caches
    monkeypatch.setattr(ordering, "CACHE_BYTES", 0)
    monkeypatch.setattr(ordering, "NEAR_BYTES", 64 * 300)
    ring = sp.csr_array(sp.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(6000, 6000)))
    assert ordering.order_for(ring, 64) is None  # neighbours are near already
    assert ordering.order_for(sp.csr_array((50, 50)), 64) is None
    ends = np.random.default_rng(0).integers(0, 6000, (2, 400_000))
    chance = sp.coo_array((np.ones(400_000), ends), shape=(6000, 6000)).tocsr()
    assert ordering.order_for(chance + chance.T, 64) is None  # nothing brings these together


@pytest.mark.skipif(dispatch.COMPILED is None, reason="the native kernels were not built")
def test_the_answer_does_not_depend_on_the_order(data, monkeypatch):
    y = hide(data.y, per_class(data.y, 10, seed=0).train)
    plain = AltOpt(random_state=0).fit(data.X, y, graph=data.graph)
    monkeypatch.setattr(ordering, "CACHE_BYTES", 0)
    monkeypatch.setattr(ordering, "NEAR_BYTES", 40 * 300)
    ordered = AltOpt(random_state=0).fit(data.X, y, graph=data.graph)
    assert "ordered" not in plain.trace_[-1]["kernel"]
    assert ordered.trace_[-1]["kernel"].endswith("ordered")
    assert_allclose(ordered.scores_, plain.scores_, atol=2e-4)
    assert np.mean(ordered.transduction_ == plain.transduction_) > 0.999


def test_the_operator_orders_once(data, monkeypatch):
    calls = []
    monkeypatch.setattr(ordering, "CACHE_BYTES", 0)
    monkeypatch.setattr("altopt.operator.operator.order_for", lambda *parts: calls.append(parts))
    A_tilde = NormalizedAdjacency(data.graph.adjacency)
    for width in (8, 16):
        assert A_tilde.backend(width).layout.order is None
    assert len(calls) == 1
