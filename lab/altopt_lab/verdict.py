"""Whether a claim or a target is met, by what evidence."""

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["met", "not met", "partly run", "not run"]


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
        None where what was recorded does not decide.
    evidence : str
        The figures it was decided by.
    partly : str
        How much of what the claim speaks of was run, where that is not all of it.

    Examples
    --------
    >>> Verdict("an epoch takes at most 50 ms", 43.0 <= 50.0, "43 ms").outcome
    'met'
    """

    claim: str
    met: bool | None
    evidence: str
    partly: str = ""

    @property
    def outcome(self) -> Outcome:
        return "partly run" if self.met is None and self.partly else outcome(self.met)


def judged(
    claim: str,
    evidence: str,
    run: int,
    needed: int,
    holds: bool,
    refuted: bool | None = None,
    what: str = "cells",
) -> Verdict:
    """A claim about several cells: met when all were run and it holds, not met once what was run refutes it.

    Parameters
    ----------
    claim : str
    evidence : str
        Empty where nothing was run.
    run, needed : int
        Cells that were run in full, and that the claim speaks of.
    holds : bool
        In what was run.
    refuted : bool or None
        Whether no further cell could save it; None: it is about every cell, so that one is enough.
    what : str
        The word for cells.

    Examples
    --------
    >>> judged("ahead everywhere", "Cora +1.0", run=1, needed=2, holds=True).outcome
    'partly run'
    >>> judged("ahead everywhere", "Cora -1.0", run=1, needed=2, holds=False).outcome
    'not met'
    """
    partly = f"{run} of {needed} {what}" if evidence and run < needed else ""
    if evidence and (not holds if refuted is None else refuted):
        return Verdict(claim, False, evidence, partly)
    return Verdict(claim, holds if evidence and run == needed else None, evidence, partly)
