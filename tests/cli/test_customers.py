"""The command line takes tables as people have them: any columns, separators and names, gaps, labels in the table."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from altopt import AltOpt
from altopt.cli.main import run
from customers import customers, few

table, y, edges = customers()
known = few(y)
NAMES = ["--node", "customer", "--source", "from", "--target", "to", "--label", "segment"]


def files(folder):
    """A `;`-separated table with decimal commas, edges under other names as TSV, and labels as CSV."""
    table.to_csv(folder / "customers.csv", sep=";", decimal=",")
    edges.rename(columns={"source": "from", "target": "to"}).to_csv(
        folder / "ties.tsv", sep="\t", index=False
    )
    twice = pd.concat([known, known.iloc[:2]])  # a row repeated with the same label
    twice.rename("segment").to_csv(folder / "labels.csv", index_label="customer")
    return folder


def predictions(path):
    return pq.read_table(path).to_pandas().set_index("node")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = files(tmp_path_factory.mktemp("customers"))
    given = [
        "--features",
        folder / "customers.csv",
        "--edges",
        folder / "ties.tsv",
        "--labels",
        folder / "labels.csv",
    ]
    assert run(["fit", *map(str, given), *NAMES, "--text", "note", "--out", str(folder / "out")]) == 0
    return folder


def test_a_fit_of_mixed_columns(fitted):
    found = predictions(fitted / "out" / "predictions.parquet")
    assert np.mean(found["label"][y.index] == y) > 0.9
    model = AltOpt.load(fitted / "out" / "model")
    assert [column.kind for column in model.columns_] == ["number"] * 4 + ["category"] * 3 + ["date", "text"]
    page = (fitted / "out" / "report.html").read_text()
    assert "How columns were read" in page
    assert "TF-IDF of" in page


def test_predict_update_and_explain_take_the_same_tables(fitted, capsys):
    folder, out = fitted, fitted / "out"
    mixed = pd.concat([table.iloc[:3], table.iloc[3:6].set_axis(["new-1", "new-2", "new-3"])])
    mixed[mixed.columns[::-1]].to_csv(folder / "new.csv", sep="|", index_label="customer")
    pd.DataFrame({"from": ["new-1"], "to": ["cust-0003"]}).to_csv(
        folder / "new_ties.tsv", sep="\t", index=False
    )
    call = ["predict", out, "--features", folder / "new.csv", "--edges", folder / "new_ties.tsv", *NAMES[:-2]]
    assert run([*map(str, call), "--out", str(folder / "new.parquet")]) == 0
    assert "3 new nodes, and as they stand in the model for 3 that it knows" in capsys.readouterr().out
    found, before = predictions(folder / "new.parquet"), predictions(out / "predictions.parquet")
    pd.testing.assert_frame_equal(found.iloc[:3].iloc[:, 2:], before.loc[found.index[:3]].iloc[:, 2:])
    mixed.iloc[3:].to_csv(folder / "new.csv", sep="\t", index_label="customer")
    call = ["update", out, "--features", folder / "new.csv", "--edges", folder / "new_ties.tsv", *NAMES]
    assert run([*map(str, call), "--out", str(folder / "updated"), "--json"]) == 0
    moved = json.loads(capsys.readouterr().out)["moved"]
    assert {node for node, before, _ in moved if before is None} == {"new-1", "new-2", "new-3"}
    assert run(["explain", str(folder / "updated"), "new-1"]) == 0
    assert "Node new-1" in capsys.readouterr().out


def test_labels_may_be_a_column_of_the_table(tmp_path):
    table.assign(segment=y.where(y.index.isin(known.index))).to_csv(tmp_path / "customers.csv")
    call = ["fit", "--features", tmp_path / "customers.csv", "--node", "customer", "--label", "segment"]
    assert run([*map(str, call), "--out", str(tmp_path / "out")]) == 0
    found = predictions(tmp_path / "out" / "predictions.parquet")
    assert np.mean(found["label"][y.index] == y) > 0.5
    assert "segment" not in [column.name for column in AltOpt.load(tmp_path / "out" / "model").columns_]
    assert run(["explain", str(tmp_path / "out"), "cust-0007"]) == 0


def test_without_features_the_graph_alone_serves(tmp_path, capsys):
    files(tmp_path)
    given = ["--edges", tmp_path / "ties.tsv", "--labels", tmp_path / "labels.csv"]
    assert run(["fit", *map(str, given), *NAMES, "--out", str(tmp_path / "out")]) == 0
    assert "no features" in capsys.readouterr().out
    found = predictions(tmp_path / "out" / "predictions.parquet")
    assert np.mean(found["label"] == y[found.index]) > 0.7
    shop = known.index[known == "shop"]
    pd.DataFrame({"from": "n", "to": shop[:2]}).to_csv(tmp_path / "more.csv", index=False)
    call = [
        "predict",
        tmp_path / "out",
        "--edges",
        tmp_path / "more.csv",
        *NAMES[:-2],
        "--out",
        tmp_path / "p.parquet",
    ]
    assert run([*map(str, call)]) == 0
    assert predictions(tmp_path / "p.parquet")["label"].to_dict() == {"n": "shop"}
    assert run([*map(str, ["update", tmp_path / "out", "--edges", tmp_path / "more.csv", *NAMES])]) == 0
    assert predictions(tmp_path / "out" / "predictions.parquet")["label"]["n"] == "shop"


def test_nodes_without_a_row_are_taken_and_counted(tmp_path, capsys):
    files(tmp_path)
    table.iloc[20:].to_csv(tmp_path / "customers.csv")
    given = [
        "--features",
        tmp_path / "customers.csv",
        "--edges",
        tmp_path / "ties.tsv",
        "--labels",
        tmp_path / "labels.csv",
    ]
    assert run(["fit", *map(str, given), *NAMES, "--out", str(tmp_path / "out")]) == 0
    assert "20 of 300 nodes have no row of features" in capsys.readouterr().out
    assert len(predictions(tmp_path / "out" / "predictions.parquet")) == 300
    assert "20 of 300 nodes have no row of features" in (tmp_path / "out" / "report.html").read_text()


def test_excel_is_read_where_openpyxl_is_there(tmp_path):
    pytest.importorskip("openpyxl")
    frame = table.assign(segment=y.where(y.index.isin(known.index)))
    frame.to_excel(tmp_path / "customers.xlsx")
    call = [
        "fit",
        "--features",
        tmp_path / "customers.xlsx",
        "--node",
        "customer",
        "--label",
        "segment",
        "--dry-run",
    ]
    assert run([*map(str, call), "--out", str(tmp_path / "out")]) == 0


def test_all_problems_of_all_files_are_named_at_once(tmp_path, capsys):
    files(tmp_path)
    given = [
        "--features",
        tmp_path / "customers.csv",
        "--edges",
        tmp_path / "ties.tsv",
        "--labels",
        tmp_path / "no.csv",
    ]
    assert run(["fit", *map(str, given), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "customers.csv has no column 'node'" in said
    assert "no.csv is not there" in said
    assert "ties.tsv has no column 'source' and no column 'target'" in said
    assert not (tmp_path / "out").exists()


def test_a_fit_that_fails_leaves_no_folder(tmp_path):
    files(tmp_path)
    (tmp_path / "labels.csv").write_text("customer,segment\ncust-0001,bank\ncust-0002,bank\n")
    given = [
        "--features",
        tmp_path / "customers.csv",
        "--edges",
        tmp_path / "ties.tsv",
        "--labels",
        tmp_path / "labels.csv",
    ]
    assert run(["fit", *map(str, given), *NAMES, "--out", str(tmp_path / "out")]) == 2
    assert not (tmp_path / "out").exists()


def test_two_labels_of_one_node_are_refused(tmp_path, capsys):
    files(tmp_path)
    (tmp_path / "labels.csv").write_text("customer,segment\ncust-0001,bank\ncust-0001,home\n")
    given = [
        "--features",
        tmp_path / "customers.csv",
        "--edges",
        tmp_path / "ties.tsv",
        "--labels",
        tmp_path / "labels.csv",
    ]
    assert run(["fit", *map(str, given), *NAMES, "--out", str(tmp_path / "out")]) == 2
    assert "gives node 'cust-0001' two labels, 'bank' in row 1 and 'home' in row 2" in capsys.readouterr().err
