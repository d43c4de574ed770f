"""Datasets to a GraphFolder: the same nodes, edges, features and labels as the files read in memory give."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from scipy import sparse

pytest.importorskip("duckdb")

from altopt.cli.tables import Files, read_problem
from altopt.graph.files import ColumnNames
from altopt.graph.validation import read_y
from altopt.scale import ingest as module
from altopt.scale.graph_folder import GraphFolder
from altopt.scale.ingest import ingest

N, MEMORY = 60, 5e8


def write(table, place, suffix, parts):
    """A table as one file, or as a folder of parts."""
    save = pq.write_table if suffix == ".parquet" else pc.write_csv
    if parts == 1:
        save(table, place.with_suffix(suffix))
        return place.with_suffix(suffix)
    place.mkdir()
    step = -(-len(table) // parts)
    for k in range(parts):
        save(table.slice(k * step, step), place / f"part-{k:05d}{suffix}")
    return place


def tables(ids, rng, weighted=False):
    """Edges with self-loops, repetitions and both directions; features of all nodes in no order; some labels."""
    a, b = rng.integers(0, N, (2, 300))
    a, b = np.concatenate([a, b[:50], a[:30]]), np.concatenate([b, a[:50], b[:30]])
    edges = {"source": ids[a], "target": ids[b]}
    if weighted:
        edges["weight"] = rng.integers(0, 5, len(a)) / 2
    order = rng.permutation(N)
    X = rng.standard_normal((N, 3))
    features = {"node": ids[order], "x": X[:, 0], "count": rng.integers(0, 9, N), "z": X[:, 2]}
    labelled = rng.choice(N, 20, replace=False)
    labels = {"node": ids[labelled], "label": np.array(["red", "blue", "green"])[labelled % 3]}
    return pa.table(edges), pa.table(features), pa.table(labels)


def check_same(found, files):
    """Positions, edges, weights, features and labels of the in-memory door."""
    expected = read_problem(files)
    found.verify()
    n = len(expected.ids)
    assert found.ids(0, n).tolist() == expected.ids.tolist()
    block = found.csr.rows(0, n)
    weights = np.ones(len(block.indices)) if block.weights is None else block.weights
    A = sparse.csr_array((weights, block.indices, block.indptr), shape=(n, n))
    assert A.has_sorted_indices
    assert np.array_equal(A.toarray(), expected.graph.adjacency.toarray().astype(np.float32))
    assert found.csr.weighted == expected.graph.weighted
    classes, codes = read_y(expected.y, n)
    assert found.classes == classes.tolist()
    assert found.labelled.tolist() == np.flatnonzero(codes >= 0).tolist()
    assert found.labels.tolist() == codes[codes >= 0].tolist()
    if files.features is None:
        assert found.features is None
    return expected


@pytest.mark.parametrize("kind", ["whole", "text"])
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize(("with_features", "weighted"), [(True, False), (False, True)])
def test_what_is_read_is_what_is_read_in_memory(tmp_path, kind, suffix, with_features, weighted):
    rng = np.random.default_rng(3)
    ids = rng.choice(2**60, N, replace=False) - 2**59
    ids = np.array([f"usér/{k:x}" for k in ids]) if kind == "text" else ids
    edges, features, labels = tables(ids, rng, weighted)
    if not with_features:  # a node that only the labels name comes last
        new = pa.array(["zz", "aa"] if kind == "text" else [7, 5], labels.schema.field("node").type)
        labels = pa.concat_tables([labels, pa.table({"node": new, "label": ["red", "blue"]})])
    one = {
        name: write(table, tmp_path / name, suffix, 1)
        for name, table in zip("efl", (edges, features, labels))
    }
    many = {
        name: write(table, tmp_path / f"many-{name}", suffix, 3)
        for name, table in zip("efl", (edges, features, labels))
    }
    found = ingest(
        many["e"], many["l"], tmp_path / "out", features=many["f"] if with_features else None, memory=MEMORY
    )
    files = Files(one["f"] if with_features else None, one["l"], {"": one["e"]}, ColumnNames())
    check_same(found, files)
    if with_features:
        assert found.feature_names == ("x", "count", "z")
        X = np.column_stack([features.column(name).to_numpy() for name in ("x", "count", "z")])
        assert np.array_equal(found.features.rows(0, N), X.astype(np.float32))
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("out")) == ["out"]
    assert not (found.folder / "work").exists()


def test_arrays_are_positions(tmp_path):
    rng = np.random.default_rng(4)
    pairs, X = rng.integers(0, N, (200, 2)), rng.standard_normal((N, 70)).astype(np.float32)
    y = np.where(rng.random(N) < 0.4, rng.integers(0, 3, N), -1)
    for name, array in (("edges", pairs), ("X", X), ("y", y)):
        np.save(tmp_path / f"{name}.npy", array)
    pq.write_table(pa.table({"source": pairs[:, 0], "target": pairs[:, 1]}), tmp_path / "edges.parquet")
    pq.write_table(pa.table({"node": np.flatnonzero(y >= 0), "label": y[y >= 0]}), tmp_path / "y.parquet")
    expected = GraphFolder.of(pairs, X, y, tmp_path / "expected")
    for edges, labels in (("edges.npy", "y.npy"), ("edges.parquet", "y.parquet")):
        found = ingest(
            tmp_path / edges, tmp_path / labels, tmp_path / f"from {edges}", features=tmp_path / "X.npy"
        )
        assert found.csr.key == expected.csr.key
        assert found.checksums == expected.checksums
        assert found.classes == [0, 1, 2]


def test_labels_may_be_a_column_of_the_features(tmp_path):
    rng = np.random.default_rng(5)
    edges, features, _ = tables(np.arange(100, 100 + N), rng)
    label = pa.array([None if k % 2 else k % 3 for k in range(N)], pa.int64())
    pq.write_table(edges, tmp_path / "e.parquet")
    pq.write_table(features.append_column("label", label), tmp_path / "f.parquet")
    found = ingest(
        tmp_path / "e.parquet", None, tmp_path / "out", features=tmp_path / "f.parquet", memory=MEMORY
    )
    check_same(found, Files(tmp_path / "f.parquet", None, {"": tmp_path / "e.parquet"}, ColumnNames()))


def test_a_column_of_lists_is_x(tmp_path):
    rng = np.random.default_rng(6)
    edges, features, labels = tables(np.arange(N), rng)
    X = rng.standard_normal((N, 5)).astype(np.float32)
    features = pa.table(
        {"node": features.column("node"), "features": pa.array(X.tolist(), pa.list_(pa.float32()))}
    )
    paths = [
        write(table, tmp_path / name, ".parquet", 2) for table, name in zip((edges, features, labels), "efl")
    ]
    found = ingest(paths[0], paths[2], tmp_path / "out", features=paths[1], memory=MEMORY)
    assert np.array_equal(found.features.rows(0, N), X)


def problem(tmp_path):
    edges, features, labels = tables(np.arange(N), np.random.default_rng(7))
    return [
        write(table, tmp_path / name, ".parquet", 2) for table, name in zip((edges, features, labels), "efl")
    ]


def test_a_stage_that_is_done_is_not_done_again(tmp_path, monkeypatch):
    edges, features, labels = problem(tmp_path)
    whole = ingest(edges, labels, tmp_path / "whole", features=features, memory=MEMORY)
    stages = []
    monkeypatch.setattr(module.CsrFile, "write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        ingest(edges, labels, tmp_path / "out", features=features, memory=MEMORY, on_stage=stages.append)
    assert stages == ["text", "nodes", "labels", "features", "positions", "edges"]
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    stages.clear()
    found = ingest(edges, labels, tmp_path / "out", features=features, memory=MEMORY, on_stage=stages.append)
    assert stages == ["edges"]
    assert found.checksums == whole.checksums
    stages.clear()
    again = ingest(edges, labels, tmp_path / "out", features=features, memory=MEMORY, on_stage=stages.append)
    assert not stages
    assert again.origin == found.origin


def test_swapped_files_of_an_earlier_run_are_made_anew(tmp_path):
    edges, features, labels = problem(tmp_path)
    found = ingest(edges, labels, tmp_path / "out", features=features, memory=MEMORY)
    panel = found.folder / "features" / "panel-000.float32"
    panel.write_bytes(panel.read_bytes()[::-1])
    ingest(edges, labels, tmp_path / "out", features=features, memory=MEMORY).verify()


def test_changed_files_are_read_anew(tmp_path):
    edges, features, labels = problem(tmp_path)
    found = ingest(edges, labels, tmp_path / "out", features=features, memory=MEMORY)
    pq.write_table(pa.table({"source": [0, 1], "target": [1, 2]}), edges / "part-00000.parquet")
    again = ingest(edges, labels, tmp_path / "out", features=features, memory=MEMORY)
    assert again.csr.n_entries < found.csr.n_entries


def test_ids_may_be_wider_in_a_later_part(tmp_path):
    """The first file holds int32, which the ids of the second do not fit."""
    large = 2**40
    parts = {
        "edges": [
            {"source": pa.array([1, 2], pa.int32()), "target": pa.array([2, 3], pa.int32())},
            {"source": pa.array([large], pa.int64()), "target": pa.array([1], pa.int64())},
        ],
        "features": [
            {"node": pa.array([1, 2, 3], pa.int32()), "x": [0.0, 1.0, 2.0]},
            {"node": pa.array([large], pa.int64()), "x": [3.0]},
        ],
        "labels": [
            {"node": pa.array([1, 2], pa.int32()), "label": ["a", "b"]},
            {"node": pa.array([large], pa.int64()), "label": ["b"]},
        ],
    }
    for name, tables in parts.items():
        (tmp_path / name).mkdir()
        for k, columns in enumerate(tables):
            pq.write_table(pa.table(columns), tmp_path / name / f"part-{k}.parquet")
    found = ingest(
        tmp_path / "edges",
        tmp_path / "labels",
        tmp_path / "out",
        features=tmp_path / "features",
        memory=MEMORY,
    )
    assert found.ids(0, 4).tolist() == [1, 2, 3, large]
    assert found.csr.rows(3, 4).indices.tolist() == [0]
    assert found.labelled.tolist() == [0, 1, 3]
