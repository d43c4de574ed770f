"""Jobs for tests of stores and runners: sums of numbers in files, slow ones, and ones that die."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from altopt.scale.job import Job, Work, job


@job("draw")
def draw(work: Work) -> None:
    rng = np.random.default_rng(work.settings["seed"])
    rng.normal(size=work.settings["size"]).astype(np.float32).tofile(work.output("numbers"))


@job("mix")
def mix(work: Work) -> None:
    """The sum of all inputs, times a factor; what `dies` names is passed once: the first worker there dies."""
    arrays = [np.fromfile(work.input(name), np.float32) for name in work.inputs]
    work.output("numbers").write_bytes(b"half")
    once(work.settings.get("dies"), lambda: os.kill(os.getpid(), signal.SIGKILL))
    once(work.settings.get("waits"), lambda: time.sleep(600))
    np.sum(arrays, axis=0, dtype=np.float32).tofile(work.output("numbers"))


def once(mark, act):
    """Act if the mark, a file, was there; it is gone afterwards."""
    if mark is not None and Path(mark).exists():
        Path(mark).unlink()
        Path(str(mark) + ".hit").touch()
        act()


def tree(marks=(), size=1000, width=4):
    """Jobs that read what others make: `width` drawn, two layers of sums, and one of all."""
    marks = [str(mark) for mark in marks]
    drawn = [Job("draw", {"seed": k, "size": size}, (), ("numbers",)) for k in range(width)]
    layers, below = [], drawn
    for layer in range(2):
        below = [
            Job("mix", {"layer": layer}, below[k].files + below[(k + 1) % width].files, ("numbers",))
            for k in range(width)
        ]
        layers += below
    settings = {"dies": marks[0]} if marks else {}
    last = Job("mix", settings, tuple(job.file("numbers") for job in below), ("numbers",))
    return [*drawn, *layers, last]
