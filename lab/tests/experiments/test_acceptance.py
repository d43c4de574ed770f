"""Acceptance: figures become verdicts, trials do what they say, another checkout answers, runs are made once."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from altopt.datasets import communities
from altopt_lab.experiments import acceptance
from altopt_lab.experiments.acceptance import Acceptance, at_least, at_most
from altopt_lab.experiments.checkout import Checkout
from altopt_lab.experiments.context import DatasetContext
from altopt_lab.experiments.fresh_splits import FIRST, NOW, FreshRun
from altopt_lab.experiments.protocols import Cell
from altopt_lab.experiments.robustness import FlippedLabels, RandomEdges, shuffled, with_flips
from altopt_lab.records import Records

DATA = communities(n_nodes=150, n_classes=3, seed=1)


@pytest.fixture
def ask(tmp_path, monkeypatch):
    contexts = lambda data, read: lambda name: DatasetContext(replace(DATA, name=name))  # noqa: E731
    monkeypatch.setattr(acceptance, "DatasetContexts", contexts)
    with Records(tmp_path / "acceptance.jsonl") as records:
        yield Acceptance(records, n_splits=1, before=NOW)


def test_a_figure_becomes_a_verdict():
    assert at_least("x", 2.0, 1.0).outcome == "met"
    assert at_most("x", 2.0, 1.0).outcome == "not met"
    assert at_least("x", np.nan, 1.0).outcome == "not run"


def test_a_fifth_of_the_labels_is_made_wrong():
    labelled = np.arange(50)
    y, flipped = with_flips(DATA.y, labelled, seed=0)
    assert len(flipped) == 10
    assert (y[flipped] != DATA.y[flipped]).all()
    others = np.setdiff1d(labelled, flipped)
    assert (y[others] == DATA.y[others]).all()


def test_random_edges_keep_about_the_degrees():
    A = shuffled(DATA.graph, seed=0)
    before, degrees = DATA.graph.degrees, A.sum(axis=1)
    assert (A != A.T).nnz == 0
    assert A.diagonal().sum() == 0
    assert degrees.sum() == pytest.approx(before.sum(), rel=0.15)
    assert np.corrcoef(before, degrees)[0, 1] > 0.9
    assert A.multiply(DATA.graph.adjacency).sum() < 0.2 * A.sum()


def test_flips_are_found_and_random_edges_are_borne(ask, monkeypatch):
    monkeypatch.setattr(acceptance, "FLIPS_FOUND", {"Cora": 0.5})
    monkeypatch.setattr(acceptance, "RANDOM_EDGES", ("Cora",))
    lines = acceptance.robustness(ask)
    assert [line.claim for line in lines] == [
        "Cora, % of flipped labels found",
        "Cora, points lost on random edges",
    ]
    assert all(line.met is not None for line in lines)
    made = len(ask.records.lines)
    assert acceptance.robustness(ask) == lines
    assert len(ask.records.lines) == made == 2


def test_trials_of_another_code_are_made_again():
    for kind in (FlippedLabels, RandomEdges):
        trial = kind("Cora", 0)
        assert trial.is_current(trial.identity())
        assert not trial.is_current(trial.identity() | {"code": "older"})


class Stand:
    """A checkout that knows the answer, or not."""

    def __init__(self, tree):
        self.right = tree == NOW

    def fit(self, dataset, labelled, seed):
        return (DATA.y if self.right else 0 * DATA.y).tolist(), 0.5


def test_fresh_runs_are_told_apart_by_their_version(ask):
    cell = Cell("Cora", "30%")
    runs = [FreshRun("now", cell, FIRST, NOW, Stand), FreshRun("before", cell, FIRST, Path("/no"), Stand)]
    now, before = ask.made(runs)
    assert (now["test_accuracy"], now["seconds"]) == (1.0, 0.5)
    assert before["test_accuracy"] < 0.6


OTHER = """
import numpy as np

class AltOpt:
    def __init__(self, random_state):
        self.seed = random_state

    def fit(self, X, y, graph):
        print("words on stdout")
        self.transduction_ = np.where(y < 0, self.seed, y)
        return self
"""
OTHER_DATA = """
from types import SimpleNamespace
import numpy as np

def load(name):
    return SimpleNamespace(X=None, graph=None, y=np.array([0, 1, 2]))
"""


def test_a_checkout_answers_from_a_process_of_its_own(tmp_path):
    package = tmp_path / "src" / "altopt"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(OTHER)
    (package / "datasets.py").write_text(OTHER_DATA)
    checkout = Checkout(tmp_path)
    assert checkout.fit("any", [0, 2], 7)[0] == [0, 7, 2]
    assert checkout.fit("any", [1], 8)[0] == [8, 1, 8]
    checkout.end()
    assert checkout.process.returncode == 0
    with pytest.raises((RuntimeError, ValueError, BrokenPipeError)):
        checkout.fit("any", [1], 8)


def test_graphs_are_judged_beside_their_peers(ask, monkeypatch):
    monkeypatch.setattr(acceptance, "AT_LEAST", {"Tolokers": 10.0})
    monkeypatch.setattr(acceptance, "SCHOOLS", ())
    monkeypatch.setattr(ask, "cell", lambda name, draw, methods: cell_of(name, draw, methods))
    score, ratio = acceptance.other_graphs(ask)
    assert (score.claim, score.met) == ("Tolokers, accuracy", True)
    assert (ratio.claim, ratio.met) == ("Tolokers, seconds over boosted trees", True)


def cell_of(name, draw, methods):
    run = {"metric": "accuracy", "test_accuracy": 0.8, "seconds": 1.0}
    return acceptance.BreadthCell(name, draw, {method: {0: run} for method in methods})
