"""The command line on a stored model: why, what if, and whom to ask next, with the user's ids."""

import json

import pytest

from altopt import AltOpt
from altopt.cli.main import run
from cli_tables import N, fit_call, read, tables


@pytest.fixture(scope="module", params=[("csv", "text"), ("parquet", "whole")])
def files(tmp_path_factory, request):
    found = tables(tmp_path_factory.mktemp("files"), *request.param)
    assert run(fit_call(found, "--quiet")) == 0
    return found


def said(capsys, *call):
    code = run([str(part) for part in call])
    spoken = capsys.readouterr()
    return code, spoken.out, spoken.err


def test_explain_prints_a_table_and_json(files, capsys):
    first, second = files["ids"][3], files["ids"][200]
    code, out, _ = said(capsys, "explain", files["out"], first, second, "--top", 3)
    assert code == 0
    assert f"Node {first}: class " in out
    assert "before the softmax" in out
    code, out, _ = said(capsys, "explain", files["out"], first, second, "--json", "--top", 1000)
    records = [json.loads(line) for line in out.splitlines()]
    assert [record["node"] for record in records] == [first, second]
    for record in records:
        amounts = [entry[-1] for entry in record["from_labels"] + record["from_features"]]
        assert sum(amounts) + record["tail"] == pytest.approx(record["total"], rel=1e-6)
    others = [name for name in records[0]["evidence"] if name != records[0]["prediction"]]
    code, out, _ = said(capsys, "explain", files["out"], first, "--against", others[0])
    assert f"and not {others[0]}: ahead by" in out


def test_fit_predict_and_report_print_json(files, tmp_path, capsys):
    code, out, _ = said(capsys, *fit_call(files, "--json"))
    (line,) = out.splitlines()
    record = json.loads(line)
    assert code == 0
    assert (record["nodes"], record["labels"]) == (N, 90)
    assert record["interval"][0] <= record["accuracy"] <= record["interval"][1]
    assert str(files["out"] / "model") in record["written"]
    call = [
        "predict",
        files["out"],
        "--features",
        files["new_features"],
        "--out",
        tmp_path / "new.csv",
        "--json",
    ]
    code, out, _ = said(capsys, *call)
    assert json.loads(out)["nodes"] == sum(json.loads(out)["labels"].values()) == 12
    code, out, _ = said(capsys, "report", files["out"], "--out", tmp_path / "page.html", "--json")
    assert json.loads(out) == {"written": [str(tmp_path / "page.html")]}


def test_suggest_says_in_json_what_its_table_has(files, capsys):
    code, out, _ = said(capsys, "suggest", files["out"], "-n", 3, "--json")
    records = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [list(record) for record in records] == [["rank", "node", "gain", "label", "confidence"]] * 3
    model = AltOpt.load(files["out"] / "model")
    place = model.graph_.position(records[0]["node"])
    assert records[0]["label"] == model.transduction_[place]


@pytest.mark.parametrize("suffix", ["gexf", "graphml", "parquet"])
def test_export_writes_the_graph_with_its_labels(files, suffix, tmp_path, capsys):
    networkx = pytest.importorskip("networkx")
    out = tmp_path / f"graph.{suffix}"
    code, spoken, _ = said(capsys, "export", files["out"], "--out", out)
    assert code == 0
    assert f"Wrote {out}" in spoken
    if suffix == "parquet":
        assert read(out)["node"] == files["ids"][:N]
        return
    found = networkx.read_gexf(out) if suffix == "gexf" else networkx.read_graphml(out)
    model = AltOpt.load(files["out"] / "model")
    assert found.number_of_edges() == model.graph_.n_edges
    assert found.nodes[str(files["ids"][7])]["label"] == model.transduction_[7]


def test_export_refuses_another_format_before_the_work(files, tmp_path, capsys):
    code, _, err = said(capsys, "export", files["out"], "--out", tmp_path / "graph.dot")
    assert code == 2
    assert "ends in none of .gexf" in err


def test_an_unknown_node_or_class_ends_with_a_sentence(files, capsys):
    code, out, err = said(capsys, "explain", files["out"], "nobody")
    assert (code, out) == (2, "")
    assert "node 'nobody' is not in the graph" in err
    code, out, err = said(capsys, "explain", files["out"], files["ids"][3], "--against", "no class")
    assert code == 2
    assert "'no class' is not among the classes" in err


def test_update_stores_and_a_dry_run_does_not(files, tmp_path, capsys):
    ids, suffix = files["ids"], files["features"].suffix
    labels = tmp_path / "labels.csv"
    labels.write_text(f"node,label\n{ids[0]},class 1\n{ids[160]},\n")
    call = ["update", files["out"], "--labels", labels, "--edges", files["new_edges"]]
    call += ["--features", files["new_features"], "--out", tmp_path / "updated", "--json"]
    before = (files["out"] / "model" / "model.json").read_bytes()
    code, out, _ = said(capsys, *call, "--dry-run")
    assert code == 0
    assert not (tmp_path / "updated").exists()
    dry = json.loads(out)
    assert not dry["stored"]
    predictions = tmp_path / f"now{suffix}"
    code, out, _ = said(capsys, *call, "--predictions", predictions)
    record = json.loads(out)
    assert record | {"stored": False} == dry
    assert (files["out"] / "model" / "model.json").read_bytes() == before
    assert [name for name, was, _ in record["moved"] if was is None] == ids[N:]
    model = AltOpt.load(tmp_path / "updated")
    assert model.labelled_[0]
    assert not model.labelled_[160]
    assert model.graph_.n_nodes == len(ids)
    spelled = [str(name) for name in ids] if suffix == ".csv" else ids
    assert read(predictions)["node"] == spelled
    code, out, _ = said(capsys, "update", tmp_path / "updated", "--labels", labels)
    assert code == 0
    assert "0 nodes changed label." in out


def test_update_refuses_and_leaves_the_model_alone(files, tmp_path, capsys):
    labels = tmp_path / "labels.csv"
    labels.write_text("node,label\nnobody,class 1\n")
    before = (files["out"] / "model" / "model.json").read_bytes()
    code, _, err = said(capsys, "update", files["out"], "--labels", labels)
    assert code == 2
    assert "names node 'nobody', which is not in the graph" in err
    assert said(capsys, "update", files["out"])[0] == 2
    assert (files["out"] / "model" / "model.json").read_bytes() == before


def test_suggest_names_unlabelled_nodes(files, capsys):
    code, out, _ = said(capsys, "suggest", files["out"], "-n", 4, "--json")
    assert code == 0
    records = [json.loads(line) for line in out.splitlines()]
    assert [record["rank"] for record in records] == [1, 2, 3, 4]
    assert all(record["node"] in files["ids"][:150] for record in records)
    code, out, _ = said(capsys, "suggest", files["out"], "-n", 2)
    assert len(out.splitlines()) == 4
