"""Records that are run again: the same figure, another one, and who is picked."""

import pytest
from stand_ins import small_context

from altopt_lab.experiments import recheck
from altopt_lab.experiments.protocols import Cell
from altopt_lab.experiments.recheck import Recheck, said, sample, stands
from altopt_lab.experiments.run import Run


def made(method="ALT-OPT", split=0):
    return Run(method, Cell("Cora", "30%"), split, 7).perform(lambda name: small_context())


@pytest.mark.parametrize("method", ["ALT-OPT", "AltOpt()", "LP"])
def test_a_record_run_again_is_the_same(method):
    line = Recheck(0, made(method)).perform(lambda name: small_context())
    assert line["now"] == line["was"]
    assert not line["network"]
    assert said(line).startswith("same")


def test_a_record_of_another_figure_is_told():
    wrong = made("LP") | {"test_accuracy": 0.123456}
    line = Recheck(0, wrong).perform(lambda name: small_context())
    assert not stands(line)
    assert said(line).startswith("DIFFERS    12.3456 -> ")


def test_networks_may_differ_a_little():
    line = {"was": 0.8, "now": 0.805, "network": True, "key": "again: MLP"}
    assert stands(line)
    assert said(line).startswith("in spread")
    assert not stands(line | {"now": 0.82})
    assert not stands(line | {"network": False})
    assert recheck.is_network({"method": "GCN", "settings": {}})
    assert recheck.is_network({"method": "ALT-OPT", "settings": {"encoder": "mlp"}})
    assert not recheck.is_network({"method": "ALT-OPT", "settings": {}})


def test_the_seed_picks_among_runs_that_can_be_made(monkeypatch):
    lines = [made("LP", split) for split in range(6)]
    lines.append(lines[0] | {"key": "part", "dataset": "Cora, largest component"})
    slow = [lines[0] | {"key": "slow", "seconds": 1e6}, lines[0] | {"key": "gone", "dataset": "Reddit"}]
    monkeypatch.setattr(recheck, "available", lambda data: {"Cora": True, "Reddit": False})
    first, again, other = (
        [line["key"] for line in sample(lines + slow, 3, seed, None, 60.0)] for seed in (1, 1, 2)
    )
    assert first == again
    assert len(set(first)) == 3
    assert first != other
    everyone = sample(lines + slow, 99, 0, None, 60.0)
    assert {line["key"] for line in everyone} == {line["key"] for line in lines}
