"""The command line at work: tables in and out with the user's ids, and a fit that can be broken off."""

import re
import subprocess
import sys

import numpy as np
import pytest

from altopt import AltOpt
from altopt.cli import registry
from altopt.cli.main import run
from altopt.cli.progress import Rounds
from cli_tables import N_NEW, N, X, data, ends, fit_call, read, tables


@pytest.fixture
def files(tmp_path, request):
    return tables(tmp_path, *getattr(request, "param", ("csv", "text")))


@pytest.mark.parametrize(
    "files", [("csv", "text"), ("parquet", "text"), ("csv", "whole"), ("parquet", "whole")], indirect=True
)
def test_fit_and_predict_keep_ids_and_order(files, capsys):
    suffix = files["features"].suffix
    assert run(fit_call(files, "--predictions-format", suffix[1:])) == 0
    said = capsys.readouterr()
    assert "240 nodes" in said.out
    assert "GB of memory" in said.out
    assert "round 1 of 5" in said.err
    assert sorted(p.name for p in files["out"].iterdir()) == ["model", f"predictions{suffix}", "report.html"]
    found = read(files["out"] / f"predictions{suffix}")
    assert list(found) == ["node", "label", "confidence", "p_class 0", "p_class 1", "p_class 2"]
    spelled = files["ids"] if suffix == ".parquet" else [str(name) for name in files["ids"]]
    assert found["node"] == spelled[:N]
    assert found["label"][150:] == [f"class {k}" for k in data.y[150:N]]

    predictions = files["out"] / f"new{suffix}"
    call = ["predict", str(files["out"]), "--features", str(files["new_features"]), "--out", str(predictions)]
    assert run(call) == 0
    assert read(predictions)["node"] == spelled[N:]
    assert run([*call, "--edges", str(files["new_edges"])]) == 0
    found = read(predictions)
    assert found["node"] == spelled[N:]
    truth = [f"class {k}" for k in data.y[N:]]
    assert np.mean([a == b for a, b in zip(found["label"], truth)]) > 0.6


def test_predictions_are_those_of_the_library(files):
    assert run(fit_call(files, "--quiet")) == 0
    y = np.full(N, None, dtype=object)
    y[150:] = [f"class {k}" for k in data.y[150:N]]
    inside = ends[:, (ends < N).all(axis=0)]
    model = AltOpt(random_state=0).fit(X[:N], y, graph=inside)
    found = read(files["out"] / "predictions.parquet")
    assert found["label"] == model.transduction_.tolist()
    np.testing.assert_array_equal(found["confidence"], model.confidence_)


@pytest.mark.parametrize(
    "more",
    [
        ["--graph-view", "two-hop"],
        ["--graph-view", "shared-out-neighbours", "--directed"],
        ["--inputs", "out-adjacency,hops,degrees", "--encoder", "kernel", "--directed"],
        ["--inputs", "hops", "--encoder", "attention", "--label-view", "robust"],
        ["--encoder", "forest", "--inputs", "raw", "--graph-view", "none"],
    ],
)
def test_parts_are_chosen_by_name_and_serve_later_nodes(files, more):
    assert run(fit_call(files, "--quiet", "--rounds", "1", *more)) == 0
    call = ["predict", str(files["out"]), "--features", str(files["new_features"]), "--quiet"]
    assert run([*call, "--edges", str(files["new_edges"]), "--out", str(files["out"] / "new.csv")]) == 0
    assert len(read(files["out"] / "new.csv")["label"]) == N_NEW


CHOICES = (registry.GRAPH_VIEWS, registry.LABEL_VIEWS, registry.INPUTS, registry.ENCODERS)


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: choice.option)
def test_every_named_part_can_be_made_and_is_in_the_help(choice, capsys):
    assert run(["fit", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for name in choice.parts:
        assert choice[name] is not None
        assert re.search(rf"\b{name}\b", choice.help)
    assert f"--{choice.option}" in shown
    assert choice.about.split()[0] in shown


def test_without_edges_the_graph_is_built(files):
    call = ["fit", "--features", str(files["features"]), "--labels", str(files["labels"])]
    assert run([*call, "--out", str(files["out"]), "--quiet"]) == 0
    assert AltOpt.load(files["out"] / "model").neighbours_ is not None


def test_settings_reach_the_model(files):
    more = ["--paper", "H", "--rounds", "2", "--seed", "7", "--quiet", "--directed"]
    assert run(fit_call(files, *more, "--classes", "class 0,class 1,class 2,class 9")) == 0
    model = AltOpt.load(files["out"] / "model")
    # two updates of F: one round, and the last one
    assert (model.n_rounds, model.seed_, model.graph_view.__name__) == (1, 7, "SquaredLaplacianView")
    assert model.classes_.tolist() == ["class 0", "class 1", "class 2", "class 9"]
    assert model.graph_.directed_adjacency is not None


def test_a_warning_is_one_line_at_the_end(files, capsys):
    assert run(fit_call(files, "--quiet", "--classes", "class 0,class 1,class 2,class 9")) == 0
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert line.startswith("Warning: 1 of the declared classes")


def test_quiet_says_nothing(files, capsys):
    assert run(fit_call(files, "--quiet")) == 0
    assert capsys.readouterr() == ("", "")


def test_report_is_written_again(files, capsys):
    run(fit_call(files, "--quiet"))
    (files["out"] / "report.html").unlink()
    assert run(["report", str(files["out"])]) == 0
    assert (files["out"] / "report.html").is_file()
    assert capsys.readouterr().out == f"Wrote {files['out'] / 'report.html'}.\n"


def break_off_after(n_rounds: int, monkeypatch) -> None:
    def interrupted(self, done, planned, record):
        if done == n_rounds:
            raise KeyboardInterrupt

    monkeypatch.setattr(Rounds, "__call__", interrupted)


@pytest.mark.parametrize("paper", [[], ["--paper", "mse"]])
def test_a_resumed_fit_ends_with_the_same_bits(files, monkeypatch, capsys, tmp_path, paper):
    whole = tmp_path / "whole"
    assert run(fit_call(files, "--quiet", *paper, out=str(whole))) == 0
    with monkeypatch.context() as patch:
        break_off_after(1, patch)
        assert run(fit_call(files, *paper)) == 130
    assert capsys.readouterr().err == (
        "Stopped. The same command with --resume goes on after the last finished step.\n"
    )
    assert [path.name for path in files["out"].iterdir()] == ["checkpoint"]
    assert run(fit_call(files, "--resume", *paper)) == 0
    assert "round 1 of" not in capsys.readouterr().err
    assert not (files["out"] / "checkpoint").exists()
    for name in ("predictions.parquet", f"model/{next(whole.glob('model/*.safetensors')).name}"):
        assert (files["out"] / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize("name", ["predictions.parquet", "report.html", "model/model.json"])
def test_a_fit_leaves_the_files_of_others_alone(files, capsys, name):
    mine = files["out"] / name
    mine.parent.mkdir(parents=True)
    mine.write_text("{}")
    assert run(fit_call(files)) == 2
    assert "nothing was overwritten" in capsys.readouterr().err
    assert [path for path in files["out"].rglob("*") if path.is_file()] == [mine]
    assert mine.read_text() == "{}"


def test_a_fit_removes_only_predictions_of_its_own(files):
    files["out"].mkdir()
    (files["out"] / "predictions.csv").write_text("id,answer\n")
    assert run(fit_call(files, "--quiet")) == 0
    assert (files["out"] / "predictions.csv").read_text() == "id,answer\n"


def test_a_failed_fit_leaves_the_former_result(files, monkeypatch):
    assert run(fit_call(files, "--quiet")) == 0
    before = {path: path.read_bytes() for path in files["out"].rglob("*") if path.is_file()}
    break_off_after(1, monkeypatch)
    assert run(fit_call(files, "--seed", "5")) == 130
    assert all(path.read_bytes() == content for path, content in before.items())


def test_resuming_another_fit_is_refused(files, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        break_off_after(1, patch)
        run(fit_call(files))
    capsys.readouterr()
    assert run(fit_call(files, "--resume", "--seed", "9")) == 2
    said = capsys.readouterr().err
    assert "other data or settings" in said
    assert said.count("\n") == 1


def test_datasets_are_listed(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("ALTOPT_DATA", str(tmp_path))
    assert run(["datasets"]) == 0
    listed = capsys.readouterr().out
    assert "digits              ready" in listed
    assert "Cora                raw files not found" in listed
    assert run(["datasets", "path"]) == 0
    assert capsys.readouterr().out == f"{tmp_path.resolve()}\n"
    assert run(["datasets", "list", "--data", str(tmp_path)]) == 0


def test_the_console_entry():
    program = "from altopt.cli.main import main; main()"
    version = subprocess.run([sys.executable, "-c", program, "--version"], capture_output=True, check=True)
    assert version.stdout.startswith(b"altopt ")
    wrong = subprocess.run([sys.executable, "-c", program, "fit"], capture_output=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert wrong.stderr.decode().splitlines() == ["Error: Missing option '--out'. See altopt fit --help."]
    alone = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert b"Usage: altopt" in alone.stdout


def test_a_dry_run_says_what_a_fit_would_need_and_writes_nothing(files, capsys):
    assert run(fit_call(files, "--dry-run")) == 0
    said = capsys.readouterr().out
    assert "needs about" in said
    for part in ("features X", "graph", "phase 2, diffusing X", "peak"):
        assert part in said
    assert not files["out"].exists()


def test_a_model_stored_without_column_names_takes_them_as_they_come(tmp_path):
    files = tables(tmp_path, "csv", "whole")
    model = AltOpt(random_state=0, cross_fit=False).fit(X[:N], np.where(np.arange(N) < 30, data.y[:N], -1))
    model.save(tmp_path / "model")
    call = ["predict", tmp_path / "model", "--features", files["new_features"], "--out", tmp_path / "p.csv"]
    assert run([str(part) for part in call]) == 0
