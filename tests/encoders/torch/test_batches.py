"""Batches: every row once an epoch, never the same way twice."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from altopt.encoders.torch import batches as module
from altopt.encoders.torch.batches import Batches


def rows_of(n, size, block, seed=0):
    X, y = np.arange(n, dtype=np.float32)[:, None], np.arange(n)
    return Batches((X, y), size, block, np.random.default_rng(seed), lambda array: array)


def one_epoch(batches):
    """For each batch the rows it holds."""
    found = []
    for n_rows, blocks in batches.epoch():
        parts = [batches.block(rows) for rows in blocks]
        for X, y in parts:
            assert (X[:, 0] == y).all()
        found.append(np.concatenate([y for _, y in parts]))
        assert n_rows == len(found[-1])
    return found


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 60), st.none() | st.integers(1, 70), st.integers(1, 20))
def test_an_epoch_has_every_row_once(n, size, block):
    batches = rows_of(n, size, block)
    for _ in range(3):
        found = one_epoch(batches)
        assert sorted(np.concatenate(found).tolist()) == list(range(n))
        assert max(map(len, found)) == min(size or n, n)
        assert len(found) == -(-n // min(size or n, n))
        for _, blocks in batches.epoch():
            sizes = [rows.stop - rows.start for rows in blocks]
            assert max(sizes) <= block
            assert max(sizes) - min(sizes) < len(sizes) + 1  # no block is left with a few rows


def test_batches_change_from_epoch_to_epoch_and_the_seed_says_how():
    batches = rows_of(100, 10, 4096)
    sets = [frozenset(map(frozenset, one_epoch(batches))) for _ in range(10)]
    assert len(set(sets)) > 5
    again = rows_of(100, 10, 4096)
    assert sets == [frozenset(map(frozenset, one_epoch(again))) for _ in range(10)]
    assert sets != [frozenset(map(frozenset, one_epoch(rows_of(100, 10, 4096, seed=1)))) for _ in range(10)]


def test_a_batch_is_a_slice():
    batches = rows_of(100, 10, 4096)
    (held, _) = batches._arrays
    for _, blocks in batches.epoch():
        assert all(np.shares_memory(batches.block(rows)[0], held) for rows in blocks)


def test_a_full_batch_is_not_copied():
    X = np.ones((50, 3), dtype=np.float32)
    batches = Batches((X,), None, 20, np.random.default_rng(0), lambda array: array)
    assert all(
        np.shares_memory(batches.block(rows)[0], X) for _, blocks in batches.epoch() for rows in blocks
    )


@pytest.mark.parametrize("kept", [0, 2**26])
def test_sparse_rows_become_dense_at_once_or_block_by_block(kept, monkeypatch):
    monkeypatch.setattr(module, "TENSOR_NUMBERS", kept)
    X = sp.random_array((30, 5), density=0.3, rng=np.random.default_rng(0), format="csr")
    made = []

    def dense(array):
        if sp.issparse(array):
            made.append(array.shape[0])
            return array.toarray()
        return array

    batches = Batches((X, np.arange(30)), 10, 5, np.random.default_rng(0), dense)
    for _ in range(2):
        for _, blocks in batches.epoch():
            for rows in blocks:
                x, number = batches.block(rows)
                assert (x == X.toarray()[number]).all()
    assert made == ([39] if kept else [5] * 12)
