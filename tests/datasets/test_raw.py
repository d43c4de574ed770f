"""Data sets too large to keep here: tiny files, written as theirs are given out, are read as others read them."""

import gzip
import json
import sys
import urllib.error
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from altopt import datasets
from altopt.cli.commands.datasets import get
from altopt.datasets.download import FromGeometric
from altopt.datasets.raw import read
from altopt.errors import InputError

N, D = 9, 3
rng = np.random.default_rng(0)
X = np.round(rng.normal(size=(N, D)), 3).astype(np.float32)
Y = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2])
ROLE = np.array([1, 1, 1, 2, 2, 3, 3, 3, 1])
ENDS = np.array([[0, 1, 1, 2, 5, 5, 7], [1, 0, 2, 3, 6, 6, 8]])  # one edge both ways, one twice, node 4 alone


def symmetric() -> np.ndarray:
    A = np.zeros((N, N))
    A[tuple(ENDS)] = 1
    return np.maximum(A, A.T)


def write_reddit(root: Path) -> Path:
    folder = root / "reddit/raw"
    folder.mkdir(parents=True)
    np.savez(folder / "reddit_data.npz", feature=X.astype(np.float64), label=Y, node_types=ROLE)
    A = sp.coo_matrix(symmetric())
    sp.save_npz(folder / "reddit_graph.npz", A)
    return folder.parent


def write_flickr(root: Path) -> Path:
    folder = root / "flickr/raw"
    folder.mkdir(parents=True)
    A = sp.csr_matrix(symmetric())
    np.savez(
        folder / "adj_full.npz", data=A.data, indices=A.indices, indptr=A.indptr, shape=A.shape, format=b"csr"
    )
    np.save(folder / "feats.npy", X.astype(np.float64))
    order = rng.permutation(N)
    (folder / "class_map.json").write_text(json.dumps({str(node): int(Y[node]) for node in order}))
    roles = {key: np.flatnonzero(k == ROLE).tolist() for k, key in ((1, "tr"), (2, "va"), (3, "te"))}
    (folder / "role.json").write_text(json.dumps(roles))
    return folder.parent


def write_csv(path: Path, rows: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        file.writelines(",".join(str(value) for value in row) + "\n" for row in rows.tolist())


def write_ogb(root: Path, name: str, split: str) -> Path:
    folder = root / name.replace("-", "_")
    write_csv(folder / "raw/edge.csv.gz", ENDS.T)
    write_csv(folder / "raw/node-feat.csv.gz", X)
    write_csv(folder / "raw/node-label.csv.gz", Y[:, None])
    write_csv(folder / "raw/node_year.csv.gz", Y[:, None] + 2010)
    write_csv(folder / "raw/num-node-list.csv.gz", np.array([[N]]))
    write_csv(folder / "raw/num-edge-list.csv.gz", np.array([[ENDS.shape[1]]]))
    for k, part in ((1, "train"), (2, "valid"), (3, "test")):
        write_csv(folder / f"split/{split}/{part}.csv.gz", np.flatnonzero(k == ROLE)[:, None])
    (folder / "RELEASE_v1.txt").write_text("")
    (folder / "processed").mkdir()
    return folder


def check(data: datasets.Dataset) -> None:
    assert data.X.dtype == np.float32
    np.testing.assert_allclose(data.X, X)
    assert data.y.tolist() == Y.tolist()
    assert data.graph.adjacency.toarray().tolist() == symmetric().tolist()
    assert data.splits is not None
    for k, part in ((1, "train"), (2, "validation"), (3, "test")):
        assert data.splits[part].tolist() == [(k == ROLE).tolist()]


@pytest.mark.parametrize(
    ("name", "write", "kind"), [("Reddit", write_reddit, "Reddit"), ("Flickr", write_flickr, "Flickr")]
)
def test_inductive_graphs_are_read_as_torch_geometric_reads_them(name, write, kind, tmp_path):
    folder = write(tmp_path)
    data = datasets.load(name.lower(), data=tmp_path)
    check(data)
    theirs = getattr(pytest.importorskip("torch_geometric.datasets"), kind)(str(folder))[0]
    np.testing.assert_allclose(data.X, theirs.x.numpy())
    assert data.y.tolist() == theirs.y.tolist()
    for part, mask in (("train", "train_mask"), ("validation", "val_mask"), ("test", "test_mask")):
        assert data.splits[part][0].tolist() == theirs[mask].tolist()
    A = np.zeros((N, N))
    A[tuple(theirs.edge_index.numpy())] = 1
    assert data.graph.adjacency.toarray().tolist() == A.tolist()


@pytest.mark.parametrize(("name", "split"), [("ogbn-arxiv", "time"), ("ogbn-products", "sales_ranking")])
def test_ogb_graphs_are_read_as_ogb_reads_them(name, split, tmp_path, capsys):
    write_ogb(tmp_path, name, split)
    data = datasets.load(name.upper(), data=tmp_path)
    check(data)
    ogb = pytest.importorskip("ogb.nodeproppred")
    theirs = ogb.NodePropPredDataset(name, root=str(tmp_path))
    graph, label = theirs[0]
    np.testing.assert_array_equal(data.X, graph["node_feat"])
    assert data.y.tolist() == label[:, 0].tolist()
    A = np.zeros((N, N))
    A[tuple(graph["edge_index"])] = 1
    directed = data.graph.directed_adjacency
    assert (data.graph.adjacency if directed is None else directed).toarray().tolist() == A.tolist()
    assert (directed is None) == (name == "ogbn-products")
    parts = theirs.get_idx_split()
    for part, key in (("train", "train"), ("validation", "valid"), ("test", "test")):
        assert np.flatnonzero(data.splits[part][0]).tolist() == parts[key].tolist()


def test_ogb_files_may_lie_in_a_folder_of_their_own(tmp_path):
    write_ogb(tmp_path / "ogb", "ogbn-arxiv", "time")
    check(datasets.load("ogbn_arxiv", data=tmp_path))


def test_an_unlabelled_node_of_ogb_is_unknown(tmp_path):
    folder = write_ogb(tmp_path, "ogbn-arxiv", "time")
    write_csv(folder / "raw/node-label.csv.gz", np.where(Y == 2, np.nan, Y)[:, None])
    assert datasets.load("ogbn-arxiv", data=tmp_path).y.tolist() == np.where(Y == 2, -1, Y).tolist()


def test_a_table_cut_short_is_refused(tmp_path):
    folder = write_ogb(tmp_path, "ogbn-arxiv", "time")
    write_csv(folder / "raw/node-feat.csv.gz", X[:-1])
    with pytest.raises(InputError, match=r"node-feat.csv.gz has 8 rows, but 9 are announced"):
        datasets.load("ogbn-arxiv", data=tmp_path)


class Offline:
    def __init__(self, root, **options):
        half = Path(root) / "raw"
        half.mkdir(parents=True)
        (half / "reddit_data.npz").write_text("half a file")
        raise urllib.error.URLError("Name or service not known")


class Online:
    def __init__(self, root, **options):
        write_reddit(Path(root).parent)


def test_without_a_network_a_sentence_and_no_half_written_file(tmp_path, monkeypatch):
    pytest.importorskip("torch_geometric")
    monkeypatch.setattr("torch_geometric.datasets.Reddit", Offline)
    with pytest.raises(
        InputError, match=r"Reddit could not be downloaded.*network.*reddit_data.npz"
    ) as caught:
        datasets.load("reddit", data=tmp_path, download=True)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_files_are_fetched_only_if_asked_and_only_once(tmp_path, monkeypatch):
    pytest.importorskip("torch_geometric")
    monkeypatch.setattr("torch_geometric.datasets.Reddit", Online)
    with pytest.raises(InputError, match="altopt datasets get Reddit"):
        datasets.load("reddit", data=tmp_path)
    check(datasets.load("reddit", data=tmp_path, download=True))
    assert sorted(path.name for path in (tmp_path / "reddit/raw").iterdir()) == [
        "first-download.json",
        "reddit_data.npz",
        "reddit_graph.npz",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["reddit"]
    monkeypatch.setattr("torch_geometric.datasets.Reddit", Offline)
    check(datasets.load("reddit", data=tmp_path, download=True))


def test_ogb_is_fetched_by_ogbs_own_list(tmp_path, monkeypatch):
    pytest.importorskip("ogb")
    asked = []
    monkeypatch.setattr("ogb.utils.url.download_url", lambda url, folder: asked.append(url))

    def extract(archive, folder):
        write_ogb(Path(folder), "ogbn-products", "sales_ranking").rename(Path(folder) / "products")

    monkeypatch.setattr("ogb.utils.url.extract_zip", extract)
    check(datasets.load("ogbn-products", data=tmp_path, download=True))
    assert len(asked) == 1
    assert asked[0].endswith("products.zip")


@pytest.mark.parametrize(
    ("name", "module", "extra"), [("photo", "torch_geometric", "graphs"), ("ogbn-arxiv", "ogb", "ogb")]
)
def test_a_missing_package_says_what_to_install(name, module, extra, tmp_path, monkeypatch):
    for loaded in [key for key in sys.modules if key.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        InputError, match=rf"needs {module}, which is not installed.*pip install 'altopt\[{extra}\]'"
    ):
        datasets.load(name, data=tmp_path, download=True)


def test_every_class_of_torch_geometric_that_is_named_exists():
    theirs = pytest.importorskip("torch_geometric.datasets")
    kinds = [source.origin for source in datasets.SOURCES if isinstance(source.origin, FromGeometric)]
    assert len(kinds) == 11
    assert all(hasattr(theirs, origin.kind) for origin in kinds)


def test_the_command_says_what_is_there(tmp_path, capsys):
    write_flickr(tmp_path)
    get("flickr", tmp_path)
    assert capsys.readouterr().out.startswith("Flickr is on disk: 9 nodes.")


class Changed:
    """Brings the known names with other contents."""

    def fetch(self, root):
        for file in datasets.SOURCES[0].files:
            (root / datasets.SOURCES[0].folder / file).parent.mkdir(parents=True, exist_ok=True)
            (root / datasets.SOURCES[0].folder / file).write_text("other")


def test_a_download_that_is_not_the_known_file_is_refused(tmp_path):
    cora = replace(datasets.SOURCES[0], origin=Changed())
    with pytest.raises(InputError, match=r"another ind.cora.x than expected.*Nothing was kept"):
        read(cora, tmp_path, download=True)
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_a_known_sum_must_stay_what_it_was_first(tmp_path, monkeypatch):
    pytest.importorskip("torch_geometric")
    monkeypatch.setattr("torch_geometric.datasets.Reddit", Online)
    datasets.load("reddit", data=tmp_path, download=True)
    (tmp_path / "reddit/raw/reddit_data.npz").unlink()
    monkeypatch.setitem(globals(), "X", X + 1)
    with pytest.raises(InputError, match=r"another reddit_data.npz than expected"):
        datasets.load("reddit", data=tmp_path, download=True)
