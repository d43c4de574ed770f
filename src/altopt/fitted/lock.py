"""The lock of a fitted model: one thread at a time, re-entrant, and free again in a forked child."""

import os
import threading
import weakref
from _thread import RLock
from typing import Any

_locks: "weakref.WeakSet[ModelLock]" = weakref.WeakSet()
_registering = threading.Lock()


class ModelLock(RLock):  # type: ignore[misc]
    """A re-entrant lock: `with model.lock:` holds a model still.

    A child that is forked while another thread holds it would wait for ever, as that thread is not in the child. It
    finds the lock free, unless that thread was changing the model: then the child's copy is half changed, and refused.

    Attributes
    ----------
    changing : bool
        Whether the one who holds it is changing the model.

    Examples
    --------
    >>> lock = ModelLock()
    >>> with lock, lock:
    ...     print("held twice by one thread")
    held twice by one thread
    """

    changing = False

    def __init__(self) -> None:
        with _registering:
            _locks.add(self)

    def free(self) -> None:
        """Take it from a thread that does not exist here."""
        self._at_fork_reinit()  # type: ignore[attr-defined]


class HalfChanged(ModelLock):  # type: ignore[misc]
    """The lock of a model that was forked in the middle of another thread's update."""

    def __enter__(self, blocking: bool = True, timeout: float = -1) -> Any:
        raise RuntimeError(
            "this model was being updated by another thread when the process was forked, so the copy here is half "
            "changed. Load the model in the child, or fork while no update runs."
        )


def _in_child() -> None:
    global _registering
    _registering = threading.Lock()
    for lock in list(_locks):
        if lock.acquire(blocking=False):  # free, or held by the thread that forked
            lock.release()
        elif lock.changing:
            lock.__class__ = HalfChanged
        else:
            lock.free()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_in_child)
