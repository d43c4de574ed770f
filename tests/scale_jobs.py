"""Jobs for tests of stores and runners: sums of numbers in files, some of which wait or die when a mark says so."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from altopt.scale.job import Job, Work, job

WAIT_SECONDS = 120.0


@job("draw")
def draw(work: Work) -> None:
    rng = np.random.default_rng(work.settings["seed"])
    numbers = rng.normal(size=work.settings["size"]).astype(np.float32)
    obey(work)
    numbers.tofile(work.output("numbers"))


@job("halve")
def halve(work: Work) -> None:
    """Two outputs: the first and the second half of the input."""
    numbers = np.fromfile(work.input(work.inputs[0]), np.float32)
    first, second = np.split(numbers, 2)
    first.tofile(work.output("first"))
    obey(work)
    second.tofile(work.output("second"))


@job("mix")
def mix(work: Work) -> None:
    """The sum of all inputs."""
    work.output("numbers").write_bytes(b"half written")
    obey(work)
    arrays = [np.fromfile(work.input(name), np.float32) for name in work.inputs]
    np.sum(arrays, axis=0, dtype=np.float32).tofile(work.output("numbers"))


@job("look")
def look(work: Work) -> None:
    """The sum over a stored folder and a part of a file."""
    folder, file = work.inputs
    total = sum(float(np.fromfile(path, np.float32).sum()) for path in sorted(work.folder(folder).iterdir()))
    part = np.frombuffer(work.read(file, 8, 16), np.float32)
    obey(work)
    np.array([total, part.sum()]).tofile(work.output("sums"))


@job("crash")
def crash(work: Work) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def obey(work: Work) -> None:
    """Where the folder of orders holds one for this job, carry it out once: die, or wait until it is taken back."""
    orders = Path(os.environ.get("ALTOPT_TEST_ORDERS", "/nonexistent"))
    die, wait = orders / f"die-{work.job.name}", orders / f"wait-{work.job.name}"
    if die.exists():
        die.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    if wait.exists():
        (orders / f"waiting-{work.job.name}").touch()
        until(lambda: not wait.exists())


def until(holds, seconds=WAIT_SECONDS):
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def tree(size=1000, width=3):
    """Jobs that read what others make: drawn numbers, their halves, and sums of the halves."""
    drawn = [Job("draw", {"seed": k, "size": size}, (), ("numbers",)) for k in range(width)]
    halves = [Job("halve", {}, job.files, ("first", "second")) for job in drawn]
    sums = [
        Job("mix", {"side": side}, tuple(job.file(side) for job in halves), ("numbers",))
        for side in ("first", "second")
    ]
    last = Job("mix", {}, sums[0].files + sums[1].files, ("numbers",))
    return [*drawn, *halves, *sums, last]


def contents(store, jobs):
    """The bytes of every output."""
    return {name: store.path(name).read_bytes() for job in jobs for name in job.files}
