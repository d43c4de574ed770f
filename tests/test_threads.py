"""Work side by side: in order, each with its share of threads, and everything as it was afterwards."""

import threading
import time
from contextvars import ContextVar

import pytest
import torch

from altopt import threads
from altopt.threads import kernel_threads, side_by_side


def test_results_come_in_order_from_several_threads(monkeypatch):
    monkeypatch.setattr(threads, "kernel_threads", lambda: 4)
    seen = set()

    def work(k):
        seen.add(threading.get_ident())
        time.sleep(0.002 * (k % 3))
        return k

    with side_by_side(10) as run:
        assert list(run(work, range(40))) == list(range(40))
        assert list(run(work, [])) == []
    assert len(seen) > 1
    assert threading.get_ident() not in seen


@pytest.mark.parametrize(("n_most", "workers", "share"), [(2, 2, 3), (4, 4, 1), (100, 6, 1)])
def test_torchs_threads_are_shared_out_and_given_back(n_most, workers, share, monkeypatch):
    before = torch.get_num_threads()
    monkeypatch.setattr(threads, "kernel_threads", lambda: 6)
    with side_by_side(n_most) as run:
        meet = threading.Barrier(workers, timeout=60)

        def work(_):
            meet.wait()
            return threading.get_ident(), torch.get_num_threads(), kernel_threads()

        found = list(run(work, range(workers)))
    assert len({name for name, _, _ in found}) == workers
    assert {(n_torch, n_kernel) for _, n_torch, n_kernel in found} == {(share, 1)}
    assert torch.get_num_threads() == before


def test_one_thread_is_pythons_own_map():
    with side_by_side(8) as run:  # tests run on one thread
        assert run is map


def test_an_error_comes_out_and_threads_are_given_back(monkeypatch):
    before = torch.get_num_threads()
    monkeypatch.setattr(threads, "kernel_threads", lambda: 3)

    def work(k):
        if k == 5:
            raise ZeroDivisionError
        return k

    with pytest.raises(ZeroDivisionError), side_by_side(3) as run:
        list(run(work, range(20)))
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("asked", "expected"), [("1", 1), ("3", 3), ("64", 8), ("2,1", 2), ("", 8), ("many", 8), ("0", 8)]
)
def test_omp_num_threads_is_a_limit(asked, expected, monkeypatch):
    monkeypatch.setattr(threads, "_one", ContextVar("none held back", default=False))
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert kernel_threads() == expected
