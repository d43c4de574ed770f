"""The laws every baseline meets: one line in a table, and all of them apply."""

from dataclasses import fields

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.testing import assert_allclose, assert_array_equal

from altopt import InputError
from altopt.datasets import communities
from altopt.datasets.splits import fraction, hide, per_class
from altopt_lab.baselines import BASELINES, HETEROPHILY, Baseline
from altopt_lab.baselines.training import Network

pytest.importorskip("torch_geometric")

EPOCHS = 30
ALL = BASELINES | HETEROPHILY


# steps that reach all of a small dense graph leave little but the largest class: there these hold on to their start
HOLDING = {"LP": {"alpha": 0.5}, "PTA": {"restart": 0.5}}


def quick(method: str, **settings) -> Baseline:
    kind, settings = ALL[method], HOLDING.get(method, {}) | settings
    if issubclass(kind, Network):
        settings = {
            "n_epochs": EPOCHS,
            "patience": None,
            "hidden": 16,
            "learning_rate": 0.05,
            "scale_rows": False,
        } | settings
    return kind(**settings)


@pytest.fixture(params=ALL)
def method(request):
    return request.param


@pytest.fixture(params=[method for method, kind in ALL.items() if issubclass(kind, Network)])
def network(request):
    return request.param


@pytest.fixture(scope="module")
def easy():
    """Three classes with informative words, ten labels each; the last node without edges or words."""
    data = communities(400, 3, n_features=60, features="words", mean_degree=24, seed=1)
    X, A = data.X.tolil(), data.graph.adjacency.tolil()
    X[-1] = 0
    A[-1], A[:, -1] = 0, 0
    split = per_class(data.y, 10, 60, 200, seed=0)
    return sp.csr_array(X), np.asarray(data.y), sp.csr_array(A), split


def fitted(method, easy, *, validation=True, seed=0, **settings):
    X, y, A, split = easy
    validation = (split.validation, y[split.validation]) if validation else None
    return quick(method, **settings).fit(X, hide(y, split.train), A, validation, seed=seed)


def balanced(labels, y, nodes):
    """The mean over the three classes of the share that is right: a third by chance or by the largest class alone."""
    return np.mean([np.mean(labels[nodes][y[nodes] == k] == k) for k in range(3)])


def test_every_node_gets_a_distribution(method, easy):
    model = fitted(method, easy)
    assert model.label_distributions_.shape == (400, 3)
    assert_allclose(model.label_distributions_.sum(axis=1), 1.0, atol=1e-12)
    assert (model.label_distributions_ >= 0).all()
    assert_array_equal(model.transduction_, model.label_distributions_.argmax(axis=1))


def test_the_seed_decides(method, easy):
    first, again, other = (fitted(method, easy, seed=seed) for seed in (3, 3, 4))
    assert_array_equal(first.label_distributions_, again.label_distributions_)
    if isinstance(first, Network):
        assert np.any(first.label_distributions_ != other.label_distributions_)


def test_torchs_own_random_numbers_are_left_alone(network, easy):
    before = torch.random.get_rng_state()
    fitted(network, easy, n_epochs=2)
    assert torch.equal(before, torch.random.get_rng_state())


def test_better_than_the_largest_class(method, easy):
    _, y, _, split = easy
    model = fitted(method, easy)
    assert balanced(model.transduction_, y, split.test) > 0.55


def test_validation_labels_choose_the_epoch_and_nothing_else(network, easy):
    with_labels = fitted(network, easy)
    assert with_labels.n_epochs_ == EPOCHS
    assert with_labels.best_epoch_ == np.argmax(with_labels.validation_accuracies_) + 1 or (
        with_labels.validation_accuracies_[with_labels.best_epoch_ - 1]
        == with_labels.validation_accuracies_.max()
    )
    without = fitted(network, easy, validation=False, n_epochs=with_labels.best_epoch_)
    assert_array_equal(with_labels.label_distributions_, without.label_distributions_)


def test_wrong_validation_labels_change_no_more_than_right_ones(method, easy):
    """All epochs look alike to labels of a class that does not exist; the first one then is kept, or nothing is."""
    X, y, A, split = easy
    model = quick(method).fit(X, hide(y, split.train), A, (split.validation, np.full(60, 99)))
    settings = {"n_epochs": model.best_epoch_} if isinstance(model, Network) else {}
    assert_array_equal(
        model.label_distributions_, fitted(method, easy, validation=False, **settings).label_distributions_
    )


def test_apply_on_the_training_graph_repeats_the_fit(method, easy):
    X, y, A, split = easy
    model = fitted(method, easy)
    found = model.apply(X, A, hide(y, split.train))
    assert_allclose(found, model.label_distributions_, atol=1e-7)


def test_apply_carries_over_to_a_larger_graph(method, easy):
    """Trained on a part of the graph, far better than chance on nodes that were not there."""
    X, y, A, _ = easy
    split = fraction(y, 0.6, seed=0)
    part = np.sort(split.train)
    validation = (split.validation, y[split.validation])
    if not ALL[method].inductive:
        with pytest.raises(InputError, match=r"cannot be applied to 400: .*such as GCN"):
            quick(method).fit(X[part], y[part], A[part][:, part]).apply(X, A)
        with pytest.raises(InputError, match=r"validation_in names another graph"):
            quick(method).fit(X[part], y[part], A[part][:, part], validation, validation_in=(X, A))
        return
    model = quick(method).fit(X[part], y[part], A[part][:, part], validation, validation_in=(X, A))
    found = model.apply(X, A, hide(y, split.train))
    assert found.shape == (400, 3)
    assert balanced(model.classes_[found.argmax(axis=1)], y, split.test) > 0.55


def test_renumbering_nodes_renumbers_the_answer(method, easy):
    """Without dropout, whose masks belong to places; to the accuracy of sums in another order."""
    X, y, A, split = easy
    order = np.random.default_rng(0).permutation(400)
    shown = hide(y, split.train)
    if method == "LINKX":
        pytest.skip(
            "LINKX learns a weight for each column of the adjacency, so that numbers of nodes matter to it"
        )
    settings = {"dropout": 0.0, "n_epochs": 5} if issubclass(ALL[method], Network) else {}
    settings |= {"late_dropout": 0.0} if method == "GPR-GNN" else {}
    first = quick(method, **settings).fit(X, shown, A)
    second = quick(method, **settings).fit(X[order], shown[order], A[order][:, order])
    assert_allclose(second.label_distributions_, first.label_distributions_[order], atol=2e-3)


def test_dense_and_sparse_features_give_the_same_answer(network, easy):
    X, y, A, split = easy
    answers = [
        quick(network, dropout=0.0, n_epochs=5).fit(form, hide(y, split.train), A).label_distributions_
        for form in (X, X.toarray())
    ]
    assert_allclose(answers[0], answers[1], atol=1e-4)


def test_text_labels_come_back(method, easy):
    X, y, A, split = easy
    names = np.array(["ant", "bee", "cow"], dtype=object)
    model = quick(method).fit(
        X, hide(names[y], split.train), A, (split.validation, names[y][split.validation])
    )
    assert_array_equal(model.transduction_, names[fitted(method, easy).transduction_])


def test_the_training_record(network, easy):
    model = fitted(network, easy)
    assert len(model.epoch_seconds_) == model.n_epochs_ == len(model.validation_accuracies_) == EPOCHS
    assert 1 <= model.best_epoch_ <= model.n_epochs_
    assert (model.epoch_seconds_ > 0).all()


def test_patience_ends_the_training(network, easy):
    """To labels of a class that does not exist no epoch is better than the first."""
    X, y, A, split = easy
    model = quick(network, patience=3).fit(X, hide(y, split.train), A, (split.validation, np.full(60, 99)))
    assert (model.n_epochs_, model.best_epoch_) == (4, 1)


def test_the_search_space_holds_settings_and_none_other(method):
    kind = ALL[method]
    assert kind.method == method
    for inductive in (False, True):
        space = kind.search_space(inductive=inductive)
        assert space.keys() <= {field.name for field in fields(kind)}
        assert all(isinstance(choices, tuple) and len(set(choices)) > 1 for choices in space.values())
        chosen = {name: choices[-1] for name, choices in space.items()}
        assert kind(**chosen).settings() == kind().settings() | chosen


def test_a_method_that_propagates_labels_asks_for_them(method, easy):
    X, _, A, _ = easy
    model = fitted(method, easy)
    if model.needs_labels:
        with pytest.raises(InputError, match=r"propagates labels.*Pass y="):
            model.apply(X, A)
    else:
        assert_allclose(model.apply(X, A), model.label_distributions_, atol=1e-7)


def test_validation_of_uneven_length_is_refused(method, easy):
    X, y, A, split = easy
    with pytest.raises(InputError, match="validation names 60 nodes and 2 labels"):
        quick(method).fit(X, hide(y, split.train), A, (split.validation, [0, 1]))


def test_networks_that_read_roots_are_those_fitted_on_roots(network, easy):
    X, y, A, split = easy
    shown = hide(y, split.train)
    counts = sp.csr_array((4.0 * X.data + 1.0, X.indices, X.indptr), shape=X.shape)
    read = quick(network, root=True).fit(counts, shown, graph=A)
    given = quick(network).fit(counts.sqrt(), shown, graph=A)
    assert_allclose(read.label_distributions_, given.label_distributions_, atol=1e-4)
    assert_allclose(read.apply(counts, A, shown), given.apply(counts.sqrt(), A, shown), atol=1e-4)
