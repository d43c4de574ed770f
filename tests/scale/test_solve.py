"""A panel solved with the edges on disk is the panel of the solution in memory."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from altopt.arrays import one_hot
from altopt.operator import NormalizedAdjacency
from altopt.scale.csr_file import CsrFile
from altopt.scale.edge_stream import EdgeStream
from altopt.scale.panel import Labels, PanelSystem, ViewWeights
from altopt.scale.sheet import Sheet
from altopt.scale.solve import (
    beside,
    chebyshev,
    chebyshev_with_norms,
    refine,
    rest_from,
    rough_steps,
    rows_of,
    start_from_labels,
    steps_needed,
)
from altopt.solvers import ChebyshevSteps
from altopt.views import FeatureView, GraphView, LabelView, Objective
from problems_on_disk import communities


class Case:
    def __init__(self, tmp_path, weighted=False, memory=0, block_entries=500):
        self.A, _, codes = communities(weighted=weighted)
        rng = np.random.default_rng(1)
        self.P = rng.dirichlet(np.ones(10), len(codes))
        labelled = np.flatnonzero(codes >= 0)
        self.labels = Labels(labelled, codes[labelled])
        self.csr = CsrFile.of(self.A, tmp_path / "edges")
        self.edges = EdgeStream(self.csr, memory, block_entries)
        self.codes = codes

    def system(self, columns=(0, 10), dtype=np.float64):
        return PanelSystem(self.edges, ViewWeights(2.0, 3.0), self.labels, columns, dtype)

    def rows(self, dtype=np.float64, size=150):
        for first in range(0, len(self.P), size):
            last = min(first + size, len(self.P))
            yield first, self.csr.degrees(first, last), self.P[first:last].astype(dtype)

    def objective(self):
        Y = one_hot(self.labels.codes, 10)
        A_tilde = NormalizedAdjacency(self.A)
        views = FeatureView(self.P, 2.0), GraphView(A_tilde), LabelView(Y, self.codes >= 0, 3.0)
        return Objective(views)

    def start(self):
        return one_hot(self.codes, 10)


@pytest.mark.parametrize("weighted", [False, True])
def test_steps_on_disk_are_the_steps_in_memory(tmp_path, weighted):
    case = Case(tmp_path, weighted)
    system = case.system()
    X, norms = chebyshev_with_norms(system, start_from_labels(system), rest_from(system, case.rows()), 4)
    expected = ChebyshevSteps(n_steps=4).solve(case.objective(), case.start())
    F = rows_of(system, X, np.arange(system.n_nodes))
    assert_allclose(F, expected.F, atol=1e-6 if weighted else 1e-14)  # weights are float32 on disk
    assert_allclose(np.sqrt(norms.residual[-1]), expected.residual, rtol=1e-4)
    assert_allclose(np.sqrt(norms.size[-1]), np.linalg.norm(F), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_steps_without_norms_are_the_same_bits(tmp_path, dtype):
    case = Case(tmp_path)
    system = case.system(dtype=dtype)
    start, rest = start_from_labels(system), rest_from(system, case.rows())
    plain = chebyshev(system, start.copy(), rest, 5)
    with_norms, _ = chebyshev_with_norms(system, start.copy(), rest, 5)
    assert_array_equal(plain, with_norms)


def test_a_panel_stops_where_all_panels_would_be_near_enough(tmp_path):
    case, rtol = Case(tmp_path), 1e-3
    system = case.system()
    start, rest = start_from_labels(system), rest_from(system, case.rows())
    found, norms = chebyshev_with_norms(system, start.copy(), rest, 100, rtol)
    _, all_norms = chebyshev_with_norms(system, start.copy(), rest, 20)
    n_steps = steps_needed([all_norms], system.weights, rtol)
    assert len(norms.residual) - 1 == n_steps > 0
    assert_array_equal(found, chebyshev(system, start, rest, n_steps))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_bits_depend_neither_on_panels_nor_on_blocks_nor_on_memory(tmp_path, dtype):
    whole = solved(Case(tmp_path, memory=1 << 24, block_entries=1 << 20), [(0, 10)], dtype)
    for panels, entries in (([(0, 10)], 3), ([(0, 8), (8, 10)], 200), ([(0, 3), (3, 4), (4, 10)], 999)):
        assert_array_equal(solved(Case(tmp_path, block_entries=entries), panels, dtype), whole)


def solved(case, panels, dtype):
    parts = []
    for columns in panels:
        system = case.system(columns, dtype)
        given = np.float64 if dtype == np.float64 else np.float32
        X = chebyshev(system, start_from_labels(system), rest_from(system, case.rows(given)), 5)
        parts.append(rows_of(system, X, np.arange(system.n_nodes)))
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_the_correction_brings_half_precision_to_single(tmp_path, dtype):
    case = Case(tmp_path)
    system = case.system(dtype=dtype)
    n_steps = rough_steps(system.weights)
    X = chebyshev(system, start_from_labels(system), rest_from(system, case.rows(np.float32)), n_steps)
    exact = ChebyshevSteps(rtol=1e-10).solve(case.objective(), case.start()).F
    rough = np.abs(rows_of(system, X, np.arange(system.n_nodes)) - exact).max()
    out = Sheet(tmp_path / "F", system.n_nodes, (10,), np.dtype(np.float32)).create()
    refine(system, X, lambda: case.rows(np.float32), out)
    fine = np.abs(out.rows(0, system.n_nodes) - exact).max()
    assert fine < 2e-6 < rough


def test_rows_beside_blocks_are_those_of_their_nodes(tmp_path):
    case = Case(tmp_path, block_entries=100)
    for size in (7, 1000):
        for block, rows in beside(case.edges, case.rows(size=size)):
            assert_array_equal(rows, case.P[block.first : block.last])
