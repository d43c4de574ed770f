"""The plan that held-out labels choose: who may compete, and how clearly a rival must win."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from altopt import AltOpt
from altopt.datasets import communities
from altopt.encoders import LinearEncoder
from altopt.inputs import BlockInputs, ReducedInputs
from altopt.selection.candidates import Candidate, default_inputs, reweighted
from altopt.selection.compare import Choice, choose
from altopt.views import GraphView, NoGraphView

CLASSES = 3


def plan_of(view=GraphView, lambda1=0.7, lambda2=1.5):
    return Candidate("usual", ReducedInputs(16), LinearEncoder(), lambda1, lambda2, graph_view=view)


def test_weights_differ_one_at_a_time_and_only_where_the_graph_counts():
    plan = plan_of()
    made = {(other.feature_weight / 0.7, other.label_weight / 1.5) for other in reweighted(plan)}
    assert made == {(0.25, 1.0), (4.0, 1.0), (1.0, 0.25), (1.0, 4.0)}
    assert all(other.weighs == plan.name and other.name != plan.name for other in reweighted(plan))
    assert reweighted(plan_of(NoGraphView)) == []


def test_a_choice_after_a_choice():
    usual, other = plan_of(), replace(plan_of(), name="other")
    first = choose(usual, [other], np.array([0, 1]), lambda plan: np.eye(2))
    none = Choice(usual, [], "All parts were given.")
    assert first.then(none) is first
    later = choose(usual, reweighted(usual), np.array([0, 1]), lambda plan: np.eye(2))
    both = first.then(later)
    assert both.plan is usual
    assert [entry.plan for entry in both.considered] == [
        "usual",
        "other",
        *(p.name for p in reweighted(usual)),
    ]
    won = first.then(Choice(other, later.considered, "It won."))
    assert won.plan is other
    assert won.reason.endswith("It won.")
    assert won.reason.startswith(first.reason)


@pytest.mark.parametrize(("clearly", "taken"), [(0.0, "other"), (1.2, "other"), (50.0, "usual")])
def test_a_plan_may_have_to_win_more_clearly(clearly, taken):
    rng = np.random.default_rng(0)
    codes = np.arange(200) % 2
    vague = np.eye(2)[codes] + rng.normal(scale=1.0, size=(200, 2))
    scores = {"usual": np.exp(vague), "other": np.exp(vague + 0.3 * np.eye(2)[codes])}
    usual, other = plan_of(), replace(plan_of(), name="other", clearly=clearly)
    assert choose(usual, [other], codes, lambda plan: scores[plan.name]).plan.name == taken


def scores_right_with(share, codes, seed):
    rng = np.random.default_rng(seed)
    said = np.where(rng.random(len(codes)) < share, codes, (codes + 1) % CLASSES)
    return np.eye(CLASSES)[said] + 0.1


def test_a_rival_must_win_clearly():
    usual, other = plan_of(), plan_of(lambda1=9.0)
    codes = np.arange(300) % CLASSES
    good, bad = scores_right_with(0.9, codes, 0), scores_right_with(0.5, codes, 1)
    won = choose(usual, [other], codes, lambda plan: good if plan is other else bad)
    assert won.plan is other
    assert "lower error" in won.reason
    kept = choose(usual, [other], codes, lambda plan: bad if plan is other else good)
    assert kept.plan is usual
    assert [entry.plan for entry in kept.considered] == ["usual", "usual"]
    assert kept.considered[1].behind > 0
    level = choose(usual, [other], codes, lambda plan: good)
    assert level.plan is usual
    hardly = choose(
        usual, [other], codes, lambda plan: good + (1e-4 * np.eye(CLASSES)[codes] if plan is other else 0)
    )
    assert hardly.plan is usual


def test_a_plan_that_follows_another_is_looked_at_where_that_leads():
    usual, first = plan_of(), replace(plan_of(lambda1=9.0), name="first")
    second = replace(first, name="second", follows=("first",))
    codes = np.arange(300) % CLASSES
    good, bad = scores_right_with(0.9, codes, 0), scores_right_with(0.5, codes, 1)
    led = choose(usual, [first, second], codes, lambda plan: bad if plan is usual else good)
    assert [entry.plan for entry in led.considered] == ["usual", "first", "second"]
    trailed = choose(usual, [first, second], codes, lambda plan: good if plan is usual else bad)
    assert [entry.plan for entry in trailed.considered] == ["usual", "first"]


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
