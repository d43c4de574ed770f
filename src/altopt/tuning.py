"""Cross-validation and grid search with a graph: labels are held back, and every node stays in the fit."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn import model_selection
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.fitted.questions import FittedQuestions
from altopt.graph.validation import as_column, known_labels, plain_labels

SEED = 0  # of the folds, where only their number is given


def cross_val_score(
    model: BaseEstimator,
    X: Any,
    y: Any,
    graph: Any = None,
    *,
    cv: Any = 5,
    scoring: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    n_jobs: int | None = None,
) -> Array:
    """The score of each fold: its labels are hidden, the model is fitted on all nodes, and they are compared.

    Parameters
    ----------
    model : AltOpt, or a Pipeline that ends with one
        It is cloned, never fitted itself.
    X, y, graph, sample_weight
        As in `AltOpt.fit`.
    cv : int, splitter of scikit-learn, or list of (train, test), default 5
        Over the labelled nodes, in the order of their rows. A number makes stratified folds, shuffled by a fixed seed.
    scoring : str, callable or None
        Any scorer of scikit-learn for classifiers; None is the accuracy. A callable is given (estimator, nodes, y): the
        positions of the nodes, and an estimator that answers for them.
    groups : array-like (n_nodes,), optional
        Of each node, for splitters that keep groups together.
    n_jobs : int, optional
        Folds at once, as in scikit-learn.

    Returns
    -------
    ndarray (n_folds,)

    Examples
    --------
    >>> from altopt import AltOpt, cross_val_score, datasets
    >>> from altopt.datasets.splits import hide, per_class
    >>> data = datasets.communities(n_nodes=200, seed=0)
    >>> y = hide(data.y, per_class(data.y, 6, n_validation=0, n_test=0, seed=0).train)
    >>> cross_val_score(AltOpt(cross_fit=False, random_state=0), data.X, y, graph=data.graph, cv=3).shape
    (3,)
    """
    data, labels = read(model, X, y, graph, sample_weight)
    found = model_selection.cross_val_score(
        OnGraph(model, data),
        data.nodes,
        labels,
        cv=as_splitter(cv, labels),
        scoring=scoring,
        groups=None if groups is None else np.asarray(groups)[data.nodes[:, 0]],
        n_jobs=n_jobs,
        error_score="raise",
    )
    return np.asarray(found)


class GridSearch(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The best of a grid of settings, by labels held back in turn; every node stays in each fit.

    Parameters
    ----------
    model : AltOpt, or a Pipeline that ends with one
    grid : dict {parameter: list of values}, or list of such
    cv, scoring, n_jobs
        As in `cross_val_score`.

    Attributes
    ----------
    best_params_, best_score_, best_index_, cv_results_
        As in scikit-learn's GridSearchCV.
    best_estimator_ : the model with the best settings, fitted with all labels

    Examples
    --------
    >>> from altopt import AltOpt, GridSearch, datasets
    >>> from altopt.datasets.splits import hide, per_class
    >>> data = datasets.communities(n_nodes=200, seed=0)
    >>> y = hide(data.y, per_class(data.y, 6, n_validation=0, n_test=0, seed=0).train)
    >>> search = GridSearch(AltOpt(cross_fit=False, random_state=0), {"feature_weight": [0.5, 2.0]}, cv=3)
    >>> sorted(search.fit(data.X, y, graph=data.graph).best_params_)
    ['feature_weight']
    """

    def __init__(
        self, model: BaseEstimator, grid: Any, *, cv: Any = 5, scoring: Any = None, n_jobs: int | None = None
    ) -> None:
        self.model = model
        self.grid = grid
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, graph: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Score each setting by labels held back, then fit the best one with all of them."""
        data, labels = read(self.model, X, y, graph, sample_weight)
        search = GridSearchCV(
            OnGraph(self.model, data),
            self.grid,
            cv=as_splitter(self.cv, labels),
            scoring=self.scoring,
            n_jobs=self.n_jobs,
            refit=False,
            error_score="raise",
        )
        search.fit(
            data.nodes, labels, groups=None if groups is None else np.asarray(groups)[data.nodes[:, 0]]
        )
        self.cv_results_ = search.cv_results_
        self.best_index_, self.best_score_ = search.best_index_, search.best_score_
        self.best_params_, self.n_splits_ = search.best_params_, search.n_splits_
        self.best_estimator_ = clone(self.model).set_params(**self.best_params_)
        self.best_estimator_.fit(X, y, **data.arguments(self.best_estimator_))
        return self

    @property
    def classes_(self) -> Array:
        return np.asarray(self.best_estimator_.classes_)

    def predict(self, X: Any, **arguments: Any) -> Array:
        """As the best model's predict."""
        return np.asarray(self.best_estimator_.predict(X, **arguments))

    def predict_proba(self, X: Any, **arguments: Any) -> Array:
        """As the best model's predict_proba."""
        return np.asarray(self.best_estimator_.predict_proba(X, **arguments))


@dataclass(frozen=True)
class LabelledGraph:
    """What a fit needs besides its settings, and the labels that can be held back."""

    X: Any
    graph: Any
    sample_weight: Any
    y: Any  # as it was given
    ids: Array | None  # of the labels, where y names its nodes
    values: Array  # of y, known or not
    known: Array  # positions in `values`
    classes: Array

    @property
    def nodes(self) -> Array:
        """The labels' places in y, as a column: what scikit-learn divides into folds."""
        return self.known[:, None]

    def arguments(self, model: BaseEstimator) -> dict[str, Any]:
        """The keyword arguments of the model's fit; of a pipeline's, those of its last step."""
        steps = getattr(model, "steps", None)
        prefix = f"{steps[-1][0]}__" if steps else ""
        given = {"graph": self.graph, "sample_weight": self.sample_weight}
        return {f"{prefix}{name}": value for name, value in given.items() if value is not None}

    def y_with(self, places: Array) -> Any:
        """y with these labels alone, in the form in which it was given."""
        if isinstance(self.y, Mapping) and self.ids is not None:
            return dict(zip(self.ids[places].tolist(), self.values[places].tolist()))
        shown = np.full(len(self.values), None, dtype=object)
        shown[places] = self.values[places]
        if hasattr(self.y, "iloc"):
            return type(self.y)(shown, index=self.y.index, dtype=object)
        return shown

    def rows(self, fitted: FittedQuestions, places: Array) -> Array:
        """Where the fitted model has the nodes of these labels."""
        if self.ids is None:
            return places
        try:
            return np.asarray(fitted.graph_.positions(self.ids[places].tolist()))
        except InputError:  # an index that is none of ids: y was read by its order
            return places


def read(model: BaseEstimator, X: Any, y: Any, graph: Any, sample_weight: Any) -> tuple[LabelledGraph, Array]:
    """The data, and the label of each labelled node."""
    if not hasattr(model, "fit") or isinstance(model, type):
        raise InputError(f"model must be an AltOpt or a Pipeline that ends with one, but is {model!r}.")
    ids: Array | None = None
    if isinstance(y, Mapping):
        ids, values = np.empty(len(y), dtype=object), np.empty(len(y), dtype=object)
        ids[:], values[:] = list(y), list(y.values())
    else:
        values = as_column(y)
        if hasattr(y, "iloc"):
            ids = np.asarray(y.index, dtype=object)
    known = np.flatnonzero(known_labels(values))
    if not len(known):
        raise InputError(
            "y holds no label at all: every entry is -1, None or NaN. Give at least two classes."
        )
    labels = plain_labels(values[known], known)
    return LabelledGraph(X, graph, sample_weight, y, ids, values, known, np.unique(labels)), labels


def as_splitter(cv: Any, labels: Array) -> Any:
    """Folds of the labelled nodes: stratified and shuffled where only their number is given."""
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer):
        return cv
    most = int(np.unique(labels, return_counts=True)[1].max())
    if not 2 <= cv <= most:
        raise InputError(
            f"cv={cv} cannot be done: folds must be 2 or more, and the largest class has {most:,} labels. "
            "Give another number, a splitter of scikit-learn, or a list of (train, test) over the labelled nodes."
        )
    return StratifiedKFold(int(cv), shuffle=True, random_state=SEED)


class OnGraph(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A model tied to a graph: fitted with some of the labels, it answers for nodes by their place in y."""

    def __init__(self, model: BaseEstimator, data: LabelledGraph) -> None:
        self.model = model
        self.data = data

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Those of the model."""
        params: dict[str, Any] = self.model.get_params(deep=deep)
        return params

    def set_params(self, **params: Any) -> Self:
        self.model.set_params(**params)
        return self

    def __sklearn_clone__(self) -> "OnGraph":
        return OnGraph(clone(self.model), self.data)  # without a copy of X and the graph

    def fit(self, nodes: Any, y: Any) -> Self:
        model, data = self.model, self.data
        last = model.steps[-1][1] if hasattr(model, "steps") else model
        self.classes_ = data.classes
        with warnings.catch_warnings():
            if getattr(last, "classes", data.classes) is None:
                # all folds have the same columns, also one in whose training labels a class is missing
                last.set_params(classes=data.classes)
                warnings.filterwarnings("ignore", message=".*declared classes have no labelled node")
            model.fit(data.X, data.y_with(np.asarray(nodes)[:, 0]), **data.arguments(model))
        self.fitted_ = last if not hasattr(model, "steps") else model.steps[-1][1]
        return self

    def predict(self, nodes: Any) -> Array:
        rows = self.data.rows(self.fitted_, np.asarray(nodes)[:, 0])
        return np.asarray(self.fitted_.transduction_[rows])

    def predict_proba(self, nodes: Any) -> Array:
        rows = self.data.rows(self.fitted_, np.asarray(nodes)[:, 0])
        return np.asarray(self.fitted_.label_distributions_[rows])
