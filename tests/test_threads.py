"""Threads: parallel work in order, limits, and systems without the functions of Linux."""

import os
import subprocess
import sys
import threading
import time
from contextvars import ContextVar

import pytest
import torch

from altopt import threads
from altopt.threads import kernel_threads, parallel_map


def test_results_come_in_order_from_several_threads(monkeypatch):
    monkeypatch.setattr(threads, "kernel_threads", lambda: 4)
    seen = set()

    def work(k):
        seen.add(threading.get_ident())
        time.sleep(0.002 * (k % 3))
        return k

    with parallel_map(10) as run:
        assert list(run(work, range(40))) == list(range(40))
        assert list(run(work, [])) == []
    assert len(seen) > 1
    assert threading.get_ident() not in seen


@pytest.mark.parametrize(("max_workers", "workers", "share"), [(2, 2, 3), (4, 4, 1), (100, 6, 1)])
def test_torchs_threads_are_shared_out_and_given_back(max_workers, workers, share, monkeypatch):
    before = torch.get_num_threads()
    monkeypatch.setattr(threads, "kernel_threads", lambda: 6)
    with parallel_map(max_workers) as run:
        meet = threading.Barrier(workers, timeout=60)

        def work(_):
            meet.wait()
            return threading.get_ident(), torch.get_num_threads(), kernel_threads()

        threads_used = list(run(work, range(workers)))
    assert len({name for name, _, _ in threads_used}) == workers
    assert {(n_torch, n_kernel) for _, n_torch, n_kernel in threads_used} == {(share, 1)}
    assert torch.get_num_threads() == before


def test_one_thread_is_pythons_own_map():
    with parallel_map(8) as run:  # tests run on one thread
        assert run is map


def test_an_error_comes_out_and_threads_are_given_back(monkeypatch):
    before = torch.get_num_threads()
    monkeypatch.setattr(threads, "kernel_threads", lambda: 3)

    def work(k):
        if k == 5:
            raise ZeroDivisionError
        return k

    with pytest.raises(ZeroDivisionError), parallel_map(3) as run:
        list(run(work, range(20)))
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("limit", "expected"), [("1", 1), ("3", 3), ("64", 8), ("2,1", 2), ("", 8), ("many", 8), ("0", 8)]
)
def test_omp_num_threads_is_a_limit(limit, expected, monkeypatch):
    monkeypatch.setattr(threads, "_single_thread", ContextVar("none held back", default=False))
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setenv("OMP_NUM_THREADS", limit)
    assert kernel_threads() == expected


def test_processors_are_counted_on_every_system(monkeypatch):
    assert threads.available_processors() == len(os.sched_getaffinity(0))
    monkeypatch.delattr(os, "sched_getaffinity")  # macOS, Windows
    monkeypatch.setattr(os, "process_cpu_count", lambda: 6, raising=False)  # Python 3.13
    assert threads.available_processors() == 6
    monkeypatch.delattr(os, "process_cpu_count")
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert threads.available_processors() == 5
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert threads.available_processors() == 1


PROGRAM = """
import os, mmap
import numpy, scipy.sparse, sklearn  # they ask the system for themselves
{missing}
import altopt, altopt.threads, altopt.arrays
from altopt.datasets.communities import communities
altopt.threads.MULTITHREAD_MIN_SIZE = 0  # as in a large fit
altopt.arrays.MAPPED_MIN_BYTES = 1000
data = communities(200, 2, seed=0)
y = data.y.copy()
y[20:] = -1
model = altopt.AltOpt(random_state=0).fit(data.X, y, graph=data.graph)
assert altopt.diffuse(data.graph, data.X).shape == data.X.shape
print((model.transduction_ == data.y).mean())
"""
MISSING = {
    "macOS": "del os.sched_getaffinity; del mmap.MADV_HUGEPAGE",
    "Windows": "del os.sched_getaffinity; del os.register_at_fork; del os.fork; del mmap.MADV_HUGEPAGE",
    "no huge pages": "mmap.MADV_HUGEPAGE = -1",  # the system refuses it with an OSError
}


@pytest.mark.parametrize("system", MISSING)
def test_a_fit_needs_nothing_that_only_linux_has(system):
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(missing=MISSING[system])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) > 0.9
