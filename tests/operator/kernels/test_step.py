"""The propagation step scale A X + diagonal X + rest: every kernel against the plain loop."""

import multiprocessing
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from altopt.operator.kernels import dispatch, product, reference

native = pytest.mark.skipif(dispatch.COMPILED is None, reason="the native kernels were not built")


def random_matrix(rng, n_rows, n_columns, density, dtype):
    A = sp.random_array((n_rows, n_columns), density=density, rng=rng, format="csr", dtype=np.float64)
    return sp.csr_array(
        (A.data.astype(dtype), A.indices.astype(np.int32), A.indptr.astype(np.int32)), A.shape
    )


def native_step(A, X, out, scale, diagonal, rest, n_threads):
    parts = (A.indptr.astype(np.int64), A.indices, A.data)
    dispatch.COMPILED.step(*parts, X, out, scale, diagonal, rest, 1.0, 0.0, 0.0, None, n_threads)


@native
@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 40),
    st.integers(1, 200),
    st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([1, 2]),
    st.booleans(),
    st.booleans(),
)
def test_native_step_is_the_plain_loop(seed, n, width, density, dtype, n_threads, with_diagonal, with_rest):
    rng = np.random.default_rng(seed)
    A = random_matrix(rng, n, n, density, dtype)
    X, rest = rng.normal(size=(2, n, width)).astype(dtype)
    scale, diagonal = rng.normal(size=(2, n)).astype(dtype)
    diagonal, rest = (diagonal if with_diagonal else None), (rest if with_rest else None)
    out = np.full((n, width), np.nan, dtype=dtype)
    native_step(A, X, out, scale, diagonal, rest, n_threads)
    close = {"rtol": 1e-5, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    truth = reference.step(A, X, scale, diagonal, rest)
    assert_allclose(out, truth, **close)
    assert_allclose(product.scipy_step(A, X, scale, diagonal, rest), truth, **close)


@native
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_blocks_of_rows_make_the_same_bits_as_the_whole(dtype):
    rng = np.random.default_rng(0)
    A, width = random_matrix(rng, 60, 60, 0.2, np.float64), 11
    computed = np.float64 if dtype == np.float64 else np.float32
    scale, diagonal = rng.normal(size=(2, 60)).astype(computed)
    X, rest, start = rng.normal(size=(3, 60, width)).astype(dtype)
    whole, parts = start.copy(), start.copy()
    rest_of_step = (0.7, 0.3, 0.1, None, 1)  # gain, keep, beta
    values = A.data.astype(computed)

    def step(first, last, out):
        entries = slice(A.indptr[first], A.indptr[last])
        indptr = (A.indptr[first : last + 1] - A.indptr[first]).astype(np.int64)
        rows = slice(first, last)
        given = (X, out[rows], scale[rows], diagonal[rows], rest[rows])
        dispatch.COMPILED.step(indptr, A.indices[entries], values[entries], *given, *rest_of_step, first)

    step(0, 60, whole)
    for first, last in ((0, 13), (13, 14), (14, 60)):
        step(first, last, parts)
    assert_array_equal(parts, whole)
    with pytest.raises(ValueError, match="do not fit together"):  # rows past the end of X
        dispatch.COMPILED.step(
            A.indptr.astype(np.int64), A.indices, values, X, whole, scale, diagonal, rest, *rest_of_step, 1
        )


@native
def test_a_matrix_need_not_be_square():
    A = random_matrix(np.random.default_rng(0), 5, 7, 0.5, np.float64)
    X = np.random.default_rng(1).normal(size=(7, 3))
    assert_allclose(product.step(A, X), A @ X, atol=1e-14)


@native
def test_what_lies_beside_a_row_never_leaks_into_it():
    """Whole blocks are read past a row's end: neighbours that are NaN must not show."""
    A = random_matrix(np.random.default_rng(0), 30, 30, 0.2, np.float64)
    for width in (*range(1, 70), 130):
        X = np.full((30, width), np.nan)
        X[::2] = 1.0
        keep = sp.csr_array(A @ sp.diags_array((np.arange(30) % 2 == 0).astype(float)))
        keep.eliminate_zeros()
        results = product.step(
            sp.csr_array(
                (keep.data, keep.indices.astype(np.int32), keep.indptr.astype(np.int32)), keep.shape
            ),
            X,
        )
        assert np.isfinite(results).all()


@native
def test_one_and_two_threads_give_the_same_bits():
    rng = np.random.default_rng(1)
    A = random_matrix(rng, 5000, 5000, 0.002, np.float32)
    X = rng.normal(size=(5000, 47)).astype(np.float32)
    one, two = np.empty_like(X), np.empty_like(X)
    scale = np.ones(5000, dtype=np.float32)
    native_step(A, X, one, scale, None, None, 1)
    native_step(A, X, two, scale, None, None, 2)
    assert_array_equal(one, two)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("switch", ["native", "scipy"])
def test_the_choice_of_kernel_changes_nothing_but_the_rounding(index, switch, monkeypatch):
    monkeypatch.setenv("ALTOPT_KERNELS", switch)
    rng = np.random.default_rng(2)
    A = random_matrix(rng, 200, 200, 0.05, np.float64)
    A = sp.csr_array((A.data, A.indices.astype(index), A.indptr.astype(index)), A.shape)
    for X in (
        rng.normal(size=(200, 9)),
        np.asfortranarray(rng.normal(size=(200, 9))),
        rng.normal(size=(400, 9))[::2],
    ):
        assert_allclose(product.step(A, X), A @ X, rtol=1e-12, atol=1e-12)
    assert_allclose(product.step(A, X[:, 0]), A @ X[:, 0])
    assert product.step(A, np.empty((200, 0))).shape == (200, 0)


def test_a_block_that_does_not_fit_is_refused():
    A = random_matrix(np.random.default_rng(0), 5, 7, 0.5, np.float64)
    with pytest.raises(ValueError):
        product.step(A, np.ones((5, 3)))


@native
@pytest.mark.parametrize(
    "wrong",
    [
        {"out": np.empty((4, 3))},
        {"scale": np.ones(4)},
        {"diagonal": np.ones(6)},
        {"rest": np.ones((5, 2))},
        {"indices": np.zeros(2, dtype=np.int32)},
        {"weights": np.ones(2)},
        {"norm": np.ones(4)},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_shapes_that_do_not_fit_never_reach_the_loops(wrong):
    A = random_matrix(np.random.default_rng(0), 5, 5, 0.5, np.float64)
    right = {
        "indptr": A.indptr.astype(np.int64),
        "indices": A.indices,
        "weights": A.data,
        "X": np.ones((5, 3)),
        "out": np.empty((5, 3)),
    }
    right |= {"scale": np.ones(5), "diagonal": np.ones(5), "rest": np.ones((5, 3)), "n_threads": 1}
    right |= {"gain": 1.0, "keep": 0.0, "beta": 0.0, "norm": None}
    dispatch.COMPILED.step(**right)
    with pytest.raises(ValueError, match="do not fit together"):
        dispatch.COMPILED.step(**(right | wrong))


@native
def test_a_step_onto_itself_is_refused():
    A = random_matrix(np.random.default_rng(0), 5, 5, 0.5, np.float64)
    X = np.ones((5, 3))
    with pytest.raises(ValueError, match="out must not be X"):
        native_step(A, X, X, np.ones(5), None, None, 1)


def multiply_in_child(answer):
    A = random_matrix(np.random.default_rng(3), 3000, 3000, 0.01, np.float64)
    answer.put(float(product.step(A, np.ones((3000, 20))).sum()))


def test_a_forked_child_can_multiply_after_its_parent_did():
    A = random_matrix(np.random.default_rng(3), 3000, 3000, 0.01, np.float64)
    expected = float(product.step(A, np.ones((3000, 20))).sum())
    fork = multiprocessing.get_context("fork")
    answer = fork.Queue()
    child = fork.Process(target=multiply_in_child, args=(answer,))
    child.start()
    assert answer.get(timeout=60) == pytest.approx(expected)
    child.join(60)
    assert child.exitcode == 0


def test_two_python_threads_can_multiply_at_once():
    A = random_matrix(np.random.default_rng(4), 3000, 3000, 0.01, np.float64)
    X = np.random.default_rng(5).normal(size=(3000, 20))
    results = {}
    workers = [threading.Thread(target=lambda k=k: results.update({k: product.step(A, X)})) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for k in range(4):
        assert_array_equal(results[k], results[0])
