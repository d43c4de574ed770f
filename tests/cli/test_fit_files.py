"""altopt fit --memory: from tables in many files to predictions in many files, within a budget."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from altopt.cli.main import run
from altopt.scale.model import ModelOfFiles
from problems_on_disk import communities

pytest.importorskip("duckdb")


@pytest.fixture
def tables(tmp_path):
    """Edges and features in several files, ids as text."""
    A, X, y = communities(n=300, n_classes=4, n_features=6)
    ids = np.array([f"n{k:04d}" for k in range(len(y))])
    upper = sp.triu(A).tocoo()
    ends = {"source": ids[upper.coords[0]], "target": ids[upper.coords[1]]}
    rows = {"node": ids} | {f"x{j}": X[:, j] for j in range(X.shape[1])}
    for name, columns in (("edges", ends), ("features", rows)):
        (tmp_path / name).mkdir()
        table = pa.table({key: pa.array(value.tolist()) for key, value in columns.items()})
        for k in range(3):
            part = table.slice(k * (len(table) // 3 + 1), len(table) // 3 + 1)
            pq.write_table(part, tmp_path / name / f"part-{k}.parquet")
    known = np.flatnonzero(y >= 0)
    labels = pa.table({"node": ids[known].tolist(), "label": [f"class {k}" for k in y[known]]})
    pq.write_table(labels, tmp_path / "labels.parquet")
    return tmp_path


def call(tables, *more):
    named = ("--edges", "edges", "--features", "features", "--labels", "labels.parquet")
    given = [str(tables / word) if not word.startswith("--") else word for word in named]
    return run(["fit", *given, "--out", str(tables / "out"), *more])


def test_tables_become_predictions_and_a_model(tables, capsys):
    assert call(tables, "--memory", "1GB", "--json") == 0
    said = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert said["nodes"] == 300
    assert said["classes"] == [f"class {k}" for k in range(4)]
    assert 0.5 < said["accuracy"] <= 1
    found = pq.read_table(tables / "out" / "predictions")
    assert found.column_names == ["node", "label", "confidence", *(f"p_class {k}" for k in range(4))]
    assert found["node"].to_pylist() == [f"n{k:04d}" for k in range(300)]
    given = pq.read_table(tables / "labels.parquet").to_pydict()
    by_node = dict(zip(found["node"].to_pylist(), found["label"].to_pylist()))
    assert all(by_node[node] == label for node, label in zip(given["node"], given["label"]))
    assert ModelOfFiles.open(tables / "out" / "model").n_nodes == 300
    assert sorted(path.name for path in (tables / "out").iterdir()) == ["model", "predictions", "report.html"]
    assert said["written"] == [str(tables / "out" / name) for name in ("predictions", "report.html", "model")]


def test_without_features_nothing_is_begun(tables, capsys):
    named = ("--edges", str(tables / "edges"), "--labels", str(tables / "labels.parquet"))
    assert run(["fit", *named, "--out", str(tables / "out"), "--memory", "1GB"]) == 2
    assert "needs features" in capsys.readouterr().err
    assert not (tables / "out").exists()


def test_a_report_of_others_is_kept(tables, capsys):
    (tables / "out").mkdir()
    (tables / "out" / "report.html").write_text("mine")
    assert call(tables, "--memory", "1GB") == 2
    assert "not written by altopt" in capsys.readouterr().err
    assert (tables / "out" / "report.html").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--memory", "much"), "memory must be a size such as 2GB"),
        (("--memory", "1GB", "--encoder", "kernel"), "encoder asks for something else"),
        (("--memory", "1GB", "--paper", "mse"), "--paper does not go with --memory"),
        (("--workers", "2"), "--workers is for --engine ray"),
        (("--storage", "there"), "--storage is for --memory"),
    ],
)
def test_what_files_cannot_be_fitted_with_is_refused_in_a_sentence(tables, options, said, capsys):
    assert call(tables, *options) == 2
    assert said in capsys.readouterr().err
    assert not (tables / "out").exists()


def test_several_kinds_of_edges_are_refused(tables, capsys):
    edges = ("--edges", f"a={tables / 'edges'}", "--edges", f"b={tables / 'edges'}")
    labels = ("--features", str(tables / "features"), "--labels", str(tables / "labels.parquet"))
    assert run(["fit", *edges, *labels, "--out", str(tables / "out"), "--memory", "1GB"]) == 2
    assert "takes one kind of edges" in capsys.readouterr().err


def test_dry_run_tells_the_cost_and_writes_nothing(tables, capsys):
    assert call(tables, "--memory", "1GB", "--dry-run") == 0
    assert "300 nodes" in capsys.readouterr().out
    assert not (tables / "out").exists()
