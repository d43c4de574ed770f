"""Which candidate to take, from the training labels alone: judged by the probabilities that users are given."""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from altopt.arrays import Array
from altopt.defaults import DEFAULTS, Defaults
from altopt.selection.candidates import Candidate
from altopt.selection.choice import Choice, Considered
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

    def gains(self, weights: dict[Candidate, float], over: Candidate, n_folds: int) -> Array:
        """By how much each label of the first folds loses less by candidates mixed with these weights than by one."""
        mixed = sum(w * self.judged(q, n_folds).of_given for q, w in weights.items())
        return np.asarray(self.judged(over, n_folds).losses + self.label_weights(n_folds) * np.log(mixed))

    def beats_mixed(self, one: Candidate, weights: dict[Candidate, float], n_folds: int) -> bool:
        """Whether one leads the others clearly on the first folds even where they are mixed by these weights."""
        gain = -self.gains(weights, one, n_folds)
        return self.clear(float(gain.sum()), float(np.std(gain) * np.sqrt(len(gain))), self.defaults.min_z)

    def hopeless(self, weights: dict[Candidate, float], usual: Candidate, n_folds: int) -> bool:
        """Whether the labels still to be judged could hardly make candidates, so mixed, win clearly over the usual one.

        Their lead is carried forward from the first folds, with `min_z` standard errors of what the rest may bring, and
        twice `usual_lead` at the least, to their favour. Not said where a clear lead is not what decides.
        """
        if self.learnt_nothing(usual) or any(
            self.edges_are_noise(q, usual) or self.plausibility(q, usual) is not None for q in weights
        ):
            return False
        gain, defaults = self.gains(weights, usual, n_folds), self.defaults
        n, n_all, deviation = len(gain), len(self.codes(self.judge.n_folds)), float(np.std(gain))
        by_chance = defaults.min_z * deviation * np.sqrt((n_all - n) * n_all / n)
        needed = max(defaults.usual_lead, defaults.min_z * deviation * np.sqrt(n_all))
        return bool(float(gain.sum()) * n_all / n + max(by_chance, 2 * defaults.usual_lead) < needed)

    def preferred(self, one: Candidate, other: Candidate) -> bool:
        """Whether to take one: what the edges say of both decides what few labels leave open.

        In a graph built from X that is what they cut. In a given graph edges may be no likelier within a class than
        elsewhere, by predictions that do not know them: then whoever makes no use of them need not lead clearly. Where
        the other learnt nothing, half of the usual lead is enough.
        """
        gain, prior = self.lead(one, other)[0], self.plausibility(one, other)
        if prior is not None or self.edges_are_noise(one, other):
            return gain + (prior or 0.0) > 0
        if self.learnt_nothing(other):
            return gain > self.defaults.usual_lead / 2
        return self.beats(one, other, self.defaults.min_z)

    def learnt_nothing(self, one: Candidate) -> bool:
        """Whether the class shares of the judged labels, told of every one of them, lose no more than it does."""
        n = len(self.played[one])
        codes, w = self.codes(n), self.label_weights(n)
        shares = np.bincount(codes, weights=w) / w.sum()
        if shares.max() == 1.0:  # labels of one class tell nothing of that
            return False
        return float(self.judged(one, n).losses.sum()) >= -float(np.sum(w * np.log(shares[codes])))

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
        if self.learnt_nothing(other):
            return f"{told}; '{other.name}' was no better than naming the shares of the classes."
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
    drop_after(contest, 1, usual)
    for n_judged in range(2, judge.n_folds + 1):
        if len(contest.alive()) == 1:
            break
        for candidate in contest.alive():
            contest.play(candidate)
        if n_judged < judge.n_folds:
            drop_after(contest, n_judged, usual)
    return decide(contest, usual)


def drop_after(contest: Contest, n_folds: int, usual: Candidate) -> None:
    """Keep the leader, what would weigh in a mixture, and what is smoothed unless it is clearly behind.

    Of rivals of the usual candidate those alone that may still win.
    """
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
    drop_hopeless(contest, n_folds, usual, f"not good enough on {judged_by} to win over '{usual.name}'")


def drop_hopeless(contest: Contest, n_folds: int, usual: Candidate, why: str) -> None:
    """Candidates without smoothing stay or go together, since they may be mixed."""
    alive = [q for q in contest.alive() if q is not usual]
    if usual not in contest.alive():
        return
    unsmoothed = [q for q in alive if q.unsmoothed]
    if unsmoothed and not usual.unsmoothed:
        weights = dict(zip(unsmoothed, contest.weights(unsmoothed).tolist()))
        if contest.hopeless(weights, usual, n_folds):
            contest.dropped.update(dict.fromkeys(unsmoothed, why))
    for q in alive:
        if not q.unsmoothed and contest.hopeless({q: 1.0}, usual, n_folds):
            contest.dropped[q] = why


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
