"""Bad ends of the command line: an exit code and one line on stderr for each."""

import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv

from altopt.cli.main import run
from cli_tables import AS_TEXT, N, fit_call, tables, write


@pytest.fixture
def files(tmp_path, request):
    return tables(tmp_path, *getattr(request, "param", ("csv", "text")))


def one_line(capsys) -> str:
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(("Error: ", "Internal error in altopt (please report it): "))
    return said


def changed(path: Path, column: str, **values: object) -> Path:
    """A copy of a CSV file, with a column dropped or changed."""
    table = csv.read_csv(path, convert_options=AS_TEXT)
    place = table.schema.names.index(column)
    table = (
        table.remove_column(place) if not values else table.set_column(place, column, pa.array(values["to"]))
    )
    return write(path.with_name("changed.csv"), table)


BAD_TABLES = {
    "file not there": ("edges", lambda path: path.with_name("none.csv"), "none.csv is not there"),
    "not Parquet": ("features", lambda path: foreign(path), "foreign.parquet cannot be read as Parquet"),
    "no such format": ("labels", lambda path: path.with_suffix(".txt"), "ends in none of .parquet, .csv"),
    "a column lacks": ("edges", lambda path: changed(path, "target"), "changed.csv has no column 'target'"),
    "an edge to nowhere": (
        "edges",
        lambda path: changed(path, "target", to=["[odd] id"] * csv.read_csv(path).num_rows),
        "changed.csv, column 'target', names node '[odd] id'",
    ),
    "a label of nobody": (
        "labels",
        lambda path: changed(path, "node", to=[f"x{k}" for k in range(90)]),
        "changed.csv, column 'node', names node 'x0'",
    ),
    "an id twice": (
        "labels",
        lambda path: changed(path, "node", to=["007"] * 90),
        "gives node '007' two labels",
    ),
    "one class": ("labels", lambda path: changed(path, "label", to=["a"] * 90), "at least two classes"),
    "no label": ("labels", lambda path: changed(path, "label", to=[None] * 90), "no label"),
    "a header in Latin-1": ("edges", lambda path: bytes_of(path, "edges", b",\xe9\n"), "is not UTF-8"),
    "a label of lists": ("labels", lambda path: typed(path, "label", [[1]] * 90), "holds list<"),
    "a label of structs": ("labels", lambda path: typed(path, "label", [{"a": 1}] * 90), "holds struct<"),
    "a label of bytes": ("labels", lambda path: typed(path, "label", [b"x"] * 90), "values of type bytes"),
    "ids of lists": ("features", lambda path: typed(path, "node", [[k] for k in range(N)]), "holds list<"),
    "ids of instants": (
        "features",
        lambda path: typed(path, "node", pa.array(range(N), pa.timestamp("ns"))),
        "column 'node', holds values of type",
    ),
    "ids of decimals": (
        "features",
        lambda path: typed(path, "node", pa.array(range(N)).cast(pa.decimal128(25, 2))),
        "column 'node', holds values of type Decimal",
    ),
    "weights of lists": ("edges", lambda path: weighted(path, [[1.0]]), "column 'weight', holds list<"),
    "weights of text": ("edges", lambda path: weighted(path, ["1"]), "'weight', must be numbers; got '1'"),
    "weights of instants": (
        "edges",
        lambda path: weighted(path, pa.array([1], pa.timestamp("ns"))),
        "'weight', must be numbers",
    ),
    "a folder": ("edges", lambda path: folder(path), "is a directory; name a file in it"),
    "a pipe": ("edges", lambda path: pipe(path), "is not an ordinary file"),
    "below a file": ("edges", lambda path: path / "below.csv", "below.csv is not there"),
    "a long name": ("edges", lambda path: path.with_name("a" * 300 + ".csv"), "name too long"),
    "a name that is not text": ("edges", lambda path: path.with_name("\udcff.csv"), "not a name in UTF-8"),
}


def bytes_of(path: Path, name: str, header: bytes) -> Path:
    """A copy with another column, whose name is not UTF-8."""
    other = path.with_name(f"latin-{name}.csv")
    first, *rows = path.read_bytes().splitlines()
    other.write_bytes(first + header + b"".join(row + b",1\n" for row in rows))
    return other


def typed(path: Path, column: str, values: object) -> Path:
    """A copy as Parquet, with a column of another type."""
    table = csv.read_csv(path, convert_options=AS_TEXT)
    place = table.schema.names.index(column)
    return write(path.with_name("typed.parquet"), table.set_column(place, column, pa.array(values)))


def weighted(path: Path, values: object) -> Path:
    table = csv.read_csv(path, convert_options=AS_TEXT).slice(0, 1)
    return write(path.with_name("weighted.parquet"), table.append_column("weight", pa.array(values)))


def folder(path: Path) -> Path:
    path.with_name("folder.csv").mkdir()
    return path.with_name("folder.csv")


def pipe(path: Path) -> Path:
    os.mkfifo(path.with_name("pipe.csv"))
    return path.with_name("pipe.csv")


def foreign(path: Path) -> Path:
    other = path.with_name("foreign.parquet")
    other.write_text("this is not Parquet\n\nin three lines")
    return other


@pytest.mark.parametrize("what", BAD_TABLES)
def test_a_bad_table_is_one_line_and_exit_2(files, capsys, what):
    which, spoil, message = BAD_TABLES[what]
    assert run(fit_call(files, "--quiet", **{which: str(spoil(files[which]))})) == 2
    assert message in one_line(capsys)
    assert not files["out"].exists()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (["fit", "--bogus"], "No such option: --bogus"),
        (["fit", "--features", "x.csv"], "Missing option '--out'"),
        (["fit", "--out", "o"], "nothing to learn from: give --features, --edges or both"),
        (["fit", "--edges", "e.csv", "--out", "o"], "no labels: give --labels"),
        (["fit", "--rounds", "-1"], "--rounds"),
        (["fit", "--paper", "Z"], "--paper"),
        (["nonsense"], "No such command 'nonsense'"),
        (["datasets", "nonsense"], "No such command 'nonsense'"),
        (["datasets", "get", "kora"], "Did you mean Cora?"),
        (["predict"], "Missing argument 'MODEL'"),
        (["predict", "nowhere", "--features", "x.csv", "--out", "p.csv"], "nowhere is not a stored model"),
        (
            ["predict", "nowhere", "--features", "x.csv", "--out", "p.txt"],
            "ends in neither .parquet nor .csv",
        ),
        (["report", "nowhere"], "nowhere is not a stored model"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_2(call, message, capsys):
    assert run(call) == 2
    assert message in one_line(capsys)


def test_new_nodes_must_fit_the_model(files, capsys, tmp_path):
    assert run(fit_call(files, "--quiet")) == 0
    ways = [
        (changed(files["new_features"], "x3"), [], "changed.csv: lacks the column 'x3'"),
        (files["new_features"], ["--edges", str(foreign_end(files))], "names node 'nobody'"),
    ]
    for features, more, message in ways:
        out = tmp_path / "p.csv"
        call = ["predict", str(files["out"]), "--features", str(features), "--out", str(out), *more]
        assert run(call) == 2
        assert message in one_line(capsys)
        assert not out.exists()


def foreign_end(files) -> Path:
    table = pa.table({"source": [files["ids"][N]], "target": ["nobody"]})
    return write(files["new_edges"].with_name("foreign.csv"), table)


def test_an_output_that_cannot_be_is_refused_before_the_work(files, capsys):
    assert run(fit_call(files, out=str(files["features"]))) == 2
    assert "is a file. Name a folder." in one_line(capsys)
    (files["out"] / "model").mkdir(parents=True)
    (files["out"] / "model" / "mine.txt").write_text("precious")
    assert run(fit_call(files)) == 2
    assert "is not a stored model of altopt" in one_line(capsys)


def test_a_fault_of_ours_is_one_line_and_exit_1(files, capsys, monkeypatch):
    monkeypatch.setattr("altopt.AltOpt.fit", lambda *_, **__: 1 / 0)
    assert run(fit_call(files, "--quiet")) == 1
    assert "ZeroDivisionError: division by zero" in one_line(capsys)
    monkeypatch.setenv("ALTOPT_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        run(fit_call(files, "--quiet"))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--graph-view", "three-hop"], "--graph-view knows no 'three-hop'. Choose from laplacian,"),
        (["--inputs", "raw,cooked"], "--inputs knows no 'cooked'. Choose from reduced, raw,"),
        (["--inputs", "out-adjacency"], "needs a directed graph"),
        (["--encoder", "attention"], "AttentionEncoder(n_hops=3) reads rows of 3 equal blocks"),
    ],
)
def test_a_part_that_is_not_there_or_does_not_fit_is_told(files, capsys, more, message):
    assert run(fit_call(files, "--quiet", *more)) == 2
    assert message in one_line(capsys)
