"""Bad datasets: refused in one sentence before long work, with nothing half written and no stray files."""

import shutil
from collections import namedtuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("duckdb")

from altopt.errors import DiskError, InputError
from altopt.scale import ingest as module
from altopt.scale.dataset import Dataset
from altopt.scale.ingest import ingest

N = 30


@pytest.fixture
def files(tmp_path):
    """Edges, features and labels of two files each."""
    rng = np.random.default_rng(0)
    tables = {
        "edges": pa.table({"source": rng.integers(0, N, 90), "target": rng.integers(0, N, 90)}),
        "features": pa.table({"node": np.arange(N), "x": rng.random(N), "y": rng.random(N)}),
        "labels": pa.table({"node": [0, 1, 2, 3], "label": ["a", "b", "a", "b"]}),
    }
    for name, table in tables.items():
        (tmp_path / name).mkdir()
        half = len(table) // 2
        pq.write_table(table.slice(0, half), tmp_path / name / "part-0.parquet")
        pq.write_table(table.slice(half), tmp_path / name / "part-1.parquet")
    return tmp_path


def put(files, name, **columns):
    """Replace the second file of a dataset."""
    pq.write_table(pa.table(columns), files / name / "part-1.parquet")


def refused(files, message, error=InputError, **options):
    before = sorted(path for path in files.rglob("*"))
    options = {"features": files / "features", "memory": 5e8} | options
    with pytest.raises(error, match=message) as caught:
        ingest(options.pop("edges", files / "edges"), files / "labels", files / "new" / "out", **options)
    assert "\n" not in str(caught.value)
    assert sorted(path for path in files.rglob("*")) == before


def test_a_file_that_is_cut_off(files):
    path = files / "edges" / "part-1.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    refused(files, r"part-1.parquet cannot be read as Parquet.*cut off")


def test_a_file_whose_pages_are_damaged(files):
    path = files / "features" / "part-1.parquet"
    content = bytearray(path.read_bytes())
    content[4:60] = b"\xff" * 56
    path.write_bytes(content)
    refused(files, "cannot be read")


def test_an_empty_file(files):
    (files / "edges" / "part-1.parquet").write_bytes(b"")
    refused(files, r"part-1.parquet is empty; write it again")


def test_a_path_that_is_not_there(files):
    refused(files, "is not there; check the path", edges=files / "absent")
    refused(files, "matches no file; check the pattern", edges=files / "edges" / "*.csv")


def test_a_folder_without_files(files):
    (files / "nothing").mkdir()
    refused(files, "holds no file that ends in one of .parquet", edges=files / "nothing")


def test_a_dataset_without_rows(files):
    shutil.rmtree(files / "edges")
    empty = pa.table({"source": pa.array([], pa.int64()), "target": pa.array([], pa.int64())})
    (files / "edges").mkdir()
    pq.write_table(empty, files / "edges" / "part-0.parquet")
    refused(files, "edges has no rows")


def test_a_part_that_metadata_lists_and_nobody_has(files):
    collected = []
    table = pq.read_table(files / "edges" / "part-0.parquet")
    pq.write_table(table, files / "edges" / "part-0.parquet", metadata_collector=collected)
    collected[0].set_file_path("part-7.parquet")
    pq.write_metadata(table.schema, files / "edges" / "_metadata", collected)
    refused(files, r"part-7.parquet is not there, though _metadata lists it")


def test_a_folder_that_is_still_written(files):
    (files / "edges" / "_temporary").mkdir()
    refused(files, "still being written")


def test_columns_that_differ_between_files(files):
    put(files, "edges", source=[1], target=[2], weight=[1.0])
    refused(files, r"part-1.parquet has a column 'weight', unlike .*part-0.parquet")
    put(files, "edges", source=["1"], target=[2])
    refused(files, r"part-1.parquet, column 'source', holds string, but int64 in")


def test_a_column_that_is_missing(files):
    refused(files, "edges has no column 'from'", names=module.ColumnNames(source="from"))


def test_a_node_in_two_rows(files):
    put(files, "features", node=[*range(15, 29), 3], x=np.zeros(15), y=np.zeros(15))
    refused(files, r"features, column 'node', names node 3 more than once")


def test_edges_of_nodes_that_are_not_there(files):
    put(files, "edges", source=[0, 1, 2], target=[99, 99, 77])
    refused(
        files,
        r"edges, column 'target', names node 77, .* not among the rows of .*features \(2 missing in all\)",
    )


def test_labels_of_nodes_that_are_not_there(files):
    put(files, "labels", node=[4, 31], label=["a", "b"])
    refused(files, r"labels, column 'node', names node 31, which is not among the rows of")


def test_two_labels_of_one_node(files):
    put(files, "labels", node=[0, 3], label=["b", "b"])
    refused(files, "gives node 0 two labels, 'a' and 'b'")


def test_one_class(files):
    for name in ("part-0", "part-1"):
        pq.write_table(pa.table({"node": [1], "label": ["a"]}), files / "labels" / f"{name}.parquet")
    refused(files, "at least two classes")


def test_rows_without_an_id(files):
    put(files, "edges", source=pa.array([0, None], pa.int64()), target=[1, 2])
    refused(files, r"edges, column 'source', has no id in 1 rows")


def test_weights_out_of_range(files):
    for name in ("part-0", "part-1"):
        table = pa.table({"source": [5, 1], "target": [6, 2], "weight": [-1.0, 1.0]})
        pq.write_table(table, files / "edges" / f"{name}.parquet")
    refused(files, "the edge from 5 to 6 has weight -1.0; weights must be finite and not negative")


def test_ids_of_two_types(files):
    for name in ("part-0", "part-1"):
        pq.write_table(pa.table({"node": ["0"], "label": ["a"]}), files / "labels" / f"{name}.parquet")
    refused(files, "ids are whole numbers in .*, but text in .*labels")


def test_ids_that_are_neither(files):
    for name in ("part-0", "part-1"):
        pq.write_table(pa.table({"source": [0.5], "target": [1.0]}), files / "edges" / f"{name}.parquet")
    refused(files, "holds double; ids past memory are whole numbers or text")


def test_columns_that_are_not_numbers(files):
    for name in ("part-0", "part-1"):
        pq.write_table(pa.table({"node": [0], "town": ["Ulm"]}), files / "features" / f"{name}.parquet")
    refused(files, "column 'town', holds string; a fit past memory takes columns of numbers")


def test_features_that_are_missing(files):
    put(files, "features", node=range(15, 30), x=[*np.zeros(14), np.nan], y=np.zeros(15))
    refused(files, "column 'x', has no finite number in row 30")


def test_positions_outside_an_array(files):
    np.save(files / "X.npy", np.zeros((20, 2)))
    refused(files, "names node [0-9]+, which is not among the 20 rows of", features=files / "X.npy")


def test_too_little_disk(files, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage(10, 9, 1000))
    refused(files, r"out needs about 0.0 GB of disk .*, but 0.0 GB are free there", error=DiskError)


def test_a_disk_that_fills_up_on_the_way(files, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.CsrFile, "write", full)
    refused(files, "out cannot be written: No space left on device", error=DiskError)


@pytest.mark.parametrize("name", ["thesis.txt", "manifest.json"])
def test_a_folder_of_somebody_else(files, name):
    (files / "new" / "out").mkdir(parents=True)
    (files / "new" / "out" / name).write_text("{}")
    refused(files, "out is not empty and holds no stored problem")


def test_formats_are_not_mixed(files):
    (files / "edges" / "part-2.csv").write_text("source,target\n1,2\n")
    with pytest.raises(InputError, match="files of several formats"):
        Dataset.open(files / "edges")


def test_text_tables_with_text_among_the_numbers(files):
    (files / "X.csv").write_text("node,x\n0,1.5\n1,Ulm\n")
    refused(files, "X.csv cannot be read as CSV: .*Ulm.* encode or drop others", features=files / "X.csv")
