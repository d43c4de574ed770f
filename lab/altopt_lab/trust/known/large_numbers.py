"""Features and weights at the ends of what floats hold: a finite, sensible answer and an honest promise, or refusal."""

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt import AltOpt, Graph
from altopt.arrays import Array
from altopt.errors import InputError
from altopt_lab.trust.doors import Problem
from altopt_lab.trust.known.case import Case, fault
from altopt_lab.trust.part import Outcome

LOSS, EXCESS = 0.06, 0.1  # of accuracy against plain features; of the promised accuracy over the true one


def holds(
    _: Path, change: Callable[[Array], Any], graph: bool = True, cross_fit: bool = True, loss: float = LOSS
) -> Outcome:
    problem = Problem(200, 3, 8)
    plain = accuracy(problem, problem.X, graph, cross_fit)[0]
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            got, model = accuracy(problem, change(problem.X.copy()), graph, cross_fit)
    except InputError as error:
        return Outcome("refused", str(error))
    said = [str(entry.message) for entry in heard]
    for name in ("scores_", "label_distributions_", "confidence_"):
        if not np.isfinite(getattr(model, name)).all():
            return fault(f"{name} is not finite")
    if got < plain - loss and not any("encountered in" not in line for line in said):
        return fault(f"accuracy {got:.3f}, {plain:.3f} with plain features, and no word about it")
    promise = model.leave_one_out_.accuracy if cross_fit else got
    if promise > got + EXCESS:
        return fault(f"promised {promise:.3f}, true {got:.3f}")
    numpys = [line for line in said if "encountered in" in line]
    return fault(f"numpy's warning reaches the user: {numpys[0]}") if numpys else Outcome("fine")


def accuracy(problem: Problem, X: Any, graph: bool, cross_fit: bool) -> tuple[float, Any]:
    model = AltOpt(random_state=0, cross_fit=cross_fit).fit(
        X, problem.y, graph=problem.graph if graph else None
    )
    rest = problem.y < 0
    return float(np.mean(model.transduction_[rest] == problem.truth[rest])), model


def times(X: Array, factor: float) -> Array:
    return X * factor


def sparse_times(X: Array, factor: float) -> Any:
    return sp.csr_array(X * factor)


def column_times(X: Array, factor: float) -> Array:
    X[:, 0] *= factor
    return X


def constant_column(X: Array, value: float) -> Array:
    X[:, 0] = value
    return X


def mixed_rows(X: Array) -> Array:
    """Each node in units of its own, from 1e-200 to 1e200: not much can be learnt from these, but promised neither."""
    return np.asarray(X * 10.0 ** np.linspace(-200, 200, len(X))[:, None])


def weighted(_: Path, weights: Callable[[int], Array]) -> Outcome:
    """Edges of extreme weights."""
    problem = Problem(200, 3, 8)
    A = problem.graph.adjacency.tocoo()
    keep = A.row < A.col
    rows = np.column_stack([A.row[keep], A.col[keep], weights(int(keep.sum()))])
    try:
        graph = Graph([(int(i), int(j), float(w)) for i, j, w in rows], n_nodes=200)
        model = AltOpt(random_state=0).fit(problem.X, problem.y, graph=graph)
        model.update(labels={150: 1})
    except InputError as error:
        return Outcome("refused", str(error))
    finite = np.isfinite(model.scores_).all() and np.isfinite(model.label_distributions_).all()
    return Outcome("fine") if finite else fault("not finite")


def new_rows(_: Path, factor: float, known: bool) -> Outcome:
    """Extreme features of new nodes, for a plain model."""
    problem = Problem(200, 3, 8)
    model = problem.fit()
    X = problem.X[:3] * factor
    try:
        if known:
            model.update(nodes=[900, 901, 902], features=X, edges=[(900, 1), (901, 2), (902, 3)])
            held = np.asarray(model.label_distributions_)
        else:
            held = np.asarray(model.predict_proba(X))
    except InputError as error:
        return Outcome("refused", str(error))
    return Outcome("fine") if np.isfinite(held).all() else fault("probabilities are not finite")


def spread(n: int) -> Array:
    return np.asarray(10.0 ** np.linspace(-300, 300, n))


def case(name: str, use: Any, original: bool = True) -> Case:
    return Case(name, use, original, 60)


CASES = [
    case(
        "X 1e154, without cross-fitting", partial(holds, change=partial(times, factor=1e154), cross_fit=False)
    ),
    case("X 1e200, without a graph", partial(holds, change=partial(times, factor=1e200), graph=False)),
    case("a column 4e38", partial(holds, change=partial(column_times, factor=4e38))),
    case("a column 1e100", partial(holds, change=partial(column_times, factor=1e100))),
    case("a constant column of 1e39", partial(holds, change=partial(constant_column, value=1e39))),
    case("X 1e-40", partial(holds, change=partial(times, factor=1e-40))),
    case("X 1e300", partial(holds, change=partial(times, factor=1e300)), False),
    case(
        "X 1e-300, without a graph", partial(holds, change=partial(times, factor=1e-300), graph=False), False
    ),
    case("sparse X 1e250", partial(holds, change=partial(sparse_times, factor=1e250)), False),
    case("a column 1e-310", partial(holds, change=partial(column_times, factor=1e-310)), False),
    case("rows from 1e-200 to 1e200", partial(holds, change=mixed_rows, loss=1.0), False),
    case("weights from 1e-300 to 1e300", partial(weighted, weights=spread), False),
    case("weights of 1.7e308", partial(weighted, weights=lambda n: np.full(n, 1.7e308)), False),
    case("weights of 5e-324", partial(weighted, weights=lambda n: np.full(n, 5e-324)), False),
    case("new rows 1e300, predicted", partial(new_rows, factor=1e300, known=False), False),
    case("new rows 1e300, taken in", partial(new_rows, factor=1e300, known=True), False),
]
