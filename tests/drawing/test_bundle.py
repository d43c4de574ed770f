"""The front end that the package carries is what its sources build."""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from altopt.drawing.html import Html
from altopt.drawing.page import BUNDLE, page

FRONTEND = Path(__file__).parents[2] / "frontend"


def test_the_bundle_was_built_from_these_sources():
    names = ["package.json", "package-lock.json", "vite.config.js"]
    names += [f"src/{path.name}" for path in sorted((FRONTEND / "src").iterdir())]
    content = "".join((FRONTEND / name).read_text(encoding="utf-8") for name in names)
    expected = hashlib.sha256(content.encode()).hexdigest()
    for name in ("altopt.js", "altopt.css"):
        first = (BUNDLE / name).read_text(encoding="utf-8").splitlines()[0]
        assert re.search(r"built from (\w+)", first)[1] == expected, (
            "npm install && npm run build in frontend/"
        )


def test_node_builds_the_same_bytes(tmp_path):
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no Node installed")
    out, place = tmp_path / "bundle", FRONTEND
    run = {"capture_output": True, "text": True, "check": False}
    if not (FRONTEND / "node_modules").is_dir():
        place = shutil.copytree(FRONTEND, tmp_path / "frontend")
        installed = subprocess.run([npm, "install", "--no-save", "--no-audit", "--no-fund"], cwd=place, **run)
        if installed.returncode:
            pytest.skip(f"npm install failed: {installed.stderr[-200:]}")
    env = os.environ | {"BUNDLE_FOLDER": str(out)}
    built = subprocess.run([npm, "run", "build"], cwd=place, env=env, **run)
    assert built.returncode == 0, built.stderr
    for path in sorted(BUNDLE.iterdir()):
        assert (out / path.name).read_bytes() == path.read_bytes(), path.name


def test_licences_of_what_is_in_it_are_carried():
    """Beside the bundle, and in every page, which goes its own way: the packages by name, and the whole notices."""
    notices = (BUNDLE / "LICENCES.txt").read_text(encoding="utf-8")
    packages = re.findall(r"^([\w-]+) [\d.]+ \(MIT\)$", notices, re.MULTILINE)
    assert packages == ["events", "graphology", "graphology-layout-forceatlas2", "graphology-utils", "sigma"]
    assert notices.count("THE SOFTWARE IS PROVIDED") == len(packages)
    assert notices in page("AltOpt report", Html(), {})
