"""Algorithm 1 and appendix F: the order of events in a fit, to the letter."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from altopt import AltOpt, diffuse
from altopt.arrays import certainty, softmax
from altopt.encoders import MLPEncoder
from altopt.errors import InputError
from altopt.graph import Graph
from altopt.inputs import unit_sum
from altopt.operator import NormalizedAdjacency
from altopt.operator.kernels.reference import most_certain_per_class
from problems import two_communities


def by_hand(X, y, A, variant, l1=0.5, l2=5.0, tau=0.1, m=20, s=30, k=3, t=10, K=10, seed=0):
    """Algorithm 1 written out once more, without any of the library's loop, solvers or views."""
    A_tilde = NormalizedAdjacency(A)
    labelled = y >= 0
    Y = np.eye(2)[np.maximum(y, 0)] * labelled[:, None]
    X_diffused = diffuse(A_tilde, X.astype(np.float32), restart=0.1, n_steps=10)
    X_diffused = X_diffused / np.abs(X_diffused).sum(axis=1, keepdims=True)
    loss = "ce" if variant in ("ce", "N") else "mse"
    mlp = MLPEncoder(weight_decay=5e-5, loss=loss, reduction="sum").begin(X.shape[1], 2, seed)
    L = np.flatnonzero(labelled)
    mlp.train(X_diffused[L], Y[L], np.ones(len(L)), s)
    F, W = Y, None
    for last in [False] * (k - 1) + [True]:
        P = mlp.predict(X_diffused)
        W = certainty(P) if W is None else W
        for _ in range(K):
            kept = np.where(labelled[:, None], Y, F)
            LF = F - A_tilde @ F
            if variant == "mse":
                F = (A_tilde @ F + l1 * P + l2 * kept) / (l1 + l2 + 1)
            elif variant == "ce":
                F = (l1 / 2 * np.log(P) + A_tilde @ F + l2 * kept) / (1 + l2)
            elif variant == "N":
                S = softmax(F, 1.0)
                gradient = l1 * W[:, None] * (S - P) + 2 * LF + l2 * labelled[:, None] * (S - Y)
                F = F - gradient / (2 * (l1 + l2 + 1))
            else:
                half = l1 * (F - P) + (LF - A_tilde @ LF) + l2 * labelled[:, None] * (F - Y)
                F = F - half / (l1 + l2 + 2)
        if last:
            return F
        S = softmax(F, 1.0 if variant == "N" else tau)
        W = w = certainty(S)
        if variant == "N":  # every node, by its certainty; F itself goes on
            U = np.flatnonzero(~labelled)
        else:
            U, F = most_certain_per_class(w, S.argmax(axis=1), ~labelled, m), S
        rows = np.concatenate([L, U])
        mlp.train(X_diffused[rows], S[rows], np.concatenate([np.ones(len(L)), w[U]]), t)


@pytest.mark.parametrize("variant", ["mse", "ce", "H", "N"])
def test_paper_is_algorithm_1_to_the_letter(variant):
    X, y, _, A = two_communities()
    model = AltOpt.paper(variant, n_pseudo=20, n_warmup=30, n_rounds=3, total_epochs=30, random_state=0)
    model.fit(X, y, graph=A)
    assert_allclose(model.scores_, by_hand(X, y, A, variant), atol=1e-6)


@pytest.mark.parametrize("variant", ["mse", "ce", "H", "N"])
def test_every_variant_labels_the_communities(variant):
    X, y, truth, A = two_communities()
    model = AltOpt.paper(variant, n_pseudo=20, random_state=0).fit(X, y, graph=A)
    hidden = y < 0
    assert np.mean(model.transduction_[hidden] == truth[hidden]) > 0.9
    assert np.isfinite(model.label_distributions_).all()
    assert_allclose(model.label_distributions_.sum(axis=1), 1.0)


def test_without_diffusion_the_encoder_reads_the_features_themselves():
    X, y, _, A = two_communities()
    model = AltOpt.paper(diffusion=False, random_state=0).fit(X, y, graph=A)
    assert_allclose(model.inputs_.Z, X, atol=1e-6)


def test_without_pseudo_labels_the_encoder_sees_true_labels_only():
    X, y, _, A = two_communities()
    model = AltOpt.paper(pseudo_labels=False, random_state=0).fit(X, y, graph=A)
    assert all(entry["n_selected"] == 0 for entry in model.trace_)


def test_rounds_are_spread_evenly_over_the_epochs():
    for k, t in ((1, 500), (2, 250), (4, 125), (5, 100)):
        assert AltOpt.paper(n_rounds=k).n_epochs == t


def test_full_updates_F_in_every_epoch():
    X, y, _, A = two_communities()
    model = AltOpt.paper(n_rounds="full", total_epochs=12, n_warmup=5, random_state=0).fit(X, y, graph=A)
    assert model.n_iter_ == 12


@pytest.mark.parametrize("k", [1, 2, 4])
def test_k_updates_are_k_updates(k):
    X, y, _, A = two_communities()
    model = AltOpt.paper(n_rounds=k, total_epochs=40, random_state=0).fit(X, y, graph=A)
    assert model.n_iter_ == k


def test_no_update_of_F_is_refused():
    with pytest.raises(InputError, match="n_rounds must be at least 1"):
        AltOpt.paper(n_rounds=0)


def test_the_papers_loss_is_a_sum():
    """Beside a sum weight decay counts by the number of rows less: as a mean with as much less decay."""
    X, y, _, _ = two_communities()
    known = np.flatnonzero(y >= 0)
    n, targets = len(known), np.eye(2)[y[known]]
    states = []
    for reduction, decay in (("sum", 0.01), ("mean", 0.01 / n), ("mean", 0.01)):
        encoder = MLPEncoder(reduction=reduction, weight_decay=decay, dropout=0.0, input_dropout=0.0)
        learner = encoder.begin(X.shape[1], 2, seed=0)
        learner.train(X[known], targets, np.ones(n), 50)
        states.append(learner.predict(X))
    assert AltOpt.paper().encoder.reduction == "sum"
    assert_allclose(states[0], states[1], atol=1e-3)
    assert np.abs(states[0] - states[2]).max() > 1e-2


def test_the_default_stops_early_and_says_why():
    X, y, _, A = two_communities()
    model = AltOpt(n_rounds=50, random_state=0).fit(X, y, graph=A)
    assert len(model.trace_) < 51
    assert model.outcome_.startswith("Stopped after")


def test_the_best_round_on_validation_labels_is_kept_and_reported():
    X, y, truth, A = two_communities()
    hidden = np.flatnonzero(y < 0)
    nodes = hidden[:30]
    model = AltOpt.paper(random_state=0).fit(X, y, graph=A, validation=(nodes, truth[nodes]))
    accuracies = [entry["validation"] for entry in model.trace_]
    of_kept = np.mean(model.scores_[nodes].argmax(axis=1) == truth[nodes])
    assert of_kept == max(accuracies)
    assert "validation" in model.outcome_
    # validation labels choose the round and touch nothing else: the rounds themselves are the same
    without = AltOpt.paper(random_state=0).fit(X, y, graph=A)
    assert [e["objective"] for e in without.trace_] == [e["objective"] for e in model.trace_]


def test_inductive_setting_of_the_paper():
    """Encoder on the original features of the training graph; feature-enhanced propagation on the full graph."""
    X, _, truth, A = two_communities(n=160)
    known = np.arange(100)
    inside = A[known][:, known]
    model = AltOpt.paper(diffusion=False, random_state=0).fit(X[known], truth[known], graph=inside)
    new = np.arange(100, 160)
    coo = A.tocoo()
    to_known = [(i - 100, j) for i, j in zip(*coo.coords) if i >= 100 and j < 100]
    import pandas as pd

    among = pd.DataFrame(
        [(i - 100, j - 100) for i, j in zip(*coo.coords) if i >= 100 and j >= 100],
        columns=["source", "target"],
    )
    probabilities = model.predict_proba(X[new], edges=[to_known, among])
    # by hand, Eqs. 4-5 on the whole graph from F = Y
    A_tilde = NormalizedAdjacency(Graph(A).adjacency)
    P = model.encoder_.predict(unit_sum(X.astype(np.float32)))
    labelled = np.arange(160)[:, None] < 100
    Y = np.eye(2)[truth] * labelled
    F = Y
    for _ in range(10):
        F = (A_tilde @ F + 0.5 * P + 5.0 * np.where(labelled, Y, F)) / 6.5
    assert_allclose(probabilities, softmax(F[new], 0.1), atol=1e-6)
    assert np.mean(model.predict(X[new], edges=[to_known, among]) == truth[new]) > 0.9
    assert_array_equal(model.predict(X[new]).shape, (60,))
