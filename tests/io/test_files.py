"""Output files: whole or untouched, whatever the disk does, and every refusal is a sentence."""

import errno
import os
import subprocess
import sys
import threading

import pytest

from altopt.errors import DiskError, InputError
from altopt.io import files
from altopt.io.files import check_output, draft_name, new_folder, replacing, write_text

FAILURES = ["ENOSPC", "EROFS", "EIO", "EDQUOT", "EACCES"]


def fail_with(name, monkeypatch, where):
    number = getattr(errno, name)

    def fails(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(where, fails)
    return os.strerror(number)


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("where", ["os.fsync", "os.replace", "pathlib.Path.write_text"])
def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch, name, where):
    path = tmp_path / "page.html"
    path.write_text("old")
    with monkeypatch.context() as patch:
        reason = fail_with(name, patch, where)
        with pytest.raises(DiskError, match=f"page.html cannot be written: {reason}. "):
            write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


def test_folders_made_for_a_file_go_with_it(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        fail_with("ENOSPC", patch, "os.fsync")
        with pytest.raises(DiskError, match="Free some space"):
            write_text(tmp_path / "a" / "b" / "page.html", "new")
    assert os.listdir(tmp_path) == []
    write_text(tmp_path / "a" / "b" / "page.html", "new")
    assert (tmp_path / "a" / "b" / "page.html").read_text() == "new"


def test_a_new_folder_that_holds_something_stays(tmp_path):
    def fills_and_fails():
        with new_folder(tmp_path / "a" / "b"):
            (tmp_path / "a" / "kept").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fills_and_fails()
    assert os.listdir(tmp_path / "a") == ["kept"]


def test_a_folder_that_vanishes_is_told(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()

    def writes_too_late():
        with replacing(folder / "page.html") as draft:
            folder.rmdir()
            draft.write_text("new")

    with pytest.raises(DiskError, match="cannot be written: No such file or directory"):
        writes_too_late()
    assert os.listdir(tmp_path) == []


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_drafts_of_dead_processes_are_removed_and_no_others(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    names = {
        f".page.{files.HOST}-{ended.pid}-0.draft": False,
        f".page.{files.HOST}-{os.getpid()}-999999.draft": True,
        f".page.00000000-{ended.pid}-0.draft": True,  # another machine's
        f".other.{files.HOST}-{ended.pid}-0.draft": True,
        ".page.mine.draft": True,
    }
    for name in names:
        (tmp_path / name).touch()
    write_text(tmp_path / "page", "new")
    assert {name: (tmp_path / name).exists() for name in names} == names


def test_threads_write_the_same_file_whole(tmp_path):
    texts = [letter * 100_000 for letter in "abcd"]
    threads = [threading.Thread(target=write_text, args=(tmp_path / "page", text)) for text in texts * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "page").read_text() in texts
    assert os.listdir(tmp_path) == ["page"]


def test_the_longest_name_that_a_disk_takes_can_be_written(tmp_path):
    write_text(tmp_path / ("é" * 127), "new")
    assert os.listdir(tmp_path) == ["é" * 127]


@pytest.fixture
def place(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "round").symlink_to("round")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("file/below.csv", "is a file, not a folder"),
        ("file/far/below.csv", "is a file, not a folder"),
        ("folder", "is a folder. Name a file in it."),
        ("pipe", "is not an ordinary file"),
        ("a" * 300, "File name too long"),
        ("b/" + "a" * 300 + "/c", "File name too long"),
        ("nul\0byte", "is not a name in UTF-8, or holds NUL"),
        ("latin\udce9", "is not a name in UTF-8, or holds NUL"),
        ("round", "--out .*round"),
    ],
)
def test_an_output_that_cannot_be_is_refused_and_nothing_is_made(place, name, message):
    before = sorted(os.listdir(place))
    with pytest.raises(InputError, match=message):
        check_output(f"{place}/{name}", "--out")
    assert sorted(os.listdir(place)) == before


def test_devices_are_never_replaced():
    for refuse in (lambda: check_output("/dev/null", "--out"), lambda: write_text("/dev/null", "")):
        with pytest.raises(InputError, match="/dev/null is not an ordinary file and is not replaced"):
            refuse()


@pytest.mark.parametrize("name", FAILURES)
def test_a_folder_that_takes_no_file_is_refused_before_the_work(place, monkeypatch, name):
    reason = fail_with(name, monkeypatch, "pathlib.Path.touch")
    for path, folder in (("new/page.html", False), ("folder", True), ("a/b/c", True)):
        with pytest.raises(DiskError, match=f"--out .* cannot be written: {reason}"):
            check_output(place / path, "--out", folder=folder)


def test_what_can_be_written_passes_and_nothing_is_made(place):
    for path, folder in (
        ("new.csv", False),
        ("file", False),
        ("a/b/new.csv", False),
        ("folder", True),
        ("a", True),
    ):
        check_output(place / path, "--out", folder=folder)
    assert sorted(os.listdir(place)) == ["file", "folder", "pipe", "round"]


def test_the_probe_of_a_killed_process_is_removed_by_the_next(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    dead, own = draft_name("altopt"), draft_name("altopt")
    dead = dead.replace(f"-{os.getpid()}-", f"-{int(ended.stdout)}-")
    for name in (dead, own):
        (tmp_path / name).touch()
    check_output(tmp_path / "predictions.csv", "--out")
    assert os.listdir(tmp_path) == [own]
