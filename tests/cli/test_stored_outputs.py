"""What stands beside a model of files follows it, also where a command was killed in between."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

pytest.importorskip("duckdb")

from altopt.cli import fit_files, stored
from altopt.cli.main import run
from altopt.cli.outputs import NOTE
from problems_on_disk import communities

N = 120


@pytest.fixture
def out(tmp_path):
    """What altopt fit --memory leaves."""
    A, X, y = communities(n=N, n_classes=3, n_features=5)
    ends = np.stack(A.tocoo().coords)
    tables = {
        "edges": {"source": ends[0], "target": ends[1]},
        "features": {"node": np.arange(N)} | {f"x{j}": X[:, j] for j in range(5)},
        "labels": {"node": np.flatnonzero(y >= 0), "label": y[y >= 0]},
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    given = [f"--{name}={tmp_path / name}.parquet" for name in tables]
    assert run(["fit", *given, "--out", str(tmp_path / "out"), "--memory", "1GB", "--quiet"]) == 0
    (tmp_path / "out" / "mine.txt").write_text("precious")
    return tmp_path / "out"


def new_label(out, place=0):
    """A file with another label for an unlabelled node than it was predicted to have; the node and the label."""
    found = pq.read_table(out / "predictions").to_pydict()
    labelled = set(pq.read_table(out.parent / "labels.parquet")["node"].to_pylist())
    node = [node for node in found["node"] if node not in labelled and node > 5][place]
    label = (found["label"][node] + 1) % 3
    pc.write_csv(pa.table({"node": [node], "label": [label]}), out.parent / "new.csv")
    return node, label


class Killed(BaseException):
    """The command was killed."""


@pytest.fixture
def killed(out, monkeypatch):
    """A model whose update was killed before the predictions were written anew; the node and its label."""
    node, label = new_label(out)
    with monkeypatch.context() as patch:

        def die(*_):
            raise Killed

        patch.setattr(stored, "rewrite_predictions", die)
        with pytest.raises(Killed):
            stored.update(out / "model", out.parent / "new.csv", stored.ColumnNames(), False, 10.0)
    assert (out / NOTE).is_file()
    assert pq.read_table(out / "predictions")["label"].to_pylist()[node] != label
    return node, label


@pytest.mark.parametrize("command", ["report", "update"])
def test_the_next_command_brings_predictions_up_to_date(out, killed, command):
    node, label = killed
    more = [] if command == "report" else ["--labels", str(out.parent / "new.csv")]
    assert run([command, str(out), *more]) == 0
    assert pq.read_table(out / "predictions")["label"].to_pylist()[node] == label
    assert not (out / NOTE).exists()


def test_an_update_marks_the_report_and_leaves_no_note(out):
    new_label(out)
    assert run(["update", str(out), "--labels", str(out.parent / "new.csv")]) == 0
    assert "Out of date" in (out / "report.html").read_text()
    assert run(["report", str(out)]) == 0
    assert "Out of date" not in (out / "report.html").read_text()
    assert sorted(path.name for path in out.iterdir()) == ["mine.txt", "model", "predictions", "report.html"]


def test_a_refused_update_leaves_no_note(out):
    pc.write_csv(pa.table({"node": [7], "label": [99]}), out.parent / "new.csv")
    assert run(["update", str(out), "--labels", str(out.parent / "new.csv")]) == 2
    assert not (out / NOTE).exists()


def test_files_of_others_beside_the_predictions_are_left_alone(out):
    node, label = new_label(out)
    (out / "predictions" / "mine.txt").write_text("precious")
    assert run(["update", str(out), "--labels", str(out.parent / "new.csv")]) == 0
    assert pq.read_table(out / "predictions" / "part-00000.parquet")["label"].to_pylist()[node] == label
    assert (out / "predictions" / "mine.txt").read_text() == "precious"


def test_predictions_of_the_model_before_are_mended_after_a_killed_fit(out, monkeypatch):
    """The new model is in place, and the predictions are still those of the old one."""
    node, label = new_label(out)
    labels = pq.read_table(out.parent / "labels.parquet")
    more = pa.table({"node": [node], "label": [label]}).cast(labels.schema)
    pq.write_table(pa.concat_tables([labels, more]), out.parent / "labels.parquet")
    given = [f"--{name}={out.parent / name}.parquet" for name in ("edges", "features", "labels")]

    def die(*_):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(fit_files, "replace_predictions", die)
        with pytest.raises(Killed):
            run(["fit", *given, "--out", str(out), "--memory", "1GB", "--quiet"])
    assert (out / NOTE).is_file()
    assert pq.read_table(out / "predictions")["label"].to_pylist()[node] != label
    assert run(["report", str(out)]) == 0
    assert pq.read_table(out / "predictions")["label"].to_pylist()[node] == label
    assert not (out / NOTE).exists()
