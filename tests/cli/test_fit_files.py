"""altopt fit --memory: from tables in many files to predictions in many files, within a budget."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from altopt import AltOpt
from altopt.cli import fit_files
from altopt.cli.main import run
from altopt.cli.outputs import NOTE
from altopt.errors import InputError
from altopt.scale import ingest as reading
from altopt.scale import run as fit_of_paths
from altopt.scale import runner
from altopt.scale.model import ModelOfFiles
from altopt.scale.work_folder import MARK
from altopt_lab.bench import mortal
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


def never(*_, **__):
    pytest.fail("work was begun")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("work", "ideas.txt"),
        ("predictions", "ideas.txt"),
        ("predictions", "part-00000.parquet"),
        ("model", "a.txt"),
    ],
)
def test_folders_of_others_are_kept_and_refused_before_work(tables, name, text, capsys, monkeypatch):
    monkeypatch.setattr(fit_files, "ingest", never)
    mine = tables / "out" / name / text
    mine.parent.mkdir(parents=True)
    mine.write_text("precious")
    for more in ((), ("--resume",)):
        assert call(tables, "--memory", "1GB", *more) == 2
        said = capsys.readouterr().err
        assert "nothing was overwritten" in said
        assert said.count("\n") == 1
    assert [path for path in (tables / "out").rglob("*") if path.is_file()] == [mine]
    assert mine.read_text() == "precious"


def test_a_fit_of_paths_keeps_folders_of_others(tables, monkeypatch):
    monkeypatch.setattr(fit_of_paths, "ingest", never)
    paths = [tables / name for name in ("features", "labels.parquet", "edges")]
    for name in ("work", "model"):
        mine = tables / name / name / "ideas.txt"
        mine.parent.mkdir(parents=True)
        mine.write_text("precious")
        with pytest.raises(InputError, match="nothing was overwritten"):
            AltOpt().fit(*paths, memory="1GB", checkpoint=tables / name)
        assert mine.read_text() == "precious"


def test_a_second_fit_replaces_what_the_first_wrote_and_nothing_else(tables):
    assert call(tables, "--memory", "1GB", "--quiet") == 0
    out = tables / "out"
    (out / "model" / "mine.txt").write_text("precious")
    (out / "work").mkdir()
    (out / "work" / MARK).write_text("")  # of a fit that was killed
    (out / "work" / "mine.txt").write_text("precious")
    assert call(tables, "--memory", "1GB", "--quiet") == 0
    assert (out / "model" / "mine.txt").read_text() == "precious"
    assert [path.name for path in (out / "work").iterdir()] == ["mine.txt"]
    assert len(list((out / "model").glob("data-*"))) == 1
    assert not (out / NOTE).exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--memory", "90KB"), "is too little for 300 nodes"),
        (("--memory", "1GB", "--storage", "nowhere://bucket"), "cannot be opened"),
        (("--memory", "1GB", "--engine", "ray"), "altopt[ray]"),
    ],
)
def test_what_would_fail_after_ingestion_is_refused_before(tables, more, said, capsys, monkeypatch):
    monkeypatch.setattr(fit_files, "ingest", never)
    monkeypatch.setitem(sys.modules, "ray", None)
    assert call(tables, *more) == 2
    assert said in capsys.readouterr().err
    assert not (tables / "out").exists()


@pytest.mark.parametrize("storage", [None, "there"])
def test_a_disk_without_room_for_the_fit_is_refused_before_ingestion(tables, storage, capsys, monkeypatch):
    monkeypatch.setattr(fit_files, "ingest", never)
    monkeypatch.setattr(reading, "free_bytes", lambda folder: 10_000)
    more = () if storage is None else ("--storage", str(tables / storage))
    assert call(tables, "--memory", "1GB", *more) == 2
    assert "of disk for the fit, but 0.0 GB are free" in capsys.readouterr().err
    assert not (tables / "out").exists()
    assert not (tables / "there").exists()


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_labels_that_cannot_be_read_are_refused_before_ingestion(tables, more, capsys, monkeypatch):
    monkeypatch.setattr(fit_files, "ingest", never)
    (tables / "labels.csv").write_text("node,label\nn0001,a\nn0002,b,c\n")
    assert call(tables, "--memory", "1GB", "--labels", str(tables / "labels.csv"), *more) == 2
    assert "labels.csv cannot be read as CSV" in capsys.readouterr().err
    assert not (tables / "out").exists()


def test_labels_of_one_class_are_refused_before_ingestion(tables, capsys, monkeypatch):
    monkeypatch.setattr(fit_files, "ingest", never)
    pq.write_table(pa.table({"node": ["n0001"], "label": ["class 0"]}), tables / "labels.parquet")
    assert call(tables, "--memory", "1GB") == 2
    assert "all of one class" in capsys.readouterr().err


def test_a_class_prior_of_other_classes_is_refused_before_ingestion(tables, capsys, monkeypatch):
    monkeypatch.setattr(fit_files, "ingest", never)
    monkeypatch.setattr(fit_of_paths, "ingest", never)
    assert call(tables, "--memory", "1GB", "--class-prior", "class 0=0.5,class 9=0.5") == 2
    assert "names 'class 9', which is no class" in capsys.readouterr().err
    paths = [tables / name for name in ("features", "labels.parquet", "edges")]
    with pytest.raises(InputError, match="lacks the class 'class 1'"):
        AltOpt(class_prior={"class 0": 1.0}).fit(*paths, memory="1GB", checkpoint=tables / "out")
    assert not (tables / "out").exists()


def test_a_class_prior_is_taken(tables):
    shares = ",".join(f"class {k}=0.25" for k in range(4))
    assert call(tables, "--memory", "1GB", "--quiet", "--class-prior", shares) == 0


def test_a_fit_of_paths_is_refused_before_ingestion(tables, monkeypatch):
    monkeypatch.setattr(fit_of_paths, "ingest", never)
    paths = [tables / name for name in ("features", "labels.parquet", "edges")]
    with pytest.raises(InputError, match="is too little for 300 nodes"):
        AltOpt().fit(*paths, memory="90KB", checkpoint=tables / "out")
    assert not (tables / "out").exists()


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_storage_is_empty_after_the_fit(tables, scheme):
    (tables / "there").mkdir()
    (tables / "there" / "mine.txt").write_text("precious")
    assert call(tables, "--memory", "1GB", "--quiet", "--storage", f"{scheme}{tables / 'there'}") == 0
    assert [path.name for path in (tables / "there").iterdir()] == ["mine.txt"]


KILLED = """
import sys
from altopt_lab.bench import mortal
from altopt.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


def results(out):
    """The bytes of F and of the predictions."""
    files = [*sorted((out / "model").glob("data-*/F/*")), *sorted((out / "predictions").iterdir())]
    return [path.read_bytes() for path in files]


@pytest.mark.parametrize("kind", ["diffuse panel", "teach encoder", "finish panel"])
def test_a_killed_fit_goes_on_to_the_same_bits(tables, kind, monkeypatch):
    named = ("--edges", "edges", "--features", "features", "--labels", "labels.parquet", "--out", "killed")
    given = [str(tables / word) if not word.startswith("--") else word for word in named]
    (tables / "orders").mkdir()
    (tables / "orders" / f"die-{kind}").touch()
    command = [sys.executable, "-c", KILLED, "fit", *given, "--memory", "1GB", "--quiet"]
    died = subprocess.run(command, env=os.environ | {mortal.ORDERS: str(tables / "orders")}, check=False)
    assert died.returncode == -signal.SIGKILL
    assert not (tables / "killed" / "model").exists()
    done = {path: path.stat().st_mtime_ns for path in (tables / "killed" / "work" / "jobs").glob("*.sum")}
    again = []
    do_job = runner.do
    monkeypatch.setattr(runner, "do", lambda job, *more: (again.append(job), do_job(job, *more)))
    assert run(["fit", *given, "--memory", "1GB", "--quiet", "--resume"]) == 0
    assert done
    assert not {f"{name}.sum" for job in again for name in job.files} & {path.name for path in done}
    assert call(tables, "--memory", "1GB", "--quiet") == 0
    assert results(tables / "killed") == results(tables / "out")
    assert not (tables / "killed" / "work").exists()
