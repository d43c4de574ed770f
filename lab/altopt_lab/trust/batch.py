"""One batch of cases of one part, drawn from a seed and tried in this process."""

import time
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from altopt_lab.trust.judge import described
from altopt_lab.trust.part import Outcome, Part

BeforeCase = Callable[[int, Any], None]
AfterCase = Callable[[int, Any, Outcome, float], None]


def draw_cases(part: Part, number: int, trials: int) -> list[Any]:
    """The cases of a seed.

    All are drawn before any is tried: hypothesis looks into the modules that are loaded, so that what a case imports
    would have a say in those after it.
    """
    cases: list[Any] = []
    if not trials:
        return cases

    @seed(number)
    @settings(
        max_examples=trials,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(part.strategy)
    def draw(case: Any) -> None:
        cases.append(case)

    draw()
    return cases[:trials]


def try_cases(part: Part, cases: list[Any], before: BeforeCase, after: AfterCase, skip: int = 0) -> None:
    """Try all but the first `skip` cases; they are numbered from 1 on."""
    for k, case in enumerate(cases[skip:], skip + 1):
        before(k, case)
        start = time.perf_counter()
        outcome = tried(part, case)
        after(k, case, outcome, time.perf_counter() - start)


def tried(part: Part, case: Any) -> Outcome:
    """What comes of a case; an exception that the check itself lets through is a fault too."""
    try:
        return part.check(case)
    except Exception as error:
        return Outcome("fault", f"in the check: {described(error)}")
