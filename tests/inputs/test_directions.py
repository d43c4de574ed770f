"""The range finder on blocks of deficient rank."""

import numpy as np

from altopt.inputs import directions


def test_a_gram_matrix_that_float32_leaves_indefinite_is_no_crash(monkeypatch):
    B = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    monkeypatch.setattr(directions, "gram_of", lambda B, dtype: np.diag([1.0, 1.0, 1.0, -0.5]))
    Q = directions.levelled_out(B)
    assert np.allclose(Q.T @ Q, np.eye(4), atol=1e-5)
    assert Q.dtype == np.float32
