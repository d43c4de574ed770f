"""A problem on disk: what goes in comes out; files that were swapped, cut or changed are refused in one sentence."""

import json

import numpy as np
import pytest
from scipy import sparse

from altopt import Graph
from altopt.errors import InputError
from altopt.scale.csr_file import checksum_of
from altopt.scale.graph_folder import GraphFolder


@pytest.fixture
def stored(tmp_path):
    rng = np.random.default_rng(0)
    ids = [f"n{k:03d}" for k in range(50)]
    pairs = [(ids[a], ids[b], w) for a, b, w in zip(*rng.integers(0, 50, (2, 200)), rng.random(200) + 0.5)]
    graph = Graph(pairs, nodes=ids)
    y = np.array(["a", None, "b", None, "c"] * 10, dtype=object)
    X = rng.standard_normal((50, 70)).astype(np.float32)
    return graph, X, y, GraphFolder.of(graph, X, y, tmp_path / "problem")


def test_what_goes_in_comes_out(stored):
    graph, X, y, _ = stored
    found = GraphFolder.open(stored[3].folder)
    found.verify()
    block = found.csr.rows(0, 50)
    A = sparse.csr_array((block.weights, block.indices, block.indptr), shape=(50, 50))
    assert np.allclose(A.toarray(), graph.adjacency.toarray(), rtol=1e-6)
    assert found.features.widths == (40, 30)
    assert np.array_equal(found.features.rows(3, 40), X[3:40])
    assert found.classes == ["a", "b", "c"]
    assert [found.classes[k] for k in found.labels] == [v for v in y if v is not None]
    assert found.labelled.tolist() == [k for k, v in enumerate(y) if v is not None]
    assert found.ids(7, 12).tolist() == graph.ids[7:12].tolist()
    assert found.position("n049") == 49
    with pytest.raises(InputError, match="node 'x' is not in the graph"):
        found.position("x")


def test_positions_need_no_file_of_ids(tmp_path):
    found = GraphFolder.of(np.array([[0, 1], [1, 2], [2, 3]]), None, [0, -1, -1, 1], tmp_path)
    assert found.ids(1, 3).tolist() == [1, 2]
    assert found.features is None
    assert not (tmp_path / "nodes").exists()
    with pytest.raises(InputError, match="node 4 is not in the graph"):
        found.position(4)


def test_weights_that_are_all_one_are_not_kept(tmp_path):
    found = GraphFolder.of([(0, 1, 1.0), (1, 2, 1.0)], None, [0, -1, 1], tmp_path)
    assert not found.csr.weighted
    assert found.csr.degrees(0, 3).tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    "name",
    [
        "edges/indices.i32",
        "edges/manifest.json",
        "features/panel-001.float32",
        "labelled.i64",
        "nodes/part-00000.parquet",
    ],
)
def test_damaged_files_are_refused(stored, name):
    path = stored[3].folder / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"its checksum differs|cannot be read|of another format"):
        GraphFolder.open(stored[3].folder).verify()
    path.write_bytes(content[:-1])
    with pytest.raises(InputError, match=r"should have|cannot be read"):
        GraphFolder.open(stored[3].folder)
    path.unlink()
    with pytest.raises(InputError, match=r"is not there|No such file"):
        GraphFolder.open(stored[3].folder)


def test_swapped_files_are_refused(stored, tmp_path):
    graph, X, y, _ = stored
    other = GraphFolder.of(graph, X[::-1], y, tmp_path / "other")
    panel = "features/panel-000.float32"
    (stored[3].folder / panel).write_bytes((other.folder / panel).read_bytes())
    with pytest.raises(InputError, match="panel-000.float32 is not the file"):
        GraphFolder.open(stored[3].folder).verify()


def test_a_manifest_names_no_file_of_its_own(stored):
    path = stored[3].folder / "manifest.json"
    head = json.loads(path.read_text())
    head["sizes"]["../../secret"] = head["checksums"]["../../secret"] = 1
    path.write_text(json.dumps(head))
    with pytest.raises(InputError, match="of another format"):
        GraphFolder.open(stored[3].folder)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("classes", [["a"], {}, "c"]),
        ("classes", ["a", "a", "b"]),
        ("classes", []),
        ("node_parts", [49]),
        ("n_nodes", -1),
    ],
)
def test_a_manifest_that_no_run_wrote_is_refused(stored, field, value):
    path = stored[3].folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: value}))
    with pytest.raises(InputError, match=r"another format|cannot be read|should have"):
        GraphFolder.open(stored[3].folder)


def test_labels_outside_the_graph_are_refused(stored):
    path = stored[3].folder / "labelled.i64"
    rows = np.fromfile(path, np.int64)
    rows[-1] = 50
    rows.tofile(path)
    with pytest.raises(InputError, match="its checksum differs"):
        _ = GraphFolder.open(stored[3].folder).labelled
    stored[3].checksums[path.name] = checksum_of(path)
    with pytest.raises(InputError, match="does not hold nodes of the graph"):
        _ = stored[3].labelled
