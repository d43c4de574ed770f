"""The demo keeps its promise: AltOpt at or above LabelSpreading and the MLP, and all files are there."""

import json

import pyarrow.parquet as pq
import pytest

from altopt.cli import demo


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo")
    heard: list[str] = []
    return out, demo.run(out, seeds=(0, 1), say=heard.append), heard


@pytest.mark.parametrize("dataset", ["digits", "communities"])
@pytest.mark.parametrize("peer", ["LabelSpreading", "MLP"])
def test_altopt_is_at_or_above(ran, dataset, peer):
    mean = {(result.dataset, result.method): result.mean for result in ran[1]}
    assert mean[dataset, "AltOpt"] >= mean[dataset, peer]


def test_every_method_saw_the_same_splits(ran):
    _, results, heard = ran
    assert {result.method for result in results} == set(demo.METHODS)
    assert {result.seeds for result in results} == {(0, 1)}
    assert all(len(result.accuracies) == len(result.seconds) == 2 for result in results)
    assert heard[0] == "digits: AltOpt, 2 fits"
    assert len(heard) == len(results) == 8


@pytest.mark.parametrize(
    ("dataset", "n_nodes", "n_classes"), [("digits", 1797, 10), ("communities", 3000, 6)]
)
def test_predictions_have_a_row_for_every_node(ran, dataset, n_nodes, n_classes):
    table = pq.read_table(ran[0] / dataset / "predictions.parquet")
    classes = [f"p_{k}" for k in range(n_classes)]
    assert table.schema.names == ["node", "label", "confidence", *classes]
    assert table["node"].to_pylist() == list(range(n_nodes))


def test_results_carry_what_made_them(ran):
    out, results, _ = ran
    stored = json.loads((out / "results.json").read_text())
    assert len(stored["results"]) == len(results)
    for entry in stored["results"]:
        assert entry["settings"]
        assert entry["seeds"] == [0, 1]
        assert "5 labels of each class" in entry["splits"]
        assert " at 0x" not in str(entry["settings"])


def test_the_report_compares_and_shows_both_models(ran):
    page = (ran[0] / "report.html").read_text(encoding="utf-8")
    for word in ("AltOpt.paper", "LabelSpreading", "MLP", 'id="1-graph"', "<h1>communities</h1>"):
        assert word in page
