"""Baselines for graphs whose neighbours differ: numbers as of PyTorch Geometric, or as written out densely."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.testing import assert_allclose

from altopt import InputError
from altopt.graph import Graph
from altopt_lab.baselines import GCNII, GPRGNN, H2GCN, LINKX, GeomGCN, MixHop
from altopt_lab.baselines.geomgcn import embedding, nearest, neighbourhoods, quarter
from altopt_lab.baselines.h2gcn import two_edges_apart
from altopt_lab.baselines.products import Features, Propagation
from problems import random_adjacency

nn = pytest.importorskip("torch_geometric.nn")
N, D, C = 40, 12, 3


@pytest.fixture(scope="module")
def graph():
    return random_adjacency(N, np.random.default_rng(0), weighted=False)


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(1)
    return sp.csr_array(rng.random((N, D)) * (rng.random((N, D)) < 0.3), dtype=np.float32)


def trained(kind, X, graph, **settings):
    codes = np.where(np.arange(N) % 4 == 0, np.arange(N) // 4 % C, -1)
    settings = {"n_epochs": 3, "hidden": 8, "dropout": 0.0, "scale_rows": False} | settings
    return kind(**settings).fit(X, codes, graph)


def edge_index(graph):
    return torch.from_numpy(np.stack(graph.tocoo().coords).astype(np.int64))


def agree(model, logits):
    found = torch.softmax(logits, dim=1).detach().numpy()
    assert_allclose(model.label_distributions_, found, atol=1e-5)


def dense(X):
    return torch.from_numpy(X.toarray())


@pytest.mark.parametrize("n_layers", [2, 3])
def test_mixhop_is_mixhopconvs(graph, X, n_layers):
    network = (model := trained(MixHop, X, graph, n_layers=n_layers)).network_
    H, ends = dense(X), edge_index(graph)
    for ours in network.layers:
        layer = nn.MixHopConv(H.shape[1], 8)
        layer.load_state_dict(ours.state_dict())
        H = torch.relu(layer(H, ends))
    agree(model, network.last(H))


def test_gcnii_is_gcn2convs(graph, X):
    network = (model := trained(GCNII, X, graph, depth=3, restart=0.3, theta=0.7)).network_
    H = start = torch.relu(network.first.linear(dense(X)))
    for k, ours in enumerate(network.layers):
        layer = nn.GCN2Conv(8, 0.3, 0.7, k + 1)
        layer.load_state_dict(ours.state_dict())
        H = torch.relu(layer(H, start, edge_index(graph)))
    agree(model, network.last(H))


@pytest.mark.parametrize("direction", ["out", "in", "both"])
def test_linkx_is_torch_geometrics(graph, X, direction):
    one_way = sp.csr_array(sp.triu(graph))
    model = trained(LINKX, X, Graph(one_way, directed=True), direction=direction, n_layers=3)
    ours = model.network_.eval()
    theirs = nn.LINKX(N, D, 8, C, 2).eval()
    state = {
        "edge_lin.weight": ours.edges.linear.weight.T,
        "edge_lin.bias": ours.edges.linear.bias,
        "node_mlp.lins.0.weight": ours.nodes.linear.weight,
        "node_mlp.lins.0.bias": ours.nodes.linear.bias,
    }
    for name, module in (("cat_lin1", ours.of_edges), ("cat_lin2", ours.of_nodes), ("final_mlp", ours.last)):
        state |= {f"{name}.{key}": value for key, value in module.state_dict().items()}
    theirs.load_state_dict(state)
    rows = {"out": one_way, "in": one_way.T, "both": graph}[direction]
    # PyTorch Geometric sums over the edges that lead to a node: row i of A are those that leave it
    agree(model, theirs(dense(X), edge_index(sp.csr_array(rows)).flip(0)))


def test_the_polynomial_is_written_out(graph, X):
    network = (model := trained(GPRGNN, X, graph, n_steps=4, restart=0.3, late_dropout=0.0)).network_
    A = torch.from_numpy(Propagation(graph).operator.as_dense()).float()
    H = network.perceptron(Features(X))
    agree(
        model, sum(weight * torch.linalg.matrix_power(A, k) @ H for k, weight in enumerate(network.weights))
    )


def test_the_polynomial_starts_at_page_rank(graph, X):
    start = trained(GPRGNN, X, graph, n_epochs=0, n_steps=3, restart=0.2).network_.weights.detach().numpy()
    assert_allclose(start, [0.2, 0.2 * 0.8, 0.2 * 0.8**2, 0.8**3], rtol=1e-6)
    assert start.sum() == pytest.approx(1.0)


def test_two_edges_apart_is_distance_two(graph):
    from scipy.sparse.csgraph import shortest_path

    distances = shortest_path(graph, unweighted=True)
    assert_allclose(two_edges_apart(graph).toarray(), distances == 2)


def test_h2gcn_is_written_out(graph, X):
    network = (model := trained(H2GCN, X, graph)).network_
    near, far = (
        torch.from_numpy(Propagation(A, self_loops=False).operator.as_dense()).float()
        for A in (graph, two_edges_apart(graph))
    )
    R0 = torch.relu(network.first.linear(dense(X)))
    R1 = torch.cat([near @ R0, far @ R0], dim=1)
    R2 = torch.cat([near @ R1, far @ R1], dim=1)
    agree(model, network.last(torch.cat([R0, R1, R2], dim=1)))


def test_a_path_is_laid_out_along_a_line():
    path = sp.csr_array(sp.diags_array([np.ones(8), np.ones(8)], offsets=[-1, 1]))
    first = embedding(path)[:, 0]
    assert_allclose(np.diff(first), np.diff(first)[0], atol=1e-5)
    assert np.abs(first).max() == pytest.approx(1.0)


def test_the_nearest_pairs_are_the_nearest():
    plane = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 0.0], [5.0, 2.0]])
    assert nearest(plane, 2).toarray().tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert nearest(plane, 4).nnz == 4
    assert nearest(plane, 0).nnz == 0


def test_quarters_are_around_the_node():
    plane = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    assert quarter(plane, np.zeros(4, int), np.arange(1, 5)).tolist() == [3, 2, 1, 0]


def test_the_eight_parts_hold_every_neighbour_once(graph):
    matrices = [part.forth.toarray() for part in neighbourhoods(graph)]
    assert len(matrices) == 8
    places = np.stack([matrix != 0 for matrix in matrices])
    off = ~np.eye(N, dtype=bool)
    assert_allclose(places[:4].sum(axis=0)[off], graph.toarray()[off])
    assert_allclose(places[4:].sum(axis=0)[off], nearest(embedding(graph), graph.nnz).toarray()[off])
    assert places[0].diagonal().all()
    assert not places[1:, np.arange(N), np.arange(N)].any()
    merged = sum(matrices[:4]) + sum(matrices[4:])
    degrees = 1 / np.diag(matrices[0])
    assert_allclose(merged, merged.T, atol=1e-6)
    assert_allclose((merged * np.sqrt(np.outer(degrees, degrees))).sum(axis=1), degrees, rtol=1e-5)


def test_geom_gcn_is_written_out(graph, X):
    network = (model := trained(GeomGCN, X, graph)).network_
    matrices = [torch.from_numpy(part.forth.toarray()) for part in neighbourhoods(graph)]
    H = network.first.linear(dense(X))
    H = torch.relu(torch.cat([A @ share for A, share in zip(matrices, H.chunk(8, dim=1))], dim=1))
    H = network.last(H)
    agree(model, torch.stack([A @ share for A, share in zip(matrices, H.chunk(8, dim=1))]).mean(dim=0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X, A: trained(LINKX, X, A, direction="up"), "direction is 'up'"),
        (lambda X, A: trained(GeomGCN, X, A, hidden=12), "hidden=12 must be a multiple of 8"),
        (
            lambda X, A: GeomGCN().fit(
                sp.csr_array((20_001, 3)), np.arange(20_001) % 2, sp.csr_array((20_001,) * 2)
            ),
            "20,001 are too many for it",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_words(make, message, graph, X):
    with pytest.raises(InputError, match=message):
        make(X, graph)
