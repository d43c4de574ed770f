"""The lock of a fitted model: held twice by one thread, free in a forked child, refused where half changed."""

import copy
import os
import pickle
import threading

import pytest

from altopt.fitted.lock import ModelLock
from updated_models import fingerprint, fitted

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


def in_child(check):
    """The exit code of a forked child that runs `check`: 0 where it returned true, 9 where it took too long."""
    pid = os.fork()
    if pid == 0:
        watch = threading.Timer(20, os._exit, [9])
        watch.daemon = True
        watch.start()
        try:
            os._exit(0 if check() else 1)
        except BaseException:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Held:
    """Another thread holds the locks while this block runs."""

    def __init__(self, *locks):
        self.locks, self.taken, self.done = locks, threading.Event(), threading.Event()

    def hold(self):
        for lock in self.locks:
            lock.acquire()
        self.taken.set()
        self.done.wait(30)
        for lock in self.locks:
            lock.release()

    def __enter__(self):
        self.thread = threading.Thread(target=self.hold)
        self.thread.start()
        assert self.taken.wait(10)

    def __exit__(self, *error):
        self.done.set()
        self.thread.join()


def test_one_thread_may_take_it_twice():
    lock = ModelLock()
    with lock, lock:
        pass


@needs_fork
def test_a_forked_child_does_not_wait_for_a_thread_it_does_not_have():
    model = fitted()
    with Held(model.fitted_.lock, model.fitted_.writing):
        assert in_child(lambda: model.update({40: 1}).stored and len(model.scores_) == 60) == 0


@needs_fork
def test_a_forked_child_refuses_a_model_that_is_half_changed():
    def refused():
        try:
            model.explain(3)
        except RuntimeError as error:
            return "half changed" in str(error)

    model = fitted()
    with Held(model.fitted_.lock):
        model.fitted_.lock.changing = True
        assert in_child(refused) == 0
        model.fitted_.lock.changing = False
    assert model.explain(3).evidence is not None


@needs_fork
def test_the_thread_that_forks_keeps_its_lock():
    model = fitted()
    with model.fitted_.lock:
        assert in_child(lambda: model.update({40: 1}).stored) == 0


def test_copies_have_locks_of_their_own():
    model = fitted()
    with Held(model.fitted_.writing):
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert other.fitted_.lock is not model.fitted_.lock
            other.update({40: 1})
            assert len(other.scores_) == 60


def test_a_copy_made_after_updates_has_their_edges_and_goes_on():
    model = fitted([f"n{k}" for k in range(60)])
    model.update({"n50": 1}, edges=[("n3", "n9")])
    other = pickle.loads(pickle.dumps(model))
    assert fingerprint(other) == fingerprint(model)
    a, b = (m.update({"n51": 0}, edges=[("n3", "n9", 0)]) for m in (model, other))
    assert abs(model.scores_ - other.scores_).max() < a.error_bound * 9 + b.error_bound * 9
