"""The edges of a model of files as a table: by their ids, which are read once however many edges there are."""

from types import SimpleNamespace

import numpy as np
import pytest

from altopt import Graph
from altopt.scale import export
from altopt.scale.graph_folder import GraphFolder
from problems_on_disk import communities, on_disk

N = 300


@pytest.mark.parametrize("kind", ["positions", "whole", "text"])
def test_edges_are_named_by_their_ids_which_are_read_once(tmp_path, kind, monkeypatch):
    A, X, y = communities(n=N, n_classes=3, n_features=2, weighted=True)
    drawn = np.random.default_rng(0).permutation(N)
    ids = {
        "positions": list(range(N)),
        "whole": (drawn * 2**40 - 7).tolist(),
        "text": [f"n\u00e9{k}" * (k % 3) + str(k) for k in drawn.tolist()],
    }[kind]
    graph = Graph(Graph(A), nodes=None if kind == "positions" else ids)
    model = SimpleNamespace(graph=on_disk(tmp_path / "problem", graph, X, y))
    read, groups = [], GraphFolder._id_groups
    monkeypatch.setattr(GraphFolder, "_id_groups", lambda self, *some: read.append(1) or groups(self, *some))
    monkeypatch.setattr(export, "BLOCK_ENTRIES", 100)
    tables = list(export.edge_tables(model, tmp_path))
    assert len(tables) > 10
    assert len(read) == (kind != "positions")
    found = {
        (a, b): weight
        for table in tables
        for a, b, weight in zip(*(table[name].to_pylist() for name in ("source", "target", "weight")))
    }
    upper = [(i, j, w) for i, j, w in zip(*A.tocoo().coords, A.tocoo().data) if i <= j]
    assert found == pytest.approx({(ids[i], ids[j]): w for i, j, w in upper})
    assert [path.name for path in tmp_path.iterdir()] == ["problem"]
