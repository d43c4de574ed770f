"""The choice among candidates: the one taken, those considered and how each did, and the reason in words."""

from dataclasses import dataclass, replace
from typing import Any

from altopt.selection.candidates import Candidate


@dataclass(frozen=True)
class Considered:
    """How a candidate did on held-out labels.

    Parameters
    ----------
    candidate : Candidate
        Which one.
    error : float
        Mean log loss of its probabilities, at its own temperature; NaN, as other figures, of one without a result.
    accuracy : float
        Share of correct predictions.
    excess_error, standard_error : float
        Mean error above the default's on the same labels, and the standard error of that difference.
    n_labels : int
        Held-out labels it was judged by; 0 where it could not be fitted.
    seconds : float
        Time of its fits without a fold.
    weight : float
        In the mixture that was taken; 1 for a candidate taken alone.
    dropped : str
        Why it was not compared further.
    """

    candidate: Candidate
    error: float
    accuracy: float
    excess_error: float
    standard_error: float
    n_labels: int
    seconds: float
    weight: float = 0.0
    dropped: str = ""

    def record(self) -> dict[str, Any]:
        """Plain data: None in the place of NaN."""
        rest = {name: value for name, value in vars(self).items() if name != "candidate"}
        return {"plan": self.candidate.name} | {name: None if v != v else v for name, v in rest.items()}


@dataclass(frozen=True)
class Choice:
    """The candidate that was taken, those considered, and the reason.

    Parameters
    ----------
    plan : Candidate
        The one taken.
    considered : list of Considered
        Those compared, in order, and those that could not be fitted.
    reason : str
        Why, in words.
    """

    plan: Candidate
    considered: list[Considered]
    reason: str

    @property
    def judged(self) -> list[Considered]:
        """Those with a result."""
        return [entry for entry in self.considered if entry.n_labels]

    def then(self, later: "Choice") -> "Choice":
        """This choice and one made after it, among variants of the candidate taken."""
        if not later.considered:
            return self
        repeated = 1 if self.considered else 0  # the first is the one taken before
        considered = [*self.considered, *later.considered[repeated:]]
        if later.plan is self.plan:
            return replace(self, considered=considered)
        return Choice(later.plan, considered, f"{self.reason} Then {later.reason}")

    def record(self) -> dict[str, Any]:
        rows = [entry.record() for entry in self.considered]
        return {"plan": self.plan.name, "considered": rows, "reason": self.reason}
