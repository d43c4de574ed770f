"""altopt update: several at once lose nothing, and what lies beside the model follows it."""

import json
import os
import shutil
import subprocess
import sys
import threading

import pytest

from altopt import AltOpt
from altopt.cli import outputs
from altopt.cli.main import run
from altopt.cli.outputs import BANNER, NOTE, NOTE_TEXT
from altopt.errors import DiskError
from altopt.io.folder import folder_lock
from cli_tables import fit_call, read, tables


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    found = tables(tmp_path_factory.mktemp("files"), "parquet", "whole")
    assert run(fit_call(found, "--quiet")) == 0
    return found


@pytest.fixture
def out(files, tmp_path):
    return shutil.copytree(files["out"], tmp_path / "out")


@pytest.fixture
def labels(files, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text(f"node,label\n{files['ids'][0]},class 1\n{files['ids'][1]},class 2\n")
    return path


def update(*call):
    return run(["update", *map(str, call)])


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


SCRIPT = """
import os, sys
import filelock, pyarrow.csv, pyarrow.parquet, safetensors.numpy
from altopt import AltOpt
from altopt.cli import outputs
from altopt.cli.main import run
children = []
for label in sys.argv[2:]:
    child = os.fork()
    if child == 0:
        os._exit(run(["update", sys.argv[1], "--labels", label]))
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_updates_at_once_are_all_there(files, out, tmp_path):
    new = []
    for k in range(4):
        new.append(tmp_path / f"{k}.csv")
        new[-1].write_text(f"node,label\n{files['ids'][k]},class {k % 3}\n")
    call = [sys.executable, "-c", SCRIPT, str(out), *map(str, new)]
    done = subprocess.run(call, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert json.loads(done.stdout.splitlines()[-1]) == [0] * 4, done.stderr
    model = AltOpt.load(out / "model")
    assert model.labelled_[:4].all()
    assert model.transduction_[:4].tolist() == [f"class {k % 3}" for k in range(4)]
    assert read(out / "predictions.parquet")["label"] == model.transduction_.tolist()
    assert len(list((out / "model").iterdir())) == 3


def test_an_update_that_waits_too_long_gives_up_in_words(out, labels, capsys):
    held, done = threading.Event(), threading.Event()

    def hold():
        with folder_lock(out / "model"):
            held.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    before = contents(out)
    code = update(out, "--labels", labels, "--wait", 0.1)
    done.set()
    holder.join()
    assert code == 2
    assert "is being written by another process; gave up after waiting 0.1 s" in capsys.readouterr().err
    assert contents(out) == before


def test_a_folder_without_a_model_gets_no_lock(tmp_path, labels):
    (tmp_path / "notes").mkdir()
    assert update(tmp_path / "notes", "--labels", labels) == 2
    assert list((tmp_path / "notes").iterdir()) == []


@pytest.mark.parametrize("way", ["the folder of the fit", "the model", "from inside"])
def test_predictions_and_report_follow_the_model(way, out, labels, capsys, monkeypatch):
    monkeypatch.chdir(out / "model" if way == "from inside" else out)
    place = {"the folder of the fit": out, "the model": out / "model", "from inside": "."}[way]
    assert update(place, "--labels", labels) == 0
    said = capsys.readouterr().out
    assert "predictions.parquet." in said
    assert "report.html is out of date and says so; altopt report" in said
    model = AltOpt.load(out / "model")
    found = read(out / "predictions.parquet")
    assert found["label"] == model.transduction_.tolist()
    assert found["confidence"] == model.confidence_.tolist()
    page = (out / "report.html").read_bytes()
    assert page.count(BANNER) == 1
    assert page.index(b"<body>") < page.index(BANNER) < page.index(b"<h1>")
    assert update(place, "--labels", labels) == 0
    assert (out / "report.html").read_bytes().count(BANNER) == 1
    assert run(["report", str(out)]) == 0
    assert BANNER not in (out / "report.html").read_bytes()
    assert sorted(path.name for path in out.iterdir()) == ["model", "predictions.parquet", "report.html"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("predictions.csv", "id,answer\n1,2\n"),
        ("predictions.csv", ""),
        ("predictions.csv", "\xff\x00"),
        ("predictions.parquet", "not Parquet"),
        ("report.html", "<title>My own report</title>"),
    ],
)
def test_files_of_others_beside_the_model_stay(name, text, out, labels):
    (out / name).write_text(text)
    assert update(out, "--labels", labels) == 0
    assert (out / name).read_text() == text


def test_an_update_stored_elsewhere_leaves_all_as_it_was(out, labels, tmp_path):
    before = contents(out)
    assert update(out, "--labels", labels, "--out", tmp_path / "other") == 0
    assert update(out, "--labels", labels, "--dry-run") == 0
    assert contents(out) == before


def test_a_model_behind_a_link_is_updated_where_it_is(out, labels, tmp_path):
    real = tmp_path / "real"
    (out / "model").rename(real)
    (out / "model").symlink_to(real)
    assert update(out, "--labels", labels) == 0
    assert (out / "model").is_symlink()
    assert AltOpt.load(real).labelled_[:2].all()
    assert read(out / "predictions.parquet")["label"] == AltOpt.load(real).transduction_.tolist()


class Killed(BaseException):
    pass


@pytest.mark.parametrize("at", ["write_predictions", "mark_report"])
def test_after_a_kill_a_note_tells_what_is_out_of_date(at, out, labels, monkeypatch):
    def die(*_):
        raise Killed

    before = (out / "predictions.parquet").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(outputs, at, die)
        with pytest.raises(Killed):
            update(out, "--labels", labels)
    assert AltOpt.load(out / "model").labelled_[:2].all()
    assert ((out / "predictions.parquet").read_bytes() == before) == (at == "write_predictions")
    assert (out / NOTE).read_text() == NOTE_TEXT
    assert update(out, "--labels", labels) == 0
    assert not (out / NOTE).exists()
    assert read(out / "predictions.parquet")["label"] == AltOpt.load(out / "model").transduction_.tolist()


def test_a_report_after_a_kill_brings_the_predictions_up_to_date(out, labels, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(outputs, "write_predictions", lambda *_: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            update(out, "--labels", labels)
    assert run(["report", str(out)]) == 0
    assert not (out / NOTE).exists()
    assert read(out / "predictions.parquet")["label"] == AltOpt.load(out / "model").transduction_.tolist()


def test_a_disk_that_fails_before_the_model_is_stored_leaves_all_as_it_was(out, labels, monkeypatch, capsys):
    before = contents(out)
    monkeypatch.setattr(AltOpt, "save", lambda *_: (_ for _ in ()).throw(DiskError("The disk is full.")))
    assert update(out, "--labels", labels) == 2
    assert contents(out) == before


def test_a_disk_that_fails_after_the_model_is_stored_says_so(out, labels, monkeypatch, capsys):
    full = DiskError("The disk is full.")
    monkeypatch.setattr(outputs, "write_predictions", lambda *_: (_ for _ in ()).throw(full))
    assert update(out, "--labels", labels) == 2
    assert "The disk is full. The model itself was updated and stored in" in capsys.readouterr().err
    assert (out / NOTE).exists()
