"""Which candidate to take, from the training labels alone: another must win clearly, else the default stays."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from altopt.arrays import Array, shares, softmax
from altopt.defaults import DEFAULTS, Defaults
from altopt.selection.calibration import fit_temperature
from altopt.selection.candidates import Candidate


@dataclass(frozen=True)
class Considered:
    """How a candidate did on held-out labels.

    Parameters
    ----------
    candidate : Candidate
        Which one.
    error : float
        Brier score: mean squared distance of its probabilities from the labels, at its own temperature.
    accuracy : float
        Share of correct predictions.
    excess_error : float
        Mean error above the default's.
    standard_error : float
        Of that difference.
    """

    candidate: Candidate
    error: float
    accuracy: float
    excess_error: float
    standard_error: float

    def record(self) -> dict[str, Any]:
        return {
            "plan": self.candidate.name,
            "error": self.error,
            "accuracy": self.accuracy,
            "excess_error": self.excess_error,
            "standard_error": self.standard_error,
        }


@dataclass(frozen=True)
class Choice:
    """The candidate that was taken, those considered, and the reason.

    Parameters
    ----------
    plan : Candidate
        The one taken.
    considered : list of Considered
        Those evaluated, in order.
    reason : str
        Why, in words.
    compared_alone : (Candidate, Candidate), optional
        The default and the candidate without the graph, where both were evaluated.

    Examples
    --------
    >>> from altopt.encoders import LinearEncoder
    >>> from altopt.inputs import HopInputs
    >>> default = Candidate("usual", HopInputs(), LinearEncoder())
    >>> other = Candidate("other", HopInputs(), LinearEncoder())
    >>> codes = np.arange(200) % 2
    >>> right, wrong = np.eye(2)[codes], np.eye(2)[(codes + np.arange(200) % 3) % 2]
    >>> choice = choose(default, [other], codes, {default: wrong, other: right}.get)
    >>> choice.plan.name, [entry.accuracy for entry in choice.considered]
    ('other', [0.665, 1.0])
    """

    plan: Candidate
    considered: list[Considered]
    reason: str
    compared_alone: tuple[Candidate, Candidate] | None = None

    def then(self, later: "Choice") -> "Choice":
        """This choice and one made after it, among variants of the candidate taken."""
        if not later.considered:
            return self
        repeated = 1 if self.considered else 0  # the first is the one taken before
        considered = [*self.considered, *later.considered[repeated:]]
        if later.plan is self.plan:
            return replace(self, considered=considered)
        return replace(
            self, plan=later.plan, considered=considered, reason=f"{self.reason} Then {later.reason}"
        )

    def record(self) -> dict[str, Any]:
        rows = [entry.record() for entry in self.considered]
        return {"plan": self.plan.name, "considered": rows, "reason": self.reason}


def brier(F: Array, codes: Array, defaults: Defaults = DEFAULTS) -> Array:
    """Squared distance of the probabilities softmax(shares of F / T) to the labels, for each node.

    The scale of F differs between candidates, so each gets the T that fits it. Users are given other probabilities,
    powers of shares (`calibration.TemperedShares`): candidates are compared by one form and answer in another.
    """
    S = shares(F)
    T = fit_temperature(lambda T: softmax(S, T), codes, np.ones(len(F)), defaults)
    P = softmax(S, T)
    P[np.arange(len(F)), codes] -= 1.0
    return np.asarray(np.sum(P**2, axis=1))


def choose(
    default: Candidate,
    others: list[Candidate],
    codes: Array,
    held_out_scores: Callable[[Candidate], Array],
    defaults: Defaults = DEFAULTS,
) -> Choice:
    """The default, unless another candidate's error on held-out labels is clearly lower.

    `codes` are the classes of the evaluated nodes, held_out_scores(candidate) their F from fits without their labels.
    The lead must exceed `min_z` standard errors (more with few labels, or if the candidate asks for more) and
    `min_gain`. A candidate with `only_after` is evaluated only if one of those leads so far.
    """
    if not others:
        return Choice(default, [], "All parts were given.")
    if not len(codes):
        return Choice(default, [], "No class has two labels, so none can be held back.")
    min_z = defaults.min_z if len(codes) >= defaults.many_labels else defaults.min_z_few

    def consider(candidate: Candidate, reference: Array | None) -> tuple[Considered, Array]:
        F = held_out_scores(candidate)
        errors = brier(F, codes, defaults)
        excess = errors - (errors if reference is None else reference)
        accuracy = float(np.mean(F.argmax(axis=1) == codes))
        standard_error = float(np.std(excess) / np.sqrt(len(excess)))
        entry = Considered(candidate, float(errors.mean()), accuracy, float(excess.mean()), standard_error)
        return entry, errors

    best, reference = consider(default, None)
    considered = [best]
    for candidate in others:
        if candidate.only_after and best.candidate not in candidate.only_after:
            continue
        entry, _ = consider(candidate, reference)
        considered.append(entry)
        margin = max(max(min_z, candidate.min_z) * entry.standard_error, defaults.min_gain)
        if entry.excess_error < -margin and entry.excess_error < best.excess_error:
            best = entry
    if best.candidate is default:
        reason = f"No other plan had a lower error on held-out labels by {min_z:g} standard errors or more."
    else:
        z = max(min_z, best.candidate.min_z)
        reason = (
            f"'{best.candidate.name}' had a lower error on held-out labels by {-best.excess_error:.3f}, "
            f"over {z:g} standard errors."
        )
    return Choice(best.candidate, considered, reason)
