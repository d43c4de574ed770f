"""The runner: nothing twice, first things first, one failure at a time, and two processes share the work."""

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from chores import Chore
from stand_ins import StandIn, small_context

from altopt import AltOpt
from altopt_lab.baselines import Baseline
from altopt_lab.experiments import methods, run
from altopt_lab.experiments.config import AltOptConfig, InputCache
from altopt_lab.experiments.context import DatasetContext, DatasetContexts
from altopt_lab.experiments.protocols import INDUCTIVE, Cell, split_of
from altopt_lab.experiments.run import Run
from altopt_lab.experiments.runner import work_through
from altopt_lab.provenance import code
from altopt_lab.records import Records, read_records


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.jsonl"


def go(path, chores, **options):
    with Records(path) as records:
        return list(work_through(chores, records, DatasetContexts(), **options))


def test_what_is_on_record_is_not_done_again(path):
    first, second = Chore("a"), Chore("b")
    go(path, [first])
    found = go(path, [first, second])
    assert [line["key"] for line in found] == ["a", "b"]
    assert first.done == ["a"]
    assert second.done == ["b"]


def test_what_no_longer_stands_is_done_again(path):
    with Records(path) as records:
        records.add({"key": "a", "settings": "old"})
    chore = Chore("a")
    found = go(path, [chore])
    assert chore.done == ["a"]
    assert "settings" not in found[0]
    run = Run("ALT-OPT", Cell("Cora", "30%"), split=4, seed=7)
    line = run.perform(SmallContexts())
    assert run.is_current(line)
    assert not run.is_current(line | {"settings": {"C": 0.123}})


def test_a_failure_is_recorded_and_the_others_go_on(path):
    bad, good = Chore("bad", fails=True), Chore("good")
    found = go(path, [bad, good])
    assert ["failed" in line for line in found] == [True, False]
    go(path, [bad, good])
    assert bad.done == ["bad"], "a failure is not repeated"
    go(path, [bad, good], retry=True)
    assert bad.done == ["bad", "bad"], "unless that is asked for"
    assert good.done == ["good"]


def test_what_other_code_made_is_done_again_if_asked(path):
    with Records(path) as records:
        records.add({"key": "a", "fit_code": "other"})
        records.add({"key": "b", "fit_code": code()["altopt"]})
    chores = [Chore("a"), Chore("b")]
    go(path, chores)
    assert [chore.done for chore in chores] == [[], []]
    go(path, chores, renew=True)
    assert [chore.done for chore in chores] == [["a"], []]


def test_nothing_is_begun_after_the_budget_and_the_first_come_first(path):
    chores = [Chore(str(k), seconds=0.05) for k in range(50)]
    found = go(path, chores, budget=0.3)
    assert 1 <= len(found) < 50
    assert [line["key"] for line in found] == [str(k) for k in range(len(found))]
    assert len(go(path, chores, budget=0.0)) == len(found)


def test_progress_counts_what_is_to_be_done(path):
    go(path, [Chore("a")])
    heard = []
    go(
        path,
        [Chore("a"), Chore("b"), Chore("c")],
        on_progress=lambda done, planned, line, left: heard.append((done, planned)),
    )
    assert heard == [(1, 2), (2, 2)]


@dataclass(frozen=True)
class Overtaken(Chore):
    """While it is at work, another process does a later piece."""

    def perform(self, contexts):
        with Records(contexts) as others:
            others.add({"key": "later", "test_accuracy": 1.0})
        return super().perform(contexts)


def test_what_another_process_has_done_meanwhile_is_not_done_again(path):
    """Also where its record was read while an earlier piece was at its turn."""
    chores = [Overtaken("first"), Chore("between"), Chore("later")]
    with Records(path) as records:
        lines = list(work_through(chores, records, path))
    assert [line["key"] for line in lines] == ["first", "between", "later"]
    assert [len(chore.done) for chore in chores] == [1, 1, 0]


SHARER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from chores import Chore
from altopt_lab.records import Records
from altopt_lab.experiments.runner import work_through
with Records(Path(sys.argv[1])) as records:
    print("ready", flush=True)
    sys.stdin.readline()
    list(work_through([Chore(str(k), seconds=0.02) for k in range(30)], records, None))
"""


def test_two_processes_share_the_work(path):
    call = [sys.executable, "-c", SHARER, str(path), str(Path(__file__).parent)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    pair = [subprocess.Popen(call, **pipes) for _ in range(2)]
    for process in pair:
        assert process.stdout.readline().strip() == "ready"
    for process in pair:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in pair:
        process.communicate()
        assert process.returncode == 0
    lines = read_records(path)
    assert sorted(int(line["key"]) for line in lines) == list(range(30)), "each piece once, none left"
    assert len({line["process"] for line in lines}) == 2


class SmallContexts:
    def __init__(self):
        self.context = small_context()

    def __call__(self, name):
        return self.context


def test_a_record_says_all_that_is_needed_to_do_it_again():
    run = Run("ALT-OPT", Cell("Cora", "30%"), split=4, seed=7, change=(("n_rounds", 2),))
    first, again = (run.perform(SmallContexts()) for _ in range(2))
    assert first["key"] == "ALT-OPT, n_rounds=2, Cora 30%, split 4, seed 7"
    assert (first["method"], first["dataset"], first["rate"]) == ("ALT-OPT", "Cora", "30%")
    assert (first["split_seed"], first["seed"], first["changed"]) == (4, 7, {"n_rounds": 2})
    assert first["settings"]["n_rounds"] == 2
    assert first["validation_labels"] == "keep the best round"
    assert first["seconds"] > 0
    assert first["peak_gb"] > 0
    assert {"altopt", "numpy", "torch"} <= set(first["versions"])
    assert first["fit_code"] == code()["searched"]
    assert "commit" in first
    assert 0.3 < first["test_accuracy"] <= 1.0
    for part in ("test_accuracy", "validation_accuracy", "settings", "best_round"):
        assert first[part] == again[part]


def test_a_fit_that_breaks_is_a_record(monkeypatch):
    class Broken(StandIn):
        def fit(self, context, split, settings, seed):
            raise RuntimeError("no  room\nleft")

    monkeypatch.setitem(methods.METHODS, "stand-in", Broken(tuned_by=None))
    line = Run("stand-in", Cell("Cora", "30%"), 0, 0).perform(SmallContexts())
    assert line["failed"] == "RuntimeError: no room left"
    assert "test_accuracy" not in line


def test_test_labels_reach_no_method():
    """With the test labels changed, every method finds the same: it never saw them."""
    context = small_context()
    split = split_of(context.dataset, "30%", 0)
    y = np.array(context.dataset.y)
    y[split.test] = np.roll(y[split.test], 1)
    other = DatasetContext(replace(context.dataset, y=y))
    few = {"n_epochs": 20}
    for name, settings in {"ALT-OPT": {}, "AltOpt()": {}, "LP": {}, "APPNP": few, "C&S": few}.items():
        method = methods.METHODS[name]
        one, two = (method.fit(place, split, settings, 0).labels for place in (context, other))
        np.testing.assert_array_equal(one[split.test], two[split.test])


def test_shared_inputs_are_those_a_fit_makes():
    data, shared = small_context().dataset, InputCache()
    y = np.where(np.arange(300) % 3 == 0, data.y, -1)
    for exponent in (0.0, 1.0):
        form = AltOptConfig(row_exponent=exponent, n_components=16)
        alone, with_others = form.model(0), form.model(0, shared)
        for model in (alone, with_others):
            model.fit(data.X, y, graph=data.graph)
        np.testing.assert_allclose(with_others.scores_, alone.scores_, rtol=1e-5, atol=1e-6)
    assert len(shared.made) == 1
    assert shared.seconds > 0


@pytest.mark.parametrize(("name", "kind"), [("ALT-OPT", AltOpt), ("SGC", Baseline), ("C&S", Baseline)])
def test_an_inductive_fit_sees_training_nodes_alone(name, kind, monkeypatch):
    seen, fit = [], kind.fit

    def watched(self, X, y, graph=None, *rest, **more):
        seen.append((X.shape[0], len(y), graph.n_nodes, rest, more.get("validation")))
        return fit(self, X, y, graph, *rest, **more)

    monkeypatch.setattr(kind, "fit", watched)
    context = small_context()
    split = split_of(context.dataset, INDUCTIVE, 0)
    fitted = methods.METHODS[name].fit_inductively(context, split, {}, 0)
    n = len(split.train)
    assert seen == [(n, n, n, (), None)]
    y = np.asarray(context.dataset.y)
    assert np.mean(fitted.labels[split.test] == y[split.test]) > 0.5


def test_the_peak_is_counted_anew():
    before = run.peak_gb()
    np.ones(40_000_000)  # 0.32 GB, given back at once
    high = run.peak_gb()
    run.reset_peak()
    assert high > before
    assert run.peak_gb() <= high
