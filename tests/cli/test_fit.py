"""altopt fit, killed at work and while it writes: --resume goes on and leaves what an undisturbed run leaves."""

import signal
import subprocess
import sys

import pytest

from altopt.cli.main import run
from altopt.io.checkpoint import Checkpoint
from cli_tables import fit_call, tables

# runs a command that is killed right after it has put the n-th file of a name into its place
KILLED = """
import os, re, signal, sys
name, left, really = sys.argv[1], int(sys.argv[2]), os.replace
def replace(source, target, **options):
    global left
    really(source, target, **options)
    left -= bool(re.search(name, str(target)))
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
os.replace = replace
from altopt.cli.main import run
sys.exit(run(sys.argv[3:]))
"""


@pytest.fixture
def files(tmp_path):
    return tables(tmp_path, "csv", "text")


@pytest.fixture
def whole(files, tmp_path):
    """What an undisturbed run leaves."""
    assert run(fit_call(files, "--quiet", out=str(tmp_path / "whole"))) == 0
    return tmp_path / "whole"


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def assert_same_result(out, whole):
    assert names_in(out) == names_in(whole) == ["model", "predictions.parquet", "report.html"]
    assert names_in(out / "model") == names_in(whole / "model")  # arrays are named by what they hold
    assert (out / "predictions.parquet").read_bytes() == (whole / "predictions.parquet").read_bytes()


def test_killed_again_and_again_a_fit_ends_with_the_same_bits(files, whole):
    for name, number in (
        ("checkpoint.model-", 1),  # the checkpoint's folder has no head yet
        ("step-", 20),
        ("model.model-", 1),  # the model's folder neither
        ("report.html", 1),
    ):
        call = [sys.executable, "-c", KILLED, name, str(number), *fit_call(files, "--resume")]
        assert subprocess.run(call, capture_output=True).returncode == -signal.SIGKILL, name
    assert run(fit_call(files, "--resume", "--quiet")) == 0
    assert_same_result(files["out"], whole)


def test_after_ctrl_c_while_labels_are_held_out_the_way_on_is_said(files, whole, monkeypatch, capsys):
    stored = []

    def interrupted(self, step, result, really=Checkpoint.store):
        really(self, step, result)
        stored.append(step)
        if len(stored) == 12:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "store", interrupted)
        assert run(fit_call(files, "--quiet")) == 130
    assert capsys.readouterr().err == (
        "Stopped. The same command with --resume goes on after the last finished step.\n"
    )
    assert names_in(files["out"]) == ["checkpoint"]
    first, really = set(stored), Checkpoint.store

    def noted(self, step, result):
        assert step not in first  # it was done already
        really(self, step, result)

    monkeypatch.setattr(Checkpoint, "store", noted)
    assert run(fit_call(files, "--resume", "--quiet")) == 0
    assert_same_result(files["out"], whole)
