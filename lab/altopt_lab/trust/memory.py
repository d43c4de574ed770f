"""The memory of a process that fits or updates for a long time."""

import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from altopt_lab.trust.doors import Problem
from altopt_lab.trust.judge import judged, promise
from altopt_lab.trust.part import Outcome, Part

SHARE, BYTES = 0.02, 5e6  # what may be added between a tenth of the way and the end
N = 60


def resident() -> float:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * float(os.sysconf("SC_PAGE_SIZE"))


def fits() -> Callable[[int], Any]:
    """Mostly without cross-fitting; every tenth fit is a default one."""
    problem = Problem(N, 3, 4)
    return lambda k: problem.fit(random_state=k, cross_fit=k % 10 == 0)


def updates() -> Callable[[int], Any]:
    """Labels given and withdrawn, edges added and removed."""
    model = Problem(N, 3, 4).fit()

    def update(k: int) -> None:
        node, pair = k // 4 % N, (k // 4 % N, (k // 4 * 7 + 1) % N)
        if pair[0] == pair[1]:
            pair = (pair[0], (pair[1] + 1) % N)
        changes = (
            {"labels": {node: k % 3}},
            {"edges": [(*pair, 2.0)]},
            {"labels": {node: -1}},
            {"edges": [(*pair, 1.0)]},
        )
        model.update(**changes[k % 4])

    return update


WORK = {"fits": fits, "updates": updates}


def flat(case: dict[str, Any]) -> Outcome:
    """Resident memory after a tenth of the calls against the end."""
    detail = ""

    def run() -> None:
        nonlocal detail
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begun, work, n = time.monotonic(), WORK[case["what"]](), case["n"]
            for k in range(n // 10):
                work(k)
            early = resident()
            for k in range(n // 10, n):
                work(k)
            late, seconds = resident(), time.monotonic() - begun
        figures = f"{early / 1e6:.1f} MB after a tenth, {late / 1e6:.1f} MB at the end, {seconds:.0f} s"
        detail = f"{n:,} {case['what']}: {figures}"
        promise(late - early <= max(SHARE * early, BYTES), f"memory grows: {detail}")

    outcome = judged(run)
    return Outcome("fine", detail) if outcome.kind == "fine" else outcome


def part(what: str, n: int) -> Part:
    return Part(
        f"memory of {what}",
        f"{n:,} {what} in one process: memory after a tenth of them and at the end differ by at most 5 MB or 2 %",
        st.just({"what": what, "n": n}),
        flat,
        trials=1,
        seconds=1800,
        short=0,
        batch=1,
    )


PARTS = [part("fits", 1000), part("updates", 100_000)]
