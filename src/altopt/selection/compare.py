"""Which candidate to take, from the training labels alone: judged by the probabilities that users are given."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from altopt.arrays import Array
from altopt.defaults import DEFAULTS, Defaults
from altopt.selection.candidates import Candidate
from altopt.selection.probabilities import Probabilities, at_best_temperature, mixture_weights

NO_BETTER = "No other plan had a clearly lower error on held-out labels."


class Judged(NamedTuple):
    """F of the judged labels of a fold from a fit without them, and what that fit took."""

    F: Array
    seconds: float
    cut: float | None = None  # share of edges cut, in a graph built from X
    agreement: float | None = None  # along edges, in standard errors, of predictions that make no use of them


class Judge(Protocol):
    """Fits candidates without a fold of the labels."""

    @property
    def n_folds(self) -> int:
        """Folds that may choose."""

    def codes_of(self, k: int) -> Array:
        """The classes of the labels of fold k."""

    def weights_of(self, k: int) -> Array:
        """What each of these labels counts for."""

    @property
    def class_weights(self) -> Array | None:
        """How much commoner each class is among all nodes than among the labels, where that is known."""

    def held_out(self, candidate: Candidate, k: int) -> Judged:
        """The candidate's F of fold k's nodes, from a fit without their labels."""

    def mix(self, parts: list[Candidate], weights: list[float], temperatures: list[float]) -> Candidate:
        """A mixture of candidates without smoothing."""


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


@dataclass
class Contest:
    """Candidates judged by the same held-out labels, fold after fold."""

    judge: Judge
    defaults: Defaults = DEFAULTS
    played: dict[Candidate, list[Judged]] = field(default_factory=dict)
    dropped: dict[Candidate, str] = field(default_factory=dict)
    _judged: dict[tuple[Candidate, int], Probabilities] = field(default_factory=dict)

    def play(self, candidate: Candidate) -> None:
        """Judge a candidate by one fold more; one that cannot be fitted is dropped and says so, but for the first."""
        done = self.played.setdefault(candidate, [])
        try:
            done.append(self.judge.held_out(candidate, len(done)))
        except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
            if len(self.played) == 1:  # the usual one: what stops it would stop the fit
                raise
            self.dropped[candidate] = f"could not be fitted: {' '.join(str(error).split())[:200]}"

    def alive(self) -> list[Candidate]:
        """Candidates with a result that were not dropped."""
        return [q for q, done in self.played.items() if done and q not in self.dropped]

    def codes(self, n_folds: int) -> Array:
        return np.concatenate([self.judge.codes_of(k) for k in range(n_folds)])

    def label_weights(self, n_folds: int) -> Array:
        """What the labels of the first folds count for, 1 on the mean: classes by their share of all nodes."""
        w = np.concatenate([self.judge.weights_of(k) for k in range(n_folds)])
        by_class = self.judge.class_weights
        w = w if by_class is None else w * by_class[self.codes(n_folds)]
        return np.asarray(w / w.mean())

    def judged(self, candidate: Candidate, n_folds: int) -> Probabilities:
        """The candidate by the labels of the first folds."""
        key = candidate, n_folds
        if key not in self._judged:
            F = np.concatenate([done.F for done in self.played[candidate][:n_folds]])
            F = F if self.judge.class_weights is None else F * self.judge.class_weights
            self._judged[key] = at_best_temperature(F, self.codes(n_folds), self.label_weights(n_folds))
        return self._judged[key]

    def lead(self, one: Candidate, other: Candidate) -> tuple[float, float]:
        """By how much the summed loss of `one` is below the other's on labels that judged both, and its error."""
        n = min(len(self.played[one]), len(self.played[other]))
        gain = self.judged(other, n).losses - self.judged(one, n).losses
        return float(gain.sum()), float(np.std(gain) * np.sqrt(len(gain)))

    def beats(self, one: Candidate, other: Candidate, n_errors: float) -> bool:
        """Whether one leads by so many standard errors, and by more than a handful of labels may say by chance."""
        return self.clear(*self.lead(one, other), n_errors)

    def clear(self, gain: float, error: float, n_errors: float) -> bool:
        return gain > max(self.defaults.usual_lead, n_errors * error)

    def clearly_behind(self, one: Candidate, leader: Candidate) -> bool:
        """Whether the leader beats one, also where the edges that one does not cut speak for it."""
        gain, error = self.lead(leader, one)
        for_one = max(self.plausibility(one, leader) or 0.0, 0.0)
        return self.clear(gain - for_one, error, self.defaults.min_z)

    def beats_mixed(self, one: Candidate, weights: dict[Candidate, float], n_folds: int) -> bool:
        """Whether one leads the others clearly on the first folds even where they are mixed by these weights."""
        mixed = sum(w * self.judged(q, n_folds).of_given for q, w in weights.items())
        gain = -self.label_weights(n_folds) * np.log(mixed) - self.judged(one, n_folds).losses
        return self.clear(float(gain.sum()), float(np.std(gain) * np.sqrt(len(gain))), self.defaults.min_z)

    def preferred(self, one: Candidate, other: Candidate) -> bool:
        """Whether to take one: what the edges say of both decides what few labels leave open.

        In a graph built from X that is what they cut. In a given graph edges may be no likelier within a class than
        elsewhere, by predictions that do not know them: then whoever makes no use of them need not lead clearly.
        """
        if self.edges_are_noise(one, other):
            return self.lead(one, other)[0] > 0
        prior = self.plausibility(one, other)
        if prior is None:
            return self.beats(one, other, self.defaults.min_z)
        return self.lead(one, other)[0] + prior > 0

    def edges_are_noise(self, one: Candidate, other: Candidate) -> bool:
        """Whether edges, which `one` makes no use of, join what it calls alike no oftener or seldomer than chance."""
        agreement = self.played[one][0].agreement
        return agreement is not None and abs(agreement) < self.defaults.edge_chance and other.uses_graph

    def leading(self, rivals: list[Candidate]) -> Candidate:
        """The rival whose labels are likeliest, without a bar that a later one would have to pass."""
        best = rivals[0]
        for rival in rivals[1:]:
            if self.lead(rival, best)[0] + (self.plausibility(rival, best) or 0.0) > 0:
                best = rival
        return best

    def told(self, one: Candidate, other: Candidate) -> str:
        """What speaks for one in the place of the other, in words."""
        gain, error = self.lead(one, other)
        n = len(self.codes(min(len(self.played[one]), len(self.played[other]))))
        sign, z = ("lower" if gain > 0 else "higher"), abs(gain) / max(error, 1e-12)
        told = (
            f"'{one.name}' had a {sign} error on held-out labels than '{other.name}' by {abs(gain) / n:.3f}, "
            f"{z:.1f} standard errors"
        )
        if self.edges_are_noise(one, other):
            return f"{told}; edges join nodes that it calls alike no oftener than chance."
        if self.plausibility(one, other) is None:
            return f"{told}."
        cuts = [self.played[q][0].cut for q in (one, other)]
        return (
            f"{told}; its labels cut {cuts[0]:.1%} of the edges of the graph built from X, the other's {cuts[1]:.1%}, "
            "and both counted."
        )

    def plausibility(self, one: Candidate, other: Candidate) -> float | None:
        """How much likelier a labelling is for cutting fewer edges of a graph built from X, as a log odds."""
        cuts = [self.played[q][0].cut for q in (one, other)]
        if one.class_masses == other.class_masses or cuts[0] is None or cuts[1] is None:
            return None
        least = self.defaults.least_cut
        odds = self.defaults.cut_odds * np.log((cuts[1] + least) / (cuts[0] + least))
        return float(np.clip(odds, -self.defaults.max_cut_odds, self.defaults.max_cut_odds))

    def weights(self, parts: list[Candidate]) -> Array:
        """Weights of the parts under which the given classes are likeliest."""
        n = min(len(self.played[part]) for part in parts)
        L = np.stack([self.judged(part, n).of_given for part in parts], axis=1)
        return mixture_weights(L, self.label_weights(n))

    def entry(self, candidate: Candidate, usual: Candidate, weight: float) -> Considered:
        n, dropped = len(self.played[candidate]), self.dropped.get(candidate, "")
        if not n:
            unknown = float("nan")
            return Considered(candidate, unknown, unknown, unknown, unknown, 0, seconds=0.0, dropped=dropped)
        judged = self.judged(candidate, n)
        gain, error = self.lead(candidate, usual)
        n_common = len(self.codes(min(n, len(self.played[usual]))))
        return Considered(
            candidate,
            error=float(judged.losses.mean()),
            accuracy=float(np.mean(self.label_weights(n) * (judged.P.argmax(axis=1) == self.codes(n)))),
            excess_error=-gain / n_common,
            standard_error=error / n_common,
            n_labels=len(judged.losses),
            seconds=sum(done.seconds for done in self.played[candidate]),
            weight=weight,
            dropped=dropped,
        )


def choose(usual: Candidate, others: list[Candidate], judge: Judge, defaults: Defaults = DEFAULTS) -> Choice:
    """The usual candidate, unless others did clearly better on held-out labels.

    Of the candidates without smoothing the best few are mixed. All are judged by one fold, and by one more as long as
    they are not clearly behind. The usual one stays unless it is beaten by `min_z` standard errors and by
    `usual_lead`.
    """
    if not others:
        return Choice(usual, [], "All parts were given.")
    if not judge.n_folds:
        return Choice(usual, [], "No class has two labels, so none can be held back.")
    contest = Contest(judge, defaults)
    for candidate in (usual, *others):
        contest.play(candidate)
    drop_after(contest, 1)
    for n_judged in range(2, judge.n_folds + 1):
        if len(contest.alive()) == 1:
            break
        for candidate in contest.alive():
            contest.play(candidate)
        if n_judged < judge.n_folds:
            drop_after(contest, n_judged)
    return decide(contest, usual)


def drop_after(contest: Contest, n_folds: int) -> None:
    """Keep the leader, what would weigh in a mixture, and what is smoothed unless it is clearly behind."""
    defaults, alive = contest.defaults, contest.alive()
    leader = min(alive, key=lambda q: float(contest.judged(q, n_folds).losses.sum()))
    unsmoothed = [q for q in alive if q.unsmoothed]
    weights = dict(zip(unsmoothed, contest.weights(unsmoothed).tolist())) if unsmoothed else {}
    if unsmoothed and not leader.unsmoothed and contest.beats_mixed(leader, weights, n_folds):
        weights = dict.fromkeys(unsmoothed, 0.0)
    judged_by = "the first fold" if n_folds == 1 else f"{n_folds} folds"
    for q in alive:
        behind = q is not leader and contest.clearly_behind(q, leader)
        if behind and weights.get(q, 0.0) < defaults.mixture_weight:
            contest.dropped[q] = f"clearly behind '{leader.name}' on {judged_by}"
        elif q is not leader and weights.get(q, 1.0) < defaults.mixture_weight / 2:
            contest.dropped[q] = f"added nothing to the others on {judged_by}"


def decide(contest: Contest, usual: Candidate) -> Choice:
    """The usual candidate, another with smoothing, or a mixture of those without."""
    alive = contest.alive()
    best, weights = usual, {usual: 1.0}
    rivals = [q for q in alive if not q.unsmoothed and q is not usual]
    unsmoothed = [q for q in alive if q.unsmoothed]
    mixed: dict[Candidate, float] = {}
    if unsmoothed:
        rival, mixed = mixture_or_best(contest, unsmoothed)
        rivals.append(rival)
    reasons = []
    if preferred := [q for q in rivals if contest.preferred(q, usual)]:
        rival = contest.leading(preferred)
        reasons.append(contest.told(rival, usual))
        best, weights = rival, {rival: 1.0} if rival in alive else mixed
    if not reasons:
        judged = [q for q in rivals if contest.plausibility(q, usual) is not None]
        reasons = [contest.told(usual, q) for q in judged]
        reasons += [NO_BETTER] if len(judged) < len(rivals) or not rivals else []
    considered = [contest.entry(q, usual, weights.get(q, 0.0)) for q in contest.played]
    return Choice(best, considered, " ".join(reasons))


def mixture_or_best(
    contest: Contest, candidates: list[Candidate]
) -> tuple[Candidate, dict[Candidate, float]]:
    """The mixture of the strongest candidates with its weights, or the best of them where mixing gains nothing."""
    weights = strongest(contest, candidates)
    parts = list(weights)
    n = min(len(contest.played[part]) for part in parts)
    best = min(parts, key=lambda part: float(contest.judged(part, n).losses.sum()))
    if len(parts) == 1:
        return best, weights
    temperatures = [contest.judged(part, n).temperature for part in parts]
    mixed = contest.judge.mix(parts, list(weights.values()), temperatures)
    for _ in range(n):
        contest.play(mixed)
    return (mixed, weights) if contest.lead(mixed, best)[0] > 0 else (best, {best: 1.0})


def strongest(contest: Contest, parts: list[Candidate]) -> dict[Candidate, float]:
    """The parts of most weight, none below `mixture_weight`, with their weights."""
    kept = list(parts)
    while True:
        found = contest.weights(kept)
        if len(kept) == 1 or found.min() >= contest.defaults.mixture_weight:
            return dict(zip(kept, found.tolist()))
        del kept[int(found.argmin())]
