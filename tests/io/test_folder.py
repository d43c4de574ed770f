"""The model folder: whole at every instant, one version to a reader, and nobody else's files touched."""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

from altopt import InputError
from altopt.errors import DiskError
from altopt.io import folder
from altopt.io.folder import FORMAT, VERSION, folder_lock, read_folder, remove_folder, write_folder

OLD, NEW = 1.0, 2.0
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def head_of(value, **more):
    return {"format": FORMAT, "kind": "model", "version": VERSION, "value": value} | more


def write(path, value, **options):
    return write_folder(path, head_of(value), {"a": np.full(50, value)}, **options)


def value_in(path):
    """The version that the folder holds; head and arrays must be of the same."""
    head, arrays = read_folder(path, "model")
    assert (arrays["a"] == head["value"]).all()
    return head["value"]


def names(path):
    return sorted(entry.name for entry in path.iterdir())


def forked(action):
    """Run in a child process; its exit code, negative if a signal ended it."""
    child = os.fork()
    if child == 0:
        try:
            action()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


STEPS = ("replace", "fsync", "unlink", "mkdir", "rmdir", "open", "chmod")


def kill_at(k, before):
    """Make the k-th change to the disk, before or after it is done, this process's last."""
    left = [k]

    def dying(real):
        def call(*arguments, **keywords):
            left[0] -= 1
            if left[0] < 0 and before:
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*arguments, **keywords)
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call

    for name in STEPS:
        setattr(os, name, dying(getattr(os, name)))


@needs_fork
@pytest.mark.parametrize("before", [True, False], ids=["before a step", "after a step"])
@pytest.mark.parametrize("exists", [True, False], ids=["over a model", "as the first"])
def test_a_kill_at_any_step_leaves_the_old_or_the_new(exists, before, tmp_path):
    seen = []
    for k in range(100):
        path = tmp_path / str(k)
        if exists:
            write(path, OLD, durable=False)

        def save(k=k, path=path):
            kill_at(k, before)
            write(path, NEW)

        if forked(save) == 0:
            break
        if exists or (path / "model.json").exists():
            seen.append(value_in(path))
        write(path, NEW, durable=False)  # the next save works, and clears up
        assert value_in(path) == NEW
        assert [name for name in names(path) if not name.endswith(".safetensors")] == [".lock", "model.json"]
        assert len(names(path)) == 3
    assert 10 < k < 99
    assert seen == sorted(seen)
    assert NEW in seen
    assert (OLD in seen) == exists


def test_what_the_head_names_is_on_the_disk_before_the_head_is(tmp_path, monkeypatch):
    """fsync of the arrays, of their name, of the head, of its name: in this order, so that a power cut does no harm."""
    events, opened = [], {}
    real_open, real_fsync, real_replace = os.open, os.fsync, os.replace

    def open_(path, *arguments, **keywords):
        handle = real_open(path, *arguments, **keywords)
        opened[handle] = os.path.basename(os.fspath(path))
        return handle

    monkeypatch.setattr(os, "open", open_)
    monkeypatch.setattr(
        os, "fsync", lambda handle: (events.append(("fsync", opened[handle])), real_fsync(handle))
    )
    monkeypatch.setattr(
        os, "replace", lambda a, b: (events.append(("replace", os.path.basename(b))), real_replace(a, b))
    )
    path = tmp_path / "m"
    write(path, OLD)
    arrays = json.loads((path / "model.json").read_text())["arrays"]
    order = [event for event in events if event[1] in (arrays, "m", "model.json")]
    assert order[-6:] == [
        ("fsync", arrays),
        ("replace", arrays),
        ("fsync", "m"),
        ("fsync", "model.json"),
        ("replace", "model.json"),
        ("fsync", "m"),
    ]
    events.clear()
    write(path, NEW, durable=False)
    assert "fsync" not in [event for event, _ in events]


def test_a_reader_never_sees_two_versions_mixed(tmp_path):
    """A writer in another process replaces the folder all the time."""
    path = tmp_path / "m"
    write(path, OLD)
    script = (
        "import sys, numpy as np; from pathlib import Path; from altopt.io.folder import *\n"
        "for k in range(120):\n"
        "    head = {'format': FORMAT, 'kind': 'model', 'version': VERSION, 'value': float(k % 7)}\n"
        "    write_folder(Path(sys.argv[1]), head, {'a': np.full(50, float(k % 7))}, durable=False)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", script, str(path)])
    seen, n_reads = set(), 0
    while writer.poll() is None:
        seen.add(value_in(path))
        n_reads += 1
    assert writer.returncode == 0
    assert len(seen) > 1
    assert n_reads > 5


def test_arrays_that_are_gone_are_found_through_the_newer_head(tmp_path, monkeypatch):
    path = tmp_path / "m"
    write(path, OLD)
    real, calls = folder.read_arrays, []

    def overtaken(*arguments):
        if not calls:
            calls.append(write(path, NEW))  # between the reads of the two files
        return real(*arguments)

    monkeypatch.setattr(folder, "read_arrays", overtaken)
    assert value_in(path) == NEW


def test_arrays_that_are_missing_are_refused(tmp_path):
    path = tmp_path / "m"
    write(path, OLD)
    next(path.glob("*.safetensors")).unlink()
    with pytest.raises(InputError, match="is not a whole model: it has no model-.*safetensors"):
        read_folder(path, "model")


def test_every_byte_is_covered_by_a_checksum(tmp_path):
    path = tmp_path / "m"
    write(path, OLD)
    for file in (path / "model.json", next(path.glob("*.safetensors"))):
        data = file.read_bytes()
        for k in range(0, len(data), 3):
            if data[k : k + 1].isspace():
                continue  # between the values of the JSON
            file.write_bytes(data[:k] + bytes([data[k] ^ 1]) + data[k + 1 :])
            try:
                assert value_in(path) == OLD
            except InputError:
                continue
            assert file.name == "model.json", k  # another spelling of the same, at most
            assert json.loads(file.read_text()) == json.loads(data)
        file.write_bytes(data)


@pytest.mark.parametrize(
    "name", ["../elsewhere.safetensors", "/etc/passwd", "model-0123456789abcdef.safetensors", 7, None]
)
def test_a_head_cannot_name_another_file(name, tmp_path):
    path = tmp_path / "m"
    write(path, OLD)
    head = json.loads((path / "model.json").read_text()) | {"arrays": name}
    (path / "model.json").write_text(json.dumps(head | {"checksum": folder.checksum(head)}))
    with pytest.raises(InputError, match="is damaged"):
        read_folder(path, "model")


@pytest.mark.parametrize("version", [1, 0, "2", True, None])
def test_another_version_is_refused(version, tmp_path):
    path = tmp_path / "m"
    write_folder(path, head_of(OLD, version=version), {"a": np.zeros(1)})
    with pytest.raises(InputError, match="which altopt no longer reads. Fit and save again"):
        read_folder(path, "model")


# whose files these are


FOREIGN = {
    "another tool's model": {"model.json": '{"keras": 1}', "weights.h5": "precious"},
    "an empty record": {"model.json": "{}"},
    "a list": {"model.json": "[]"},
    "not JSON": {"model.json": "{", "notes.txt": "precious"},
    "no model": {"chapter.txt": "years of work"},
    "hidden files": {".git": "x"},
    "a checkpoint": {"model.json": json.dumps({"format": FORMAT, "kind": "checkpoint", "version": VERSION})},
}


@pytest.mark.parametrize("name", FOREIGN)
def test_other_peoples_folders_are_left_as_they_are(name, tmp_path):
    path = tmp_path / "m"
    path.mkdir()
    for file, text in FOREIGN[name].items():
        (path / file).write_text(text)
    with pytest.raises(InputError, match="nothing was overwritten"):
        write(path, NEW)
    remove_folder(path, "model")
    assert {entry.name: entry.read_text() for entry in path.iterdir()} == FOREIGN[name]


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "m").write_text("precious")
    with pytest.raises(InputError, match="nothing was overwritten"):
        write(tmp_path / "m", NEW)
    assert (tmp_path / "m").read_text() == "precious"


def test_other_files_beside_a_model_stay(tmp_path):
    path = tmp_path / "m"
    write(path, OLD)
    (path / "notes.txt").write_text("precious")
    (path / "sub").mkdir()
    write(path, NEW)
    assert value_in(path) == NEW
    assert (path / "notes.txt").read_text() == "precious"
    remove_folder(path, "model")
    assert names(path) == ["notes.txt", "sub"]


def test_a_folder_of_altopts_own_is_removed_whole(tmp_path):
    write(tmp_path / "m", OLD)
    remove_folder(tmp_path / "m", "model")
    assert names(tmp_path) == []


@pytest.mark.parametrize("link", ["the folder", "model.json", "the arrays", "the draft"])
def test_symbolic_links(link, tmp_path):
    """That of the folder is followed; one inside is replaced, and its target left alone."""
    path, other = tmp_path / "m", tmp_path / "other"
    write(path, OLD)
    if link == "the folder":
        path.rename(other)
        path.symlink_to(other)
        write(path, NEW)
        assert path.is_symlink()
        assert value_in(other) == NEW
        return
    other.mkdir()
    (other / "precious").write_text("precious")
    if link == "the draft":
        (path / folder.DRAFT).symlink_to(other)
    else:
        file = path / "model.json" if link == "model.json" else next(path.glob("*.safetensors"))
        before = file.read_bytes()
        file.rename(other / file.name)
        file.symlink_to(other / file.name)
        assert value_in(path) == OLD
    write(path, NEW)
    assert value_in(path) == NEW
    assert (other / "precious").read_text() == "precious"
    if link != "the draft":
        assert (other / file.name).read_bytes() == before


def test_a_link_to_nowhere_is_refused(tmp_path):
    (tmp_path / "m").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError):
        write(tmp_path / "m", NEW)
    assert names(tmp_path) == ["m"]


def test_others_may_read_what_the_umask_lets_them(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "m", OLD)
    finally:
        os.umask(before)
    for file in tmp_path.glob("m/model*"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o640


# several writers


def test_a_folder_changed_by_another_is_not_overwritten(tmp_path):
    path = tmp_path / "m"
    mine = write(path, OLD)
    write(path, NEW)
    with pytest.raises(InputError, match="was changed by another process since it was loaded. Load it again"):
        write(path, 3.0, expected=mine)
    assert value_in(path) == NEW
    write(path, 3.0, expected=read_folder(path, "model")[0]["checksum"])


def test_a_writer_waits_for_the_lock_and_gives_up_in_words(tmp_path):
    path = tmp_path / "m"
    write(path, OLD)
    held, done = threading.Event(), threading.Event()

    def hold():
        with folder_lock(path):
            held.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    with (
        pytest.raises(InputError, match="is being written by another process; gave up after waiting 0.1 s"),
        folder_lock(path, timeout=0.1),
    ):
        pass
    threading.Timer(0.2, done.set).start()
    began = time.perf_counter()
    write(path, NEW)
    assert time.perf_counter() - began > 0.1
    holder.join()
    assert value_in(path) == NEW


def test_the_holder_of_the_lock_may_write(tmp_path):
    path = tmp_path / "m"
    write(path, OLD)
    with folder_lock(path, timeout=1):
        write(path, NEW)
    assert value_in(path) == NEW


# disks


@pytest.mark.parametrize("step", ["replace", "fsync", "mkdir"])
@pytest.mark.parametrize("exists", [True, False])
def test_a_failing_disk_is_named_and_nothing_is_lost(step, exists, tmp_path, monkeypatch):
    path = tmp_path / "out" / "m"
    if exists:
        write(path, OLD)
    before = names(path) if exists else []
    with monkeypatch.context() as patch:
        patch.setattr(
            os, step, lambda *_, **__: (_ for _ in ()).throw(OSError(28, "No space left on device"))
        )
        with pytest.raises(InputError, match=r"out.* cannot be written: No space left on device"):
            write(path, NEW)
    if exists:
        assert value_in(path) == OLD
        assert names(path) == before
    else:
        assert names(tmp_path) == []


@pytest.mark.parametrize("exists", [True, False])
def test_a_failure_at_any_step_leaves_the_old_or_the_new_and_no_rest(exists, tmp_path):
    seen = []
    for k in range(100):
        path, left = tmp_path / str(k), [k]
        if exists:
            write(path, OLD, durable=False)

        def failing(real, left=left):
            def call(*arguments, **keywords):
                left[0] -= 1
                if left[0] == -1:
                    raise OSError(5, "Input/output error")
                return real(*arguments, **keywords)

            return call

        with pytest.MonkeyPatch.context() as patch:
            for name in ("replace", "fsync", "mkdir", "chmod"):
                patch.setattr(os, name, failing(getattr(os, name)))
            with suppress(DiskError):
                write(path, NEW)
        if left[0] >= 0:
            break
        if path.exists():
            seen.append(value_in(path))
            assert len(names(path)) == 3
        else:
            seen.append(None)
    assert 7 < k < 99
    assert set(seen) == {OLD if exists else None, NEW}


def test_a_draft_that_a_killed_process_left_goes_with_the_next_write(tmp_path):
    path = tmp_path / "m"
    write(path, OLD)
    (path / folder.DRAFT).mkdir()
    (path / folder.DRAFT / ".tmpOc7Z51").write_text("half")
    (path / "model-0123456789abcdef.safetensors").write_text("of a version that never came to be")
    assert value_in(path) == OLD
    write(path, NEW)
    assert len(names(path)) == 3


def test_reading_writes_nothing(tmp_path):
    path = tmp_path / "m"
    write(path, OLD)
    (path / ".lock").unlink()
    before = {entry.name: entry.stat().st_mtime_ns for entry in path.iterdir()}
    assert value_in(path) == OLD
    assert {entry.name: entry.stat().st_mtime_ns for entry in path.iterdir()} == before
