"""The command line with several kinds of edges: fit, predict, update and explain."""

import json

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from altopt import AltOpt
from altopt.cli.edge_files import edge_files
from altopt.cli.main import app
from altopt.errors import InputError
from cli_tables import N, data, edge_table, ends, tables, write

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    made = tables(folder, "csv", "text")
    old = (ends < N).all(axis=0)
    first = np.arange(ends.shape[1]) % 2 == 0
    made["a"] = write(folder / "a.csv", edge_table(old & first, made["ids"]))
    made["b"] = write(folder / "b.parquet", edge_table(old & ~first, made["ids"]))
    return made


@pytest.fixture(scope="module")
def model(files):
    done = run(
        "fit", "--features", files["features"], "--labels", files["labels"], "--out", files["out"],
        "--edges", f"cites={files['a']}", "--edges", f"same_author={files['b']}", "--quiet",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return files["out"]


def test_fit_takes_a_file_for_each_kind(model):
    fitted = AltOpt.load(model / "model")
    assert list(fitted.edge_weights_) == ["cites", "same_author"]
    assert sum(fitted.edge_weights_.values()) == pytest.approx(1)
    assert [kind.n_edges for kind in fitted.graph_.kinds.values()] == [
        int(((ends < N).all(axis=0) & (np.arange(ends.shape[1]) % 2 == k)).sum()) for k in (0, 1)
    ]


def test_update_takes_edges_of_a_kind(model, files, tmp_path):
    ids = files["ids"]
    new = write(tmp_path / "new.csv", pa.table({"source": [ids[0]], "target": [ids[1]], "weight": [3.0]}))
    done = run("update", model, "--edges", f"cites={new}", "--out", tmp_path / "updated")
    assert done.exit_code == 0, done.output
    fitted = AltOpt.load(tmp_path / "updated")
    kind = fitted.graph_.kinds["cites"]
    assert kind.adjacency[kind.position(ids[0]), kind.position(ids[1])] == 3


def test_predict_takes_edges_of_a_kind(model, files, tmp_path):
    out = tmp_path / "p.csv"
    done = run(
        "predict", model, "--features", files["new_features"], "--edges", f"cites={files['new_edges']}",
        "--out", out,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert len(out.read_text().splitlines()) == 1 + 12


def test_explain_names_the_kinds_on_the_path(model, files):
    record = json.loads(run("explain", model, files["ids"][0], "--json").stdout)
    assert len(record["path_kinds"]) == len(record["path"]) - 1
    assert {kind for kinds in record["path_kinds"] for kind in kinds} <= {"cites", "same_author"}
    assert "-(" in run("explain", model, files["ids"][0]).stdout


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (["likes={a}"], "names the kind 'likes', which the model does not know"),
        (["{a}"], "must say of which kind they are"),
        (["cites={a}", "cites={b}"], "names the kind 'cites' twice"),
        (["cites={a}", "{b}"], "has no kind, but others have"),
        (["={a}"], "names no kind before the equals sign"),
    ],
)
def test_wrong_kinds_are_one_sentence(model, files, edges, message):
    options = [part for text in edges for part in ("--edges", text.format(a=files["a"], b=files["b"]))]
    done = run("update", model, *options, "--dry-run")
    assert isinstance(done.exception, InputError)  # which the command turns into one line and exit code 2
    assert message in str(done.exception)


def test_a_path_with_an_equals_sign_is_a_path(tmp_path):
    odd = tmp_path / "day=1.csv"
    odd.write_text("source,target\n")
    assert edge_files([str(odd)]) == {"": odd}
    assert edge_files([f"cites={odd}"]) == {"cites": odd}
    assert edge_files(None) == {}
    with pytest.raises(InputError, match="twice without a kind"):
        edge_files([str(odd), str(odd)])


def test_matrices_serve_as_kinds(files, tmp_path):
    A = data.graph.adjacency.tocsr()[:N][:, :N].astype(float)
    half = sp.triu(A).tocoo()
    pick = np.arange(half.nnz) % 2 == 0
    paths = []
    for k, keep in enumerate((pick, ~pick)):
        kind = sp.csr_array((half.data[keep], (half.row[keep], half.col[keep])), shape=A.shape)
        sp.save_npz(tmp_path / f"{k}.npz", sp.csr_matrix(kind + kind.T))
        paths.append(tmp_path / f"{k}.npz")
    done = run(
        "fit", "--features", files["features"], "--labels", files["labels"], "--out", tmp_path / "out",
        "--edges", f"a={paths[0]}", "--edges", f"b={paths[1]}", "--dry-run",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert f"{N:,} nodes" in done.output
