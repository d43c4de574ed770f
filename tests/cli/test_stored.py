"""The commands about a stored model, on a model that was fitted with --memory."""

import json
import re
import shutil
from html import unescape

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

pytest.importorskip("duckdb")

from altopt import AltOpt
from altopt.cli.main import run
from altopt.cli.report import part_of_graph, stored
from altopt.cli.report.page import SECTIONS
from altopt.scale.stored import StoredModel
from browser import Page, chromium, skip_without_axe, until
from problems_on_disk import communities

N = 200


@pytest.fixture(scope="module")
def fitted_once(tmp_path_factory):
    """What altopt fit --memory leaves, and the tables it was fitted on."""
    place = tmp_path_factory.mktemp("fitted")
    A, X, y = communities(n=N, n_classes=3, n_features=5)
    ids = np.array([f"n{k:04d}" for k in range(N)])
    upper = sp.triu(A).tocoo()
    tables = {
        "edges": {"source": ids[upper.coords[0]], "target": ids[upper.coords[1]]},
        "features": {"node": ids} | {f"x{j}": X[:, j] for j in range(5)},
        "labels": {"node": ids[y >= 0], "label": np.array(["red", "green", "blue"])[y[y >= 0]]},
    }
    for name, columns in tables.items():
        pq.write_table(
            pa.table({key: value.tolist() for key, value in columns.items()}), place / f"{name}.parquet"
        )
    given = [f"--{name}={place / name}.parquet" for name in tables]
    assert run(["fit", *given, "--out", str(place / "out"), "--memory", "1GB", "--quiet"]) == 0
    return place, y


@pytest.fixture
def fitted(fitted_once, tmp_path):
    shutil.copytree(fitted_once[0], tmp_path / "run")
    return tmp_path / "run", fitted_once[1]


def said(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.strip().splitlines()]


def test_loading_gives_an_object_that_reads_from_disk(fitted):
    model = AltOpt.load(fitted[0] / "out" / "model")
    assert isinstance(model, StoredModel)
    assert model.classes_.tolist() == ["blue", "green", "red"]
    assert model.predict(ids=["n0010"]).tolist()[0] in model.classes_
    assert 0 < model.leave_one_out_.accuracy <= 1


def test_explain(fitted, capsys):
    out = str(fitted[0] / "out")
    assert run(["explain", out, "n0010", "--json", "--against", "red"]) == 0
    [found] = said(capsys)
    assert found["node"] == "n0010"
    assert run(["explain", out, "n0010"]) == 0
    assert "from labels" in capsys.readouterr().out
    assert run(["explain", out, "nobody"]) == 2
    assert "node 'nobody' is not in the graph" in capsys.readouterr().err


def test_suggest(fitted, capsys):
    folder, y = fitted
    assert run(["suggest", str(folder / "out"), "-n", "3", "--json"]) == 0
    rows = said(capsys)
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert all(y[int(row["node"][1:])] < 0 and row["label"] in ("red", "green", "blue") for row in rows)


def test_update_takes_labels_and_writes_predictions_anew(fitted, capsys):
    folder, y = fitted
    node = f"n{np.flatnonzero(y < 0)[3]:04d}"
    before = pq.read_table(folder / "out" / "predictions").to_pydict()
    now = next(name for name in ("red", "green") if name != before["label"][int(node[1:])])
    pc.write_csv(pa.table({"node": [node], "label": [now]}), folder / "new.csv")
    command = ["update", str(folder / "out"), "--labels", str(folder / "new.csv"), "--json"]
    assert run([*command, "--dry-run"]) == 0
    assert pq.read_table(folder / "out" / "predictions").to_pydict() == before
    assert run(command) == 0
    tried, stored = said(capsys)
    assert tried["moved"] == stored["moved"]
    assert [node, before["label"][int(node[1:])], now] in stored["moved"]
    after = pq.read_table(folder / "out" / "predictions").to_pydict()
    assert after["label"][int(node[1:])] == now
    assert run(["update", str(folder / "out"), "--edges", str(folder / "edges.parquet")]) == 2
    assert "--edges is not for a model that was fitted with --memory" in capsys.readouterr().err


def test_predict_answers_for_known_and_new_nodes(fitted, capsys):
    folder, _ = fitted
    table = pq.read_table(folder / "features.parquet").slice(10, 3).to_pydict()
    table["node"] = ["n0010", "new a", "new b"]
    pq.write_table(pa.table(table), folder / "new.parquet")
    pc.write_csv(pa.table({"source": ["new a", "new b"], "target": ["n0011", "new a"]}), folder / "e.csv")
    command = ["predict", str(folder / "out"), "--features", str(folder / "new.parquet")]
    command += ["--edges", str(folder / "e.csv"), "--out", str(folder / "p.parquet"), "--json"]
    assert run(command) == 0
    assert said(capsys)[0]["known"] == 1
    found = pq.read_table(folder / "p.parquet").to_pydict()
    known = pq.read_table(folder / "out" / "predictions").to_pydict()
    assert found["node"] == table["node"]
    assert found["label"][0] == known["label"][10]
    assert found["p_red"][0] == pytest.approx(known["p_red"][10], abs=1e-6)
    pq.write_table(pa.table({"node": ["new"], "x0": [1.0]}), folder / "new.parquet")
    assert run(command) == 2
    assert "has no column 'x1', which the model was fitted on" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_export_holds_every_node_and_edge_once(fitted, suffix):
    folder, _ = fitted
    assert run(["export", str(folder / "out"), "--out", str(folder / f"g{suffix}"), "--quiet"]) == 0
    read = pq.read_table if suffix == ".parquet" else pc.read_csv
    nodes, edges = read(folder / f"g{suffix}").to_pydict(), read(folder / f"g.edges{suffix}").to_pydict()
    assert nodes["label"] == pq.read_table(folder / "out" / "predictions").to_pydict()["label"]
    given = pq.read_table(folder / "edges.parquet").to_pydict()
    pairs = {frozenset(pair) for pair in zip(given["source"], given["target"])}
    assert {frozenset(pair) for pair in zip(edges["source"], edges["target"])} == pairs
    assert len(edges["source"]) == len(pairs)


def test_export_to_other_formats_is_refused(fitted, capsys):
    assert run(["export", str(fitted[0] / "out"), "--out", str(fitted[0] / "g.gexf")]) == 2
    assert "is exported as .parquet or .csv" in capsys.readouterr().err


def test_report(fitted):
    """The sections of every report, in their order, with what only a model of files can and cannot say."""
    assert run(["report", str(fitted[0] / "out")]) == 0
    page = (fitted[0] / "out" / "report.html").read_text()
    assert re.findall(r'<section id="(\w+)"', page) == [*SECTIONS, "unsaid"]
    words = " ".join(unescape(re.sub("<[^>]+>", " ", page.split("<body>")[1])).split())
    for said in (
        f"Nodes {N}",
        "Can its probabilities be trusted?",
        "Each class's share of the given labels",
        "no candidates were compared",
        "x4 measurement robust centre and scale",
        "Least sure of the others",
        "label_weight",
        f"numpy, scipy, scikit-learn {np.__version__}",
        "Peak memory of the process",
        "Labels changed",
        "Not known: a fit with --memory does not fit the features alone",
    ):
        assert said in words, said
    drawn = json.loads(re.search(r'id="graph-data">(.*?)</script>', page)[1])
    assert sorted(drawn["ids"]) == [f"n{k:04d}" for k in range(N)]
    assert len(drawn["edges"]) == 2 * StoredModel.load(fitted[0] / "out" / "model").graph.csr.n_entries // 2
    assert {len(drawn[name]) for name in ("x", "y", "label", "doubt")} == {N}


def test_a_report_of_a_large_graph_draws_neighbourhoods(fitted, monkeypatch):
    """Of a graph beyond the limit: the nodes that someone may want to look at, with neighbours and edges of theirs."""
    monkeypatch.setattr(part_of_graph, "MAX_NODES", 150)
    monkeypatch.setattr(part_of_graph, "MAX_EDGES", 60)
    monkeypatch.setattr(stored, "N_DOUBTFUL", 5)
    monkeypatch.setattr(stored, "N_GIVEN", 3)
    model = StoredModel.load(fitted[0] / "out" / "model")
    stored.stored_report(model, fitted[0] / "report.html")
    page = (fitted[0] / "report.html").read_text()
    drawn = json.loads(re.search(r'id="graph-data">(.*?)</script>', page)[1])
    n = len(drawn["ids"])
    assert f"{n} of {N} nodes: those in most doubt" in page
    assert len(drawn["edges"]) == 2 * 60
    assert {node for node, _ in model.suggest(12)} <= set(drawn["ids"])
    rows = model.rows(drawn["ids"])
    assert rows.codes.tolist() == drawn["label"]
    assert np.flatnonzero(rows.given).tolist() == drawn["given"]
    places = model.graph.positions(drawn["ids"])
    for a, b in np.reshape(drawn["edges"], (-1, 2)):
        assert places[b] in model.system.rows(places[[a]])[1]


def test_a_report_in_a_browser(fitted, monkeypatch):
    """Of a part of the graph: the search finds what is drawn and says what is not; every width, no serious fault."""
    monkeypatch.setattr(part_of_graph, "MAX_NODES", 150)
    monkeypatch.setattr(stored, "N_DOUBTFUL", 5)
    page = fitted[0] / "report.html"
    model = StoredModel.load(fitted[0] / "out" / "model")
    stored.stored_report(model, page)
    with chromium() as browser:
        shown = Page(browser)
        shown.tab.goto(page.as_uri())
        shown.tab.wait_for_selector(".picture[data-ready]")
        for asked, answer in ((model.suggest(1)[0][0], "predicted"), ("n9999", "of this picture.")):
            shown.tab.get_by_label("Find a node by its id").fill(asked)
            shown.tab.keyboard.press("Enter")
            until(shown.tab, "(said) => document.querySelector('.found').textContent.includes(said)", answer)
        for width, scheme in shown.views():
            shown.picture(f"report-stored-{width}-{scheme}")
            assert shown.faults() == []
        assert shown.complaints == []
        assert shown.elsewhere(page.as_uri()) == []
    skip_without_axe()


def test_a_report_after_an_update_says_that_the_estimate_is_out_of_date(fitted):
    model = StoredModel.load(fitted[0] / "out" / "model")
    node, _ = model.suggest(1)[0]
    model.update(labels={node: "red"})
    assert run(["report", str(fitted[0] / "out")]) == 0
    page = (fitted[0] / "out" / "report.html").read_text()
    assert page.count("out of date") >= 2
    assert "Class sizes" in page


@pytest.mark.parametrize("command", ["label", "explore"])
def test_what_needs_all_of_a_model_in_memory_says_so(fitted, command, capsys):
    assert run([command, str(fitted[0] / "out")]) == 2
    assert f"altopt {command} holds a model in memory" in capsys.readouterr().err
