"""Diffusion against the iteration written out with dense matrices."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from altopt.operator import NormalizedAdjacency
from altopt.operator.diffusion import panels, steps


def written_out(A, X, restart, n_steps):
    Z = X
    for _ in range(n_steps):
        Z = (1 - restart) * (A @ Z) + restart * X
    return Z


@pytest.mark.parametrize("restart", [0.0, 1e-40, 1e-6, 0.1, 0.9])
@pytest.mark.parametrize("n_steps", [1, 2, 7])
@pytest.mark.parametrize("n_columns", [1, 150, 192])  # one panel, three of three widths, three of one
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_panels_are_diffused_as_the_whole_would_be(restart, n_steps, n_columns, dtype):
    rng = np.random.default_rng(0)
    A = sp.csr_array(np.triu(rng.random((40, 40)) < 0.1, 1).astype(float))
    A_tilde = NormalizedAdjacency(A + A.T)
    X = rng.normal(size=(40, n_columns)).astype(dtype)
    expected = written_out(A_tilde.as_dense(), X.astype(float), restart, n_steps)
    close = 1e-5 if dtype == np.float32 else 1e-12
    Z = steps(A_tilde, X, restart, n_steps)
    assert Z.dtype == dtype
    assert_allclose(Z, expected, atol=close)
    in_place = X.copy()
    assert steps(A_tilde, in_place, restart, n_steps, out=in_place) is in_place
    assert_allclose(in_place, expected, atol=close)


@pytest.mark.parametrize("n_columns", [1, 63, 64, 65, 150, 1433])
def test_panels_cover_every_column_once(n_columns):
    assert len({width for _, width in panels(192)}) == 1
    columns = [first + k for first, width in panels(n_columns) for k in range(width)]
    assert columns == list(range(n_columns))
