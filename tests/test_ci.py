"""The script that CI runs: what page tests need is installed or missed aloud, and pages are kept as they look."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

RUN = Path(__file__).parents[1] / ".ci" / "run"
TOOLS = {  # a failing install, and make, which only tells what it was given
    "apt-get": "echo no such mirror; exit 100",
    "npm": "echo no registry; exit 1",
    "make": 'echo "made $@ with $ALTOPT_SCREENSHOTS"',
    "id": "echo 0",
}


@pytest.fixture
def checkout(tmp_path):
    """A checkout with nothing but the script, and a path on which the tools are those above."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    (tmp_path / "altopt" / ".ci").mkdir(parents=True)
    (tmp_path / "altopt" / "frontend").mkdir()
    shutil.copy(RUN, tmp_path / "altopt" / ".ci")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, script in TOOLS.items():
        (tools / name).write_text(f"#!{bash}\n{script}\n")
        (tools / name).chmod(0o755)
    for name in ("mkdir", "dirname", "timeout", "bash", "env"):
        (tools / name).symlink_to(shutil.which(name))
    return tmp_path / "altopt"


def run(checkout, *without, ci="true"):
    for name in without:
        (checkout.parent / "tools" / name).unlink()
    env = {"PATH": str(checkout.parent / "tools"), "CI": ci, "HOME": os.environ.get("HOME", "/")}
    call = [shutil.which("bash"), str(checkout / ".ci" / "run")]
    return subprocess.run(call, env=env, capture_output=True, text=True, check=False)


def with_browser(checkout):
    browser = checkout.parent / "tools" / "chromium"
    browser.write_text("")
    browser.chmod(0o755)


def test_a_browser_that_cannot_be_installed_fails_ci(checkout):
    found = run(checkout)
    assert found.returncode == 1
    assert "Chromium could not be installed, and without it page tests would be skipped" in found.stderr
    assert (checkout / "build" / "logs" / "chromium").read_text() == "no such mirror\n"
    assert "made" not in found.stdout


def test_packages_that_cannot_be_installed_fail_ci(checkout):
    with_browser(checkout)
    found = run(checkout)
    assert found.returncode == 1
    assert "The front end's packages could not be installed" in found.stderr
    assert (checkout / "build" / "logs" / "npm").read_text() == "no registry\n"


def test_outside_ci_the_tests_run_all_the_same(checkout):
    found = run(checkout, ci="")
    assert found.returncode == 0
    assert found.stderr.count("will be skipped; see") == 2


def test_where_nothing_can_be_installed_the_skips_are_announced(checkout):
    found = run(checkout, "apt-get", "npm")
    assert found.returncode == 0
    assert "no Chromium, and no apt-get as root: page tests will be skipped" in found.stderr
    assert "no npm: axe-core will not look at the pages" in found.stderr


def test_screenshots_are_kept(checkout):
    assert f"made test with {checkout}/build/screenshots" in run(checkout, "apt-get", "npm").stdout
