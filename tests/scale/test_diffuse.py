"""Features diffused with the edges on disk are those diffused in memory."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from altopt.inputs.local_diffusion import settle_isolated
from altopt.operator import NormalizedAdjacency, diffusion
from altopt.scale.csr_file import CsrFile
from altopt.scale.diffuse import diffuse_panel
from altopt.scale.edge_stream import EdgeStream
from altopt.scale.sheet import Sheet
from problems_on_disk import communities


@pytest.mark.parametrize(("restart", "n_steps"), [(0.2, 10), (0.0, 3), (1.0, 5), (0.5, 0), (0.1, 1)])
def test_panels_are_the_columns_of_the_diffusion_in_memory(tmp_path, restart, n_steps):
    A, X, _ = communities()
    A_tilde = NormalizedAdjacency(A)
    whole = diffusion.steps(A_tilde, X.copy(), restart, n_steps)
    if n_steps:
        whole = settle_isolated(A_tilde.isolated, whole, restart)
    edges = EdgeStream(CsrFile.of(A, tmp_path / "edges"), 0, 300)
    for first, last in ((0, 12), (12, 20)):
        out = Sheet(tmp_path / f"Z{first}", len(X), (last - first,), np.dtype(np.float32)).create()
        rows = ((k, X[k : k + 90, first:last]) for k in range(0, len(X), 90))
        diffuse_panel(edges, rows, last - first, restart, n_steps, out)
        assert_allclose(out.rows(0, len(X)), whole[:, first:last], rtol=2e-5, atol=1e-6)
