"""Tables are read by the kind of each column, from any library, and later tables in the same way."""

import datetime
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from altopt import InputError
from altopt.table import TableReader, as_frame
from altopt.table.frame import Frame
from customers import customers

N = 40


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else X


def read(values, text=False):
    """The one column of a table of N rows, and how it was read."""
    frame = as_frame(pa.table({"c": values}))
    frame = Frame(frame.names, frame.columns, text=frozenset({"c"} if text else ()))
    reader = TableReader.fit(frame)
    return reader.columns[0], reader


@pytest.mark.parametrize(
    ("values", "kind", "names"),
    [
        (np.linspace(0, 7, N), "number", ["c"]),
        ([None, 2.0, 5.0, 7.0] * 10, "number", ["c", "c: missing"]),
        ([True, False] * 20, "boolean", ["c"]),
        ([True, False, None, True] * 10, "boolean", ["c", "c: missing"]),
        (["a", "b", "c", "c"] * 10, "category", ["c=a", "c=b", "c=c"]),
        (["a", "b"] * 20, "category", ["c=b"]),
        (["a", "b", None, " "] * 10, "category", ["c=a", "c=b", "c: missing"]),
        (["a"] * 30 + [f"r{k}" for k in range(10)], "category", ["c=a", "c: rare"]),
        (["007", "008"] * 20, "category", ["c=008"]),
        (["1.5", "2", "-3e4", "7"] * 10, "number", ["c"]),
        (["1,5", "2", "-3,25", "7,5e-05"] * 10, "number", ["c"]),
        ([datetime.date(2020, 1, 1) + datetime.timedelta(days=k) for k in range(5)] * 8, "date", ["c"]),
        (["2020-01-01", "2020-01-05", "2020-01-03", "2020-01-09"] * 10, "date", ["c"]),
        (["24.12.2020", "01.01.2021", "02.01.2021", None] * 10, "date", ["c", "c: missing"]),
        (["9/30/2020", "9/28/2020"] * 20, "date", ["c"]),
        (pa.array(["x", "y", "z", "z"] * 10).dictionary_encode(), "category", ["c=x", "c=y", "c=z"]),
        (pa.array([3, 1, 2, 1] * 10).dictionary_encode(), "category", ["c=1", "c=2", "c=3"]),
        ([f"{a} {b} here" for a in range(20, 25) for b in range(30, 38)], "text", None),
        ([f"name{k}" for k in range(N)], "dropped", []),
        (pa.array([uuid.UUID(int=k % 2).bytes for k in range(N)], pa.uuid()), "category", None),
        (list(range(100, 100 + N)), "dropped", []),
        ([3] * N, "dropped", []),
        ([None] * N, "dropped", []),
    ],
)
def test_the_kind_of_a_column(values, kind, names):
    reader = TableReader.fit(as_frame(pa.table({"c": values, "other": np.arange(N) % 7})))
    column = reader.columns[0]
    assert column.kind == kind, column.how
    assert names is None or column.names == names
    X = reader.transform(as_frame(pa.table({"c": values, "other": np.arange(N) % 7})))
    assert X.shape == (N, len(reader.names))


def test_a_pandas_categorical_of_whole_numbers_is_a_category():
    reader = TableReader.fit(as_frame(pd.DataFrame({"c": pd.Categorical([3, 1, 2, 1] * 10)})))
    assert reader.columns[0].names == ["c=1", "c=2", "c=3"]
    later = pa.table({"c": pa.array([1, 3, 9, None])})  # as a file has them
    assert_allclose(dense(reader.transform(as_frame(later))), [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]])


def test_the_numbers_of_a_column():
    _, reader = read([None, 2.0, 5.0, 9.0])
    assert_allclose(reader.transform(as_frame(pa.table({"c": [None, 3.0]}))), [[5, 1], [3, 0]])
    _, reader = read(["a"] * 30 + [f"r{k}" for k in range(10)])
    X = reader.transform(as_frame(pa.table({"c": ["a", "r3", "unseen", None]})))
    assert_allclose(dense(X), [[1, 0], [0, 1], [0, 0], [0, 0]])


def test_a_date_has_days_and_its_place_in_the_year_and_the_week():
    days = pa.array(pd.date_range("2019-01-01", periods=N, freq="23D"))
    column, reader = read(days)
    assert column.cycles == ("year", "week")
    X = reader.transform(as_frame(pa.table({"c": days})))
    assert_allclose(X[:, 0], 17897 + 23 * np.arange(N))
    assert_allclose(X[:, 3] ** 2 + X[:, 4] ** 2, 1.0)
    assert_allclose(X[7, 3:], X[0, 3:], atol=1e-9)  # 161 days are 23 weeks


def test_text_is_tf_idf_as_scikit_learn_has_it():
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = ["late late parcel", "parcel lost", "refund please", "refund late"] * 10
    column, reader = read(texts, text=True)
    assert column.kind == "text"
    expected = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(texts).toarray()
    X = reader.transform(as_frame(pa.table({"c": texts})))
    assert_allclose(dense(X), expected)


def test_the_same_table_from_every_library_is_read_alike(tmp_path):
    table, _, _ = customers(200)
    frames = [
        table,
        pl.from_pandas(table),
        pl.from_pandas(table).lazy(),
        pa.Table.from_pandas(table, preserve_index=False),
    ]
    frames.append(table.astype(object).to_numpy())
    readers = [TableReader.fit(as_frame(frame)) for frame in frames]
    kinds = [[column.kind for column in reader.columns] for reader in readers]
    assert kinds[0] == ["number"] * 4 + ["category"] * 3 + ["date", "text"]
    first = readers[0].transform(as_frame(table))
    for frame, reader, found in zip(frames, readers, kinds):
        assert found == kinds[0]
        assert_allclose((reader.transform(as_frame(frame)) - first).sum(), 0.0, atol=1e-6)
        if reader.named:
            assert_allclose((readers[0].transform(as_frame(frame)) - first).sum(), 0.0, atol=1e-6)


def test_columns_are_matched_by_name():
    reader = TableReader.fit(as_frame(pa.table({"a": [1, 2, 5], "b": [4, 6, 5]})))
    assert_allclose(reader.transform(as_frame(pa.table({"b": [7, 8], "a": [1, 2]}))), [[1, 7], [2, 8]])
    with pytest.raises(
        InputError, match="lacks the column 'b'.*has the columns 'c', 'd', unknown to the model"
    ):
        reader.transform(as_frame(pa.table({"a": [1], "c": [1], "d": [2]})))


def test_all_problems_are_named_at_once():
    table = pa.table({"a": [1.0, np.inf], "b": [[1], [2]], "c": [1, 2], "d": [b"x", b"y"]})
    with pytest.raises(InputError) as refused:
        TableReader.fit(as_frame(table))
    assert all(f"column {name!r}" in str(refused.value) for name in "abd")
    reader = TableReader.fit(as_frame(pa.table({"a": [1, 2], "b": ["2020-01-01", "2020-01-02"]})))
    with pytest.raises(
        InputError, match="column 'a' holds the text 'x', not numbers.*column 'b' holds a date"
    ):
        reader.transform(as_frame(pa.table({"a": ["x"], "b": ["soon"]})))


def test_a_table_that_tells_nothing_is_refused_with_the_reason_of_each_column():
    with pytest.raises(InputError, match="'k': it is 1 in every row; 'e': it has no value"):
        TableReader.fit(as_frame(pa.table({"k": [1, 1], "e": pa.nulls(2)})))


def test_the_readings_print_as_a_table():
    table, _, _ = customers(200)
    readings = TableReader.fit(as_frame(table)).readings
    assert [reading.name for reading in readings] == list(table.columns)
    assert str(readings).splitlines()[0].split() == ["column", "kind", "missing", "how"]
    assert "TF-IDF of" in str(readings)
    assert all(0.02 < reading.missing < 0.2 for reading in readings)
