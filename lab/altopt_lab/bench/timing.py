"""Timing in turns, so that other load on the machine affects all contestants alike."""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

from altopt.errors import InputError

SAMPLE = 0.005  # seconds: shorter jobs are repeated until a sample lasts this long
PAUSE = 0.02  # seconds between turns: the last one's threads must have gone to sleep
MEMORY_LIMIT = 16.0  # GB: who needs more is not started

Log = Callable[[str], None]


class Unavailable(InputError):
    """Something that a contestant needs is missing; the reason is shown in its row."""


@dataclass(frozen=True)
class Contestant:
    """One way to do a job.

    Parameters
    ----------
    who : str
        Its name in the table.
    prepare : callable
        Builds what the job needs and returns the job, a callable that is timed.
    kind : "ours", "peer" or "roof"
        "roof": a limit of the machine.
    needs_gb : float
        Memory it needs; above MEMORY_LIMIT it is skipped.
    share : float
        Share of the whole job that a call does; times are divided by it.
    note : str
    facts : dict
        Further cells of its row.

    Examples
    --------
    >>> [timing] = race([Contestant("sum", lambda: lambda: sum(range(10)))], repeats=3, cap=1.0)
    >>> timing.who, len(timing.walls)
    ('sum', 3)
    """

    who: str
    prepare: Callable[[], Callable[[], object]]
    kind: Literal["ours", "peer", "roof"] = "peer"
    needs_gb: float = 0.0
    share: float = 1.0
    note: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class Timing:
    """Measurements of one contestant.

    Parameters
    ----------
    who, kind : str
    walls, cpus : list of float
        Wall and CPU seconds of each repeat; empty where it did not run.
    note : str
        Why it did not run, or a remark.
    facts : dict
    """

    who: str
    kind: str
    walls: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)
    note: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def best(self) -> float | None:
        return min(self.walls, default=None)

    def row(self, reference: float | None) -> dict[str, Any]:
        """Its row in a table; `ratio` says how many times the reference's best wall time it took."""
        return {
            "who": self.who,
            "kind": self.kind,
            "best": self.best,
            "median": median(self.walls) if self.walls else None,
            "cpu": min(self.cpus, default=None),
            "ratio": None if self.kind == "roof" else ratio(self.best, reference),
            "runs": len(self.walls),
            "note": self.note,
            **self.facts,
        }


def ratio(above: float | None, below: float | None) -> float | None:
    return None if above is None or not below else above / below


def race(
    contestants: Sequence[Contestant], repeats: int, cap: float, log: Log = lambda line: None
) -> list[Timing]:
    """Everyone once to warm up, then `repeats` rounds in which each has a turn; who has used `cap` seconds rests.

    Who is over the cap after warming up is judged by that one run.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers warn of their own limits, not of the measurement's
        return _race(contestants, repeats, cap, log)


def _race(contestants: Sequence[Contestant], repeats: int, cap: float, log: Log) -> list[Timing]:
    timings, jobs = [], []
    for contestant in contestants:
        timing = Timing(contestant.who, contestant.kind, note=contestant.note, facts=contestant.facts)
        timings.append(timing)
        if contestant.needs_gb > MEMORY_LIMIT:
            timing.note = f"skipped: would need {contestant.needs_gb:.1f} GB"
            continue
        log(f"preparing {contestant.who}")
        try:
            job = contestant.prepare()
            wall, cpu = sample(job, 1)
        except Exception as error:
            if contestant.kind != "peer" and not isinstance(error, Unavailable):
                raise
            timing.note = failure(error)
            continue
        if wall > cap:
            timing.walls.append(wall / contestant.share)
            timing.cpus.append(cpu / contestant.share)
        jobs.append((contestant, timing, job, wall, [wall]))
    for number in range(repeats):
        log(f"round {number + 1} of {repeats}")
        for contestant, timing, job, first, spent in jobs:
            if sum(spent) > cap:
                continue
            count = min(1000, max(1, math.ceil(SAMPLE / max(first, 1e-9))))
            time.sleep(PAUSE)
            wall, cpu = sample(job, count)
            spent.append(wall * count)
            timing.walls.append(wall / contestant.share)
            timing.cpus.append(cpu / contestant.share)
    return timings


def sample(job: Callable[[], object], count: int) -> tuple[float, float]:
    """Wall and CPU seconds of a call, the mean over `count`; CPU is that of all threads together."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        job()
    return (time.perf_counter() - wall) / count, (time.process_time() - cpu) / count


def failure(error: Exception) -> str:
    words = " ".join(str(error).split())[:120]
    return words if isinstance(error, Unavailable) else f"failed: {type(error).__name__}: {words}"


def best_of(timings: Sequence[Timing], *names: str) -> float | None:
    """The best wall time among the contestants of these names that ran."""
    walls = [timing.best for timing in timings if timing.who in names and timing.best is not None]
    return min(walls, default=None)
