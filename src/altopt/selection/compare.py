"""Which plan to take, from the training labels alone: a rival must win clearly, else the usual one stays."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from altopt.arrays import Array, shares, softmax
from altopt.selection.calibration import fit_temperature
from altopt.selection.candidates import Candidate

ENOUGH = 100  # labels from which a difference of CLEAR standard errors decides; below, of VERY_CLEAR
CLEAR, VERY_CLEAR = 1.0, 2.5
MATTERS = 0.005  # and the least difference that counts, however certain
USUAL_TEMPERATURE = 0.2


@dataclass(frozen=True)
class Considered:
    """How a plan did on labels it had not seen."""

    plan: str
    error: float  # mean squared distance of its probabilities from the labels (Brier), at its own temperature
    accuracy: float
    behind: float  # mean error above the usual plan's
    doubt: float  # standard error of that difference


@dataclass(frozen=True)
class Choice:
    """The plan that was taken, what else was considered, and why it fell on this one."""

    plan: Candidate
    considered: list[Considered]
    reason: str

    def then(self, later: "Choice") -> "Choice":
        """This choice and one made after it, among plans that go on from the one taken."""
        if not later.considered:
            return self
        again = 1 if self.considered else 0  # the first is the one taken before
        considered = [*self.considered, *later.considered[again:]]
        if later.plan is self.plan:
            return replace(self, considered=considered)
        return Choice(later.plan, considered, f"{self.reason} Then {later.reason}")

    def record(self) -> dict[str, Any]:
        rows = [asdict(entry) for entry in self.considered]
        return {"plan": self.plan.name, "considered": rows, "reason": self.reason}


def brier(F: Array, codes: Array) -> Array:
    """Squared distance of the probabilities made from F to the labels, for each node.

    F's size differs from plan to plan, so each gets the temperature that suits it.
    """
    of_shares = shares(F)
    T = fit_temperature(lambda T: softmax(of_shares, T), codes, np.ones(len(F)), USUAL_TEMPERATURE)
    S = softmax(of_shares, T)
    S[np.arange(len(F)), codes] -= 1.0
    return np.asarray(np.sum(S**2, axis=1))


def choose(
    usual: Candidate, others: list[Candidate], codes: Array, held_out: Callable[[Candidate], Array]
) -> Choice:
    """The usual plan, unless another's error on held-out labels is clearly lower.

    `codes` are the classes of the judged nodes, held_out(plan) their F from fits that had not seen them. A plan that
    follows others is looked at only where one of these leads so far.
    """
    if not others:
        return Choice(usual, [], "All parts were given.")
    if not len(codes):
        return Choice(usual, [], "No class has two labels, so none can be held back.")
    clear = CLEAR if len(codes) >= ENOUGH else VERY_CLEAR
    best, considered, own = usual, [], np.empty(0)
    lowest = 0.0
    for plan in [usual, *others]:
        if plan.follows and best.name not in plan.follows:
            continue
        F = held_out(plan)
        error = brier(F, codes)
        own = error if plan is usual else own
        gap = error - own
        doubt = float(np.std(gap) / np.sqrt(len(gap)))
        entry = Considered(
            plan.name,
            float(error.mean()),
            float(np.mean(F.argmax(axis=1) == codes)),
            float(gap.mean()),
            doubt,
        )
        considered.append(entry)
        if entry.behind < -max(max(clear, plan.clearly) * doubt, MATTERS) and entry.behind < lowest:
            best, lowest = plan, entry.behind
    if best is usual:
        reason = f"No other plan had a lower error on held-out labels by {clear:g} standard errors or more."
    else:
        over = max(clear, best.clearly)
        reason = f"'{best.name}' had a lower error on held-out labels by {-lowest:.3f}, over {over:g} standard errors."
    return Choice(best, considered, reason)
