"""Equal effort: as many trials on the same splits for all, plain counts, fresh splits, and what comes first."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from altopt.datasets import communities
from altopt.training.class_priors import validation_weights
from altopt_lab.equal import __main__ as command
from altopt_lab.equal import runs, trials
from altopt_lab.equal.contest import (
    FIRST_FRESH,
    N_TRIALS,
    OURS,
    PAPER,
    SQUARED_GCN,
    entries,
    is_tuned,
    trial_splits,
)
from altopt_lab.equal.drawn import six
from altopt_lab.equal.runs import FreshRun
from altopt_lab.equal.splits import contest_split
from altopt_lab.equal.trials import Trial, choose, planned_trials
from altopt_lab.experiments import recheck
from altopt_lab.experiments.claims import verdicts
from altopt_lab.experiments.context import DatasetContext
from altopt_lab.experiments.methods import find_method
from altopt_lab.experiments.page import page
from altopt_lab.experiments.protocols import CELLS, TUNING_SPLITS, Cell
from altopt_lab.experiments.recheck import Recheck
from altopt_lab.experiments.tables import equal_effort
from altopt_lab.experiments.tables.paper_table import RecordIndex, RunFilter
from altopt_lab.provenance import code
from altopt_lab.records import Records, read_records

CORA, PHOTO = Cell("Cora", "20"), Cell("Photo", "20")


def context(name):
    return DatasetContext(replace(communities(n_nodes=1700, n_classes=3, seed=1), name=name))


def test_every_method_in_a_cell_has_as_many_trials_on_the_same_splits():
    for cell in CELLS:
        planned = {}
        for trial in planned_trials():
            if trial.cell == cell:
                planned.setdefault(trial.method, []).append((trial.number, trial.split))
        assert len({tuple(places) for places in planned.values()}) == 1
        assert len(planned["APPNP"]) == N_TRIALS * len(trial_splits(cell))
        assert {*PAPER, OURS, "APPNP", "GCN", "GAT", "PTA", "PPRGo"} <= set(planned)


def test_trials_differ_and_are_points_of_the_space():
    for entry in entries():
        if is_tuned(entry.method):
            method = find_method(entry.method)
            space = method.space(inductive=entry.cell.rate == "inductive")
            tried = six(entry.method, entry.cell)
            assert all(one not in tried[:k] for k, one in enumerate(tried))
            assert all(value in space[key] for one in tried for key, value in one.items())


def test_all_but_the_first_trial_are_drawn_by_one_seed():
    """Methods with one space draw the same points in a cell, and other cells draw others."""
    assert six(PAPER[0], CORA) == six(PAPER[1], CORA)
    assert six("GCN", CORA)[1:] == six("MLP", CORA)[1:] == six("GAT", CORA)[1:]
    assert six("APPNP", CORA)[1:] != six("APPNP", PHOTO)[1:]
    for method in {entry.method for entry in entries() if is_tuned(entry.method)} - {"LP"}:
        assert {repr(six(method, cell)[0]) for cell in CELLS} == {repr(six(method, CORA)[0])}


def test_first_trials_are_what_authors_published():
    assert six("GCN", CORA)[0] == {
        "learning_rate": 0.01,
        "dropout": 0.5,
        "weight_decay": 5e-4,
        "scale_rows": True,
    }
    assert {six("APPNP", CORA)[0][key] for key in ("n_steps", "restart")} == {10, 0.1}
    assert six("LP", CORA)[0] == {"alpha": 0.99, "n_steps": 50, "hold": False}
    assert six("SGC", CORA)[0]["learning_rate"] == 0.05, "0.2 is not in the paper's space"


def test_our_wider_search_draws_from_all_of_its_space():
    drawn = [settings for cell in CELLS for settings in six(OURS, cell)[1:]]
    for key in ("encoder", "inputs", "feature_weight", "restart"):
        assert {settings[key] for settings in drawn} == set(find_method(OURS).space()[key])


def test_the_papers_space_is_the_appendix():
    space = find_method(PAPER[0]).space()
    assert space["feature_weight"] == (0.1, 0.3, 0.5, 0.7, 1.0)
    assert space["label_weight"] == (1.0, 3.0, 5.0, 7.0, 10.0)
    assert space["n_pseudo"] == (100, 200, 500, 5000)
    model = find_method(PAPER[0]).model({}, seed=0)
    assert (model.temperature, model.solver.n_steps, model.n_warmup) == (0.1, 10, 100)
    assert (model.encoder.hidden, model.encoder.reduction) == ((64,), "sum")


def test_no_fresh_split_was_used_to_choose_and_none_is_on_older_records():
    fresh = {split for entry in entries() for split in entry.splits if entry.cell.rate != "given"}
    assert min(fresh) == FIRST_FRESH
    assert len(fresh) == 30
    assert not fresh & set(TUNING_SPLITS)
    older = read_records(Path(__file__).parents[3] / "results" / "runs.jsonl")
    assert not fresh & {line.get("split_seed") for line in older}


def test_validation_nodes_count_plainly_for_all():
    split = contest_split(context("Photo").dataset, PHOTO, 900)
    classes = np.asarray(context("Photo").dataset.y)[split.validation]
    assert validation_weights(classes, classes, np.bincount(classes)) is None


def test_the_papers_method_comes_first_in_all_cells_and_slow_peers_last():
    order = sorted(entries(), key=lambda entry: entry.phase)
    first = [entry for entry in order if entry.phase == 0]
    assert {entry.cell for entry in first} == set(CELLS)
    assert {entry.method for entry in first} == set(PAPER)
    assert order[-1].method == "PPRGo"


@pytest.mark.parametrize("name", [PAPER[0], PAPER[1], "ALT-OPT-N (paper)", SQUARED_GCN, OURS])
def test_a_trial_fits_and_looks_at_no_test_label(name):
    shown = context("Cora")
    cell = Cell("Cora", "5")
    method = find_method(name)
    settings = six(name, cell)[0]
    if name != OURS:
        settings |= {"n_rounds": 2 if name in (PAPER[0], SQUARED_GCN) else 1}
    split = contest_split(shown.dataset, cell, 900)
    labels = method.fit(shown, split, settings, 0).labels
    y = np.asarray(shown.dataset.y).copy()
    assert np.mean(labels[split.validation] == y[split.validation]) > 0.8
    y[split.test] = (y[split.test] + 1) % 3
    other = DatasetContext(replace(shown.dataset, y=y))
    assert np.array_equal(method.fit(other, split, settings, 0).labels, labels)


def trial_records(method, cell, best):
    return [
        {
            "key": trial.key,
            "settings": trial.settings,
            "validation_accuracy": 0.9 if trial.number == best else 0.5,
            "fit_code": trial.fit_code,
        }
        for trial in planned_trials()
        if (trial.method, trial.cell) == (method, cell)
    ]


def test_the_best_of_six_is_chosen_once_all_are_there():
    lines = trial_records("APPNP", CORA, best=4)
    assert choose(lines[:-1]) == {}
    entry = choose(lines)["Cora 20"]["APPNP"]
    assert entry["settings"] == six("APPNP", CORA)[4]
    assert (entry["trials"], entry["splits"]) == (6, [1000, 1001])
    lines[0]["failed"] = lines[0].pop("validation_accuracy") and "diverged"
    assert choose(lines)["Cora 20"]["APPNP"]["trial"] == 4
    lines[1]["settings"] = {"restart": 0.123}  # tried before the list was changed
    assert choose(lines) == {}


@pytest.fixture
def chosen(tmp_path, monkeypatch):
    """A file of choices in which APPNP and the paper's method are on Cora 20."""
    lines = [line for name in (*PAPER, "APPNP") for line in trial_records(name, CORA, best=1)]
    path = tmp_path / "chosen.json"
    trials.write_chosen(lines, path)
    for module in (runs, equal_effort):
        monkeypatch.setattr(module, "chosen_in", lambda cell: json.loads(path.read_text()).get(str(cell), {}))
    return path


def test_only_what_is_chosen_is_run_and_records_under_other_settings_do_not_count(chosen):
    planned = [run for _, run in runs.planned_runs()]
    assert {run.method for run in planned} == {*PAPER, "APPNP", "AltOpt()"}
    run = FreshRun("APPNP", CORA, FIRST_FRESH)
    line = {"key": run.key, **run.identity(), "test_accuracy": 0.8}
    assert run.is_current(line)
    assert equal_effort.by_split(RecordIndex([line]), "APPNP", CORA) == {FIRST_FRESH: 80.0}
    assert equal_effort.by_split(RecordIndex([line | {"chosen": {}}]), "APPNP", CORA) == {}


def test_tables_say_splits_trials_and_paired_errors(chosen):
    lines = []
    for k in range(10):
        for method, right in (("APPNP", 0.80), (PAPER[0], 0.82 + 0.01 * (k % 2)), (PAPER[1], 0.7)):
            run = FreshRun(method, CORA, FIRST_FRESH + k)
            lines.append({"key": run.key, **run.identity(), "test_accuracy": right})
    index = RecordIndex(lines)
    near, cora, *_, differences, _ = equal_effort.show(index)
    row = next(row for row in near.rows if row[0] == "Cora 20")
    assert row == ("Cora 20", "82.50", "70.00", "mse", "10", "82.66", "-0.16 ± 0.17", "yes")
    assert "1 of 1 cells run, of 22" in near.notes[0]
    appnp = next(row for row in cora.rows if row[1] == "APPNP")
    assert appnp[4] == "80.00 ± 0.00 (10; 6 x 2) [82.34]"
    pair = next(row for row in differences.rows if row[:2] == ("Cora 20", PAPER[0]))
    assert pair[2 + equal_effort.PERSISTENT.index("APPNP")] == "+2.50 ± 0.17 (10)"


def test_the_command_stops_at_its_budget_and_goes_on(tmp_path, monkeypatch, capsys):
    asked = [Trial("LP", CORA, number, split) for number in (0, 1) for split in (1000, 1001)]
    monkeypatch.setattr(command, "planned_trials", lambda: asked)
    monkeypatch.setattr(command, "DatasetContexts", lambda folder: lambda name: context(name))
    before = trials.CHOSEN.read_text() if trials.CHOSEN.exists() else None
    words = ["tune", "--out", str(tmp_path / "t.jsonl")]
    command.main([*words, "--budget-minutes", "0"])
    assert "4 are left" in capsys.readouterr().out
    command.main(words)
    lines = read_records(tmp_path / "t.jsonl")
    assert [line["trial"] for line in lines] == [0, 0, 1, 1]
    assert all("commit" in line and "test_accuracy" not in line for line in lines)
    assert all(line["seconds"] > 0 and "cpu_seconds" in line for line in lines)
    with Records(tmp_path / "t.jsonl") as records:
        records.add(lines[0] | {"fit_code": "of other code"})
    command.main(words)
    assert len(read_records(tmp_path / "t.jsonl")) == 5
    command.main([*words, "--renew"])
    assert len(read_records(tmp_path / "t.jsonl")) == 6
    assert (tmp_path / "chosen.json").exists()
    assert before == (trials.CHOSEN.read_text() if trials.CHOSEN.exists() else None)


def figures_of(lines, sums):
    near, cora, *_, differences, _ = equal_effort.show(RecordIndex(lines, sums))
    row = next(row for row in cora.rows if row[1] == PAPER[0])
    pair = next(row for row in differences.rows if row[:2] == ("Cora 20", PAPER[0]))
    near_row = next(row for row in near.rows if row[0] == "Cora 20")
    return row[4], pair[2 + equal_effort.PERSISTENT.index("APPNP")], near_row[1], near_row[6]


def test_what_other_code_made_is_marked_be_it_a_run_or_a_trial(chosen):
    lines = []
    for k in range(10):
        for method in (*PAPER, "APPNP"):
            run = FreshRun(method, CORA, FIRST_FRESH + k)
            lines.append({"key": run.key, **run.identity(), "test_accuracy": 0.8, "fit_code": run.fit_code})
    assert not any("†" in text for text in figures_of(lines, code()))
    index = RecordIndex(lines, code())
    assert not any("†" in verdict.evidence for verdict in verdicts(index))
    lines[0]["fit_code"] = "of other code"
    assert all("†" in text for text in figures_of(lines, code()))
    near = next(
        verdict for verdict in verdicts(RecordIndex(lines, code())) if "within 1 point" in verdict.claim
    )
    assert near.evidence.endswith("†")
    lines[0]["fit_code"] = lines[3]["fit_code"]
    entries = json.loads(chosen.read_text())
    entries["Cora 20"][PAPER[0]]["fit_code"] = "of other code"
    chosen.write_text(json.dumps(entries))
    assert all("†" in text for text in figures_of(lines, code()))


def test_fresh_runs_count_as_runs_by_this_code_and_can_be_run_again(chosen, monkeypatch):
    run = FreshRun("LP", CORA, FIRST_FRESH)
    line = run.perform(lambda name: context(name))
    assert line["seconds"] >= 0
    index = RecordIndex([line], code())
    assert [one["key"] for one in index.fits] == [run.key]
    assert "1 of 1 runs were made by the code" in page([line], [], code())
    monkeypatch.setattr(recheck, "available", lambda data: {"Cora": True})
    assert recheck.sample([line], 1, 0, None, 60.0) == [line]
    again = Recheck(0, line).perform(lambda name: context(name))
    assert again["now"] == again["was"]
    assert again["fresh_split"] == FIRST_FRESH
    assert again["fit_code"] == line["fit_code"]


def test_the_first_splits_are_the_first_whatever_the_phase(chosen):
    planned = equal_effort.plan(RunFilter(dataset="Cora", rate="20", n_splits=10))
    splits = {scheduled.work.split for scheduled in planned if scheduled.work.method == PAPER[0]}
    assert splits == set(range(FIRST_FRESH, FIRST_FRESH + 10))


def test_an_inductive_run_of_the_papers_method_fits(monkeypatch):
    settings = six(PAPER[0], Cell("PubMed", "inductive"))[0]
    monkeypatch.setattr(runs, "chosen_in", lambda cell: {PAPER[0]: {"settings": settings}})
    run = FreshRun(PAPER[0], Cell("PubMed", "inductive"), FIRST_FRESH)
    assert run.perform(lambda name: context(name))["test_accuracy"] > 0.8


def test_the_page_names_the_commands_and_counts_all_that_is_planned(chosen):
    n_planned = sum(len(entry.splits) for entry in entries())
    line = FreshRun("LP", CORA, FIRST_FRESH).perform(lambda name: context(name))
    told = equal_effort.progress(RecordIndex([], code()))
    assert "`python -m altopt_lab.equal tune`" in told
    assert "`python -m altopt_lab.equal run`" in told
    assert "chosen in 3 of" in told
    assert f"0 of {n_planned:,} are on record" in told
    assert told in page([], [], code())
    assert f"1 of {n_planned:,} are on record, 1 of" in equal_effort.progress(RecordIndex([line], code()))


def test_a_filter_keeps_to_its_cell():
    assert {work.cell for work in command.wanted("tune", RunFilter(dataset="Cora", rate="20"))} == {CORA}
