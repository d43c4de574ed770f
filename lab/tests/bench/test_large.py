"""Large graphs that are written part by part."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from altopt_lab.bench import large
from altopt_lab.bench.large import LargeGraph, truth, write


@pytest.fixture
def graph(monkeypatch):
    monkeypatch.setattr(large, "PART_EDGES", 1500)
    monkeypatch.setattr(large, "PART_NODES", 400)
    return LargeGraph(1000, 4000, 5, 6, seed=3)


def test_datasets_fit_together(graph, tmp_path):
    write(graph, tmp_path)
    edges, features = (pq.read_table(tmp_path / name) for name in ("edges", "features"))
    labels = pq.read_table(tmp_path / "labels.parquet")
    ids = features["node"].to_numpy()
    assert len(list((tmp_path / "edges").iterdir())) == len(list((tmp_path / "features").iterdir())) == 3
    assert len(np.unique(ids)) == 1000
    assert not np.all(np.diff(ids) > 0)
    assert np.isin(edges["source"].to_numpy(), ids).all()
    assert np.isin(edges["target"].to_numpy(), ids).all()
    assert 3600 < edges.num_rows <= 4000
    known = {int(node): int(label) for part in truth(tmp_path) for node, label in zip(*part)}
    assert 50 < labels.num_rows < 150
    assert all(known[node] == label for node, label in zip(*(column.to_pylist() for column in labels)))


def test_neighbours_are_mostly_of_one_class(graph, tmp_path):
    write(graph, tmp_path)
    known = {int(node): int(label) for part in truth(tmp_path) for node, label in zip(*part)}
    source, target = (column.to_pylist() for column in pq.read_table(tmp_path / "edges"))
    assert np.mean([known[a] == known[b] for a, b in zip(source, target)]) > 0.6


def test_a_lost_part_is_written_again_the_same(graph, tmp_path):
    write(graph, tmp_path)
    part = tmp_path / "edges" / "part-00001.parquet"
    before = pq.read_table(part)
    part.unlink()
    write(graph, tmp_path)
    assert pq.read_table(part).equals(before)
