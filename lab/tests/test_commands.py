"""The commands that altopt_lab adds to altopt, found through their entry points."""

import ast
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from typer.testing import CliRunner

from altopt.cli.main import app
from altopt_lab.bench.registry import BENCHES
from altopt_lab.commands.bench import bench
from altopt_lab.commands.reproduce import reproduce
from altopt_lab.experiments.tables import PAPER_TABLES
from altopt_lab.records import read_records

LAB = Path(__file__).parents[1]
COMMANDS = {"bench": bench, "reproduce": reproduce}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_found_through_its_entry_point(name):
    [entry] = entry_points(group="altopt.commands", name=name)
    assert entry.load() is COMMANDS[name]


@pytest.mark.parametrize(("command", "names"), [("bench", BENCHES), ("reproduce", PAPER_TABLES)])
def test_the_help_of_a_command_names_all_that_it_can_do(command, names):
    text = CliRunner().invoke(app, [command, "--help"]).output
    text = " ".join(text.split()).replace("- ", "-")  # lines are broken at hyphens too
    assert all(name in text for name in [*names, "all"])


def test_a_benchmark_runs_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.setenv("ALTOPT_CACHE", str(tmp_path))
    monkeypatch.setattr("altopt_lab.bench.machine.TRIAD_LENGTH", 1000)
    path = tmp_path / "bench.jsonl"
    call = ["bench", "propagate", "--size", "cora", "--repeats", "1", "--quiet", "--record", str(path)]
    finished = CliRunner().invoke(app, call)
    assert finished.exit_code == 0, finished.output
    assert "one step, 7 columns" in finished.output
    assert [record["bench"] for record in read_records(path)] == ["propagate"]


def test_altopt_does_not_load_the_lab():
    code = "import altopt, altopt.cli.main, sys; sys.exit('altopt_lab.experiments' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_module_opens_with_a_sentence():
    for path in (LAB / "altopt_lab").rglob("*.py"):
        sentence = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n")[0]
        assert sentence.endswith((".", ":")), path
