"""Every backend against dense arithmetic: entering, stepping, measuring and leaving, in every storage and order."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from altopt.operator import NormalizedAdjacency
from altopt.operator.kernels import dispatch
from altopt.operator.kernels.native import NativeBackend
from altopt.operator.kernels.scipy import ScipyBackend
from altopt.operator.kernels.torch import TorchBackend
from altopt.operator.layout import lay_out

BACKENDS = {"scipy": ScipyBackend, "torch": lambda *parts: TorchBackend(*parts, "cpu")}
if dispatch.COMPILED is not None:
    BACKENDS["native"] = NativeBackend
CLOSE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-12}


def random_graph(rng, n, density, weighted):
    """Symmetric, with nodes of degree 0 to n - 1."""
    upper = np.triu(rng.random((n, n)) < density * rng.random(n) * 2, 1)
    A = upper * (rng.random((n, n)) + 0.1 if weighted else 1.0)
    return sp.csr_array(A + A.T)


def near(result, truth, dtype):
    assert_allclose(result, truth, rtol=CLOSE[dtype], atol=CLOSE[dtype] * (1 + np.abs(truth).max(initial=0)))


@settings(max_examples=120, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 40),
    width=st.integers(1, 200),
    density=st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    weighted=st.booleans(),
    ordered=st.booleans(),
    wide_index=st.booleans(),
    dtype=st.sampled_from(list(CLOSE)),
    kind=st.sampled_from(list(BACKENDS)),
)
def test_a_step_is_the_dense_one(seed, n, width, density, weighted, ordered, wide_index, dtype, kind):
    rng = np.random.default_rng(seed)
    A = random_graph(rng, n, density, weighted)
    index = np.int64 if wide_index else np.int32
    A = sp.csr_array((A.data, A.indices.astype(index), A.indptr.astype(index)), A.shape)
    A_tilde = NormalizedAdjacency(A)
    order = rng.permutation(n) if ordered else None
    backend = BACKENDS[kind](lay_out(A, A_tilde.degrees, order), width, dtype)
    X, rest, before = (np.asarray(b, dtype=np.float16).astype(float) for b in rng.normal(size=(3, n, width)))
    scale, diagonal, norm = rng.random((3, n)) + 0.5
    gain, keep, beta = 0.7, 1.2, -0.4
    block, out = backend.to_layout(X), backend.to_layout(before)
    measured = backend.step(
        block,
        out,
        backend.vector(scale),
        backend.vector(diagonal),
        backend.to_layout(rest),
        gain=gain,
        keep=keep,
        beta=beta,
        norm=backend.vector(norm),
    )
    inner = scale[:, None] * (A_tilde.as_dense() @ X) + diagonal[:, None] * X + rest
    near(backend.from_layout(out, np.empty((n, width))), gain * inner + keep * X + beta * before, dtype)
    near(measured, np.sum(norm[:, None] * inner**2), dtype)
    assert_allclose(backend.from_layout(block, np.empty((n, width))), X, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("kind", BACKENDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_pieces_of_conjugate_gradients_are_plain_arithmetic(kind, dtype):
    rng = np.random.default_rng(0)
    A = random_graph(rng, 50, 0.1, True)
    A_tilde = NormalizedAdjacency(A)
    backend = BACKENDS[kind](lay_out(A, A_tilde.degrees, rng.permutation(50)), 11, dtype)
    F, R, D, HD = rng.normal(size=(4, 50, 11))
    alpha, beta, scale = rng.normal(size=11), rng.normal(size=11), rng.random(50)
    blocks = [backend.to_layout(part) for part in (F, R, D, HD)]
    padded = len(backend.dots(blocks[0], blocks[1]))
    fill = lambda v: np.concatenate([v, np.zeros(padded - 11)])  # noqa: E731
    near(
        backend.dots(blocks[0], blocks[1], backend.vector(scale))[:11],
        np.einsum("ij,ij,i->j", F, R, scale),
        dtype,
    )
    rz, square_norm = backend.advance(*blocks, fill(alpha), backend.vector(scale))
    F, R = F + alpha * D, R - alpha * HD
    near(backend.from_layout(blocks[0], np.empty((50, 11))), F, dtype)
    near(backend.from_layout(blocks[1], np.empty((50, 11))), R, dtype)
    near(rz[:11], np.einsum("ij,ij,i->j", R, R, scale), dtype)
    near(square_norm, np.sum(R**2), dtype)
    backend.search_direction(blocks[2], blocks[1], backend.vector(scale), fill(beta))
    near(backend.from_layout(blocks[2], np.empty((50, 11))), scale[:, None] * R + beta * D, dtype)


@pytest.mark.parametrize("kind", BACKENDS)
@pytest.mark.parametrize("dtype", CLOSE)
def test_rows_are_added_where_their_nodes_lie_and_columns_taken_from_the_middle_into_a_used_block(
    kind, dtype
):
    rng = np.random.default_rng(1)
    A = random_graph(rng, 30, 0.2, False)
    backend = BACKENDS[kind](lay_out(A, NormalizedAdjacency(A).degrees, rng.permutation(30)), 5, dtype)
    F, added, nodes = rng.normal(size=(30, 9)), rng.normal(size=(3, 5)), np.array([4, 17, 29])
    factor = rng.random(30)
    used = backend.to_layout(rng.normal(size=(30, 5)))
    block = backend.to_layout(F, factor, first=2, out=used)
    assert block is used
    backend.add_rows(block, nodes, added)
    truth = factor[:, None] * F[:, 2:7]
    truth[nodes] += added
    out = np.full((30, 9), 7.0)
    backend.from_layout(block, out, first=3)
    near(out[:, 3:8], truth, dtype)
    assert (out[:, [0, 1, 2, 8]] == 7.0).all()


@pytest.mark.skipif("native" not in BACKENDS, reason="the native kernels were not built")
@pytest.mark.parametrize("dtype", CLOSE)
def test_one_and_two_threads_give_the_same_bits_and_the_same_norm(dtype, monkeypatch):
    rng = np.random.default_rng(2)
    n = 6000
    ends = rng.integers(0, n, (2, 40_000))
    A = sp.coo_array((np.ones(40_000), ends), shape=(n, n)).tocsr()
    A = sp.csr_array(((A + A.T) > 0).astype(np.float64))
    backend = BACKENDS["native"](lay_out(A, NormalizedAdjacency(A).degrees), 47, dtype)
    X = backend.to_layout(rng.normal(size=(n, 47)))
    results = []
    for n_threads in (1, 2):
        monkeypatch.setattr(
            "altopt.operator.kernels.native.kernel_threads", lambda n_threads=n_threads: n_threads
        )
        out = backend.empty()
        results.append(
            (backend.step(X, out, backend.vector(0.5), norm=backend.vector(1.0)), out, backend.dots(X, X))
        )
    assert results[0][0] == results[1][0]
    assert_array_equal(results[0][1], results[1][1])
    assert_array_equal(results[0][2], results[1][2])


@pytest.mark.parametrize("switch", ["native", "scipy", "torch", "torch:cpu"])
def test_the_switch_picks_the_backend_and_records_name_it(switch, monkeypatch):
    monkeypatch.setenv("ALTOPT_KERNELS", switch)
    A_tilde = NormalizedAdjacency(random_graph(np.random.default_rng(3), 20, 0.2, False))
    description = A_tilde.backend(3, "float32").description
    expected = switch.partition(":")[0]
    assert description.split()[0] == (expected if expected in BACKENDS else "scipy")


def test_a_switch_nobody_knows_is_refused(monkeypatch):
    monkeypatch.setenv("ALTOPT_KERNELS", "cuda")
    with pytest.raises(ValueError, match="ALTOPT_KERNELS is 'cuda'. Set it to native, scipy, torch"):
        dispatch.description()


@pytest.mark.skipif("native" not in BACKENDS, reason="the native kernels were not built")
def test_float16_is_rounded_as_numpy_does():
    """Every float16, and what lies between two of them, through the compiled conversions."""
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    every = every[np.isfinite(every)].astype(np.float32)
    between = np.sort(every)
    between = np.concatenate(
        [every, (between[1:] + between[:-1]) / 2, between[1:] * 1.0001, [1e6, 1e-9, -0.0]]
    )
    n = len(between)
    backend = BACKENDS["native"](lay_out(sp.csr_array((n, n)), np.zeros(n)), 1, "float16")
    block = backend.to_layout(between[:, None])
    with np.errstate(over="ignore"):
        assert_array_equal(block[:, 0].view(np.uint16), between.astype(np.float16).view(np.uint16))
    with np.errstate(over="ignore"):
        assert_array_equal(
            backend.from_layout(block, np.empty((n, 1)))[:, 0], between.astype(np.float16).astype(float)
        )
