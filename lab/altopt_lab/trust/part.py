"""The contract of a part: a strategy for cases, a check that tries one, and what may come of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis.strategies import SearchStrategy

Kind = Literal["fine", "refused", "fault"]
KINDS: tuple[Kind, ...] = ("fine", "refused", "fault")


@dataclass(frozen=True)
class Outcome:
    """What came of one case.

    Attributes
    ----------
    kind : str
        "fine": a valid answer; "refused": an error in one sentence, as promised; "fault": anything else.
    detail : str
        The sentence of a refusal, or what the fault was.
    """

    kind: Kind
    detail: str = ""


FINE = Outcome("fine")


@dataclass(frozen=True)
class Part:
    """One way into altopt, or one kind of accident.

    Attributes
    ----------
    name, what : str
        The name on the command line, and a line about what is tried.
    strategy : SearchStrategy
        Draws cases. A case is a plain value that JSON can hold: a recipe from which `check` makes the odd objects, so
        that a fault can be written down and tried again.
    check : callable
        Tries a case in this process, or in one that it starts.
    trials : int
        How many cases `make trust` tries.
    seconds : float
        A case that takes longer is a fault.
    short : int
        How many cases `make test` tries; 0 where a single one takes minutes.
    batch : int
        How many cases one worker process tries before the next one takes over.
    """

    name: str
    what: str
    strategy: SearchStrategy[Any]
    check: Callable[[Any], Outcome]
    trials: int
    seconds: float
    short: int = 10
    batch: int = 1000
