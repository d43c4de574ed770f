"""Runners: every job once, what was done stays done, and the same bits whoever dies."""

import random
import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import pytest

from altopt.errors import InputError
from altopt.scale.job import JOBS, Job, Work, do
from altopt.scale.runner import Here
from altopt.scale.store import Store
from scale_jobs import contents, tree

BUDGET = 1 << 20


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    runner = Here(Store(tmp_path_factory.mktemp("here")), BUDGET)
    runner.run(tree())
    return contents(runner.store, tree())


def test_every_job_is_done_once(tmp_path, expected):
    calls = []
    runner = Here(Store(tmp_path), BUDGET, on_done=calls.append)
    runner.run(tree())
    assert calls == tree()
    times = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    runner.run(tree())
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == times
    assert contents(runner.store, tree()) == expected


def test_what_was_done_before_an_error_stays_done(tmp_path, monkeypatch, expected):
    runner, jobs = Here(Store(tmp_path), BUDGET), tree()

    def fail(work):
        raise InputError("no")

    with monkeypatch.context() as patch:
        patch.setitem(JOBS, "mix", fail)
        with pytest.raises(InputError, match="no"):
            runner.run(jobs)
    assert [job.is_done(runner.store) for job in jobs] == [job.kind != "mix" for job in jobs]
    runner.run(jobs)
    assert contents(runner.store, jobs) == expected


def test_a_truncated_output_is_made_again(tmp_path, expected):
    runner, jobs = Here(Store(tmp_path), BUDGET), tree()
    runner.run(jobs)
    (tmp_path / jobs[4].files[0]).write_bytes(b"cut")
    runner.run(jobs)
    assert contents(Store(tmp_path), jobs) == expected


class Died(BaseException):
    """A worker was killed."""


class DyingStore(Store):
    """A store whose user is killed now and then: before or after a file is put, or while it is read."""

    def __init__(self, place, cache, rng):
        super().__init__(place, cache)
        self.rng = rng

    def put(self, name, draft):
        self.perhaps_die()
        super().put(name, draft)
        self.perhaps_die()

    def borrow(self, name):
        path = super().borrow(name)
        self.perhaps_die()
        return path

    def _record(self, name, stored):
        self.perhaps_die()
        super()._record(name, stored)

    def perhaps_die(self):
        if self.rng.random() < 0.1:
            raise Died


def run_with_deaths(jobs, place, cache, seed, n_threads=3):
    """A toy of an engine: threads do the jobs; whoever dies has its job done again. The number of deaths."""
    lock, rng = threading.Lock(), random.Random(seed)
    waiting, flying, n_deaths = list(jobs), {}, 0
    store = Store(place, cache)
    with ThreadPoolExecutor(n_threads) as pool:
        while waiting or flying:
            missing = {name for job in [*waiting, *flying.values()] for name in job.files}
            for job in [job for job in waiting if missing.isdisjoint(job.inputs)]:
                waiting.remove(job)
                with lock:
                    dying = DyingStore(place, cache, random.Random(rng.random()))
                flying[pool.submit(do, job, dying, BUDGET)] = job
            for future in wait(flying, return_when=FIRST_COMPLETED).done:
                job = flying.pop(future)
                try:
                    future.result()
                except Died:
                    n_deaths += 1
                    waiting.append(job)
                else:
                    assert job.is_done(store)
    return n_deaths


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("scheme", ["", "file://"])
def test_threads_that_die_at_random_change_no_bit(tmp_path, monkeypatch, expected, scheme, seed):
    monkeypatch.setattr(Work, "clear", lambda self: None)  # the dead clear nothing
    place = f"{scheme}{tmp_path}/store"
    assert run_with_deaths(tree(), place, tmp_path / "cache", seed) > 0
    assert contents(Store(place, tmp_path / "cache 2"), tree()) == expected


def test_settings_must_be_json():
    with pytest.raises(TypeError):
        _ = Job("mix", {"rng": object()}, (), ()).name
    with pytest.raises(ValueError):
        _ = Job("mix", {"rtol": float("nan")}, (), ()).name
