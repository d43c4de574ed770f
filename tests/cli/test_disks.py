"""Disks that are full, read-only or gone under every command that writes: exit 2, one line, old files whole."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from altopt.cli.main import run
from cli_tables import fit_call, tables

FAST = ("--quiet", "--rounds", "1")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    files = tables(tmp_path_factory.mktemp("fitted"), "csv", "text")
    assert run(fit_call(files, *FAST)) == 0
    return files


def contents(folder: Path) -> dict[str, bytes]:
    kept = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    return {str(path.relative_to(folder)): held for path, held in kept.items() if path.name != ".lock"}


def calls(files, out: Path) -> dict[str, list[str]]:
    """Every command that writes, over what an earlier one has written into `out`."""
    new = ["--features", str(files["new_features"])]
    return {
        "fit": fit_call(files, *FAST, out=str(out)),
        "update": ["update", str(out), "--labels", str(files["labels"])],
        "predict": ["predict", str(out), *new, "--out", str(out / "predictions.csv")],
        "report": ["report", str(out)],
    }


@pytest.mark.parametrize("name", ["ENOSPC", "EROFS", "EIO", "EDQUOT"])
@pytest.mark.parametrize("command", ["fit", "update", "predict", "report"])
def test_a_disk_that_fails_is_told_and_what_was_there_stays(
    fitted, tmp_path, monkeypatch, capsys, command, name
):
    out = tmp_path / "out"
    shutil.copytree(fitted["out"], out)
    before, number = contents(out), getattr(errno, name)

    def fails(*_, **__):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        for where in ("os.replace", "os.rename", "os.fsync", "os.link"):
            patch.setattr(where, fails)
        assert run(calls(fitted, out)[command]) == 2
    said = capsys.readouterr().err
    assert f"cannot be written: {os.strerror(number)}. " in said
    assert said.startswith("Error: ")
    assert said.count("\n") == 1
    after = contents(out)
    assert {key: after[key] for key in before} == before
    assert not [key for key in after if key.endswith((".draft", ".tmp", ".new"))]


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
from altopt.cli.main import main
main()
"""


def test_a_limit_on_file_sizes_is_told(fitted, tmp_path):
    """The same from the system itself: a file may not pass 2,000 bytes."""
    out = tmp_path / "out"
    shutil.copytree(fitted["out"], out)
    before = contents(out)
    ended = [
        subprocess.Popen([sys.executable, "-c", LIMITED, *call], stderr=subprocess.PIPE, text=True)
        for command, call in calls(fitted, out).items()
        if command in ("update", "report")
    ]
    for process in ended:
        said = process.communicate()[1]
        assert process.returncode == 2, said
        assert "cannot be written: File too large. " in said
    assert contents(out) == before


def mounted(folder: Path, options: str) -> bool:
    folder.mkdir()
    call = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    return shutil.which("mount") is not None and not subprocess.run(call, capture_output=True).returncode


@pytest.mark.parametrize("how", ["full", "read-only"])
def test_a_real_disk(fitted, tmp_path, capsys, how):
    disk = tmp_path / "disk"
    held = sum(path.stat().st_size + 4096 for path in fitted["out"].rglob("*")) // 1024
    if not mounted(disk, f"size={held + 40}k"):
        pytest.skip("needs the right to mount")
    try:
        shutil.copytree(fitted["out"], disk / "out")
        before = contents(disk / "out")
        if how == "full":
            with (disk / "filler").open("wb") as file:
                while free := os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize:
                    file.write(bytes(free))
                    file.flush()
        else:
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for command, call in (
            calls(fitted, disk / "out") | {"new": fit_call(fitted, *FAST, out=str(disk / "n"))}
        ).items():
            assert run(call) == 2, command
            said = capsys.readouterr().err
            assert "No space left on device" in said or "Read-only file system" in said
            assert said.count("\n") == 1
        assert contents(disk / "out") == before
        assert sorted(os.listdir(disk)) == ["filler", "out"][how != "full" :]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("place", ["file/below", "file/far/below", "a" * 300, "", " ", "nul\0", "odd\udcff"])
def test_an_output_that_cannot_be_is_refused_before_the_work(fitted, tmp_path, monkeypatch, capsys, place):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("altopt.AltOpt.fit", lambda *_, **__: 1 / 0)
    monkeypatch.setattr("altopt.AltOpt.load", lambda *_, **__: 1 / 0)
    (tmp_path / "file").touch()
    table = f"{place}.csv" if place.strip() else place
    new = ["--features", str(fitted["new_features"])]
    for call in (
        fit_call(fitted, out=place),
        ["predict", str(fitted["out"]), *new, "--out", table],
        ["report", str(fitted["out"]), "--out", place],
    ):
        assert run(call) == 2, call
        assert capsys.readouterr().err.count("\n") == 1
    assert os.listdir(tmp_path) == ["file"]


def test_a_device_is_not_replaced(fitted, capsys):
    assert run(["report", str(fitted["out"]), "--out", "/dev/null"]) == 2
    assert "/dev/null is not an ordinary file" in capsys.readouterr().err
    assert not Path("/dev/null").is_file()


def test_a_failed_fit_leaves_no_folder(fitted, tmp_path, monkeypatch, capsys):
    out = str(tmp_path / "new" / "deep")
    assert run(fit_call(fitted, out=out, labels=str(fitted["features"]))) == 2
    assert run(fit_call(fitted, "--encoder", "attention", out=out)) == 2
    monkeypatch.setattr("altopt.AltOpt.fit", lambda *_, **__: 1 / 0)
    assert run(fit_call(fitted, out=out)) == 1
    assert os.listdir(tmp_path) == []
