"""A case that once broke altopt."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from altopt_lab.trust.part import Outcome

Holds = Callable[[Path], Outcome]


@dataclass(frozen=True)
class Case:
    """`holds` gets an empty folder and says how it ended; `original` is False for a variation.

    `in_test` is False for those that take too long for `make test`, where a shorter one shows the same.
    """

    name: str
    holds: Holds
    original: bool = True
    seconds: float = 30.0
    in_test: bool = True


FINE = Outcome("fine")


def fault(detail: str) -> Outcome:
    return Outcome("fault", detail)
