"""The local push: the native one walks as its slow twin does, and both end at the dense answer."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from altopt.arrays import inverse_sqrt
from altopt.operator.kernels.dispatch import native_available
from altopt.operator.kernels.push import NativePush, PythonPush, SystemRows, observed_pushes
from altopt.operator.kernels.push import push as new_push
from problems import toy

needs_native = pytest.mark.skipif(not native_available(), reason="native kernels were not built")


def system_rows(weighted=True, extra_rows=(2, 5), seed=0):
    """A toy graph, some of whose rows were moved behind the others, and its H."""
    problem = toy(seed=seed, weighted=weighted)
    A = problem.adjacency
    begin, end = A.indptr[:-1].astype(np.int64), A.indptr[1:].astype(np.int64)
    extra = np.concatenate([A.indices[A.indptr[k] : A.indptr[k + 1]] for k in extra_rows])
    weights = np.concatenate([A.data[A.indptr[k] : A.indptr[k + 1]] for k in extra_rows])
    at = A.nnz
    for k in extra_rows:
        begin[k], end[k] = at, at + A.indptr[k + 1] - A.indptr[k]
        at = end[k]
    diagonal = 1.4 + 1.5 * problem.labelled
    scale = inverse_sqrt(np.asarray(A.sum(axis=1)).ravel())
    base_weights = A.data if weighted else None
    rows = SystemRows(
        begin, end, A.indices.astype(np.int32), base_weights, extra.astype(np.int32), weights, scale,
        diagonal, 1.0,
    )  # fmt: skip
    return rows, np.diag(diagonal) - problem.A_tilde.as_dense()


def kernels():
    python = [pytest.param(PythonPush, id="plain")]
    return [*python, pytest.param(NativePush, id="native", marks=needs_native)]


@pytest.mark.parametrize("make", kernels())
@pytest.mark.parametrize("weighted", [True, False])
def test_push_solves_the_system_and_tells_what_is_left(make, weighted):
    rows, H = system_rows(weighted)
    rhs = np.zeros((30, 3))
    nodes = np.array([4, 7, 29])  # 29 has no edges
    rhs[nodes] = np.random.default_rng(0).normal(size=(3, 3))
    push = make(3)
    push.add(nodes, rhs[nodes])
    pushed = push.run(rows, 1e-6)
    F = np.zeros((30, 3))
    F[pushed.nodes] = pushed.moves
    left = np.zeros((30, 3))
    left[pushed.nodes] = pushed.residual
    assert_allclose(rhs - H @ F, left, atol=1e-12)
    roots = np.where(rows.scale > 0, rows.scale, 1.0)
    assert push.largest(rows.scale) == pytest.approx(np.max(np.linalg.norm(left, axis=1) * roots))
    assert push.largest(rows.scale) <= 1e-6
    off = F - np.linalg.solve(H, rhs)
    assert np.linalg.norm(off) <= np.linalg.norm(left) / 0.4
    assert (np.linalg.norm(off, axis=1) * roots <= push.largest(rows.scale) / 0.4).all()
    assert_array_equal(pushed.moved, np.any(pushed.moves != 0, axis=1))


@needs_native
@pytest.mark.parametrize("tolerance", [1e-1, 1e-4, 1e-10])
def test_native_push_walks_as_its_slow_twin(tolerance):
    rows, _ = system_rows()
    start = np.random.default_rng(1).normal(size=(2, 4))
    results = []
    for push in (PythonPush(4), NativePush(4)):
        push.add(np.array([3, 11]), start)
        results.append(push.run(rows, tolerance))
    plain, native = results
    assert_array_equal(plain.nodes, native.nodes)
    assert_allclose(plain.moves, native.moves, atol=1e-13)
    assert_allclose(plain.residual, native.residual, atol=1e-13)
    assert plain.n_edges == native.n_edges


def dense_rows(n=60, diagonal=1.4):
    """A graph on which a residual is everywhere after two hops; one node has no edges."""
    A = np.random.default_rng(3).random((n, n)) < 0.4
    A = sp.csr_array(np.triu(A, 1) + np.triu(A, 1).T.astype(float))
    A = sp.csr_array(sp.block_diag([A, sp.csr_array((1, 1))]))
    scale, none = inverse_sqrt(np.asarray(A.sum(axis=1)).ravel()), np.empty(0)
    parts = A.indptr[:-1].astype(np.int64), A.indptr[1:].astype(np.int64), A.indices.astype(np.int32)
    rows = SystemRows(*parts, None, none.astype(np.int32), none, scale, np.full(n + 1, diagonal), 1.0)
    return rows, diagonal * np.eye(n + 1) - A.toarray() * scale[:, None] * scale


@pytest.mark.parametrize("make", kernels())
@pytest.mark.parametrize("diagonal", [1.01, 1.4, 9.0])
@pytest.mark.parametrize("width", [1, 2, 11])
def test_a_push_that_reaches_everything_is_a_solve(make, diagonal, width):
    rows, H = dense_rows(diagonal=diagonal)
    carried, push = make(width), make(width)
    rhs = np.zeros((61, width))
    rhs[[3, 60, 5]] = np.random.default_rng(0).normal(size=(3, width))
    carried.add(np.array([5]), rhs[[5]])
    push.draw_on(carried)
    push.add(np.array([3, 60]), rhs[[3, 60]])
    pushed = push.run(rows, 1e-9)
    assert pushed.reached
    assert push.largest(rows.scale) <= 1e-9
    assert carried.largest(rows.scale) == 0  # taken over
    F, left = np.zeros((61, width)), np.zeros((61, width))
    F[pushed.nodes], left[pushed.nodes] = pushed.moves, pushed.residual
    size = np.abs(np.linalg.solve(H, rhs)).max()
    assert_allclose(rhs - H @ F, left, atol=1e-14 * size * diagonal)
    assert pushed.n_edges < 300 * len(rows.base)


@needs_native
@pytest.mark.parametrize("tolerance", [1e-6, 1e-12, 1e-20])
def test_native_solves_as_its_slow_twin(tolerance):
    rows, _ = dense_rows(diagonal=1.05)
    results = []
    for push in (PythonPush(3), NativePush(3)):
        push.add(np.array([3, 11]), np.arange(6.0).reshape(2, 3))
        results.append(push.run(rows, tolerance))
    plain, native = results
    assert_array_equal(plain.nodes, native.nodes)
    assert_allclose(plain.moves, native.moves, atol=1e-12)
    assert plain.reached
    assert native.reached
    assert plain.n_edges >= len(rows.base)


@pytest.mark.parametrize("make", kernels())
def test_what_was_left_is_taken_over_once(make):
    """Two pushes, the second drawing on the first: together as good as one that had it all."""
    rows, H = system_rows()
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(1, 2)), rng.normal(size=(1, 2))
    carried, rhs, F = make(2), np.zeros((30, 2)), np.zeros((30, 2))
    rhs[3] += first[0]
    rhs[8] += second[0]
    for node, row in ((3, first), (8, second)):
        push = make(2)
        push.draw_on(carried)
        push.add(np.array([node]), row)
        pushed = push.run(rows, 1e-3)
        F[pushed.nodes] += pushed.moves
        carried.absorb(push)
    rest = carried.run(rows, np.inf)  # makes no step
    left = np.zeros((30, 2))
    left[rest.nodes] = rest.residual
    assert_allclose(rhs - H @ F, left, atol=1e-12)


@needs_native
def test_native_push_refuses_what_does_not_fit():
    rows, _ = system_rows()
    push = NativePush(2)
    with pytest.raises(ValueError, match="each of the width"):
        push.add(np.array([1]), np.zeros((1, 3)))
    with pytest.raises(ValueError, match="not a node"):
        push.add(np.array([-1]), np.zeros((1, 2)))
    push.add(np.array([99]), np.ones((1, 2)))
    with pytest.raises(ValueError, match="not in the graph"):
        push.run(rows, 1e-3)


@needs_native
def test_native_push_refuses_rows_that_point_outside():
    """Whatever the arrays hold: an exception, never memory that is not theirs."""
    rows, _ = system_rows()

    def broken(**parts):
        push = NativePush(1)
        push.add(np.arange(30), np.ones((30, 1)))
        with pytest.raises(ValueError, match="push: "):
            push.run(rows._replace(**parts), 1e-9)

    for bad in (-1, 30, 2**31 - 1, -(2**31)):
        broken(base=np.full_like(rows.base, bad))
        broken(extra=np.full_like(rows.extra, bad))
    for bad in (-1, 2**40, -(2**40)):
        broken(begin=np.full_like(rows.begin, bad))
        broken(end=np.full_like(rows.end, bad))
    broken(begin=rows.begin[:-1])
    broken(extra=rows.extra[:-1])
    with pytest.raises(ValueError, match="same width"):
        NativePush(2).draw_on(NativePush(3))
    with pytest.raises(ValueError, match="same width"):
        NativePush(2).absorb(NativePush(3))
    with pytest.raises(ValueError, match="width must be"):
        NativePush(0)


@pytest.mark.parametrize("make", kernels())
def test_a_residual_that_is_not_finite_is_never_small(make):
    rows, _ = system_rows()
    for value in (np.nan, np.inf, -np.inf, 1e200, 1e-200):
        push = make(2)
        push.add(np.array([3, 7]), np.array([[1.0, 0.0], [0.0, value]]))
        push.add(np.array([8]), np.array([[1e-200, 1e-200]]))
        largest = push.largest(rows.scale)
        if np.isfinite(value):
            assert largest == pytest.approx(max(rows.scale[3], abs(value) * rows.scale[7]))
        else:
            assert not largest < np.inf
        pushed = push.run(rows, 1e-3)
        assert pushed.reached == (value == 1e-200)
        assert (push.largest(rows.scale) <= 1e-3) == pushed.reached
    tiny = make(2)
    tiny.add(np.array([8]), np.array([[3e-200, 4e-200]]))
    assert tiny.largest(rows.scale) == pytest.approx(5e-200 * rows.scale[8], rel=1e-12)


@pytest.mark.parametrize("make", kernels())
def test_a_push_ends_with_its_edges_and_tells_the_truth(make):
    rows, H = system_rows()
    H = H - np.diag(rows.diagonal) + np.diag(np.full(30, 1.0 + 1e-9))
    rows = rows._replace(diagonal=np.full(30, 1.0 + 1e-9))  # would take a billion rounds
    push = make(1)
    push.add(np.array([4]), np.ones((1, 1)))
    pushed = push.run(rows, 1e-9, max_edges=2000)
    assert not pushed.reached
    assert 2000 < pushed.n_edges < 2100
    F, left, rhs = np.zeros((30, 1)), np.zeros((30, 1)), np.zeros((30, 1))
    F[pushed.nodes], left[pushed.nodes], rhs[4] = pushed.moves, pushed.residual, 1.0
    assert_allclose(rhs - H @ F, left, atol=1e-12)


@needs_native
def test_native_push_ends_where_its_slow_twin_does():
    rows, _ = system_rows()
    for max_edges in (0, 1, 10, 137):
        ends = []
        for push in (PythonPush(1), NativePush(1)):
            push.add(np.array([3, 11]), np.ones((2, 1)))
            ends.append(push.run(rows, 1e-9, max_edges=max_edges))
        assert ends[0].n_edges == ends[1].n_edges > max_edges
        assert_allclose(ends[0].residual, ends[1].residual, atol=1e-14)


def test_observed_pushes_are_those_made_inside_the_block():
    new_push(2)
    with observed_pushes() as outer:
        first = new_push(2)
        with observed_pushes() as inner:
            second = new_push(3)
    new_push(2)
    assert (outer, inner) == ([first, second], [second])
    assert all(made.nbytes >= 0 for made in outer)
