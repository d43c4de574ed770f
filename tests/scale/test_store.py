"""The store: a file is there whole or not at all, and what is read is what was put."""

import os
import tempfile
import threading

import pytest

from altopt.errors import DiskError, InputError
from altopt.scale.store import RECORD, Store


def put(store, name, data):
    draft = store.draft(name)
    draft.write_bytes(data)
    store.put(name, draft)


@pytest.fixture(params=["folder", "url"])
def place(request, tmp_path):
    """A folder as such, and as any storage that pyarrow opens."""
    return {"folder": "", "url": "file://"}[request.param] + str(tmp_path / "store")


@pytest.fixture
def store(place, tmp_path):
    return Store(place, tmp_path / "cache")


def test_what_was_put_is_read(store, place, tmp_path):
    put(store, "F.panel", b"0123456789")
    other = Store(place, tmp_path / "other machine")
    assert other.has("F.panel")
    assert other.path("F.panel").read_bytes() == b"0123456789"
    assert other.read("F.panel", 3, 4) == b"3456"
    assert not other.has("G.panel")
    with pytest.raises(InputError, match="holds no G.panel"):
        other.path("G.panel")


def test_putting_again_replaces(store):
    put(store, "a", b"first")
    assert store.path("a").read_bytes() == b"first"
    put(store, "a", b"other")
    assert store.has("a")


def test_a_file_without_its_record_does_not_count(store, tmp_path):
    put(store, "a", b"data")
    (tmp_path / "store" / f"a{RECORD}").unlink()
    assert not store.has("a")


@pytest.mark.parametrize(
    "record", [b"", b"{", b"[]", b'{"files": {"": [4]}, "freed": false}', b'{"files": 3}']
)
def test_a_damaged_record_does_not_count(store, tmp_path, record):
    put(store, "a", b"data")
    (tmp_path / "store" / f"a{RECORD}").write_bytes(record)
    assert not store.has("a")


@pytest.mark.parametrize("way", ["path", "borrow", "read"])
def test_a_truncated_file_is_refused_and_not_done(place, store, tmp_path, way):
    put(store, "a", b"0123456789")
    os.truncate(tmp_path / "store" / "a", 6)
    other = Store(place, tmp_path / "cache 2")
    assert not other.has("a")
    with pytest.raises(InputError, match="a has 6 bytes, but 10 were written"):
        getattr(other, way)("a", *((0, 10) if way == "read" else ()))


def test_a_lost_file_is_refused_and_not_done(place, store, tmp_path):
    put(store, "a", b"0123456789")
    (tmp_path / "store" / "a").unlink()
    other = Store(place, tmp_path / "cache 2")
    assert not other.has("a")
    for read in (other.path, other.borrow):
        with pytest.raises(InputError, match="a is missing"):
            read("a")


def test_swapped_files_are_refused(place, store, tmp_path):
    put(store, "a", b"0123456789")
    put(store, "b", b"9876543210")
    folder = tmp_path / "store"
    os.rename(folder / "a", folder / "c")
    os.rename(folder / "b", folder / "a")
    os.rename(folder / "c", folder / "b")
    other = Store(place, tmp_path / "cache 2")
    with pytest.raises(InputError, match="its checksum differs"):
        other.path("a")


def test_a_draft_that_a_killed_process_left_is_removed(tmp_path):
    store = Store(tmp_path)
    dead = tmp_path / store.draft("a").name.replace(f"-{os.getpid()}-", "-4194305-")
    dead.write_bytes(b"half")
    put(store, "a", b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", f"a{RECORD}"]


def test_freed_files_are_done_but_cannot_be_read(store, tmp_path):
    put(store, "a", b"data")
    store.path("a")
    store.free("a")
    assert store.has("a")
    assert not (tmp_path / "store" / "a").exists()
    with pytest.raises(InputError, match="removed after use"):
        store.path("a")


def test_folders_are_copied_once_a_machine(place, store, tmp_path):
    graph = tmp_path / "graph"
    (graph / "edges").mkdir(parents=True)
    (graph / "edges" / "indices").write_bytes(b"1234")
    (graph / "labels").write_bytes(b"12")
    (graph / ".draft").write_bytes(b"left over")
    store.put_folder("graph-1", graph)
    other = Store(place, tmp_path / "other machine")
    folder = other.folder("graph-1")
    assert (folder / "edges" / "indices").read_bytes() == b"1234"
    assert not (folder / ".draft").exists()
    first = other.bytes_read
    assert other.folder("graph-1") == folder
    assert other.bytes_read == first == (6 if "://" in place else 0)


def test_several_threads_copy_a_folder_once(tmp_path):
    store = Store(f"file://{tmp_path}/store", tmp_path / "cache")
    graph = tmp_path / "graph"
    graph.mkdir()
    (graph / "indices").write_bytes(bytes(1 << 20))
    store.put_folder("graph-1", graph)
    stores = [Store(store.place, tmp_path / "other") for _ in range(4)]
    threads = [threading.Thread(target=each.folder, args=("graph-1",)) for each in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(each.bytes_read for each in stores) == 1 << 20


def test_borrowed_copies_are_given_back(tmp_path):
    store = Store(f"file://{tmp_path}/store", tmp_path / "cache")
    put(store, "a", b"data")
    path = store.borrow("a")
    assert path.read_bytes() == b"data"
    store.give_back("a", path)
    assert list((tmp_path / "cache").iterdir()) == []


def test_bytes_are_counted(store):
    put(store, "a", bytes(100))
    store.borrow("a")
    store.read("a", 10, 30)
    assert (store.bytes_written, store.bytes_read) == (100, 130)


def test_a_place_that_cannot_be_opened_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DiskError, match="cannot be written"):
        Store(tmp_path / "file" / "store")
    with pytest.raises(InputError, match="--storage nothing://here cannot be opened"):
        Store("nothing://here")


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    store = Store(tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    draft = store.draft("a")
    draft.write_bytes(b"data")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(DiskError, match="No space left on device"):
        store.put("a", draft)
    assert not store.has("a")


def test_copies_are_dropped_at_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    store = Store(f"file://{tmp_path}/store")
    put(store, "a", b"data")
    copy = store.path("a")
    store.drop_copies()
    assert not copy.exists()
    assert store.path("a").read_bytes() == b"data"
