"""The candidate that held-out labels choose: what is compared, and how clear a lead must be."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from altopt import AltOpt, InputError
from altopt.datasets import communities
from altopt.defaults import DEFAULTS
from altopt.encoders import LinearEncoder
from altopt.inputs import BlockInputs, HopInputs, ReducedInputs
from altopt.selection.candidates import FEATURES_ONLY, Candidate, default_inputs, reweighted
from altopt.selection.choice import Choice
from altopt.selection.compare import Judged, choose
from altopt.selection.probabilities import at_best_temperature, mixture_weights
from altopt.views import GraphView, NoGraphView

CLASSES = 3


def candidate_of(view=GraphView, lambda1=0.7, lambda2=1.5, name="usual", **settings):
    return Candidate(name, ReducedInputs(16), LinearEncoder(), lambda1, lambda2, graph_view=view, **settings)


def test_weights_differ_one_at_a_time_and_only_where_the_graph_is_used():
    candidate = candidate_of()
    made = {(other.feature_weight / 0.7, other.label_weight / 1.5) for other in reweighted(candidate)}
    assert made == {(0.25, 1.0), (4.0, 1.0), (1.0, 0.25), (1.0, 4.0)}
    assert all(
        other.reweights is candidate and other.name != candidate.name for other in reweighted(candidate)
    )
    assert reweighted(candidate_of(NoGraphView)) == []
    doubled = reweighted(candidate, replace(DEFAULTS, weight_factors=(0.5, 2.0)))
    assert doubled[0].feature_weight == 0.35


@pytest.mark.parametrize("name", ["feature_weight", "label_weight"])
def test_numbers_of_a_candidate_are_checked(name):
    with pytest.raises(InputError, match=f"{name} must be a number at least 0, but is -1"):
        replace(candidate_of(), **{name: -1.0})


class Told:
    """A judge with made-up answers: for each candidate its probability of the given class, for each label."""

    n_folds, class_weights = 3, None

    def __init__(self, answers, n_labels=60, n_classes=1):
        self.n_classes = n_classes
        self.answers, self.n_labels, self.asked, self.mixed, self.cuts = answers, n_labels, [], {}, {}
        self.agreement = {}

    def codes_of(self, k):
        return np.arange(self.n_labels) % self.n_classes

    def weights_of(self, k):
        return np.ones(self.n_labels)

    def held_out(self, candidate, k):
        self.asked.append((candidate.name, k))
        if candidate in self.mixed:
            parts, weights = self.mixed[candidate]
            return Judged(sum(w * self.held_out(part, k).F for part, w in zip(parts, weights)), 0.0)
        p = self.answers[candidate](np.arange(self.n_labels) + k * self.n_labels)
        if isinstance(p, str):
            raise np.linalg.LinAlgError(p)
        first = np.where(self.codes_of(k) == 0, p, 1 - p)
        return Judged(
            np.stack([first, 1 - first], axis=1), 0.5, self.cuts.get(candidate), self.agreement.get(candidate)
        )

    def mix(self, parts, weights, temperatures):
        mixed = candidate_of(NoGraphView, name="mixture", n_rounds=0)
        self.mixed[mixed] = parts, weights
        return mixed


def steady(p):
    """Right in so many of ten labels, at a calibrated probability."""
    return lambda i: np.where(i % 10 < 10 * p, p, 1 - p)


def unsmoothed(name, **settings):
    return candidate_of(NoGraphView, name=name, n_rounds=0, **settings)


def test_a_choice_after_a_choice():
    default, other = candidate_of(), unsmoothed("other")
    judge = Told({default: steady(0.8), other: steady(0.8)})
    first = choose(default, [other], judge)
    assert first.then(Choice(default, [], "All parts were given.")) is first
    variants = reweighted(default)
    later = choose(default, variants, Told(dict.fromkeys([default, *variants], steady(0.8))))
    joined = first.then(later)
    assert joined.plan is default
    assert [entry.candidate for entry in joined.considered] == [default, other, *variants]
    won = first.then(Choice(other, later.considered, "It won."))
    assert won.plan is other
    assert won.reason.endswith("It won.")
    assert won.reason.startswith(first.reason)


def test_the_record_of_a_choice_is_plain_data():
    default, other = candidate_of(), unsmoothed("other")
    record = choose(default, [other], Told({default: steady(0.7), other: steady(0.9)})).record()
    assert list(record) == ["plan", "considered", "reason"]
    assert json.loads(json.dumps(record)) == record
    rows = {row["plan"]: row for row in record["considered"]}
    assert record["plan"] == "other"
    assert rows["other"]["weight"] == 1.0
    assert rows["other"]["seconds"] == 0.5  # the first fold was enough
    assert rows["other"]["accuracy"] == pytest.approx(0.9)
    assert rows["usual"]["excess_error"] == 0.0
    assert "clearly behind 'other'" in rows["usual"]["dropped"]
    assert "'other' had a lower error" in record["reason"]


@pytest.mark.parametrize(("n_labels", "taken"), [(2, "usual"), (60, "other")])
def test_a_handful_of_labels_does_not_overturn_the_usual_plan(n_labels, taken):
    default, other = candidate_of(), unsmoothed("other")
    judge = Told({default: steady(0.6), other: steady(0.9)}, n_labels)
    assert choose(default, [other], judge).plan.name == taken


def test_a_lead_within_the_noise_does_not_count():
    default, other = candidate_of(), unsmoothed("other")

    def noisy(i):
        return np.where(np.random.default_rng(0).permutation(180)[i % 180] % 2, 0.95, 0.33)

    judge = Told({default: lambda i: np.full(len(i), 0.545), other: noisy})
    assert choose(default, [other], judge).plan is default


def test_the_best_of_those_that_beat_the_usual_plan_is_taken_not_the_first():
    usual, first = candidate_of(), candidate_of(name="graph alone", class_masses=True)
    best = candidate_of(NoGraphView, name="linear on features", n_rounds=0)
    judge = Told({usual: steady(0.6), first: steady(0.8), best: steady(0.82)})
    assert choose(usual, [first, best], judge).plan.name == "linear on features"
    judge = Told({usual: steady(0.6), first: steady(0.82), best: steady(0.8)})
    assert choose(usual, [best, first], judge).plan.name == "graph alone"


def test_candidates_that_are_right_in_different_places_are_mixed():
    default, one, two = candidate_of(), unsmoothed("one"), unsmoothed("two")
    answers = {
        default: lambda i: np.full(len(i), 0.5),
        one: lambda i: np.where(i % 2, 0.95, 0.4),
        two: lambda i: np.where(i % 2, 0.4, 0.95),
    }
    choice = choose(default, [one, two], Told(answers))
    assert choice.plan.name == "mixture"
    weights = {entry.candidate.name: entry.weight for entry in choice.considered}
    assert weights["one"] == pytest.approx(0.5, abs=0.1)
    assert weights["one"] + weights["two"] == pytest.approx(1.0)


def test_what_one_fold_shows_to_be_behind_is_not_fitted_again():
    default, good, bad = candidate_of(), unsmoothed("good"), unsmoothed("bad")
    judge = Told({default: steady(0.8), good: steady(0.8), bad: steady(0.5)})
    choice = choose(default, [good, bad], judge)
    assert ("bad", 1) not in judge.asked
    assert ("good", 2) in judge.asked
    assert "clearly behind" in {entry.candidate.name: entry.dropped for entry in choice.considered}["bad"]


def test_what_is_clearly_behind_even_when_mixed_is_not_fitted_again():
    """The strongest without smoothing weighs in a mixture, but the usual plan is far ahead of any of them."""
    default, one, two = candidate_of(), unsmoothed("one"), unsmoothed("two")
    judge = Told({default: steady(0.95), one: steady(0.6), two: steady(0.6)})
    choice = choose(default, [one, two], judge)
    assert choice.plan is default
    assert {k for _, k in judge.asked} == {0}


@pytest.mark.parametrize(("agreement", "taken"), [(50.0, "usual"), (-50.0, "usual"), (0.5, "features alone")])
def test_where_edges_agree_by_chance_features_need_no_clear_lead(agreement, taken):
    default, alone = candidate_of(), candidate_of(NoGraphView, name="features alone")
    judge = Told({default: steady(0.8), alone: steady(0.81)}, n_labels=3)
    judge.agreement = {alone: agreement}
    assert choose(default, [alone], judge).plan.name == taken
    behind = Told({default: steady(0.8), alone: steady(0.79)}, n_labels=3)
    behind.agreement = {alone: agreement}
    assert choose(default, [alone], behind).plan is default


@pytest.mark.parametrize(("cut", "taken"), [(0.3, "usual"), (0.02, "graph alone")])
def test_in_a_graph_built_from_X_the_labelling_that_cuts_fewer_edges_is_likelier(cut, taken):
    default, alone = candidate_of(), candidate_of(name="graph alone", n_rounds=0, class_masses=True)
    judge = Told({default: steady(0.8), alone: steady(0.8)}, n_labels=3)
    judge.cuts = {default: 0.1, alone: cut}
    choice = choose(default, [alone], judge)
    assert choice.plan.name == taken
    assert "cut 10.0% of the edges" in choice.reason or "the other's 10.0%" in choice.reason


def test_one_that_leads_a_little_does_not_hide_another_that_the_edges_speak_for():
    """The leader of the rivals is not clear of the usual plan; the one after it is, by what it cuts."""
    default, alone = candidate_of(), candidate_of(name="graph alone", n_rounds=0, class_masses=True)
    ahead = unsmoothed("linear on features")
    judge = Told({default: steady(0.8), alone: steady(0.8), ahead: steady(0.9)}, n_labels=3)
    judge.cuts = {default: 0.1, alone: 0.02}
    assert choose(default, [ahead], judge).plan is default
    assert choose(default, [ahead, alone], judge).plan is alone


def test_the_reason_is_true_where_the_cut_outweighs_a_higher_error():
    default, alone = candidate_of(), candidate_of(name="graph alone", n_rounds=0, class_masses=True)
    judge = Told({default: steady(0.8), alone: steady(0.75)}, n_labels=10)
    judge.cuts = {default: 0.3, alone: 0.01}
    choice = choose(default, [alone], judge)
    assert choice.plan is alone
    assert choice.reason.startswith("'graph alone' had a higher error on held-out labels than 'usual' by 0.")
    assert "-" not in choice.reason.replace("held-out", "")


def test_a_candidate_that_cannot_be_fitted_is_dropped_and_named():
    default, broken = candidate_of(), unsmoothed("broken")
    choice = choose(default, [broken], Told({default: steady(0.8), broken: lambda i: "no inverse"}))
    assert choice.plan is default
    assert [entry.candidate for entry in choice.considered] == [default, broken]
    assert choice.considered[1].dropped == "could not be fitted: no inverse"
    record = choice.record()["considered"][1]
    assert record["plan"] == "broken"
    assert record["error"] is record["accuracy"] is None
    assert [entry.candidate for entry in choice.judged] == [default]


def test_a_constant_answer_never_beats_an_informed_one():
    """Nine of ten labels are of one class; calling all by it is right as often as the one that knows something."""
    codes = np.arange(200) % 10 == 0
    majority = at_best_temperature(np.tile([0.9, 0.1], (200, 1)), codes.astype(int))
    informed = at_best_temperature(np.where(codes[:, None], [0.6, 0.4], [0.95, 0.05]), codes.astype(int))
    assert informed.losses.mean() < majority.losses.mean() - 0.05


def test_weights_of_a_mixture_are_the_likeliest():
    rng = np.random.default_rng(0)
    L = rng.uniform(0.1, 0.9, (500, 3))
    w = mixture_weights(L)
    assert w.sum() == pytest.approx(1.0)
    best = np.log(L @ w).sum()
    for k in range(3):
        other = 0.9 * w
        other[k] += 0.1
        assert np.log(L @ other).sum() <= best + 1e-3


def test_a_graph_that_does_harm_is_left_aside():
    made = communities(600, 3, mean_degree=8, signal=0.3, seed=0)
    rng = np.random.default_rng(0)
    A = sp.random_array((600, 600), density=0.02, rng=rng)
    y = np.where(np.arange(600) % 4 == 0, made.y, -1)
    with pytest.warns(UserWarning, match="The graph does not help here"):
        model = AltOpt(random_state=0).fit(made.X, y, graph=sp.csr_array(A + A.T))
    assert model.choice_["plan"] in FEATURES_ONLY
    assert model.graph_help_.gain < 0
    alone = AltOpt(random_state=0, cross_fit=False, inputs=HopInputs((0,)), graph_view=NoGraphView)
    hidden = y < 0
    right = [
        np.mean(m.transduction_[hidden] == made.y[hidden])
        for m in (model, alone.fit(made.X, y, graph=sp.csr_array(A + A.T)))
    ]
    assert right[0] >= right[1] - 0.02


@pytest.mark.parametrize(
    ("n_nodes", "n_features", "kind", "storage"),
    [
        (2708, 1433, BlockInputs, None),
        (169_343, 128, ReducedInputs, "float32"),
        (2_449_029, 100, ReducedInputs, "float16"),
    ],
)
def test_what_the_encoder_reads_by_default_fits_the_size(n_nodes, n_features, kind, storage):
    inputs = default_inputs(n_nodes, n_features)
    assert isinstance(inputs, kind)
    assert getattr(inputs, "storage", None) == storage


def test_few_labels_read_few_directions():
    def widths(n_labels):
        return [part.n_components for part in default_inputs(2708, 1433, n_labels).parts]

    assert widths(None) == widths(64) == widths(5000) == [128, 256]
    assert widths(1) == widths(8) == [16, 32]
    assert widths(15) == [32, 64]
    assert [sum(widths(n)) for n in range(1, 70)] == sorted(sum(widths(n)) for n in range(1, 70))


def test_candidates_are_compared_under_the_class_prior_where_that_is_known():
    """Labels half of each class, nine tenths of all nodes in one: who calls all nodes by it is right on so many."""
    majority, informed = candidate_of(name="majority"), candidate_of(lambda1=0.9, name="informed")
    codes = np.arange(60) % 2

    class ByClass(Told):
        def codes_of(self, k):
            return codes

        def held_out(self, candidate, k):
            p = 0.5 if candidate is majority else 0.8
            return Judged(np.where(codes[:, None] == [0, 1], p, 1 - p), 0.5)

    judge = ByClass({})
    judge.class_weights = np.array([1.8, 0.2])
    choice = choose(majority, [informed], judge)
    told = {entry.candidate: entry for entry in choice.considered}
    assert choice.plan is informed  # although it is no oftener right
    assert told[majority].accuracy == pytest.approx(0.9)
    assert told[majority].error == pytest.approx(-0.9 * np.log(0.9) - 0.1 * np.log(0.1), rel=0.05)
    assert told[informed].error < told[majority].error


def test_a_label_of_weight_zero_decides_nothing():
    usual, other = candidate_of(), candidate_of(lambda1=0.9, name="other")
    judge = Told(
        {usual: lambda at: np.where(at % 60 < 40, 0.9, 0.01), other: lambda at: np.full(len(at), 0.8)}
    )
    assert choose(usual, [other], judge).plan is other
    judge.weights_of = lambda k: (np.arange(60) < 40).astype(float)
    assert choose(usual, [other], judge).plan is usual


def test_what_can_hardly_win_any_more_is_not_judged_by_further_folds():
    """A rival that is a little behind would have to turn round on the rest of the labels; one that is level may win."""
    default, behind, level = candidate_of(), candidate_of(name="behind"), candidate_of(name="level")
    judge = Told({default: steady(0.8), behind: steady(0.7), level: steady(0.8)}, 40, n_classes=2)
    choice = choose(default, [behind, level], judge)
    assert choice.plan is default
    assert ("behind", 1) not in judge.asked
    assert ("level", 2) in judge.asked
    dropped = {row["plan"]: row["dropped"] for row in choice.record()["considered"]}
    assert dropped["behind"] == "not good enough on the first fold to win over 'usual'"
    assert dropped["level"] == ""


def test_few_labels_drop_nobody_for_being_a_little_behind():
    default, behind = candidate_of(), candidate_of(name="behind")
    judge = Told({default: steady(0.8), behind: steady(0.7)}, n_labels=3)
    choose(default, [behind], judge)
    assert ("behind", 2) in judge.asked


def test_where_the_usual_plan_learnt_nothing_half_of_the_usual_lead_is_enough():
    default, other = candidate_of(), candidate_of(name="other")
    judge = Told({default: steady(0.5), other: steady(0.9)}, 4, n_classes=2)
    choice = choose(default, [other], judge)
    assert choice.plan is other
    assert "'usual' was no better than naming the shares of the classes" in choice.reason
    judge.answers[default] = steady(0.6)
    assert choose(default, [other], judge).plan is default


def test_edges_that_it_does_not_cut_keep_a_labelling_in_the_contest():
    default, alone = candidate_of(), candidate_of(name="graph alone", n_rounds=0, class_masses=True)
    judge = Told({default: steady(0.8), alone: steady(0.6)}, n_labels=20)
    choose(default, [alone], judge)
    assert ("graph alone", 2) not in judge.asked
    judge = Told({default: steady(0.8), alone: steady(0.6)}, n_labels=20)
    judge.cuts = {default: 0.3, alone: 0.01}
    choose(default, [alone], judge)
    assert ("graph alone", 2) in judge.asked
