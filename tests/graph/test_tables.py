"""Tables in and out: ids come back as they were, and a bad file is named in one sentence."""

import os
import stat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from altopt.errors import InputError
from altopt.graph import Graph, files, tables
from altopt.table.files import read_rows
from altopt.table.reader import TableReader


def write(path, **columns):
    table = pa.table(columns)
    (pa.csv.write_csv if path.suffix == ".csv" else pa.parquet.write_table)(table, str(path))
    return path


def text(path, content):
    path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
def test_columns_of_every_kind_of_table(package):
    given = {"i": [1, 2], "f": [0.5, None], "t": ["a", None], "b": [True, False], "n": [3, None]}
    library = pytest.importorskip(package)
    if package == "pandas":
        table = library.DataFrame({**given, "n": library.array([3, None], dtype="Int64")})
    else:
        table = library.table(given) if package == "pyarrow" else library.DataFrame(given)
    columns = tables.columns(table)
    assert list(columns) == list(given)
    assert columns["i"].dtype == np.int64
    assert_array_equal(columns["f"], [0.5, np.nan])
    assert columns["t"].tolist() == ["a", None]
    assert columns["b"].tolist() == [True, False]
    assert columns["n"].tolist() == [3, None]


def test_mixed_and_categorical_columns_keep_their_values():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    mixed = [1, "one", (1, 2), None]
    assert tables.columns(pd.DataFrame({"node": pd.Series(mixed, dtype=object)}))["node"].tolist() == mixed
    assert tables.columns(pl.DataFrame({"node": pl.Series(mixed, dtype=pl.Object)}))["node"].tolist() == mixed
    words = ["b", "a", "b", None]
    for table in (
        pd.DataFrame({"node": pd.Categorical(words)}),
        pl.DataFrame({"node": pl.Series(words, dtype=pl.Categorical)}),
        pa.table({"node": pa.array(words).dictionary_encode()}),
    ):
        assert tables.columns(table)["node"].tolist() == words


def test_two_columns_of_one_name_are_refused(tmp_path):
    table = pa.table([[1], [2]], names=["source", "source"])
    with pytest.raises(InputError, match="the table has two columns named 'source'"):
        tables.columns(table)
    with pytest.raises(InputError, match=r"twice.csv has two columns named 'node'"):
        files.read_labels(text(tmp_path / "twice.csv", "node,node,label\n1,2,3\n"))


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("names", [[3, 1, 2], ["c", "a", "b"], [-(2**62), 0, 5]])
def test_predictions_come_back_with_their_ids(tmp_path, suffix, names):
    path = tmp_path / f"out{suffix}"
    probabilities = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])
    labels = np.array(["cat", "dog", "cat"])
    tables.write_predictions(path, names, labels, np.array([0.2, 0.0, 1.0]), probabilities, ["cat", "dog"])
    wanted = ("node", "label", "confidence", "p_cat", "p_dog")
    back = files.read_columns(path, wanted)
    assert tuple(back) == wanted
    assert back["node"].tolist() == names
    assert back["label"].tolist() == labels.tolist()
    assert_array_equal(np.stack([back["p_cat"], back["p_dog"]], axis=1), probabilities)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_predictions_keep_types_and_mixed_ids_become_text(tmp_path):
    def written(ids, labels):
        tables.write_predictions(tmp_path / "p.parquet", ids, labels, np.ones(2), np.ones((2, 2)), [0, 1])
        return pa.parquet.read_table(tmp_path / "p.parquet")

    plain = written(np.array([1, 2], np.int32), np.array([True, False]))
    assert (plain.schema.field("node").type, plain.schema.field("label").type) == (pa.int32(), pa.bool_())
    assert plain.schema.names == ["node", "label", "confidence", "p_0", "p_1"]
    mixed = written([1, "b"], [0, 1])
    assert mixed.column("node").to_pylist() == ["1", "b"]
    assert mixed.schema.field("label").type == pa.int64()


def test_predictions_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = text(tmp_path / "out.csv", "the old file")

    def fail(table, draft):
        Path(draft).write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(pa.csv, "write_csv", fail)
    with pytest.raises(KeyboardInterrupt):
        tables.write_predictions(path, [1], [1], np.ones(1), np.ones((1, 1)), [1])
    assert path.read_text() == "the old file"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.csv"]


def test_predictions_get_the_rights_any_file_gets(tmp_path):
    tables.write_predictions(tmp_path / "p.csv", [1], [1], np.ones(1), np.ones((1, 1)), [1])
    other = text(tmp_path / "other", "")
    assert stat.S_IMODE(os.stat(tmp_path / "p.csv").st_mode) == stat.S_IMODE(os.stat(other).st_mode)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.text("0123456789ab -+,\"'é", min_size=1), min_size=1))
def test_csv_ids_are_numbers_only_if_all_of_them_are_written_as_numbers(tmp_path_factory, ids):
    path = tmp_path_factory.mktemp("ids") / "labels.csv"
    pa.csv.write_csv(pa.table({"node": [str(v) for v in ids], "label": [1] * len(ids)}), path)
    read = files.read_columns(path, ("node",))["node"].tolist()
    numbers = all(str(v).lstrip("-").isdecimal() and str(int(v)) == str(v) for v in ids)
    in_range = numbers and all(-(2**63) <= int(v) < 2**63 for v in ids)
    assert read == ([int(v) for v in ids] if in_range else [str(v) for v in ids])


def test_csv_ids_of_both_ends_are_of_one_type(tmp_path):
    edges = files.read_edges(text(tmp_path / "e.csv", "source,target,weight\n1,007,2\n"))
    assert (edges["source"].tolist(), edges["target"].tolist()) == (["1"], ["007"])
    assert edges["weight"].tolist() == [2]
    numbers = text(tmp_path / "n.csv", "source,target\n1,7\n")
    assert files.read_edges(numbers)["target"].tolist() == [7]
    assert files.read_edges(numbers, text_ids=True)["target"].tolist() == ["7"]
    assert Graph(tmp_path / "e.csv").ids.tolist() == ["007", "1"]


def test_csv_columns_may_turn_fractional_late(tmp_path):
    rows = ["source,target,weight", *(f"{i},{i + 1},1" for i in range(120_000)), "0,2,0.5"]
    weight = files.read_edges(text(tmp_path / "late.csv", "\n".join(rows)))["weight"]
    assert weight[-1] == 0.5


def test_other_columns_are_not_read(tmp_path):
    path = text(tmp_path / "e.csv", "note,target,source\nhello,2,1\n")
    assert list(files.read_edges(path)) == ["source", "target"]
    assert Graph(path).ids.tolist() == [1, 2]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_features_of_a_table(tmp_path, suffix):
    path = write(tmp_path / f"x{suffix}", height=[1.5, 2.0], node=["b", "a"], age=[3, 4], male=[True, False])
    ids, frame, labels = read_rows(path)
    assert ids.tolist() == frame.ids.tolist() == ["b", "a"]
    assert frame.names == ["height", "age", "male"]
    assert TableReader.fit(frame).transform(frame).tolist() == [[1.5, 3, 1], [2, 4, 0]]
    assert labels is None
    assert read_rows(path, label="age")[2].tolist() == [3, 4]


def test_features_of_a_list_column(tmp_path):
    values = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    for kind in (pa.list_(pa.float32()), pa.list_(pa.float32(), 2), pa.large_list(pa.float32())):
        path = write(tmp_path / "x.parquet", node=[3, 1, 2], features=pa.array(values, kind))
        ids, X, _ = read_rows(path)
        assert (ids.tolist(), X.tolist(), X.dtype) == ([3, 1, 2], values, np.float32)


def test_features_of_arrays_are_mapped_or_sparse(tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    np.save(tmp_path / "x.npy", X)
    ids, mapped, _ = read_rows(tmp_path / "x.npy")
    assert isinstance(mapped, np.memmap)
    assert ids.tolist() == [0, 1, 2]
    assert_array_equal(mapped, X)
    sp.save_npz(tmp_path / "x.npz", sp.coo_array(X))
    assert_array_equal(read_rows(tmp_path / "x.npz")[1].toarray(), X)


def test_a_pandas_index_is_not_a_feature(tmp_path):
    pd = pytest.importorskip("pandas")
    pd.DataFrame({"node": [1, 2], "x": [0.0, 1.0]}, index=[5, 6]).to_parquet(tmp_path / "x.parquet")
    assert read_rows(tmp_path / "x.parquet")[1].names == ["x"]


def test_labels_may_be_unknown(tmp_path):
    for path in (
        write(tmp_path / "y.parquet", node=[1, 2, 3], label=["a", None, "b"]),
        text(tmp_path / "y.csv", "node,label\n1,a\n2,\n3,b\n"),
    ):
        ids, labels = files.read_labels(path)
        assert (ids.tolist(), labels.tolist()) == ([1, 2, 3], ["a", None, "b"])
    assert files.read_labels(text(tmp_path / "n.csv", "node,label\n1,4\n2,\n"))[1].tolist() == [4, None]


def test_match_finds_ids_of_every_type():
    assert tables.match(["a", "b", "c"], np.array(["c", "a"]), "x").tolist() == [2, 0]
    assert tables.match(np.array([5, 3]), [3, 5, 3], "x").tolist() == [1, 0, 1]
    assert tables.match([1, "1", (1,)], [(1,), "1"], "x").tolist() == [2, 1]
    assert tables.match([0.5, 1.5], [1.5], "x").tolist() == [1]
    assert tables.match([1, 2], [], "x").tolist() == []


def ready(folder):
    """One of each kind of bad file."""
    text(folder / "garbage.parquet", "this is not Parquet")
    text(folder / "empty.csv", "")
    text(folder / "notes.txt", "x")
    text(folder / "ragged.csv", "node,label\n1,2\n3,4,5\n")
    (folder / "latin.csv").write_bytes(b"node,label\n\xe9,2\n")
    text(folder / "holes.csv", "node,label\n1,2\n,4\n")
    text(folder / "heavy.csv", "source,target,weight\na,b,heavy\n")
    text(folder / "light.csv", "source,target,weight\na,b,1\nb,a,\n")
    (folder / "folder.parquet").mkdir()
    write(folder / "y.parquet", node=[1, 2], label=["a", "b"])
    write(folder / "twice.parquet", node=[1, 2, 1], label=[1, 2, 3], x=[1, 2, 3])
    write(folder / "endless.parquet", node=["a", "b"], x=[np.inf, 1.0])
    write(folder / "only.parquet", node=[1])
    write(folder / "uneven.parquet", node=[1, 2], features=[[1.0], [1.0, 2.0]])
    write(folder / "absent.parquet", node=[1, 2], features=[[1.0], None])
    write(folder / "gap.parquet", node=[1, 2], features=[[1.0], [None]])
    write(folder / "tags.parquet", node=[1], features=[["red"]])
    text(folder / "bare.csv", "node,x\n")
    (folder / "taken.csv").mkdir()
    text(folder / "bad.npz", "x")
    text(folder / "bad.npy", "x")
    np.save(folder / "cube.npy", np.zeros((2, 2, 2)))
    np.savez(folder / "other.npz", a=np.zeros(2))
    return folder


def predict(path):
    tables.write_predictions(path, [1], [1], np.ones(1), np.ones((1, 1)), [1])


REFUSED = {
    "nowhere.csv": (files.read_labels, "nowhere.csv is not there; check the path"),
    "folder.parquet": (files.read_labels, "folder.parquet is a directory; name a file in it"),
    "garbage.parquet": (files.read_edges, "garbage.parquet cannot be read as Parquet: .*magic bytes"),
    "empty.csv": (files.read_edges, "empty.csv is empty"),
    "notes.txt": (read_rows, "notes.txt ends in none of .parquet, .csv, .tsv and .xlsx"),
    "ragged.csv": (files.read_labels, "ragged.csv cannot be read as CSV: .*Expected 2 columns, got 3"),
    "latin.csv": (files.read_labels, "latin.csv cannot be read as CSV: .*UTF8"),
    "holes.csv": (files.read_labels, "holes.csv, column 'node', has no id in row 2"),
    "y.parquet": (
        files.read_edges,
        "y.parquet has no column 'source' and no column 'target'; it has 'node', 'label'",
    ),
    "twice.parquet": (files.read_labels, "twice.parquet gives node 1 two labels, 1 in row 1 and 3 in row 3"),
    "./twice.parquet": (read_rows, "twice.parquet, column 'node', names node 1 more than once"),
    "endless.parquet": (
        lambda path: TableReader.fit(read_rows(path)[1]),
        "endless.parquet: column 'x' has no finite number in row 1",
    ),
    "only.parquet": (read_rows, "only.parquet has no feature beside 'node'"),
    "uneven.parquet": (
        read_rows,
        "uneven.parquet, column 'features', has 1 numbers for node 1; give every node 2",
    ),
    "absent.parquet": (read_rows, "absent.parquet, column 'features', has 0 numbers for node 2"),
    "tags.parquet": (read_rows, "tags.parquet, column 'features', holds string, not numbers"),
    "bare.csv": (read_rows, "bare.csv has no rows; give one for each node"),
    "taken.csv": (predict, "taken.csv is a folder. Name a file in it"),
    "gap.parquet": (read_rows, "gap.parquet, column 'features', has no finite number for node 2"),
    "heavy.csv": (Graph, "heavy.csv, column 'weight', must be numbers; got 'heavy'"),
    "light.csv": (Graph, r"in .*light.csv the edge from 'b' to 'a' has weight nan; weights must be"),
    "./light.csv": (
        lambda path: Graph(path, nodes=["b", "c"]),
        r"light.csv has node 'a', which is not in nodes \(1 missing in all\)",
    ),
    "bad.npz": (read_rows, "bad.npz is not a file written by scipy.sparse.save_npz"),
    "other.npz": (Graph, "other.npz is not a file written by scipy.sparse.save_npz"),
    "bad.npy": (read_rows, "bad.npy is not a file written by numpy.save"),
    "cube.npy": (read_rows, r"cube.npy must hold a 2-D array of numbers; .* shape \(2, 2, 2\)"),
    "out.xlsx": (predict, "out.xlsx ends in neither .parquet nor .csv"),
    "./y.parquet": (Graph, "y.parquet has no column 'source' and no column 'target'; it has 'node', 'label'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_file_is_named_in_one_line(name, tmp_path):
    read, message = REFUSED[name]
    with pytest.raises(InputError, match=message) as refusal:
        read(ready(tmp_path) / name)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ([9], r"labels.csv names node 9, which is not among the 3 known nodes \(1 missing in all\)\.$"),
        ([1, 9, 8, 9], r"node 9, .*\(2 missing in all\)"),
        (["1"], "node '1', .* The ids there are whole numbers, these are text"),
        ([1, None], "labels.csv has no id in row 2"),
    ],
)
def test_match_names_what_is_missing(wanted, message):
    with pytest.raises(InputError, match=message):
        tables.match([1, 2, 3], wanted, "labels.csv")
