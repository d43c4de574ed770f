"""Eq. 1 of the paper: APPNP and SGC solve the inner problem min_F ||g(X) - F||^2 + lambda tr(F' L F), APPNP in every
epoch for g an MLP, SGC once for g(X) = X; training solves the outer one."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.testing import assert_allclose

from altopt.datasets import communities
from altopt.datasets.splits import hide
from altopt_lab.baselines import BASELINES
from altopt_lab.baselines.baseline import GraphData


@pytest.fixture(scope="module")
def data():
    return communities(n_nodes=60, n_classes=3, seed=2)


def laplacian(data):
    """L = I - A_tilde, A_tilde with self-loops, as both papers have it."""
    A = data.graph.adjacency.toarray() + np.eye(60)
    scale = 1 / np.sqrt(A.sum(axis=1))
    return np.eye(60) - scale[:, None] * A * scale


def half_gradient(F, G, L, weight):
    """Of the inner problem's objective at F."""
    return (F - G) + weight * L @ F


@pytest.mark.parametrize("restart", [0.1, 0.3, 0.8])
def test_appnp_solves_the_inner_problem_for_the_mlps_output(data, restart):
    """lambda = (1 - restart) / restart; with many steps F is the minimiser, with each one nearer to it."""
    y, L, weight = hide(data.y, range(20)), laplacian(data), (1 - restart) / restart
    errors = []
    for n_steps in (1, 5, 400):
        model = BASELINES["APPNP"](n_epochs=5, restart=restart, n_steps=n_steps, scale_rows=False)
        model.fit(data.X, y, data.graph)
        batch = model.prepare(GraphData(data.X, data.graph, y)).batch(None)
        network = model.network_.eval()
        with torch.no_grad():
            G, F = (part.double().numpy() for part in (network.perceptron(batch.X), network(batch)))
        minimiser = np.linalg.solve(np.eye(60) + weight * L, G)
        errors.append(np.linalg.norm(F - minimiser) / np.linalg.norm(minimiser))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-5
    assert_allclose(half_gradient(F, G, L, weight), 0.0, atol=1e-4 * np.abs(G).max() * (1 + weight))


@pytest.mark.parametrize("n_steps", [1, 2, 4])
def test_sgc_makes_gradient_steps_of_the_inner_problem_on_the_features_once(data, n_steps):
    """Each hop is one step of length 1 / (2 lambda) from F = X, for any lambda; the next begins where it ended."""
    y, L, weight = hide(data.y, range(20)), laplacian(data), 0.7
    model = BASELINES["SGC"](n_epochs=3, n_steps=n_steps, scale_rows=False).fit(data.X, y, data.graph)
    X = np.asarray(data.X.toarray() if sp.issparse(data.X) else data.X, dtype=np.float64)
    F = X
    for _ in range(n_steps):
        F = F - half_gradient(F, F, L, weight) / weight  # 2 (half gradient) / (2 lambda)
    rows = model.prepare(GraphData(data.X, data.graph, y)).batch(np.arange(60))[-1]
    linear = model.network_.linear
    with torch.no_grad():
        scores = linear(rows).double().numpy()
    W, b = (part.detach().double().numpy() for part in model.network_.parameters())
    assert_allclose(scores, F @ W.T + b, atol=1e-4)


def test_nothing_is_propagated_in_an_epoch_of_sgc_and_in_every_epoch_of_appnp(data, monkeypatch):
    """One-time and persistent: how often training multiplies by the graph, for 4 and for 8 epochs."""
    from altopt_lab.baselines import products

    calls = []
    for name in ("hops", "diffuse"):
        plain = getattr(products.Propagation, name)
        monkeypatch.setattr(
            products.Propagation,
            name,
            lambda self, *args, plain=plain, **more: calls.append(1) or plain(self, *args, **more),
        )
    y = hide(data.y, range(20))

    def count(method, n_epochs):
        calls.clear()
        BASELINES[method](n_epochs=n_epochs).fit(data.X, y, data.graph)
        return len(calls)

    assert count("SGC", 8) == count("SGC", 4)
    assert count("APPNP", 8) - count("APPNP", 4) == 4
