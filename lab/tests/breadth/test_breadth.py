"""The matrix: draws are what they say, peers see the same labels, the page says who is behind, runs are made once."""

from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from altopt.cli.main import app
from altopt.datasets import communities
from altopt.datasets.splits import hide
from altopt.errors import InputError
from altopt_lab.baselines import BASELINES
from altopt_lab.breadth import generated
from altopt_lab.breadth.cells import cells_of
from altopt_lab.breadth.data import GENERATED, LOGNORMAL, TABLES, metric_of, read, with_lognormal
from altopt_lab.breadth.draws import BY_CLASS, FEW, HALVES, RANDOM, Draw, read_draw
from altopt_lab.breadth.matrix import Part, draws_of, methods_of, plan, request
from altopt_lab.breadth.page import page
from altopt_lab.breadth.peers import PEERS, Task, neighbour_statistics
from altopt_lab.breadth.run import METHODS, OURS, BreadthRun
from altopt_lab.experiments.context import DatasetContexts
from altopt_lab.records import read_records

GRAPH = communities(n_nodes=240, n_classes=2, n_features=20, features="words", seed=0)


def task(data=GRAPH, draw="class 20", **others):
    split = read_draw(draw).split(data, 0)
    return Task(data.X, hide(data.y, split.train), data.graph, others.get("validation"), 0)


@pytest.mark.parametrize("draw", [*RANDOM[:1], *BY_CLASS[:2], HALVES], ids=str)
def test_a_draw_labels_as_many_as_it_says_and_judges_the_others(draw):
    split = draw.split(GRAPH, 3)
    wanted = {"random": draw.count, "class": 2 * draw.count, "50/25/25": 120}[draw.kind]
    assert len(split.train) == wanted
    parts = np.concatenate([split.train, split.validation, split.test])
    assert sorted(parts.tolist()) == list(range(240))
    assert (draw.split(GRAPH, 3).train == split.train).all()
    assert set(draw.split(GRAPH, 4).train) != set(split.train)
    assert read_draw(str(draw)) == draw


def test_draws_leave_enough_to_judge():
    assert [draw.count for draw in (*RANDOM, *BY_CLASS) if draw.fits(GRAPH)] == [50, 5, 20, 60]
    assert not Draw("given").fits(GRAPH)
    with pytest.raises(InputError, match="'class'"):
        read_draw("class")


def test_nodes_without_a_label_are_never_drawn():
    data = generated.counts(seed=0)
    y = np.where(np.arange(len(data.y)) < 700, -1, data.y)
    holed = type(data)("holed", data.X, y, data.graph, None, "")
    for draw in (RANDOM[0], BY_CLASS[0], HALVES):
        split = draw.split(holed, 0)
        assert (y[np.concatenate([split.train, split.validation, split.test])] >= 0).all()


@pytest.mark.parametrize("peer", [peer for peer in PEERS if not peer.is_network], ids=lambda peer: peer.name)
def test_peers_learn_from_few_labels(peer):
    data = GRAPH if peer.suits(GRAPH.graph) else read("wine")
    given = task(data)
    S = peer.fit(given)
    assert S.shape == (len(data.y), len(np.unique(data.y)))
    free = ~given.labelled
    assert np.mean(S.argmax(axis=1)[free] == data.y[free]) > 0.55


class StandIn:
    """A network that remembers what it was given."""

    calls: ClassVar[list] = []

    def __init__(self, scale_rows):
        self.scale_rows = scale_rows

    def fit(self, X, y, graph, validation, seed):
        self.calls.append((self.scale_rows, int((y >= 0).sum()), validation))
        self.label_distributions_ = np.full((len(y), 2), 0.5)


def test_a_network_gets_validation_labels_where_a_split_has_some(monkeypatch):
    monkeypatch.setitem(BASELINES, "GCN", StandIn)
    peer = next(peer for peer in PEERS if peer.name == "GCN")
    nodes = np.arange(200, 240)
    peer.fit(task(validation=(nodes, GRAPH.y[nodes])))
    peer.fit(task())
    assert [(scale, count) for scale, count, _ in StandIn.calls] == [(True, 40)] * 2
    assert StandIn.calls[0][2][0] is nodes
    assert StandIn.calls[1][2] is None


def test_boosted_trees_read_means_over_neighbours():
    A = sp.csr_array(np.array([[0.0, 1, 1], [1, 0, 0], [1, 0, 0]]))
    data = generated.dataset("three", np.array([[1.0], [2.0], [4.0]]), np.array([0, 1, 0]), A)
    Z = neighbour_statistics(Task(data.X, data.y, data.graph, None, 0))
    assert Z.tolist() == [[1, 3, 1, 2, 1], [2, 1, 3, 1, 2], [4, 1, 3, 1, 2]]


@pytest.mark.parametrize("name", [*GENERATED, *TABLES, "wine and a lognormal column"])
def test_data_that_needs_no_file_is_made(name):
    data = read(name)
    assert data.name == name
    assert np.unique(data.y[data.y >= 0]).tolist() == list(range(data.y.max() + 1))
    if data.graph is not None:
        assert (data.graph.adjacency != data.graph.adjacency.T).nnz == 0
        assert data.graph.n_nodes == len(data.y)
    assert draws_of(name, data) == (list(FEW) if data.graph is None else draws_of(name, data))
    assert all(method in METHODS for method in methods_of(data))


def test_an_irrelevant_column_is_added_to_dense_and_sparse():
    assert sp.issparse(with_lognormal(GRAPH).X)
    assert with_lognormal(GRAPH).X.shape == (240, 21)
    assert set(LOGNORMAL.values()) <= {"Cora", "Photo", "counts", "wine"}


def test_skewed_classes_are_compared_by_auc():
    assert metric_of(read("skewed 85/15")) == "auc"
    assert metric_of(GRAPH) == "accuracy"


def test_the_plan_begins_with_every_first_split():
    runs = plan(DatasetContexts(None, read), Part(("iris", "wine"), n_splits=2))
    assert [run.number for run in runs] == sorted(run.number for run in runs)
    assert len(set(runs)) == len(runs) == 2 * 3 * 8 * 2
    assert all(
        run.method != OURS for run in plan(DatasetContexts(None, read), Part(("iris",), None, "peers"))
    )


def test_what_is_not_known_is_refused():
    with pytest.raises(InputError, match="There are Tolokers"):
        request("Corra", None, None, None)
    with pytest.raises(InputError, match="There are AltOpt"):
        request(None, None, "GTC", None)
    assert request("IRIS", "class 3", "PEERS", 1) == Part(("iris",), Draw("class", 3), "peers", 1)


def test_altopt_is_recorded_with_what_it_says_of_itself():
    record = BreadthRun(OURS, "counts", Draw("class", 5), 0).perform(DatasetContexts(None, read))
    assert record["holds"] == (record["interval"][0] <= record["truth"] <= record["interval"][1])
    assert 0 <= record["calibration_error"] <= 1
    assert record["code"] == BreadthRun(OURS, "counts", Draw("class", 5), 0).identity()["code"]
    assert not BreadthRun(OURS, "counts", Draw("class", 5), 0).is_current(record | {"code": "older"})


def run(method, number, score, **others):
    key = {"method": method, "dataset": "iris", "draw": "class 5", "number": number, "metric": "accuracy"}
    ours = {"estimate": 0.9, "interval": [0.8, 0.95], "truth": score, "holds": True, "calibration_error": 0.1}
    return key | {"test_accuracy": score, "seconds": 1.0} | (ours if method == OURS else {}) | others


def test_the_page_says_where_altopt_is_behind():
    lines = [run(OURS, k, 0.80 + 0.01 * k, code="new") for k in range(3)]
    lines += [run("logistic regression", k, 0.85 + 0.01 * k) for k in range(2)]
    lines += [run("self-training", k, 0.5) for k in range(3)]
    [cell] = cells_of(lines)
    best = cell.best_peer()
    assert (best.peer, best.n_draws, best.verdict) == ("logistic regression", 2, "behind")
    assert best.gap == pytest.approx(-5.0)
    text = page(lines)
    assert "Where AltOpt() is behind" in text
    assert "| iris | class 5 | logistic regression | -5.0 ± 0.0 (2) |" in text
    old = [run(OURS, 5, 0.1, code="old")]
    assert page(old + lines) == text  # what another version did does not count


def test_the_command_makes_each_run_once(tmp_path):
    out = tmp_path / "breadth.jsonl"
    call = ["reproduce", "breadth", "--dataset", "iris", "--method", "peers", "--splits", "1", "--quiet"]
    for _ in range(2):
        finished = CliRunner().invoke(app, [*call, "--rate", "class 5", "--out", str(out)])
        assert finished.exit_code == 0, finished.output
        assert "7 of 7 runs on record" in finished.output
    assert len(read_records(out)) == 7
