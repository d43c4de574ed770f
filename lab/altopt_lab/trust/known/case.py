"""A case that once broke altopt."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from altopt_lab.trust.part import Outcome

Holds = Callable[[Path], Outcome]


@dataclass(frozen=True)
class Case:
    """`holds` gets an empty folder and says how it ended; `original` is False for a variation."""

    name: str
    holds: Holds
    original: bool = True
    seconds: float = 20.0


FINE = Outcome("fine")


def fault(detail: str) -> Outcome:
    return Outcome("fault", detail)
