"""Ctrl-C inside compiled loops: heard within a second; and indices they are handed are checked, not believed."""

import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

from altopt.operator.kernels import product, reorder
from altopt.operator.kernels.dispatch import COMPILED, native_available
from altopt.operator.kernels.push import NativePush, SystemRows

pytestmark = pytest.mark.skipif(not native_available(), reason="native kernels were not built")


def ring(n, width=1):
    """A push that would take hours: H barely above singular, on a ring."""
    begin = 2 * np.arange(n)
    columns = np.stack([np.arange(-1, n - 1) % n, np.arange(1, n + 1) % n], axis=1).ravel().astype(np.int32)
    none = np.empty(0)
    scale, diagonal = np.full(n, 0.5**0.5), np.full(n, 1 + 1e-12)
    return SystemRows(begin, begin + 2, columns, None, none.astype(np.int32), none, scale, diagonal, 1.0)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals between threads")
def test_a_long_push_hears_ctrl_c():
    push = NativePush(1)
    push.add(np.array([5]), np.ones((1, 1)))
    main, sent = threading.main_thread().ident, []

    def interrupt():
        sent.append(time.perf_counter())
        signal.pthread_kill(main, signal.SIGINT)

    timer = threading.Timer(0.3, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        push.run(ring(1000), 1e-9, max_edges=2**62)
    assert time.perf_counter() - sent[0] < 1.0
    rows = ring(1000)._replace(diagonal=np.full(1000, 2.0))
    assert push.run(rows, 1e-9).reached  # and can be used


def test_one_thread_at_a_time():
    push, errors = NativePush(1), []
    push.add(np.array([5]), np.ones((1, 1)))
    thread = threading.Thread(target=push.run, args=(ring(1000), 1e-9), kwargs={"max_edges": 20_000_000})
    thread.start()
    while thread.is_alive():
        try:
            push.add(np.array([6]), np.ones((1, 1)))
            push.largest(np.ones(1000))
        except RuntimeError as error:
            errors.append(str(error))
        time.sleep(0.001)
    thread.join()
    assert errors
    assert "another thread" in errors[0]


@pytest.mark.parametrize("bad", [-1, -7, 5_000_000, 2**31 - 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_step_refuses_columns_that_are_not_there(bad, dtype):
    A = sp.random_array((3000, 3000), density=0.01, format="csr", rng=np.random.default_rng(0), dtype=dtype)
    A.indices[1234] = bad
    with pytest.raises(ValueError, match="column number"):
        product.step(A, np.ones((3000, 3), dtype=dtype))


@pytest.mark.parametrize("bad", [-1, 2**40, -(2**62), 2**62])
def test_a_step_refuses_rows_outside_the_entries(bad):
    A = sp.random_array((3000, 3000), density=0.01, format="csr", rng=np.random.default_rng(0))
    A.indptr = A.indptr.astype(np.int64)
    A.indptr[1000] = bad
    with pytest.raises(ValueError, match="one after another"):
        product.step(A, np.ones((3000, 3)))


def test_ordering_and_renumbering_refuse_what_is_not_a_graph():
    A = sp.csr_array(sp.random_array((50, 50), density=0.1, format="csr", rng=np.random.default_rng(0)))
    A = sp.csr_array(A + A.T)
    order = np.arange(50, dtype=np.int32)[::-1].copy()
    indptr, indices = A.indptr.astype(np.int64), A.indices.astype(np.int32)
    for bad in (-1, 50, 2**31 - 1):
        broken = indices.copy()
        broken[7] = bad
        with pytest.raises(ValueError, match="columns outside"):
            COMPILED.community_order(indptr, broken, 2, 3, np.empty(50, dtype=np.int32))
        with pytest.raises(ValueError, match="columns outside"):
            COMPILED.renumber(indptr, broken, None, order, order, indptr, np.empty_like(indices), None)
        outside = np.full(50, bad, dtype=np.int32)
        with pytest.raises(ValueError, match="not one of the rows"):
            COMPILED.renumber(indptr, indices, None, outside, order, indptr, np.empty_like(indices), None)
    same = np.zeros(50, dtype=np.int32)
    with pytest.raises(ValueError, match="permutation"):
        COMPILED.renumber(indptr, indices, None, same, same, indptr, np.empty_like(indices), None)
    assert len(reorder.community_order(A)) == 50
