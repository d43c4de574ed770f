"""With the core dependencies only: what works, and how a missing package is told."""

import subprocess
import sys
import textwrap
from importlib.metadata import EntryPoint

import pytest
import typer

from altopt.cli import main
from cli_tables import fit_call, tables

WITHOUT_EXTRAS = """
import sys
from importlib.machinery import PathFinder

EXTRAS = {"torch", "fastapi", "uvicorn", "pandas", "polars", "networkx", "torch_geometric", "ogb", "lightgbm"}

class CoreOnly(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in EXTRAS else super().find_spec(name, path, target)

sys.meta_path = [CoreOnly if finder is PathFinder else finder for finder in sys.meta_path]
"""


def python(program: str, prelude: str = "") -> subprocess.CompletedProcess:
    call = [sys.executable, "-c", prelude + textwrap.dedent(program)]
    return subprocess.run(call, capture_output=True, text=True, check=False)


def command(*arguments: object) -> subprocess.CompletedProcess:
    call = [*map(str, arguments)]
    return python(f"from altopt.cli.main import run\nsys.exit(run({call!r}))", WITHOUT_EXTRAS)


def test_importing_altopt_loads_nothing_heavy():
    ran = python(
        """
        import sys, altopt
        print(*{name.partition(".")[0] for name in sys.modules} & {"numpy", "scipy", "sklearn", "pandas", "torch"})
        """
    )
    assert (ran.stdout.split(), ran.stderr) == ([], "")


def test_help_loads_no_numerical_library():
    ran = python(
        """
        import sys
        from altopt.cli.main import run
        run(["fit", "--help"])
        print("loaded:", *{"numpy", "scipy", "sklearn", "pandas", "torch"} & set(sys.modules))
        """
    )
    assert ran.stdout.splitlines()[-1] == "loaded:"


def test_a_default_fit_and_what_follows_need_the_core_only(tmp_path):
    ran = python(
        f"""
        import altopt
        from altopt.datasets import communities
        data = communities(300, 3, seed=1)
        y = data.y.copy()
        y[60:] = -1
        model = altopt.AltOpt(random_state=0).fit(data.X, y, graph=data.graph)
        model.explain(100), model.suggest(2), model.update(labels={{100: 0}})
        model.save({str(tmp_path / "model")!r})
        print(altopt.AltOpt.load({str(tmp_path / "model")!r}).transduction_[100], *EXTRAS & set(sys.modules))
        """,
        WITHOUT_EXTRAS,
    )
    assert (ran.stdout, ran.stderr) == ("0\n", "")


def test_a_fit_with_the_core_writes_its_report(tmp_path):
    files = tables(tmp_path, "csv", "text")
    ran = command(*fit_call(files, "--rounds", "1", "--encoder", "linear"))
    assert ran.returncode == 0, ran.stderr
    assert sorted(path.name for path in files["out"].iterdir()) == [
        "model",
        "predictions.parquet",
        "report.html",
    ]


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["demo"], "torch"),
        (["fit", "--paper", "mse"], "torch"),
        (["fit", "--encoder", "mlp"], "torch"),
    ],
)
def test_a_missing_package_is_one_line_that_names_the_extra(tmp_path, arguments, extra):
    if arguments[0] == "fit":
        arguments = [*fit_call(tables(tmp_path, "csv", "text"), "--quiet", *arguments[1:])]
    ran = command(*arguments)
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert f"pip install 'altopt[{extra}]'" in ran.stderr


def test_a_plugin_that_cannot_be_loaded_leaves_the_other_commands_alone(monkeypatch, capsys):
    broken = EntryPoint("bench", "altopt.no_such_module:bench", "altopt.commands")
    monkeypatch.setattr(main, "app", typer.Typer(pretty_exceptions_enable=False))
    monkeypatch.setattr(main, "entry_points", lambda group: [broken])
    main.app.command("demo")(lambda: None)
    main.add_commands_of_other_packages()
    assert main.run(["demo"]) == 0
    assert main.run(["bench", "solve", "--size", "cora"]) == 2
    assert (
        "cannot be loaded (ModuleNotFoundError: No module named 'altopt.no_such_module')"
        in capsys.readouterr().err
    )
    assert main.run(["reproduce", "all"]) == 2
    assert "altopt reproduce comes with altopt-lab, which is not installed." in capsys.readouterr().err
