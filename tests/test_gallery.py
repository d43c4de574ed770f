"""Every script of the gallery runs, labels most of its nodes rightly, and is shown in the handbook."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_runs_and_is_right(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    shares = [int(share) for share in re.findall(r"(\d+)% are right", capsys.readouterr().out)]
    assert shares
    assert min(shares) > 80


def test_the_handbook_shows_every_script():
    page = (ROOT / "docs" / "gallery.md").read_text()
    assert set(re.findall(r"literalinclude} \.\./examples/gallery/(\w+\.py)", page)) == {
        path.name for path in SCRIPTS
    }


def test_least_cost_misses_fewer_frauds(capsys):
    runpy.run_path(str(ROOT / "examples" / "gallery" / "fraud.py"), run_name="__main__")
    missed = re.search(r"likeliest label: (\d+), at least cost: (\d+)", capsys.readouterr().out)
    assert int(missed[2]) < int(missed[1])
