"""Our products inside PyTorch Geometric's layers: the scores and gradients are those of the layers by themselves."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.testing import assert_allclose

from altopt.arrays import one_hot, shares
from altopt.datasets.splits import hide
from altopt.graph import Graph
from altopt.operator.kernels.dropout import Masks, dropout
from altopt_lab.baselines import APPNP, GAT, GCN, LP, PTA, SGC, SIGN, CorrectAndSmooth, PPRGo
from altopt_lab.baselines.attention import AttentionPattern, SparseAttention, attend
from altopt_lab.baselines.baseline import GraphData
from altopt_lab.baselines.pprgo import largest_entries, page_rank
from altopt_lab.baselines.products import Features, Propagation
from problems import random_adjacency

nn = pytest.importorskip("torch_geometric.nn")
N, D, C = 40, 12, 3


@pytest.fixture(params=["unweighted", "weighted"])
def data(request):
    rng = np.random.default_rng(0)
    A = random_adjacency(N, rng, weighted=request.param == "weighted")
    X = sp.csr_array(rng.random((N, D)) * (rng.random((N, D)) < 0.3), dtype=np.float32)
    codes = np.where(np.arange(N) % 4 == 0, np.arange(N) // 4 % C, -1)
    return GraphData(X, Graph(A), codes)


def edges(data):
    A = data.graph.adjacency.tocoo()
    ends = torch.from_numpy(np.stack(A.coords).astype(np.int64))
    return ends, torch.from_numpy(np.array(A.data, dtype=np.float32))


def trained(kind, data, **settings):
    settings = {"n_epochs": 3, "hidden": 8, "dropout": 0.0, "scale_rows": False} | settings
    return kind(**settings).fit(data.X, data.codes, data.graph)


def dense(data):
    return torch.from_numpy(data.X.toarray())


def agree(model, logits):
    assert_allclose(model.label_distributions_, torch.softmax(logits, 1).detach().numpy(), atol=1e-5)


def test_sparse_product_and_its_gradient_are_the_dense_ones(data):
    weights, chosen = torch.randn(5, D), torch.randn(N, 5)
    found, expected = [], []
    for X, into in ((Features(data.X), found), (dense(data), expected)):
        W = weights.clone().requires_grad_()
        out = X.times(W) if isinstance(X, Features) else X @ W.T
        (out * chosen).sum().backward()
        into += [out.detach(), W.grad]
    for ours, theirs in zip(found, expected):
        assert_allclose(ours, theirs, atol=1e-5)


def test_dropout_of_entries_scales_the_rest_and_leaves_zeros(data):
    X = Features(data.X)
    dropped = X.times(torch.eye(D), 0.5, Masks(1)).numpy()
    whole = data.X.toarray()
    assert_allclose(dropped[dropped != 0], 2 * whole[dropped != 0], rtol=1e-6)
    assert 0.3 < np.mean(dropped[whole != 0] != 0) < 0.7


@pytest.mark.parametrize("self_loops", [True, False])
def test_propagation_and_its_gradient_are_the_dense_ones(data, self_loops):
    A = Propagation(data.graph.adjacency, self_loops)
    ends, weights = A.edge_index()
    matrix = torch.zeros(N, N)
    matrix[ends[0], ends[1]] = weights
    chosen = torch.randn(N, 4)

    def by_hand(H, restart=0.2):
        Z = H
        for _ in range(7):
            Z = (1 - restart) * matrix @ Z + restart * H
        return Z

    start = torch.randn(N, 4)
    for ours, theirs in (
        (lambda H: A @ H, lambda H: matrix @ H),
        (lambda H: A.diffuse(H, 0.2, 7), by_hand),
    ):
        first, second = start.clone().requires_grad_(), start.clone().requires_grad_()
        out, expected = ours(first), theirs(second)
        (out * chosen).sum().backward()
        (expected * chosen).sum().backward()
        assert_allclose(out.detach(), expected.detach(), atol=1e-5)
        assert_allclose(first.grad, second.grad, atol=1e-5)


def test_the_matrix_is_torch_geometrics(data):
    from torch_geometric.nn.conv.gcn_conv import gcn_norm

    for self_loops in (True, False):
        ends, weights = gcn_norm(*edges(data), num_nodes=N, add_self_loops=self_loops)
        theirs = torch.zeros(N, N).index_put_(tuple(ends), weights, accumulate=True)
        ends, weights = Propagation(data.graph.adjacency, self_loops).edge_index()
        assert_allclose(torch.zeros(N, N).index_put_(tuple(ends), weights), theirs, atol=1e-6)


def test_gcn_is_gcnconvs(data):
    model = trained(GCN, data)
    layers = [nn.GCNConv(D, 8), nn.GCNConv(8, C)]
    first, second = model.network_.layers
    layers[0].lin.weight, layers[0].bias = model.network_.first.linear.weight, first.bias
    layers[1].lin.weight, layers[1].bias = second.lin.weight, second.bias
    H = torch.relu(layers[0](dense(data), *edges(data)))
    agree(model, layers[1](H, *edges(data)))


def test_appnp_is_torch_geometrics(data):
    ours, theirs = (trained(APPNP, data, propagation=who) for who in ("ours", "torch_geometric"))
    assert_allclose(ours.label_distributions_, theirs.label_distributions_, atol=1e-5)
    H = ours.network_.perceptron(Features(data.X))
    agree(ours, nn.APPNP(10, 0.1)(H, *edges(data)))


def test_sgc_is_sgconvs(data):
    model = trained(SGC, data)
    layer = nn.SGConv(D, C, K=2)
    layer.lin = model.network_.linear.linear
    agree(model, layer(dense(data), *edges(data)))


def test_sign_reads_what_the_transform_makes(data):
    from torch_geometric.data import Data
    from torch_geometric.transforms import SIGN as Transform

    ends, weights = edges(data)
    transformed = Transform(2)(Data(x=dense(data), edge_index=ends, edge_weight=weights))
    nodes = np.array([3, 30, 7, N - 1])
    hops = Propagation(data.graph.adjacency, self_loops=False).hops(data.X, nodes, 2)
    for ours, theirs in zip(hops, (transformed.x, transformed.x1, transformed.x2)):
        assert_allclose(ours.toarray() if sp.issparse(ours) else ours, theirs[nodes], atol=1e-5)
    model = trained(SIGN, data)
    first, (last,) = model.network_.first, model.network_.others
    H = torch.cat(
        [f.linear(x) for f, x in zip(first, (transformed.x, transformed.x1, transformed.x2))], dim=1
    )
    agree(model, last(torch.relu(H)))


def test_gat_is_gatconvs(data):
    model = trained(GAT, data, heads=2)
    first, second = model.network_.layers
    layers = [nn.GATConv(D, 4, 2), nn.GATConv(8, C)]
    layers[0].load_state_dict({**first.state_dict(), "lin.weight": model.network_.first.linear.weight})
    layers[1].load_state_dict(second.state_dict())
    ends, _ = edges(data)
    H = torch.nn.functional.elu(layers[0](dense(data), ends))
    agree(model, layers[1](H, ends))


def test_attention_has_gatconvs_gradients(data):
    pattern, layer = AttentionPattern(data.graph.adjacency), nn.GATConv(D, 4, 3, add_self_loops=False)
    X, chosen = dense(data), torch.randn(N, 12)
    found = []
    for score in (
        lambda: layer(X, pattern.edge_index()),
        lambda: attend(layer, layer.lin(X), pattern, 0.0, Masks(0)),
    ):
        layer.zero_grad()
        out = score()
        (out * chosen).sum().backward()
        found.append([out.detach(), *(parameter.grad.clone() for parameter in layer.parameters())])
    for theirs, ours in zip(*found):
        assert_allclose(ours, theirs, atol=1e-4)


def test_attention_with_dropout_is_the_dense_one_with_the_same_mask(data):
    pattern, rate = AttentionPattern(data.graph.adjacency), 0.4
    there = torch.zeros(N, N, dtype=torch.bool)
    there[pattern.rows, pattern.columns] = True
    mask = torch.zeros(N, N, 2)
    mask[pattern.rows, pattern.columns] = dropout(torch.ones(len(pattern.rows), 2), rate, Masks(7))

    def by_hand(H, s, t):
        e = torch.nn.functional.leaky_relu(s[None] + t[:, None], 0.2)
        a = torch.softmax(e.masked_fill(~there[:, :, None], -torch.inf), dim=1) * mask
        return torch.einsum("ijh,jhw->ihw", a, H)

    def ours(H, s, t):
        return SparseAttention.apply(H, s, t, pattern, rate, Masks(7))

    given, chosen = [torch.randn(N, 2, 3), torch.randn(N, 2), torch.randn(N, 2)], torch.randn(N, 2, 3)
    found = []
    for score in (by_hand, ours):
        leaves = [part.clone().requires_grad_() for part in given]
        out = score(*leaves)
        (out * chosen).sum().backward()
        found.append([out.detach(), *(leaf.grad for leaf in leaves)])
    for theirs, mine in zip(*found):
        assert_allclose(mine, theirs, atol=1e-4)


@pytest.mark.parametrize("hold", [False, True])
def test_lp_is_label_propagation(data, hold):
    model = LP(alpha=0.7, n_steps=4, hold=hold).fit(data.X, data.codes, data.graph)
    from torch_geometric.nn.conv.gcn_conv import gcn_norm

    ends, weights = gcn_norm(*edges(data), num_nodes=N, add_self_loops=False)
    Y = torch.from_numpy(one_hot(data.codes, C, np.float32))
    known = torch.from_numpy(data.codes >= 0)[:, None]
    given = {"post_step": lambda F: torch.where(known, Y, F.clamp(0.0, 1.0))} if hold else {}
    theirs = nn.LabelPropagation(4, 0.7)(Y, ends, edge_weight=weights, **given)
    assert_allclose(model.label_distributions_, shares(theirs.numpy()), atol=1e-5)
    said = model.label_distributions_[known.numpy().ravel()].argmax(axis=1)
    assert not hold or (said == data.codes[data.codes >= 0]).all()


@pytest.mark.parametrize("autoscale", [True, False])
def test_correct_and_smooth_is_torch_geometrics_on_training_labels_alone(data, autoscale):
    from torch_geometric.nn.conv.gcn_conv import gcn_norm

    truth = np.arange(N) % C
    nodes = np.flatnonzero(data.codes >= 0)
    shown = hide(truth, nodes)
    validation = np.setdiff1d(np.arange(N), nodes)[:10]
    model = CorrectAndSmooth(n_steps=5, autoscale=autoscale, n_epochs=5, scale_rows=False)
    model.fit(data.X, shown, data.graph, (validation, truth[validation]))
    with torch.no_grad():
        P = torch.softmax(model.network_(Features(data.X)), dim=1)
    ends, weights = gcn_norm(*edges(data), num_nodes=N, add_self_loops=False)
    process = nn.CorrectAndSmooth(5, 0.8, 5, 0.8, autoscale)
    known = torch.from_numpy(nodes), torch.from_numpy(truth[nodes])
    corrected = process.correct(P, known[1], known[0], ends, weights)
    theirs = process.smooth(corrected, known[1], known[0], ends, weights)
    assert_allclose(model.label_distributions_, shares(theirs.numpy()), atol=1e-4)


def test_page_rank_is_the_inverse_and_its_nearest_are_the_largest(data):
    A, restart = data.graph.adjacency.toarray(), 0.3
    degrees = A.sum(axis=1, keepdims=True)
    truth = restart * np.linalg.inv(np.eye(N) - (1 - restart) * A / np.where(degrees > 0, degrees, 1))
    nodes = np.array([5, 0, N - 1])
    found = page_rank(data.graph.adjacency, nodes, restart, tolerance=1e-9)
    assert_allclose(found.toarray(), truth[nodes], atol=1e-6)
    rough = page_rank(data.graph.adjacency, nodes, restart, tolerance=1e-3)
    assert (rough.toarray() <= truth[nodes] + 1e-9).all()
    kept = largest_entries(found, 4).toarray()
    assert (np.count_nonzero(kept, axis=1) == [4, 4, 1]).all()
    assert_allclose(np.sort(kept[0])[-4:], np.sort(truth[5])[-4:], atol=1e-6)


def test_pprgo_answers_by_power_iteration(data):
    model = trained(PPRGo, data, restart=0.3, n_steps=5)
    with torch.no_grad():
        H = model.network_.perceptron(Features(data.X)).numpy()
    A = data.graph.adjacency.toarray()
    degrees = A.sum(axis=1, keepdims=True)
    Z = H
    for _ in range(5):
        Z = 0.7 * (A / np.where(degrees > 0, degrees, 1)) @ Z + 0.3 * H
    agree(model, torch.from_numpy(Z))


def test_pta_learns_propagated_labels_and_spreads_its_answers(data):
    model = trained(PTA, data, n_steps=4, restart=0.2)
    ends, weights = Propagation(data.graph.adjacency).edge_index()
    matrix = torch.zeros(N, N).index_put_(tuple(ends), weights)

    def spread(S):
        Z = S
        for _ in range(4):
            Z = 0.8 * matrix @ Z + 0.2 * S
        return Z

    nodes, targets = model.training_targets(data)
    soft = spread(torch.from_numpy(one_hot(data.codes, C, np.float32)))
    assert_allclose(targets, soft[nodes], atol=1e-6)
    assert soft.sum(dim=1).numpy()[np.setdiff1d(np.arange(N), nodes)].sum() == 0
    with torch.no_grad():
        P = torch.softmax(model.network_.perceptron(Features(data.X)), dim=1)
    assert_allclose(model.label_distributions_, shares(spread(P).numpy()), atol=1e-5)


def test_ptas_loss_weighs_by_agreement_without_learning_through_it():
    logits, targets = torch.randn(6, C, requires_grad=True), torch.rand(6, C)
    epoch, model = 50, PTA()
    model.loss(logits, targets, epoch).backward()
    P = torch.softmax(logits.detach(), dim=1)
    weight = targets * P ** np.log(1 + epoch / 100) / targets.sum()
    assert_allclose(logits.grad, weight.sum(1, keepdim=True) * P - weight, atol=1e-6)
