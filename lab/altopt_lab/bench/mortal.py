"""Jobs of a fit that are killed on order, as workers die: importing this puts a mortal in each function's place.

A runner sends the name of the module that a kind of job is found in, so workers import this module too. Orders are
files in the folder that ALTOPT_ORDERS names: `die-<kind>` kills the first job of the kind that sees it, at its end,
where most is lost; `hold-<machine>` keeps a job there until it is killed or the order is taken back.
"""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from altopt.scale import direction_jobs, evaluation_jobs, jobs  # noqa: F401  (fill the table)
from altopt.scale.job import JOBS, Work

ORDERS = "ALTOPT_ORDERS"
Function = Callable[[Work], None]


def mortal(function: Function) -> Function:
    """The same function, under orders; it notes how long the longest job of its kind took."""

    def run(work: Work) -> None:
        began = time.perf_counter()
        function(work)
        given = os.environ.get(ORDERS)
        if given:
            obey(Path(given), work.job.kind, time.perf_counter() - began)

    return run


def obey(orders: Path, kind: str, seconds: float) -> None:
    note = orders / f"seconds-{kind}"
    if not note.exists() or float(note.read_text() or 0.0) < seconds:
        note.write_text(str(seconds))
    hold = orders / f"hold-{machine()}"
    if hold.exists():
        (orders / "held").touch()
        while hold.exists():
            time.sleep(0.05)
    try:
        (orders / f"die-{kind}").unlink()  # one of several workers can do that
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def machine() -> str:
    """Ray's name of this machine; empty outside of Ray."""
    import ray

    return str(ray.get_runtime_context().get_node_id()) if ray.is_initialized() else ""


for _kind, _function in list(JOBS.items()):
    if _function.__module__.startswith("altopt.scale"):
        JOBS[_kind] = mortal(_function)
