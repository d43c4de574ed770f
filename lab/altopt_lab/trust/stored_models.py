"""Stored models of every kind, small, and everything that one is asked when it is loaded."""

import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from altopt import AltOpt, Graph
from altopt.arrays import Array
from altopt_lab.trust.doors import Problem

N = 60


def linear() -> Any:
    problem = Problem(N, 3, 4)
    problem.graph = Graph(problem.graph.adjacency, nodes=[f"n{k}" for k in range(N)])
    return problem.fit(cross_fit=True)


def nearest_neighbours() -> Any:
    problem = Problem(N, 3, 4)
    problem.graph = None
    return problem.fit()


def sparse() -> Any:
    import scipy.sparse as sp

    problem = Problem(N, 3, 4)
    problem.X = sp.csr_array(np.where(np.median(problem.X) < problem.X, problem.X, 0.0))
    return problem.fit()


def forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return Problem(N, 3, 4).fit(encoder=RandomForestClassifier(n_estimators=4, random_state=0))


def mlp() -> Any:
    from altopt.encoders import MLPEncoder

    return Problem(N, 3, 4).fit(encoder=MLPEncoder(hidden=(8,)), n_epochs=3, n_warmup=3)


MODELS: dict[str, Callable[[], Any]] = {
    "linear": linear,
    "nearest neighbours": nearest_neighbours,
    "sparse": sparse,
    "forest": forest,
    "mlp": mlp,
}


@cache
def stored(kind: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="stored-"))
    MODELS[kind]().save(folder / "model")
    return folder / "model"


@cache
def expected(kind: str) -> list[Array]:
    return answers(stored(kind))


def answers(folder: Path) -> list[Array]:
    """Everything that a loaded model is asked here."""
    model = AltOpt.load(folder)
    ids = list(model.graph_.ids)
    X = np.asarray(Problem(N, 3, 4).X[:4])
    told = model.explain(ids[7])
    held = [
        model.scores_,
        model.label_distributions_,
        model.confidence_,
        model.predict_proba(X),
        told.evidence,
    ]
    held.append(np.array([ids.index(entry[0]) for entry in model.suggest(3)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.update(labels={ids[30]: model.classes_[1]}, edges=[(ids[3], ids[41])])
    held += [model.scores_, model.label_distributions_]
    return [np.array(array, dtype=np.float64) for array in held]
