"""Tables, figures and claims from records; the page, and the words of altopt reproduce."""

import json
from dataclasses import replace

import numpy as np
import pytest
from stand_ins import small_context

from altopt import AltOpt, InputError
from altopt.cli import main
from altopt.datasets import communities
from altopt.datasets.splits import hide, per_class
from altopt_lab.experiments import published, reproduce
from altopt_lab.experiments.altopt_methods import PLANS
from altopt_lab.experiments.claims import cell_results, verdicts
from altopt_lab.experiments.context import DatasetContext
from altopt_lab.experiments.html import results_report
from altopt_lab.experiments.methods import find_method
from altopt_lab.experiments.page import claims_table, page, stated_code
from altopt_lab.experiments.protocols import CELLS, RATES, Cell
from altopt_lab.experiments.run import Run
from altopt_lab.experiments.tables import PAPER_TABLES, choice, own_labels, peers
from altopt_lab.experiments.tables.paper_table import RecordIndex, RunFilter
from altopt_lab.provenance import code
from altopt_lab.records import read_records
from altopt_lab.table import Table


def record(method, cell, split, accuracy, seed=0, change=(), **more):
    run = Run(method, cell, split, seed, change)
    return {
        "key": run.key,
        "method": method,
        "dataset": cell.dataset,
        "rate": cell.rate,
        "split_seed": split,
        "seed": seed,
        "changed": dict(change),
        "settings_from": "fixed",
        "test_accuracy": accuracy,
        "seconds": 1.0,
        **more,
    }


CORA = Cell("Cora", "20")


def test_the_papers_numbers_are_all_there():
    paper = published.published("transductive")
    assert len(CELLS) == 22
    assert set(map(str, CELLS)) < set(paper)
    assert all(len(row) == 9 for row in paper.values())
    # some of both tables, read a second time from the paper
    assert published.accuracy("ALT-OPT", Cell("Cora", "5")) == 76.78
    assert published.accuracy("APPNP", Cell("PubMed", "60%")) == 87.56
    assert published.accuracy("C&S", Cell("Physics", "20")) == 93.23
    assert published.published("efficiency")["ogbn-products"]["APPNP"] == [76.62, 1913, 29.15]
    assert set(PAPER_TABLES) > set(json.loads(json.dumps(published._all())))


def test_an_empty_record_makes_a_page_that_says_so():
    text = page([], [], code())
    assert text.count("not run") > 100
    assert {verdict.outcome for verdict in verdicts(RecordIndex([]))} == {"not run"}


def test_means_are_over_runs_and_say_how_many():
    lines = [
        record("ALT-OPT", CORA, split, 0.8 + 0.01 * split, seed) for split in range(3) for seed in range(2)
    ]
    index = RecordIndex(lines)
    assert index.text("ALT-OPT", CORA) == "81.00 ± 0.82 (3 x 2)"
    assert index.text("APPNP", CORA) == "not run"
    broken = {key: value for key, value in record("GCN", CORA, 0, 0.0).items() if key != "test_accuracy"}
    assert "no room" in RecordIndex([broken | {"failed": "no room"}]).text("GCN", CORA)


def test_runs_under_former_settings_are_left_out_of_the_mean():
    old = [record("ALT-OPT", CORA, split, 0.1, settings={"C": 1.0}) for split in range(3)]
    new = [record("ALT-OPT", CORA, split, 0.8, settings={"C": 2.0}) for split in range(2)]
    assert RecordIndex(old + new).text("ALT-OPT", CORA) == "80.00 ± 0.00 (2 x 1)"


def test_what_other_code_made_is_marked():
    now = code()
    fresh = [record("LP", CORA, 0, 0.7, fit_code=now["baselines"])]
    other = [record("ALT-OPT", CORA, 0, 0.8, fit_code=now["baselines"])]
    unnamed = [record("GCN", CORA, 0, 0.8)]
    index = RecordIndex(fresh + other + unnamed, now)
    assert index.text("LP", CORA) == "70.00 ± 0.00 (1 x 1)"
    assert index.text("ALT-OPT", CORA) == "80.00 ± 0.00 (1 x 1)†"
    assert index.text("GCN", CORA).endswith("†")
    assert RecordIndex(unnamed).text("GCN", CORA) == "80.00 ± 0.00 (1 x 1)", "unless nobody asks"
    text = page(fresh + other + unnamed, [], now)
    assert stated_code(text) == now
    assert "1 of 3 runs were made by the code that this page was written by" in text


def test_claims_that_do_not_hold_come_first():
    lines = [record("ALT-OPT", CORA, 0, 0.5), record("APPNP", CORA, 0, 0.84)]
    outcomes = [row[1].partition(" (")[0] for row in claims_table(RecordIndex(lines)).rows]
    assert outcomes[0] == "not met"
    assert outcomes == sorted(outcomes, key=["not met", "met", "partly run", "not run"].index)
    first = page(lines, [], code()).partition("## ")[0]
    assert "**Does not hold here** (" in first
    assert all(row[0] in first for row in claims_table(RecordIndex(lines)).rows)


def test_methods_are_judged_on_the_splits_they_share():
    ours = [record("ALT-OPT", CORA, split, accuracy) for split, accuracy in enumerate((0.9, 0.8, 0.1))]
    peer = [record("APPNP", CORA, split, 0.84) for split in range(2)]
    assert RecordIndex(ours + peer).on_the_same_splits("ALT-OPT", "APPNP", CORA) == pytest.approx(
        (85.0, 84.0, 2)
    )


@pytest.mark.parametrize(("accuracy", "met"), [(0.8383, True), (0.8380, False)])
def test_the_cells_verdict_is_appnp_plus_the_papers_gap_less_half_a_point(accuracy, met):
    index = RecordIndex([record("ALT-OPT", CORA, 0, accuracy), record("APPNP", CORA, 0, 0.84)])
    result = next(result for result in cell_results(index) if result.cell == CORA)
    assert result.target == pytest.approx(84 + 82.66 - 82.34 - 0.5)
    assert result.met is met


def test_claims_are_met_or_not_by_the_records():
    change = (("n_pseudo", 0),)
    lines = [
        record("ALT-OPT", Cell(name, rate), split, accuracy, change=changed)
        for name in ("Cora", "CiteSeer")
        for k, rate in enumerate(RATES)
        for split in range(10)
        for accuracy, changed in ((0.8, ()), (0.7 + 0.01 * k, change))
    ]
    claim = "Pseudo labels have a large impact, most at low label rates"
    by_claim = {verdict.claim: verdict for verdict in verdicts(RecordIndex(lines))}
    assert by_claim[claim].outcome == "met"
    part = [line for line in lines if line["rate"] != "30%"]
    by_claim = {verdict.claim: verdict for verdict in verdicts(RecordIndex(part))}
    assert (by_claim[claim].outcome, by_claim[claim].partly) == ("partly run", "10 of 12 cells")
    lines += [record("ALT-OPT", Cell("Cora", "60%"), split, 0.1, change=change) for split in range(10)]
    by_claim = {verdict.claim: verdict for verdict in verdicts(RecordIndex(lines))}
    assert by_claim[claim].outcome == "not met"
    assert {verdict.outcome for claim, verdict in by_claim.items() if "Diffusion" in claim} == {"not run"}


def test_first_repetitions_of_everything_come_before_any_second():
    works = reproduce.planned(list(PAPER_TABLES), RunFilter())
    splits = [
        work.split
        for work in works
        if isinstance(work, Run) and work.seed % 3 == 0 and not work.change and work.cell.n_splits > 1
    ]
    assert splits == sorted(splits)
    assert len(works) == len({work.key for work in works})
    first = works[0]
    assert (first.method, first.cell) == ("ALT-OPT", CORA)


def test_an_ask_leaves_the_rest_out():
    works = reproduce.planned(["transductive"], RunFilter("Cora", "20", 3, 1))
    assert {work.cell for work in works} == {CORA}
    assert {work.split for work in works} == {0, 1, 2}


def test_every_artefact_shows_tables_of_even_rows():
    index = RecordIndex([record("ALT-OPT", cell, 0, 0.8) for cell in CELLS])
    for paper_table in PAPER_TABLES.values():
        for shown in paper_table.show(index):
            if isinstance(shown, Table):
                assert {len(row) for row in shown.rows} <= {len(shown.columns)}


def test_the_html_page_stands_alone(tmp_path):
    lines = [record("ALT-OPT", cell, 0, 0.8) for cell in CELLS]
    results_report(lines, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "Claims of the paper" in text
    assert 'src="http' not in text
    assert "<svg" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], "WHAT must be one of transductive"),
        (["transductive", "--rate", "7"], "--rate must be one of 5"),
        (["transductive", "--dataset", "koran"], "--dataset 'koran' is not known"),
        (["transductive", "--budget", "soon"], "--budget must be a time"),
        (["ablation", "--dataset", "Photo"], "ablation has nothing on Photo"),
        (["transductive", "--dataset", "Cora", "--data", "nowhere"], "nowhere"),
    ],
)
def test_a_wrong_call_is_refused_in_one_line(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ALTOPT_DATA", raising=False)
    assert main.run(["reproduce", *arguments]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir()), "nothing half written"


def test_the_command_runs_records_and_goes_on(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "available", lambda data=None: {"Cora": True})
    monkeypatch.setattr("altopt_lab.experiments.context.load", lambda name, data: small_context(name).dataset)
    monkeypatch.setattr("altopt_lab.experiments.tables.transductive.ORDER", ("AltOpt()", "LP"))
    out = tmp_path / "runs.jsonl"
    call = [
        "reproduce",
        "transductive",
        "--dataset",
        "cora",
        "--rate",
        "30%",
        "--splits",
        "2",
        "--out",
        str(out),
    ]
    assert main.run(call) == 0
    said = capsys.readouterr()
    assert "4 of 4 runs on record" in said.out
    assert "AltOpt()" in said.out
    assert "4 of 4: LP, Cora 30%, split 1, seed 3:" in said.err
    lines = read_records(out)
    assert len(lines) == 4
    assert main.run(call) == 0
    assert capsys.readouterr().err == "", "nothing is left to do"
    assert read_records(out) == lines
    for named in (tmp_path, out):  # the folder, or the records in it
        assert main.run(["report", str(named)]) == 0
        page = tmp_path / "report.html"
        assert "Cora" in page.read_text()
        page.unlink()


def test_one_method_can_be_asked_for_alone():
    works = reproduce.planned(
        ["own-labels", "heterophily"], reproduce.request(None, None, None, None, "AltOpt()")
    )
    assert works
    assert {work.method for work in works} == {"AltOpt()"}
    with pytest.raises(InputError, match="No method is called 'AltOpt'"):
        reproduce.request(None, None, None, None, "AltOpt")


def test_promises_are_judged_on_splits_that_both_were_run_on():
    runs = [("AltOpt()", 0, 0.8), ("AltOpt()", 1, 0.4), ("fixed recipe", 0, 0.75)]
    index = RecordIndex([record(method, CORA, split, accuracy) for method, split, accuracy in runs])
    assert own_labels.gap(index, "fixed recipe", CORA) == pytest.approx(5.0)
    assert own_labels.gap(index, "APPNP", CORA) is None
    said = own_labels.verdicts(index)
    assert len(said) == 1
    assert "+5.00 on average over 1 of 22 cells" in said[0]


def test_choosing_is_judged_against_the_best_plan_taken_always():
    lines = [record("AltOpt()", CORA, 0, 0.8)]
    [table] = choice.show(RecordIndex(lines))
    assert table.rows[0][-2:] == ("not run", "not run")
    lines += [record(f"always {plan}", CORA, 0, 0.7) for plan in PLANS]
    lines.append(record("always kernel on ties", CORA, 0, 0.83))
    [table] = choice.show(RecordIndex(lines))
    assert table.rows[0][-2:] == ("kernel on ties", "+3.00")
    assert "costs 3.00 points on average over 1 of 5" in table.notes[-1]


def test_peers_far_from_the_paper_are_named_with_a_reason():
    cell = Cell("Computers", "20")
    theirs, spread = published.published("transductive")[str(cell)]["SGC"]

    def row(gap, deviation, usual_gap=None, **settings):
        def lines(method, above):
            found = [(theirs + above + sign * deviation) / 100 for sign in (-1, 1) * 5]
            return [record(method, cell, split, x) | {"settings": settings} for split, x in enumerate(found)]

        found = lines("SGC", gap) + ([] if usual_gap is None else lines("SGC, usual settings", usual_gap))
        return ([*peers.show(RecordIndex(found))[0].rows] or [None])[0]

    assert row(1.0, 0.1) is None
    far = row(3.0, 0.1, scale_rows=True)
    assert far[:2] == ("SGC", "Computers 20")
    assert far[4] == "+3.00"
    errors = 3.0 / np.hypot(np.sqrt(0.01 * 10 / 9 / 10), spread / np.sqrt(10))
    assert far[5:] == (f"{errors:+.1f}", "not found")
    assert row(3.0, 9.0)[-1] == "splits"
    assert row(3.0, 0.1, usual_gap=0.5)[-1] == "settings: worth 2.50 on the same splits"
    assert row(3.0, 0.1, usual_gap=2.5)[-1] == "settings, in part: worth 0.50 on the same splits"
    assert "words read as they are" in row(3.0, 0.1, usual_gap=0.5, scale_rows=False)[-1]
    assert row(3.0, 0.1, usual_gap=3.5)[-1] == "not found"
    assert row(-3.0, 0.1, usual_gap=-4.0)[-1] == "not found"


def test_every_plan_can_be_taken_always():
    hard = communities(n_nodes=300, n_classes=3, mean_degree=4, signal=0.2, seed=1)
    context = DatasetContext(replace(hard, name="Cora"))
    split = per_class(context.dataset.y, 5, n_validation=50, n_test=100, seed=0)
    said = {plan: find_method(f"always {plan}").fit(context, split, {}, 0).labels for plan in PLANS}
    usual = AltOpt(cross_fit=False, random_state=0)
    data = context.dataset
    usual.fit(data.X, hide(data.y, split.train), graph=data.graph)
    assert (said["usual"] == usual.transduction_).all()
    assert all((said[plan] != said["usual"]).any() for plan in PLANS if plan != "usual")
