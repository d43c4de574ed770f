"""A fitted graph as a file: what other programs read back is what was written, whatever names it has."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from altopt import Graph, InputError
from altopt.io.graph_files import LabelledNodes, write_graph

nx = pytest.importorskip("networkx")

ODD = ["plain", 'a "quoted" one', "<b>&amp;", "new\nline\tand tab", "søster 姉", "nul\x01char", " spaces "]


def labelled(ids=None, labels=None, directed=False, kinds=False):
    n = 7
    edges = np.array([[0, 1, 2, 3, 0], [1, 2, 3, 4, 6]])
    weighted = {"source": edges[0], "target": edges[1], "weight": [1.0, 2.5, 1e-7, 3.0, 1 / 3]}
    import pandas as pd

    table = pd.DataFrame(weighted)
    parts = {"<cites>": table, "same": table[:2]} if kinds else table
    graph = Graph(parts, n_nodes=n, directed=directed)
    if ids is not None:
        graph = Graph(graph, nodes=ids)
    P = np.full((n, 2), 0.5) + np.arange(n)[:, None] * np.array([[0.01, -0.01]])
    names = np.array(["ok", "<fraud> & co"], dtype=object) if labels is None else labels
    return LabelledNodes(graph, names[np.arange(n) % 2], np.arange(n) < 2, P.max(axis=1), P, names)


def read_back(path):
    read = nx.read_gexf if path.suffix == ".gexf" else nx.read_graphml
    return read(path)


@pytest.mark.parametrize("suffix", [".gexf", ".graphml"])
@pytest.mark.parametrize("directed", [False, True])
def test_networkx_reads_back_what_was_written(tmp_path, suffix, directed):
    nodes = labelled(directed=directed)
    path = tmp_path / f"graph{suffix}"
    assert write_graph(nodes, path) == [path]
    found = read_back(path)
    assert found.is_directed() == directed
    assert sorted(found.nodes) == [str(k) for k in range(7)]
    assert found.number_of_edges() == 5
    assert found["1"]["2"]["weight"] == 2.5
    assert found["0"]["6"]["weight"] == 1 / 3  # to the last bit
    for k in range(7):
        held = found.nodes[str(k)]
        assert held["label"] == nodes.labels[k]
        assert held["given"] == (k < 2)
        assert held["confidence"] == nodes.confidence[k]
        assert held["p_<fraud> & co"] == nodes.probabilities[k, 1]


@pytest.mark.parametrize("suffix", [".gexf", ".graphml"])
def test_any_id_makes_valid_xml(tmp_path, suffix):
    path = tmp_path / f"graph{suffix}"
    write_graph(labelled(ids=np.array(ODD, dtype=object)), path)
    found = read_back(path)
    readable = [name.replace("\x01", "\ufffd") for name in ODD]
    assert sorted(found.nodes) == sorted(readable)
    assert found.has_edge(readable[1], readable[2])


def test_ids_that_would_be_written_alike_are_numbered(tmp_path):
    ids = np.array(["\x01", "\x02", *"abcde"], dtype=object)
    path = tmp_path / "graph.graphml"
    write_graph(labelled(ids=ids), path)
    assert sorted(read_back(path).nodes) == [f"n{k}" for k in range(7)]


@pytest.mark.parametrize("suffix", [".gexf", ".graphml"])
def test_kinds_of_edges_are_an_attribute(tmp_path, suffix):
    path = tmp_path / f"graph{suffix}"
    write_graph(labelled(kinds=True), path)
    found = read_back(path)
    kinds = [data["kind"] for *_, data in found.edges(data=True)]
    assert kinds.count("<cites>") == 5
    assert kinds.count("same") == 2


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_tables_of_nodes_and_edges(tmp_path, suffix):
    nodes = labelled(ids=np.array(list("abcdefg"), dtype=object), kinds=True)
    path = tmp_path / f"graph{suffix}"
    written = write_graph(nodes, path)
    assert written == [path, tmp_path / f"graph.edges{suffix}"]
    read = pq.read_table if suffix == ".parquet" else csv.read_csv
    table, edges = (read(one).to_pydict() for one in written)
    assert list(table) == ["node", "label", "given", "confidence", "p_ok", "p_<fraud> & co"]
    assert table["node"] == list("abcdefg")
    assert list(edges) == ["source", "target", "weight", "kind"]
    assert len(edges["source"]) == 7
    assert (edges["source"][0], edges["target"][0], edges["kind"][0]) == ("a", "b", "<cites>")


def test_whole_numbers_and_bools_keep_their_types(tmp_path):
    path = tmp_path / "graph.graphml"
    write_graph(labelled(labels=np.array([3, 7])), path)
    assert read_back(path).nodes["1"]["label"] == 7
    write_graph(labelled(labels=np.array([True, False])), path)
    assert read_back(path).nodes["0"]["label"] is True


def test_another_name_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(InputError, match="ends in none of .gexf, .graphml, .parquet, .csv"):
        write_graph(labelled(), tmp_path / "graph.dot")
    assert not list(tmp_path.iterdir())
