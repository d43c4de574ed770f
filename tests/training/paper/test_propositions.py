"""Propositions 1 and 2 and appendix B, in their right form where the paper slips."""

import numpy as np
import pytest
from numpy.linalg import matrix_power
from numpy.testing import assert_allclose

from altopt import diffuse
from altopt.arrays import softmax
from altopt.solvers import GradientSteps
from altopt.views import GraphView, LabelView, Objective
from altopt.views.feature import FeatureView, cross_entropy
from problems import toy


@pytest.fixture
def problem():
    return toy(seed=4)


def averaging(A, alpha, K):
    """A_bar = (1 - alpha)^K A^K + alpha sum_{k<K} (1 - alpha)^k A^k."""
    total = (1 - alpha) ** K * matrix_power(A, K)
    return total + alpha * sum((1 - alpha) ** k * matrix_power(A, k) for k in range(K))


@pytest.mark.parametrize("K", [1, 2, 10])
@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_label_propagation_of_K_steps_is_A_bar(problem, K, alpha):
    """LP(Y, alpha) = A_bar Y: what `diffuse` computes."""
    expected = averaging(problem.A_tilde.as_dense(), alpha, K) @ problem.Y
    assert_allclose(diffuse(problem.A_tilde, problem.Y, restart=alpha, n_steps=K), expected, atol=1e-13)


@pytest.mark.parametrize("K", [1, 3, 10])
@pytest.mark.parametrize(("lambda1", "lambda2"), [(0.1, 1.0), (1.0, 5.0)])
def test_closed_form_of_the_propagation_corrected(problem, K, lambda1, lambda2):
    """F(K) = (1-a)^K A^K F(0) + sum_{j<K} (1-a)^j A^j ((a-b) P + b Y), every row labelled; no factor 1/a."""
    A = problem.A_tilde.as_dense()
    total = lambda1 + lambda2 + 1
    a, b = (lambda1 + lambda2) / total, lambda2 / total
    mixture = (a - b) * problem.P + b * problem.Y
    expected = (1 - a) ** K * matrix_power(A, K) @ problem.F
    expected = expected + sum((1 - a) ** j * matrix_power(A, j) @ mixture for j in range(K))

    all_nodes = np.ones(30, dtype=bool)
    views = (
        FeatureView(problem.P, lambda1),
        GraphView(problem.A_tilde),
        LabelView(problem.Y, all_nodes, lambda2),
    )
    assert_allclose(GradientSteps(n_steps=K).solve(Objective(views), problem.F).F, expected, atol=1e-12)


def test_the_printed_closed_form_is_off_by_one_over_alpha(problem):
    """With F(0) = ((a-b) P + b Y) / a the propagation is A_bar ((a-b) P + b Y) / a: the paper dropped 1/a."""
    lambda1, lambda2, K = 0.5, 2.0, 6
    total = lambda1 + lambda2 + 1
    a, b = (lambda1 + lambda2) / total, lambda2 / total
    mixture = (a - b) * problem.P + b * problem.Y
    all_nodes = np.ones(30, dtype=bool)
    views = (
        FeatureView(problem.P, lambda1),
        GraphView(problem.A_tilde),
        LabelView(problem.Y, all_nodes, lambda2),
    )
    F = GradientSteps(n_steps=K).solve(Objective(views), mixture / a).F
    A_bar = averaging(problem.A_tilde.as_dense(), a, K)
    assert_allclose(F, A_bar @ mixture / a, atol=1e-12)
    assert not np.allclose(F, A_bar @ mixture, atol=1e-3)


def test_label_propagation_minimises_its_objective(problem):
    """Appendix B: Q = tr(P' L P) + mu ||P - Y||^2 is minimised by the limit of LP with alpha = mu / (1 + mu)."""
    mu = 0.25
    limit = diffuse(problem.A_tilde, problem.Y, restart=mu / (1 + mu), n_steps=400)
    L = np.eye(30) - problem.A_tilde.as_dense()
    assert_allclose(L @ limit + mu * (limit - problem.Y), 0.0, atol=1e-9)


def test_cross_entropy_loss_splits_into_pseudo_labels_and_labels(problem):
    """Proposition 2 with the right factor: CE(f, A_bar ((a-b) f' + b Y) / a) is linear in its targets."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=problem.P.shape)
    lambda1, lambda2, K = 0.5, 2.0, 4
    total = lambda1 + lambda2 + 1
    a, b = (lambda1 + lambda2) / total, lambda2 / total
    A_bar = averaging(problem.A_tilde.as_dense(), a, K)
    loss = cross_entropy(A_bar @ ((a - b) * problem.P + b * problem.Y) / a, logits).sum()
    log_f = np.log(softmax(logits))
    pairs_pseudo = -(A_bar * (log_f @ problem.P.T)).sum()
    pairs_labels = -(A_bar * (log_f @ problem.Y.T))[:, problem.labelled].sum()
    assert loss == pytest.approx(((a - b) * pairs_pseudo + b * pairs_labels) / a)
