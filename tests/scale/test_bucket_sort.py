"""Edges sorted through files: the same rows as the graph in memory makes, whatever the memory and the degrees."""

import numpy as np
import pytest
from scipy import sparse

from altopt import Graph
from altopt.scale.bucket_sort import Buckets, rising

N = 200


def edges(kind, rng):
    source, target = rng.integers(0, N, (2, 3000))
    if kind == "hub":  # one row holds most entries, and is longer than the memory allows
        source[:2500] = 7
    return source, target


@pytest.mark.parametrize("kind", ["even", "hub"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n_buckets", "memory"), [(1, 1e9), (1, 2000), (7, 5000), (64, 1e9)])
def test_the_rows_are_those_of_the_graph_in_memory(tmp_path, kind, weighted, n_buckets, memory):
    rng = np.random.default_rng(5)
    source, target = edges(kind, rng)
    weight = rng.integers(0, 4, 3000).astype(float) if weighted else None
    with Buckets(tmp_path / "b", 0, N, N, n_buckets, weighted) as buckets:
        for part in np.array_split(np.arange(3000), 4):
            buckets.add_edges(source[part], target[part], None if weight is None else weight[part])
    counts, columns, weights = zip(*buckets.rows(memory))
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    values = np.concatenate(weights) if weighted else np.ones(indptr[-1])
    found = sparse.csr_array((values, np.concatenate(columns), indptr), shape=(N, N))
    columns_given = (source, target) if weight is None else (source, target, weight)
    expected = Graph(list(zip(*(c.tolist() for c in columns_given))), n_nodes=N)
    assert found.has_sorted_indices
    assert np.array_equal(found.toarray(), expected.adjacency.toarray())
    assert buckets.n_loops == expected.n_self_loops
    assert not list((tmp_path / "b").iterdir())


def test_keys_too_wide_to_be_packed_are_sorted_too():
    keys = np.array([2**63, 5, 2**63 - 1, 0, 5], np.uint64)
    assert keys[rising(keys)].tolist() == sorted(keys.tolist())
    small = np.array([9, 3, 7, 3], np.uint64)
    assert rising(small).tolist() == [1, 3, 2, 0]
