"""OGB, Reddit and Flickr end to end, from tiny files in their formats to records and the table."""

from dataclasses import replace

import pytest
from tiny_files import tiny, write

from altopt.cli import main
from altopt_lab.experiments.claims import verdicts
from altopt_lab.experiments.config import AltOptConfig
from altopt_lab.experiments.context import DatasetContext
from altopt_lab.experiments.methods import METHODS
from altopt_lab.experiments.page import page
from altopt_lab.experiments.protocols import FIXED_ON, GIVEN, Cell, tuning_splits
from altopt_lab.experiments.tables.others import INDUCTIVE_METHODS
from altopt_lab.experiments.tables.paper_table import RecordIndex
from altopt_lab.experiments.tables.transductive import ORDER, PAPER
from altopt_lab.experiments.tuned import tuned_settings
from altopt_lab.experiments.tuning import Trials
from altopt_lab.provenance import code
from altopt_lab.records import Records, read_records


def reproduce(table, name, root, monkeypatch, *more):
    """Few epochs, else as anyone calls it."""
    monkeypatch.setitem(FIXED_ON, name, FIXED_ON[name] | {"n_epochs": 30})
    write(name, root)
    out = root / "runs.jsonl"
    call = ["reproduce", table, "--dataset", name, "--data", str(root), "--out", str(out), "--quiet"]
    assert main.run([*call, *more]) == 0
    return {line["method"]: line for line in read_records(out)}


@pytest.mark.parametrize(("table", "name"), [("transductive", "ogbn-arxiv"), ("inductive", "Reddit")])
def test_every_method_leaves_a_record(table, name, tmp_path, monkeypatch, capsys):
    found = reproduce(table, name, tmp_path, monkeypatch, "--runs", "1")
    expected = {*ORDER, *PAPER} if table == "transductive" else {*INDUCTIVE_METHODS, PAPER[0]}
    assert set(found) == expected
    for method, line in found.items():
        assert "failed" not in line, line
        assert line["test_accuracy"] > (0.5 if method != "PPRGo" else 0.3), line
        assert line["split"] == "number 0 of 1 that come with the data"
        sizes = {key: line["settings"].get(key) for key in ("hidden", "n_layers")}
        assert method in ("LP", "AltOpt()") or sizes == {"hidden": 256, "n_layers": 3}, line
    assert name in capsys.readouterr().out
    shown = page(list(found.values()), [], code())
    assert f"No run of {name}" not in shown
    assert f"No run of {'ogbn-products' if table == 'transductive' else 'Flickr'}" in shown
    assert f"not run [{73.15 if table == 'transductive' else 51.46:.2f}]" in shown
    claim = "best on ogbn" if table == "transductive" else "on Reddit and Flickr"
    verdict = next(one for one in verdicts(RecordIndex(list(found.values()))) if claim in one.claim)
    assert verdict.outcome in ("partly run", "not met")
    assert f"{name} " in verdict.evidence
    assert "best peer" in verdict.evidence


@pytest.mark.parametrize(("table", "name"), [("transductive", "ogbn-products"), ("inductive", "Flickr")])
def test_runs_differ_by_their_seed_on_the_one_split(table, name, tmp_path, monkeypatch, capsys):
    found = reproduce(table, name, tmp_path, monkeypatch, "--runs", "2", "--method", "ALT-OPT")
    lines = read_records(tmp_path / "runs.jsonl")
    assert [(line["split_seed"], line["seed"]) for line in lines] == [(0, 0), (0, 1)]
    assert found["ALT-OPT"]["settings"]["hidden"] == (256 if name == "ogbn-products" else 64)
    assert "(1 x 2 untuned)" in capsys.readouterr().out


def test_an_altopt_network_has_the_sizes_of_the_appendix():
    settings, _ = tuned_settings(METHODS["ALT-OPT"], Cell("ogbn-products", GIVEN))
    model = AltOptConfig.from_settings(settings).model(0)
    assert model.encoder.hidden == (256, 256)
    assert model.n_epochs * model.n_rounds == 1000


def test_a_search_keeps_to_what_the_data_set_fixes(tmp_path):
    cell = Cell("ogbn-arxiv", GIVEN)
    assert tuning_splits(cell) == (0,)
    data, role = tiny()
    masks = {part: (role == k)[None] for k, part in enumerate(("train", "validation", "test"))}
    context = DatasetContext(replace(data, name="ogbn-arxiv", splits=masks))
    with Records(tmp_path / "tuning.jsonl") as records:
        trials = Trials(METHODS["LP"], cell, "ogbn-arxiv given", context, records)
        assert 0.0 < trials.score({}, 0) <= 1.0
        trials = Trials(METHODS["ALT-OPT"], cell, "ogbn-arxiv given", context, records)
    used = trials.used({"encoder": "linear", "C": 5.0, "dropout": 0.8, "total_epochs": 200})
    assert used["encoder"] == "mlp"
    assert used["dropout"] == 0.8
    assert used["total_epochs"] == 500
    assert "C" not in used
    assert (used["hidden"], used["n_layers"]) == (256, 3)
