"""Jobs: their names say what goes in, and their outputs are in the store whole or not at all."""

import numpy as np
import pytest

from altopt.errors import InputError
from altopt.scale.job import JOBS, Job, do, job
from altopt.scale.store import Store
from scale_jobs import contents, tree

BUDGET = 1 << 20


def test_the_name_says_kind_settings_and_inputs_and_nothing_else():
    first = Job("mix", {"a": 1, "b": [2.5]}, ("x", "y"), ("numbers",))
    assert first.name == Job("mix", {"b": [2.5], "a": 1}, ("x", "y"), ("other",)).name
    others = [
        Job("draw", {"a": 1, "b": [2.5]}, ("x", "y"), ()),
        Job("mix", {"a": 2, "b": [2.5]}, ("x", "y"), ()),
        Job("mix", {"a": 1, "b": [2.5]}, ("y", "x"), ()),
    ]
    assert len({first.name, *(other.name for other in others)}) == 4


def test_a_job_is_done_when_all_its_outputs_are_there(tmp_path):
    store, jobs = Store(tmp_path), tree()
    for each in jobs[:3]:
        do(each, store, BUDGET)
    halves = jobs[3]
    assert not halves.is_done(store)
    do(halves, store, BUDGET)
    assert halves.is_done(store)
    store.discard(halves.file("second"))
    assert not halves.is_done(store)
    do(halves, store, BUDGET)
    whole = np.fromfile(store.path(jobs[0].file("numbers")), np.float32)
    parts = [np.fromfile(store.path(name), np.float32) for name in halves.files]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_a_job_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def fail(work):
        work.output("a").write_text("half")
        raise InputError("column 3 is empty. Remove it.")

    monkeypatch.setitem(JOBS, "fail", fail)
    with pytest.raises(InputError, match="column 3 is empty"):
        do(Job("fail", {}, (), ("a", "b")), Store(tmp_path), BUDGET)
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_was_not_written_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(JOBS, "idle", lambda work: None)
    with pytest.raises(InputError, match="was not written"):
        do(Job("idle", {}, (), ("a",)), Store(tmp_path), BUDGET)


def test_a_job_reads_its_inputs_and_no_other_file(tmp_path, monkeypatch):
    store = Store(tmp_path)
    secret = tree()[0]
    do(secret, store, BUDGET)
    monkeypatch.setitem(JOBS, "peek", lambda work: work.input(secret.file("numbers")))
    with pytest.raises(KeyError, match="no input of the job"):
        do(Job("peek", {}, (), ()), store, BUDGET)


def test_an_unknown_kind_is_refused(tmp_path):
    with pytest.raises(InputError, match="no function does jobs of the kind 'dance'"):
        do(Job("dance", {}, (), ()), Store(tmp_path), BUDGET)


def test_the_decorator_fills_the_table(monkeypatch):
    monkeypatch.setattr("altopt.scale.job.JOBS", {})
    from altopt.scale import job as room

    function = job("turn")(lambda work: None)
    assert {"turn": function} == room.JOBS


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_folders_and_parts_of_files_are_inputs_too(tmp_path, scheme):
    store = Store(f"{scheme}{tmp_path}/store", tmp_path / "cache")
    numbers = tmp_path / "graph"
    numbers.mkdir()
    np.arange(4, dtype=np.float32).tofile(numbers / "a.f32")
    np.arange(3, dtype=np.float32).tofile(numbers / "b.f32")
    store.put_folder("graph-1", numbers)
    drawn = tree()[0]
    look = Job("look", {}, ("graph-1", drawn.file("numbers")), ("sums",))
    do(drawn, store, BUDGET)
    do(look, store, BUDGET)
    expected = np.fromfile(store.path(drawn.file("numbers")), np.float32)[2:6].sum()
    assert np.fromfile(store.path(look.file("sums"))).tolist() == [9.0, expected]
    assert set(contents(store, [look])) == {look.file("sums")}


def test_a_machine_keeps_one_copy_of_what_many_jobs_read(tmp_path, monkeypatch):
    store = Store(f"file://{tmp_path}/store", tmp_path / "cache")
    drawn = tree()[0]
    do(drawn, store, BUDGET)
    name = drawn.file("numbers")
    monkeypatch.setitem(
        JOBS, "glance", lambda work: work.output("x").write_bytes(work.keep(name).read_bytes())
    )
    for k in range(3):
        do(Job("glance", {"k": k}, (name,), ("x",)), store, BUDGET)
    assert store.bytes_read == 4000
