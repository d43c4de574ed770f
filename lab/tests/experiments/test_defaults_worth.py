"""What defaults are worth: every number has its variants, fits are paired by split and code, the page tells all."""

from dataclasses import fields

import pytest

from altopt.defaults import DEFAULTS, effects
from altopt_lab.breadth.draws import Draw
from altopt_lab.experiments import defaults_worth
from altopt_lab.experiments.changed_default import ChangedDefault
from altopt_lab.experiments.defaults_worth import FIRST, NO_FIT, WorthRun, plan, summed_up, variants

NAMES = [entry.name for entry in fields(DEFAULTS)]
PANEL = [("iris", Draw("class", 5))]


@pytest.mark.parametrize("name", NAMES)
def test_every_number_can_be_changed(name):
    value = getattr(DEFAULTS, name)
    changed = variants(value)
    assert changed
    assert value not in changed.values()
    assert all(type(other) is type(value) for other in changed.values())


def test_the_plan_begins_with_the_recipe_as_it_is():
    runs = plan(NAMES, PANEL, 2, ChangedDefault)
    assert [(run.name, run.number) for run in runs[:2]] == [("", FIRST), ("", FIRST + 1)]
    assert {run.name for run in runs[2:]} == {name for name in NAMES if name.split("_")[0] not in NO_FIT}
    assert len({run.key for run in runs}) == len(runs)


class Stand:
    """In the place of a process: every change costs a point, and 0.01 of calibration."""

    def __init__(self, changes):
        self.changes = changes

    def measure(self, dataset, draw, number):
        cost = 0.01 if self.changes else 0.0
        figures = {"test_accuracy": 0.8 - cost, "calibration_error": 0.1 + cost, "seconds": 2.0 - 100 * cost}
        return {"metric": "accuracy"} | figures


def test_changes_are_paired_with_the_same_fits_as_they_are():
    name = NAMES[0]
    records = [run.perform(None) for run in plan([name], PANEL, 3, Stand)]
    found = summed_up(records)[name]
    assert found == {
        way: {"value": value, "change": -1.0, "error": 0.0, "runs": 3, "calibration": 0.01, "times": 0.5}
        for way, value in variants(getattr(DEFAULTS, name)).items()
    }
    older = [line | {"code": "older"} for line in records if not line["name"]]
    assert name not in summed_up([*older, *(line for line in records if line["name"])])


def test_a_value_that_does_not_fit_is_told():
    name = NAMES[0]
    records = [run.perform(None) for run in plan([name], PANEL, 3, Stand)]
    records[-1]["failed"] = "InputError: too many"
    *_, found = summed_up(records)[name].values()
    assert (found["failed"], found["runs"], found["reason"]) == (1, 3, "InputError: too many")


def test_the_page_puts_them_in_words():
    change = {"change": -0.5, "error": 0.25, "runs": 9, "calibration": 0.001, "times": 1.0}
    none = change | {"change": 0.0, "error": 0.0}
    assert effects({"half": change, "double": none}) == (
        "-0.50 ± 0.25",
        "no label changes; calibration +0.0010",
    )
    assert effects({"flipped": change}) == ("flipped: -0.50 ± 0.25", "")
    assert effects({}) == ("not measured", "")
    assert effects({"not measured": "no fit uses it"}) == ("not measured: no fit uses it", "")


def test_the_process_has_the_changed_number():
    process = ChangedDefault({"n_rounds": 1})
    run = WorthRun("n_rounds", "half", 1, *PANEL[0], FIRST, lambda changes: process)
    record = run.perform(None)
    process.end()
    assert record["test_accuracy"] > 0.5
    assert run.is_current(record)
    assert process.process.returncode == 0


def test_an_unknown_number_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.argv", ["defaults_worth", "n_bananas", "--out", str(tmp_path / "d.jsonl")])
    with pytest.raises(defaults_worth.InputError, match="no number 'n_bananas'"):
        defaults_worth.main()
