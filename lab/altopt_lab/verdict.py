"""Whether a claim or a target is met, by what evidence."""

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["met", "not met", "not run"]


def outcome(met: bool | None) -> Outcome:
    """In words; None where nothing was recorded that could decide."""
    return "not run" if met is None else "met" if met else "not met"


@dataclass(frozen=True)
class Verdict:
    """A claim and whether the records bear it out.

    Parameters
    ----------
    claim : str
        What is claimed or aimed at.
    met : bool or None
        None where nothing was recorded that could decide.
    evidence : str
        The figures it was decided by.

    Examples
    --------
    >>> Verdict("an epoch takes at most 50 ms", 43.0 <= 50.0, "43 ms").outcome
    'met'
    """

    claim: str
    met: bool | None
    evidence: str

    @property
    def outcome(self) -> Outcome:
        return outcome(self.met)
