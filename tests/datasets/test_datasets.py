"""Data sets: the generated graph is what it says, names are forgiving, raw files are read as they are."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import savemat

from altopt import datasets
from altopt.datasets.communities import draw_blocks, draw_edges
from altopt.datasets.sources import SOURCES
from altopt.datasets.statistics import PAPER, statistics
from altopt.errors import InputError
from altopt.graph import Graph

# nodes, undirected edges, features, classes, given splits
EXPECTED = {
    "Cora": (2708, 5278, 1433, 7, 1),
    "CiteSeer": (3327, 4552, 3703, 6, 1),
    "PubMed": (19717, 44324, 500, 3, 1),
    "CS": (18333, 81894, 6805, 15, 0),
    "Physics": (34493, 247962, 8415, 5, 0),
    "Computers": (13752, 245861, 767, 10, 0),
    "Photo": (7650, 119081, 745, 8, 0),
    "chameleon": (2277, 31371, 2325, 5, 10),
    "squirrel": (5201, 198353, 2089, 5, 10),
    "chameleon-filtered": (890, 8854, 2325, 5, 10),
    "squirrel-filtered": (2223, 46998, 2089, 5, 10),
    "Tolokers": (11758, 519000, 10, 2, 10),
    "amherst41": (2235, 90954, 1193, 2, 0),
    "reed98": (962, 18812, 745, 2, 0),
    "Wisconsin": (251, 450, 1703, 5, 10),
}
NOT_HERE = ["Reddit", "Flickr", "ogbn-arxiv", "ogbn-products"]  # tested on tiny files in test_raw_formats.py


def test_digits_come_without_a_graph():
    data = datasets.load("DIGITS")
    assert (data.X.shape, data.graph, data.splits) == ((1797, 64), None, None)


def test_communities_have_the_stated_shares_of_edges():
    blocks = draw_blocks(20_000, 4, np.random.default_rng(0))
    source, target = draw_edges(blocks, 100_000, np.random.default_rng(1))
    community = blocks.community_of_node[source] == blocks.community_of_node[target]
    klass = blocks.class_of_node[source] == blocks.class_of_node[target]
    # by chance a quarter of the 35 % drawn anywhere fall into the class, a 50th of the 25 % in the community
    assert community.mean() == pytest.approx(0.40 + 0.25 / 50 + 0.35 / 200, abs=0.03)
    assert klass.mean() == pytest.approx(0.40 + 0.25 + 0.35 / 4, abs=0.02)
    assert (source < target).all()
    assert len(np.unique(source * 20_000 + target)) == len(source)


def test_communities_have_uneven_degrees_and_about_the_wanted_mean():
    degrees = datasets.communities(20_000, 5, mean_degree=10.0).graph.degrees
    assert degrees.mean() == pytest.approx(10, rel=0.15)
    assert degrees.max() > 5 * degrees.mean()


@pytest.mark.parametrize("features", ["dense", "words"])
def test_features_tell_the_class_apart(features):
    data = datasets.communities(1200, 3, n_features=400, features=features, seed=4)
    X = data.X.toarray() if sp.issparse(data.X) else data.X
    half = np.arange(1200) % 2 == 0
    centroids = np.stack([X[half & (data.y == k)].mean(axis=0) for k in range(3)])
    found = ((X[~half, None, :] - centroids) ** 2).sum(axis=2).argmin(axis=1)
    assert np.mean(found == data.y[~half]) > 0.6
    assert X.dtype == np.float32


def test_node_numbers_tell_nothing():
    data = datasets.communities(3000, 6)
    assert abs(np.corrcoef(np.arange(3000), data.y)[0, 1]) < 0.1


def test_the_seed_decides():
    first, again, other = (datasets.communities(600, 3, seed=seed) for seed in (1, 1, 2))
    assert (first.graph.adjacency != again.graph.adjacency).nnz == 0
    np.testing.assert_array_equal(first.X, again.X)
    assert (first.graph.adjacency != other.graph.adjacency).nnz > 0


def test_too_few_nodes_are_refused():
    with pytest.raises(InputError, match="n_nodes=30 and n_classes=6"):
        datasets.communities(30, 6)


def test_an_unknown_name_lists_the_names_and_a_near_one():
    with pytest.raises(InputError, match=r"'kora'\. Did you mean Cora\? There are digits, communities, Cora"):
        datasets.load("kora")


def test_missing_files_say_which_folder_was_looked_at(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"planetoid.Cora.raw, but it is not on disk.*ALTOPT_DATA") as caught:
        datasets.load("cora", data=tmp_path)
    assert str(tmp_path) in str(caught.value)
    monkeypatch.setenv("ALTOPT_DATA", str(tmp_path))
    assert datasets.data_folder() == tmp_path
    assert datasets.available() == {"digits": True, "communities": True} | dict.fromkeys(
        [*EXPECTED, *NOT_HERE], False
    )


def test_every_source_is_expected():
    assert [source.name for source in SOURCES] == [*EXPECTED, *NOT_HERE]


def test_filtered_files_are_read_as_written(tmp_path):
    folder = tmp_path / "heterophilous/chameleon_filtered/raw"
    folder.mkdir(parents=True)
    masks = np.array([[True, False, False], [False, True, False]])
    np.savez(
        folder / "chameleon_filtered.npz",
        node_features=np.eye(3, dtype=np.float32),
        node_labels=np.array([0, 1, 1]),
        edges=np.array([[0, 1], [1, 2], [2, 1]]),
        train_masks=masks,
        val_masks=np.roll(masks, 1, axis=1),
        test_masks=np.roll(masks, 2, axis=1),
    )
    data = datasets.load("Chameleon_Filtered", data=tmp_path)
    assert (data.graph.n_edges, data.graph.directed_adjacency, data.y.tolist()) == (2, None, [0, 1, 1])
    assert data.splits is not None
    assert data.splits["validation"].tolist() == np.roll(masks, 1, axis=1).tolist()


def test_directed_text_files_are_read_by_node_number(tmp_path):
    folder = tmp_path / "wikipedia_network/squirrel/geom_gcn/raw"
    folder.mkdir(parents=True)
    nodes = "node_id\tfeature\tlabel\n1\t0,1\t1\n0\t1,0\t0\n2\t1,1\t4\n"
    (folder / "out1_node_feature_label.txt").write_text(nodes)
    (folder / "out1_graph_edges.txt").write_text("node_id\tnode_id\n0\t1\n0\t2\n2\t0\n1\t1\n")
    for k in range(10):
        masks = {
            f"{part}_mask": np.arange(3) == (j + k) % 3 for j, part in enumerate(("train", "val", "test"))
        }
        np.savez(folder / f"squirrel_split_0.6_0.2_{k}.npz", **masks)
    data = datasets.load("squirrel", data=tmp_path)
    assert data.X.toarray().tolist() == [[1, 0], [0, 1], [1, 1]]
    assert data.y.tolist() == [0, 1, 4]
    assert data.graph.directed_adjacency.toarray().tolist() == [[0, 1, 1], [0, 0, 0], [1, 0, 0]]
    assert data.splits is not None
    assert data.splits["train"].shape == (10, 3)
    assert data.splits["train"][1].tolist() == [False, True, False]


def write_school(root, **arrays):
    folder = root / "linkx/reed98/raw"
    folder.mkdir(parents=True)
    savemat(folder / "data.mat", arrays)


def test_a_school_is_read_with_gender_as_its_class(tmp_path):
    A = sp.csc_array(np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    write_school(tmp_path, A=A, local_info=np.array([[1, 2, 7], [1, 0, 9], [3, 1, 7]]))
    data = datasets.load("reed98", data=tmp_path)
    assert data.y.tolist() == [1, -1, 0]
    assert data.X.toarray().tolist() == [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0]]
    assert (data.graph.n_edges, data.splits) == (2, None)


@pytest.mark.parametrize("content", [b"", b"no MATLAB at all" * 20])
def test_a_damaged_school_is_refused(content, tmp_path):
    write_school(tmp_path, A=np.eye(2))
    (tmp_path / "linkx/reed98/raw/data.mat").write_bytes(content)
    with pytest.raises(InputError, match=r"reed98.*[Ff]etch"):
        datasets.load("reed98", data=tmp_path)


def test_the_largest_component_is_what_is_left():
    A = sp.coo_array((np.ones(4), ([0, 2, 3, 5], [1, 3, 4, 6])), shape=(7, 7))
    masks = {
        part: np.eye(7, dtype=bool)[[k, k + 3]] for k, part in enumerate(("train", "validation", "test"))
    }
    data = datasets.Dataset("d", np.arange(14).reshape(7, 2), np.arange(7), Graph(A + A.T), masks, "")
    left = data.largest_component()
    assert left.y.tolist() == [2, 3, 4]
    assert left.X.tolist() == [[4, 5], [6, 7], [8, 9]]
    assert left.graph.adjacency.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert left.splits["test"].tolist() == [[True, False, False], [False, False, False]]
    directed = replace(data, graph=Graph(A, directed=True)).largest_component().graph
    assert directed.directed_adjacency.toarray().tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize("name", [name for name in PAPER if name not in NOT_HERE])
def test_sizes_are_those_of_the_papers_table(name):
    if not os.environ.get("ALTOPT_DATA") or not datasets.available()[name]:
        pytest.skip(f"the raw files of {name} are not under ALTOPT_DATA")
    pytest.importorskip("torch_geometric")
    found = datasets.load(name, largest_component=name in ("Computers", "Photo"))
    assert statistics(found) == PAPER[name]


@pytest.mark.parametrize(
    "package", ["altopt", "altopt.datasets", "altopt.datasets.splits", "altopt_lab.baselines"]
)
def test_heavy_packages_are_loaded_when_they_are_wanted(package):
    code = f"import sys, {package}; print([p for p in ('torch_geometric', 'ogb', 'networkx') if p in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


@pytest.mark.parametrize("name", EXPECTED)
def test_benchmark_graphs_have_their_published_sizes(name):
    if not os.environ.get("ALTOPT_DATA"):
        pytest.skip("ALTOPT_DATA names no folder of raw files")
    if not datasets.available()[name]:
        pytest.skip(f"the raw files of {name} are not under ALTOPT_DATA")
    if name in ("Cora", "CiteSeer", "PubMed", "CS", "Physics", "Computers", "Photo"):
        pytest.importorskip("torch_geometric")
    data = datasets.load(name.upper())
    n_nodes, n_edges, n_features, n_classes, n_splits = EXPECTED[name]
    assert (data.graph.n_nodes, data.graph.n_edges) == (n_nodes, n_edges)
    assert data.X.shape == (n_nodes, n_features)
    assert sp.issparse(data.X) == (name != "Tolokers")
    assert np.unique(data.y[data.y >= 0]).tolist() == list(range(n_classes))
    if n_splits:
        assert data.splits is not None
        masks = np.stack([data.splits[part] for part in ("train", "validation", "test")])
        assert masks.shape == (3, n_splits, n_nodes)
        assert masks.sum(axis=0).max() == 1
    else:
        assert data.splits is None
    assert (data.graph.directed_adjacency is not None) == (name in ("chameleon", "squirrel", "Wisconsin"))
