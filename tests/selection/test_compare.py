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
from altopt.inputs import BlockInputs, ReducedInputs
from altopt.selection.candidates import Candidate, default_inputs, reweighted
from altopt.selection.compare import Choice, choose
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


@pytest.mark.parametrize("name", ["feature_weight", "label_weight", "min_z"])
def test_numbers_of_a_candidate_are_checked(name):
    with pytest.raises(InputError, match=f"{name} must be a number at least 0, but is -1"):
        replace(candidate_of(), **{name: -1.0})


def test_a_choice_after_a_choice():
    default, other = candidate_of(), candidate_of(name="other")
    first = choose(default, [other], np.array([0, 1]), lambda candidate: np.eye(2))
    assert first.then(Choice(default, [], "All parts were given.")) is first
    variants = reweighted(default)
    later = choose(default, variants, np.array([0, 1]), lambda candidate: np.eye(2))
    joined = first.then(later)
    assert joined.plan is default
    assert [entry.candidate for entry in joined.considered] == [default, other, *variants]
    won = first.then(Choice(other, later.considered, "It won."))
    assert won.plan is other
    assert won.reason.endswith("It won.")
    assert won.reason.startswith(first.reason)


def test_the_record_of_a_choice_is_plain_data():
    default, other = candidate_of(), candidate_of(name="other")
    record = choose(default, [other], np.array([0, 1]), lambda candidate: np.eye(2)).record()
    assert list(record) == ["plan", "considered", "reason"]
    assert record["plan"] == "usual"
    assert [list(row) for row in record["considered"]] == [
        ["plan", "error", "accuracy", "excess_error", "standard_error"]
    ] * 2
    assert json.loads(json.dumps(record)) == record


def scores_with_errors(codes, errors):
    """Rows of two classes whose distance from the label is set by `errors` in [0, 1]."""
    right = 1.0 - np.asarray(errors)
    F = np.empty((len(codes), 2))
    F[np.arange(len(codes)), codes], F[np.arange(len(codes)), 1 - codes] = right, 1.0 - right
    return F


def scores_wrong_at(wrong, codes):
    """One-hot rows, wrong at the given positions."""
    predicted = codes.copy()
    predicted[wrong] = 1 - codes[wrong]
    return np.eye(2)[predicted] + 0.1


def z_of(choice):
    entry = choice.considered[1]
    return -entry.excess_error / entry.standard_error


@pytest.mark.parametrize(("n_labels", "asked"), [(99, 2.5), (100, 1.0)])
def test_how_clear_a_lead_must_be_depends_on_the_number_of_labels(n_labels, asked):
    """At 99 labels 2.5 standard errors are asked for, from 100 on one: a lead in between tells which."""
    assert (DEFAULTS.many_labels, DEFAULTS.min_z, DEFAULTS.min_z_few) == (100, 1.0, 2.5)
    default, other = candidate_of(), candidate_of(name="other")
    codes = np.arange(n_labels) % 2
    # nine labels won and three lost: a lead of about 6 / sqrt(12) standard errors
    usual = scores_wrong_at(np.arange(30), codes)
    better = scores_wrong_at(np.arange(9, 33), codes)
    choice = choose(default, [other], codes, lambda candidate: better if candidate is other else usual)
    assert 1.2 < z_of(choice) < 2.3
    assert (choice.plan is other) == (asked == 1.0)
    assert f"{asked:g} standard errors" in choice.reason


def test_a_certain_lead_that_is_too_small_does_not_count():
    """However many standard errors: the Brier score must fall by min_gain."""
    default, other = candidate_of(), candidate_of(name="other")
    rng = np.random.default_rng(0)
    codes = np.arange(4000) % 2
    errors = rng.uniform(0.2, 0.6, 4000)
    usual, better = (scores_with_errors(codes, errors - shift) for shift in (0.0, 0.001))
    scores = {default: usual, other: better}
    kept = choose(default, [other], codes, scores.get)
    assert z_of(kept) > 5
    assert 0 < -kept.considered[1].excess_error < DEFAULTS.min_gain
    assert kept.plan is default
    taken = choose(default, [other], codes, scores.get, replace(DEFAULTS, min_gain=0.0))
    assert taken.plan is other


@pytest.mark.parametrize(("min_z", "taken"), [(0.0, "other"), (1.2, "other"), (50.0, "usual")])
def test_a_candidate_may_have_to_win_more_clearly(min_z, taken):
    rng = np.random.default_rng(0)
    codes = np.arange(200) % 2
    vague = np.eye(2)[codes] + rng.normal(scale=1.0, size=(200, 2))
    default, other = candidate_of(), candidate_of(name="other", min_z=min_z)
    scores = {default: np.exp(vague), other: np.exp(vague + 0.3 * np.eye(2)[codes])}
    assert choose(default, [other], codes, scores.get).plan.name == taken


def scores_right_with(share, codes, seed):
    rng = np.random.default_rng(seed)
    predicted = np.where(rng.random(len(codes)) < share, codes, (codes + 1) % CLASSES)
    return np.eye(CLASSES)[predicted] + 0.1


def test_candidates_are_told_apart_by_identity_not_by_name():
    default, other = candidate_of(), candidate_of(lambda1=9.0)
    assert default.name == other.name
    codes = np.arange(300) % CLASSES
    good, bad = scores_right_with(0.9, codes, 0), scores_right_with(0.5, codes, 1)
    won = choose(default, [other], codes, lambda candidate: good if candidate is other else bad)
    assert won.plan is other
    assert "lower error" in won.reason
    kept = choose(default, [other], codes, lambda candidate: bad if candidate is other else good)
    assert kept.plan is default
    assert [entry.candidate for entry in kept.considered] == [default, other]
    assert kept.considered[1].excess_error > 0
    level = choose(default, [other], codes, lambda candidate: good)
    assert level.plan is default


def test_a_candidate_after_another_is_evaluated_only_if_that_leads():
    default, first = candidate_of(), candidate_of(lambda1=9.0, name="first")
    second = replace(first, name="second", only_after=(first,))
    codes = np.arange(300) % CLASSES
    good, bad = scores_right_with(0.9, codes, 0), scores_right_with(0.5, codes, 1)
    led = choose(default, [first, second], codes, lambda candidate: bad if candidate is default else good)
    assert [entry.candidate for entry in led.considered] == [default, first, second]
    trailed = choose(default, [first, second], codes, lambda candidate: good if candidate is default else bad)
    assert [entry.candidate for entry in trailed.considered] == [default, first]


def test_a_lead_that_is_not_clear_enough_for_its_candidate_opens_no_way_for_those_after_it():
    """`only_after` goes by who leads, and who has a `min_z` of its own leads only by that."""
    default, first = candidate_of(), candidate_of(name="first", min_z=50.0)
    second = candidate_of(name="second", only_after=(first,), min_z=50.0)
    codes = np.arange(300) % CLASSES
    good, bad = scores_right_with(0.9, codes, 0), scores_right_with(0.5, codes, 1)
    held_back = choose(
        default, [first, second], codes, lambda candidate: bad if candidate is default else good
    )
    assert held_back.plan is default
    assert [entry.candidate for entry in held_back.considered] == [default, first]
    first_leads = replace(first, min_z=0.0)
    second = replace(second, only_after=(first_leads,))
    scores = {default: bad, first_leads: good, second: scores_right_with(1.0, codes, 0)}
    opened = choose(default, [first_leads, second], codes, scores.get)
    assert [entry.candidate for entry in opened.considered] == [default, first_leads, second]
    assert opened.plan is first_leads  # the second is ahead, but not by 50 standard errors
    assert opened.considered[2].excess_error < opened.considered[1].excess_error


def test_a_graph_that_does_harm_is_left_aside():
    made = communities(600, 3, mean_degree=8, signal=0.3, seed=0)
    rng = np.random.default_rng(0)
    A = sp.random_array((600, 600), density=0.02, rng=rng)
    y = np.where(np.arange(600) % 4 == 0, made.y, -1)
    with pytest.warns(UserWarning, match="The graph does not help here"):
        model = AltOpt(random_state=0).fit(made.X, y, graph=sp.csr_array(A + A.T))
    assert model.choice_["plan"] == "features alone"
    assert model.graph_help_.gain < 0
    alone = AltOpt(random_state=0, cross_fit=False, inputs=model.plan_.inputs, graph_view=NoGraphView)
    hidden = y < 0
    right = [
        np.mean(m.transduction_[hidden] == made.y[hidden])
        for m in (model, alone.fit(made.X, y, graph=sp.csr_array(A + A.T)))
    ]
    assert right[0] >= right[1] - 0.01


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
