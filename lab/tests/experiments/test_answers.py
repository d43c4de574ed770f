"""Answers on record: the same version answers the same, and whatever differs is named."""

import numpy as np
import pytest

from altopt_lab.experiments import answers
from altopt_lab.experiments.answers import Problem, answers_on, compare, differences, main


@pytest.fixture
def small(monkeypatch):
    """One generated graph of 200 nodes, the default and one variant of the paper."""
    data = answers.communities(n_nodes=200, n_classes=3, seed=1)
    problem = Problem("homophilous", data.X, answers.few_labels(data.y, 5), data.graph)
    monkeypatch.setattr(answers, "generated_problems", lambda: iter([problem]))
    monkeypatch.setattr(answers, "VARIANTS", ("mse",))
    return problem


def test_a_fitted_model_is_asked_everything(small):
    questions = {key.rpartition("|")[2] for key in answers_on(small)}
    assert {
        "scores",
        "probabilities",
        "plan",
        "margins",
        "suggest",
        "what if",
        "update",
        "grown",
    } <= questions
    assert {"loaded scores", "new nodes"} <= questions
    assert not any("refused" in question for question in questions)


def test_the_same_version_answers_the_same(small, tmp_path, capsys):
    paths = [str(tmp_path / name) for name in ("before.npz", "after.npz")]
    for path in paths:
        assert main(["record", "--quick", path]) == 0
    assert main(["compare", *paths]) == 0
    assert "0 differ by more than 1e-06" in capsys.readouterr().out


def test_every_kind_of_difference_is_named(tmp_path, capsys):
    before = {"gone": np.ones(1), "plan": np.array("a"), "scores": np.zeros(3), "grown": np.zeros((2, 2))}
    after = {
        "plan": np.array("b"),
        "scores": np.array([0, np.nan, 0]),
        "grown": np.zeros((3, 2)),
        "new": np.ones(1),
    }
    assert differences(before, after) == {
        "gone": "only before",
        "grown": "shape (2, 2) before, (3, 2) after",
        "new": "only after",
        "plan": "a before, b after",
        "scores": "differs by up to nan",
    }
    assert differences(before, before) == {}
    np.savez(tmp_path / "before.npz", **before)
    np.savez(tmp_path / "after.npz", **after)
    assert compare(tmp_path / "before.npz", tmp_path / "after.npz", 1e-6) == 5
    assert "scores: differs by up to nan" in capsys.readouterr().out
