"""How long APPNP takes to be as good: the epochs that count, who is compared, and that the peer is whole."""

import numpy as np
import pytest

pytest.importorskip("torch_geometric")

from altopt.datasets import communities
from altopt_lab.bench import same_accuracy
from altopt_lab.bench.report import Report


def test_the_epochs_a_peer_needs_are_the_first_that_are_as_good():
    curve = np.array([0.2, 0.5, 0.7, 0.6, 0.9])
    assert same_accuracy.epochs_needed(curve, 0.65) == (3, True)
    assert same_accuracy.epochs_needed(curve, 0.95) == (5, False)


def test_time_to_the_same_accuracy_is_told_of_both_fits(monkeypatch):
    monkeypatch.setattr(same_accuracy, "load", lambda name: communities(n_nodes=1800, n_classes=3, seed=0))
    monkeypatch.setattr(
        same_accuracy, "available", lambda: dict.fromkeys(same_accuracy.GRAPHS, False) | {"Cora": True}
    )
    monkeypatch.setattr(same_accuracy, "SPLITS", 1)
    monkeypatch.setattr(same_accuracy, "MAX_EPOCHS", 2)
    report = Report("fit", "cora", "", 1)
    same_accuracy.to_the_same_accuracy(report, lambda line: None)
    names = {f"same_accuracy{which}{kind}" for which in ("", "_bare") for kind in ("", "_sparse")} | {
        "judged"
    }
    assert set(report.measures) == {f"{name}_Cora" for name in names}
    (table,) = report.tables
    assert [row["who"] for row in table.rows[::3]] == list(same_accuracy.OURS)
    for ours, *theirs in (table.rows[:3], table.rows[3:]):
        for row in theirs:
            assert row["ratio"] == pytest.approx(row["seconds"] / ours["seconds"])


def test_the_peer_as_its_examples_have_it_learns_what_ours_learns():
    data = communities(n_nodes=1800, n_classes=3, seed=0)
    known, test = same_accuracy.labels_and_test(data, 0)
    ours = same_accuracy.sparse_first_layer(60).fit(data.X, known, data.graph, seed=0).transduction_
    theirs = same_accuracy.as_written(data, known, 0, 60)
    right = [np.mean(labels[test] == data.y[test]) for labels in (ours, theirs)]
    assert min(right) > 0.6
    assert abs(right[0] - right[1]) < 0.08
