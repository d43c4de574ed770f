"""Edges block after block: the same rows from memory and from disk, whatever the size of blocks."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from altopt.errors import InputError
from altopt.scale.csr_file import CsrFile
from altopt.scale.edge_stream import EdgeStream
from problems_on_disk import communities


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("memory", "block_entries"), [(0, 7), (0, 1 << 20), (1 << 20, 100)])
def test_blocks_hold_all_rows_in_order(tmp_path, weighted, memory, block_entries):
    A, _, _ = communities(weighted=weighted)
    edges = EdgeStream(CsrFile.of(A, tmp_path / "edges"), memory, block_entries)
    for _ in range(2):  # as often as asked for
        at, indices, weights, degrees = 0, [], [], []
        for block in edges:
            assert block.first == at
            at = block.last
            assert len(block.indices) == block.indptr[-1]
            indices.append(block.indices.copy())
            degrees.append(block.degrees)
            weights.append(np.ones(0) if block.weights is None else block.weights.copy())
        assert at == A.shape[0]
        assert_array_equal(np.concatenate(indices), A.indices)
        sums = np.asarray(A.sum(axis=1)).ravel()
        np.testing.assert_allclose(np.concatenate(degrees), np.where(sums > 0, sums, 1.0), rtol=1e-6)
        if weighted:
            assert_array_equal(np.concatenate(weights), A.data.astype(np.float32))


def test_edges_that_fit_are_read_once(tmp_path):
    A, _, _ = communities()
    csr = CsrFile.of(A, tmp_path / "edges")
    kept, streamed = EdgeStream(csr, 1 << 24), EdgeStream(csr, 0)
    for edges in (kept, streamed):
        for _ in range(3):
            for _ in edges:
                pass
    assert streamed.bytes_read == 3 * kept.bytes_read > 0


def test_a_file_that_was_cut_is_refused(tmp_path):
    A, _, _ = communities()
    edges = EdgeStream(CsrFile.of(A, tmp_path / "edges"), 0)
    with (tmp_path / "edges" / "indices.i32").open("r+b") as file:
        file.truncate(4 * A.nnz - 8)
    with pytest.raises(InputError, match="ends before its last entry"):
        list(edges)
