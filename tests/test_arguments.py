"""Arguments of a wrong kind to what AltOpt offers: an InputError in words, or scikit-learn's NotFittedError."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from altopt import AltOpt
from altopt.errors import InputError

X = np.array([[0.0], [0.1], [1.0], [1.1]])
EDGES = [(0, 1), (2, 3)]
Y = ["a", None, "b", None]


@pytest.fixture(scope="module")
def model():
    return AltOpt(random_state=0, cross_fit=False, n_rounds=1).fit(X, Y, graph=EDGES)


WRONG = {
    "a path that is a number": (lambda m: m.save(3), "path must be a path"),
    "a path of bytes": (lambda m: m.save(b"x"), "path must be a path"),
    "no path": (lambda m: m.save(""), "is empty or holds NUL"),
    "a path with NUL": (lambda m: m.save("a\0b"), "is empty or holds NUL"),
    "a path in Latin-1": (lambda m: m.save("\udce9"), "is not a name in UTF-8"),
    "nothing to load": (lambda m: AltOpt.load(None), "path must be a path"),
    "a checkpoint that is a number": (
        lambda m: AltOpt().fit(X, Y, graph=EDGES, checkpoint=1),
        "checkpoint must be a path",
    ),
    "a tolerance in words": (lambda m: m.explain(1, tolerance="small"), "tolerance must be a number above 0"),
    "a tolerance of NaN": (lambda m: m.update({1: "a"}, tolerance=float("nan")), "a number above 0"),
    "a tolerance that is a list": (lambda m: m.update({1: "a"}, tolerance=[1]), "a number above 0"),
    "edges that are a number": (lambda m: m.predict(X, edges=3), "edges must be pairs"),
    "an id of a list": (lambda m: m.update(nodes=[[]], features=X[:1]), "not hashable"),
    "features without axes": (lambda m: m.update(nodes=[4], features=3.0), "but its shape is \\(\\)"),
    "explained is nothing": (lambda m: m.explain_many(None), "node None is not in the graph"),
    "a variant that is a list": (lambda m: AltOpt.paper([]), "variant must be one of"),
    "validation that is no pair": (
        lambda m: AltOpt().fit(X, Y, graph=EDGES, validation=5),
        "validation must be a pair",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_argument_is_told_in_words(model, what):
    call, message = WRONG[what]
    with pytest.raises(InputError, match=message):
        call(model)


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.predict(X),
        lambda m: m.predict_proba(X),
        lambda m: m.update({0: "a"}),
        lambda m: m.update(nodes=[4], features=X[:1]),
        lambda m: m.what_if({0: "a"}),
        lambda m: m.refit(),
        lambda m: m.explain(0),
        lambda m: m.suggest(),
        lambda m: m.save("never-written"),
        lambda m: m.suspicious_labels(),
        lambda m: m.transduction_,
    ],
)
def test_before_the_fit_it_is_not_fitted(ask):
    with pytest.raises(NotFittedError):
        ask(AltOpt())
