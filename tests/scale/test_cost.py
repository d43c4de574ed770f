"""The cost of a fit past memory: it grows with what it is made of, and a dry run leaves nothing behind."""

from dataclasses import fields, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from altopt.scale import cost as model
from altopt.scale import probe
from altopt.scale.cost import Constants, Parts, Size, fit_bytes
from altopt.scale.dry_run import dry_run, lines, size_of
from altopt.scale.plan import Plan
from altopt.scale.probe import Rates, disk_rates
from altopt.scale.sources import Sources

RATES = Rates(read=1e9, write=1e9, entry=2e-10, flops=4e10)
KNOWN = Constants(
    load=1.0,
    start=3.0,
    job=0.01,
    training=1e-10,
    tables=0.5,
    edge=3e-7,
    number=1e-8,
    process=3e8,
    row=8.0,
    reading=3e8,
    of_number=20.0,
    of_edge=1.0,
)  # those that are fitted change
cost_of = partial(model.cost_of, constants=KNOWN)
PRODUCTS = Size(2_449_029, 123_718_280, 100, 47, 196_615)


def test_narrow_panels_read_the_edges_more_often():
    wide, narrow = (cost_of(PRODUCTS, memory, RATES) for memory in (4e9, 0.8e9))
    assert narrow.memory < wide.memory
    assert narrow.read > 2 * wide.read
    assert narrow.seconds > wide.seconds


def test_what_a_fit_writes_is_part_of_the_disk_it_needs():
    plan = Plan.of(PRODUCTS.n_nodes, PRODUCTS.n_classes, PRODUCTS.n_features, 2 * 10**9, "float16")
    written = fit_bytes(PRODUCTS, plan)
    assert 2e9 < written < 3e9
    assert cost_of(PRODUCTS, 2e9, RATES).disk > written


def test_wide_features_are_kept_as_few_directions():
    """As a fit plans them: of 1,433 columns Z has 256, and P is made of these."""
    wide, narrow = (replace(PRODUCTS, n_features=width) for width in (1433, 256))
    assert (wide.n_inputs, narrow.n_inputs) == (256, 256)
    assert wide.plan(2e9).z_columns == narrow.plan(2e9).z_columns
    costs = cost_of(wide, 4e9, RATES), cost_of(narrow, 4e9, RATES)
    names = [[stage.name for stage in cost.stages] for cost in costs]
    assert [name for name in names[0] if name not in names[1]] == ["directions of X"]
    at = {stage.name: stage for stage in costs[1].stages}
    assert all(
        stage == at[stage.name]
        for stage in costs[0].stages
        if stage.name in at and "tables" not in stage.name
    )
    assert fit_bytes(wide, wide.plan(4e9)) > fit_bytes(narrow, narrow.plan(4e9))


def test_constants_are_what_parts_cost_beside_the_rates():
    nothing = Constants(**dict.fromkeys((field.name for field in fields(Constants)), 0.0))

    def seconds(**some):
        return cost_of(PRODUCTS, 4e9, RATES, constants=replace(nothing, **some)).seconds

    parts = Parts(PRODUCTS, 4e9, RATES)
    assert seconds() == 0.0
    assert seconds(start=2.0) == 2.0
    assert seconds(job=1.0) == parts.n_jobs
    assert seconds(training=1e-9) == pytest.approx(1e-9 * parts.trained)
    assert seconds(load=2.0) == pytest.approx(2 * sum(stage.seconds for stage in parts.by_rates))
    assert seconds(edge=1e-6) == pytest.approx(61.859140)


def test_machines_share_panels_and_nothing_else():
    size = replace(PRODUCTS, n_classes=256)
    cost = cost_of(size, 4e9, RATES)
    assert cost.seconds_on(1) == pytest.approx(cost.seconds)
    assert cost.seconds / 4 < cost.seconds_on(4) < cost.seconds / 2
    assert cost.seconds_on(1000) == cost.seconds_on(10_000) > 0


def test_nodes_with_many_neighbours_need_no_unit_vectors():
    few = replace(PRODUCTS, n_entries=10 * PRODUCTS.n_nodes)
    assert (len(Parts(few, 2e9, RATES).units) > 0, Parts(PRODUCTS, 2e9, RATES).units) == (True, [])


def test_a_slow_disk_is_said():
    assert (
        cost_of(PRODUCTS, 1e9, replace(RATES, read=1e8)).seconds > 2 * cost_of(PRODUCTS, 1e9, RATES).seconds
    )


def test_time_and_disk_grow_with_the_graph():
    large = Size(24_490_290, 1_237_182_800, 100, 47, 196_615)
    small, large_cost = cost_of(PRODUCTS, 6e9, RATES), cost_of(large, 6e9, RATES)
    assert 8 < large_cost.seconds / small.seconds < 20
    assert 8 < large_cost.disk / small.disk < 12
    assert large_cost.memory <= 6e9
    weighted = replace(large, weighted=True)
    assert cost_of(weighted, 6e9, RATES).disk > large_cost.disk


def test_the_disk_is_measured_and_left_as_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(probe, "PROBE_BYTES", 1 << 24)
    read, write = disk_rates(tmp_path / "not" / "there")
    assert read > 1e5
    assert write > 1e5
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_sizes_come_from_metadata(tmp_path, suffix, monkeypatch):
    rng = np.random.default_rng(0)
    save = pq.write_table if suffix == ".parquet" else pc.write_csv
    paths = [tmp_path / f"{name}{suffix}" for name in "efl"]
    save(pa.table({"source": rng.integers(0, 500, 4000), "target": rng.integers(0, 500, 4000)}), paths[0])
    save(pa.table({"node": np.arange(500), "x": rng.random(500)}), paths[1])
    save(pa.table({"node": np.arange(9), "label": [*"abcabcab", None]}), paths[2])
    sources = Sources.open(paths[0], paths[1], paths[2])
    size = size_of(sources, tmp_path, 1e9)
    exact = suffix == ".parquet"
    assert size.n_nodes == pytest.approx(500, rel=0 if exact else 0.1)
    assert size.n_entries == pytest.approx(8000, rel=0 if exact else 0.1)
    assert (size.n_features, size.n_labels, size.n_classes) == (1, 8, 3)
    if exact:  # by a sketch of the ids
        pytest.importorskip("duckdb")
        without = size_of(Sources.open(paths[0], None, paths[2]), tmp_path, 1e9)
        assert without.n_nodes == pytest.approx(500, rel=0.1)
        assert without.n_features == 0
    monkeypatch.setattr(probe, "PROBE_BYTES", 1 << 24)
    before = sorted(tmp_path.iterdir())
    said = lines(*dry_run(sources, tmp_path / "out", 1e9))
    assert "500 nodes" in said[0] or not exact
    assert "GB read" in said[-1]
    assert any(line.startswith("measured: disk") for line in said)
    assert any(line.startswith("free on that disk") for line in said)
    assert sorted(tmp_path.iterdir()) == before
