"""Tiny graphs in the files of OGB, Reddit and Flickr, laid out as their publishers give them out."""

import gzip
import json

import numpy as np
import scipy.sparse as sp

from altopt.datasets import communities

ROLES = {"tr": 0, "va": 1, "te": 2}
SPLIT_NAMES = {"ogbn-arxiv": "time", "ogbn-products": "sales_ranking"}


def tiny():
    """A generated graph, and the role of each of its nodes: half train, a quarter each validates and tests."""
    data = communities(n_nodes=120, n_classes=3, seed=1)
    return data, np.random.default_rng(0).permutation(np.repeat([0, 0, 1, 2], 30))


def write(name, root):
    """The files of one data set under the folder of raw files."""
    if name in SPLIT_NAMES:
        write_ogb(root / name.replace("-", "_"), SPLIT_NAMES[name])
    else:
        {"Reddit": write_reddit, "Flickr": write_flickr}[name](root / name.lower() / "raw")


def write_ogb(folder, split):
    data, role = tiny()
    ends = sp.triu(data.graph.adjacency, k=1).tocoo().coords
    write_csv(folder / "raw/edge.csv.gz", np.stack(ends, axis=1))
    write_csv(folder / "raw/node-feat.csv.gz", np.asarray(data.X))
    write_csv(folder / "raw/node-label.csv.gz", data.y[:, None])
    write_csv(folder / "raw/num-node-list.csv.gz", np.array([[len(data.y)]]))
    write_csv(folder / "raw/num-edge-list.csv.gz", np.array([[len(ends[0])]]))
    for part, number in zip(("train", "valid", "test"), ROLES.values()):
        write_csv(folder / f"split/{split}/{part}.csv.gz", np.flatnonzero(role == number)[:, None])


def write_csv(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        file.writelines(",".join(str(value) for value in row) + "\n" for row in rows.tolist())


def write_reddit(folder):
    data, role = tiny()
    folder.mkdir(parents=True)
    np.savez(folder / "reddit_data.npz", feature=np.asarray(data.X), label=data.y, node_types=role + 1)
    sp.save_npz(folder / "reddit_graph.npz", sp.coo_matrix(data.graph.adjacency))


def write_flickr(folder):
    data, role = tiny()
    folder.mkdir(parents=True)
    A = sp.csr_matrix(data.graph.adjacency)
    np.savez(
        folder / "adj_full.npz", data=A.data, indices=A.indices, indptr=A.indptr, shape=A.shape, format=b"csr"
    )
    np.save(folder / "feats.npy", np.asarray(data.X, dtype=np.float64))
    labels = {str(node): int(label) for node, label in enumerate(data.y)}
    (folder / "class_map.json").write_text(json.dumps(labels))
    roles = {key: np.flatnonzero(role == number).tolist() for key, number in ROLES.items()}
    (folder / "role.json").write_text(json.dumps(roles))
