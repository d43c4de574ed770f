"""Tuning with a graph: labels are held back, nodes are not, and scikit-learn's own scorers and splitters serve."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.model_selection import cross_val_score as plain_cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from altopt import AltOpt, GridSearch, InputError, cross_val_score
from problems import two_communities

MODEL = AltOpt(cross_fit=False, random_state=0)


@pytest.fixture
def problem():
    X, y, _, A = two_communities()
    return X, y, A


def by_hand(X, y, A, splits):
    """Accuracy on each fold's labels, hidden one fold at a time."""
    labelled = np.flatnonzero(y != -1)
    found = []
    for train, test in splits:
        shown = np.full(len(y), -1)
        shown[labelled[train]] = y[labelled[train]]
        model = AltOpt(cross_fit=False, random_state=0).fit(X, shown, graph=A)
        found.append(np.mean(model.transduction_[labelled[test]] == y[labelled[test]]))
    return found


def test_each_fold_hides_labels_and_keeps_all_nodes(problem):
    X, y, A = problem
    labels = y[y != -1]
    splits = list(KFold(4).split(labels))
    expected = by_hand(X, y, A, splits)
    assert_allclose(cross_val_score(MODEL, X, y, graph=A, cv=splits), expected)
    assert_allclose(cross_val_score(MODEL, X, y, graph=A, cv=KFold(4)), expected)
    assert cross_val_score(MODEL, X, y, graph=A, cv=3).shape == (3,)


@pytest.mark.parametrize(
    "scoring", ["balanced_accuracy", "roc_auc", "neg_log_loss", "f1_macro", make_scorer(accuracy_score)]
)
def test_any_scorer_of_scikit_learn_serves(problem, scoring):
    X, y, A = problem
    scores = cross_val_score(MODEL, X, y, graph=A, cv=2, scoring=scoring)
    assert np.isfinite(scores).all()


def test_a_callable_answers_for_nodes(problem):
    X, y, A = problem
    seen = []

    def score(estimator, nodes, truth):
        seen.extend(nodes[:, 0].tolist())
        assert_array_equal(truth, y[nodes[:, 0]])
        return estimator.score(nodes, truth)

    cross_val_score(MODEL, X, y, graph=A, cv=2, scoring=score)
    assert sorted(seen) == np.flatnonzero(y != -1).tolist()


def test_labels_by_id_are_found_again(problem):
    X, y, A = problem
    names = np.array([f"n{k}" for k in range(len(y))])
    edges = pd.DataFrame({"source": names[A.tocoo().row], "target": names[A.tocoo().col]})
    frame = pd.DataFrame(X, index=names)
    series = pd.Series([None if v == -1 else f"c{v}" for v in y], index=names)
    by_position = cross_val_score(MODEL, X, y, graph=A, cv=3)
    assert_allclose(cross_val_score(MODEL, frame, series, graph=edges, cv=3), by_position)


def test_groups_stay_together(problem):
    X, y, A = problem
    scores = cross_val_score(MODEL, X, y, graph=A, cv=GroupKFold(2), groups=np.arange(len(y)) // 2 % 2)
    assert len(scores) == 2


def test_a_grid_search_leaves_what_scikit_learn_leaves(problem):
    X, y, A = problem
    grid = {"feature_weight": [0.5, 2.0], "restart": [0.1, 0.9]}
    search = GridSearch(MODEL, grid, cv=2, scoring="neg_log_loss").fit(X, y, graph=A)
    results = search.cv_results_
    assert len(results["params"]) == len(results["rank_test_score"]) == 4
    assert {"mean_test_score", "std_test_score", "split1_test_score", "param_restart"} <= results.keys()
    assert search.best_params_ == results["params"][search.best_index_]
    assert search.best_score_ == results["mean_test_score"].max()
    assert search.best_estimator_.feature_weight == search.best_params_["feature_weight"]
    assert search.best_estimator_.classes is None  # what the folds were given is not left in it
    assert_array_equal(search.best_estimator_.labelled_, y != -1)  # refitted with all labels
    assert_array_equal(search.predict(X[:3]), search.best_estimator_.predict(X[:3]))


def test_a_pipeline_is_searched_by_the_names_of_its_steps(problem):
    X, y, A = problem
    model = make_pipeline(StandardScaler(), MODEL)
    search = GridSearch(model, {"altopt__restart": [0.1, 0.9]}, cv=2).fit(X, y, graph=A)
    assert set(search.best_params_) == {"altopt__restart"}


def test_a_class_that_a_fold_lacks_keeps_its_column():
    X, y, _, A = two_communities()
    y = y.copy()
    y[np.flatnonzero(y == -1)[0]] = 2  # a class with one label
    labelled = np.flatnonzero(y != -1)
    rare = np.flatnonzero(y[labelled] == 2)
    split = [(np.setdiff1d(np.arange(len(labelled)), rare), np.append(rare, 0))]
    scores = cross_val_score(MODEL, X, y, graph=A, cv=split, scoring="accuracy")
    assert scores[0] <= 0.5  # nobody can call it by a class that no label showed


@pytest.mark.parametrize("cv", [1, 99])
def test_folds_that_cannot_be_made_are_refused(problem, cv):
    X, y, A = problem
    with pytest.raises(InputError, match=f"^cv={cv} cannot be done: .* the largest class has 5 labels"):
        cross_val_score(MODEL, X, y, graph=A, cv=cv)


@pytest.mark.parametrize("as_edges", [True, False])
def test_scikit_learns_own_tools_name_these(problem, as_edges):
    X, y, A = problem
    graph = np.array(A.nonzero()) if as_edges else A
    hint = "altopt.cross_val_score and altopt.GridSearch keep every node"
    with pytest.raises(ValueError, match=hint):
        plain_cross_val_score(MODEL, X, y, cv=KFold(2), params={"graph": graph})
    with pytest.raises(ValueError, match=hint):
        GridSearchCV(MODEL, {"restart": [0.1]}, cv=KFold(2)).fit(X, y, graph=graph)
