"""The laws of encoders: what an encoder of your own must meet, checked in one call that says what is wrong."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.checks.require import require
from altopt.encoders.encoder import Encoder, Learner
from altopt.threads import threads_for

ACCURACY = 0.7  # on held-out rows; chance is one third, and softmax regression reaches more than 0.9
N_CLASSES, N_ROWS = 3, 90
SOFT = np.array([0.6, 0.3, 0.1])  # a target that is given to every row


class Rows(NamedTuple):
    """Training rows whose classes the features separate, and rows to test on."""

    X: Array
    targets: Array
    weights: Array
    X_test: Array
    y_test: Array


def check_encoder(encoder: Encoder, n_inputs: int = 12, n_epochs: int = 40, seed: int = 0) -> None:
    """Check that an encoder keeps the contract of `altopt.encoders.Encoder`, on rows that need it.

    Classes differ in the features alone, so nothing but the encoder can tell them apart.

    - Predictions are distributions over the classes, before training too; a row's does not depend on other rows.
    - It learns: accuracy on held-out rows of three classes is above 0.7, from dense rows and from sparse ones.
    - It heeds sample weights, soft targets, and a class without rows.
    - The same seed gives the same bits, whatever numpy's global generator holds.
    - `restore(state())` continues with the same bits, and a state is not changed by later training.
    - Training changes neither the settings nor the arrays it is given.
    - NaN is accepted if it `takes_missing`; `fitted_to` gives an encoder.

    Parameters
    ----------
    encoder : Encoder
    n_inputs : int
        Columns of the inputs, at least 3.
    n_epochs : int
        Epochs of each of the two rounds of training. Raise it for an encoder that learns slowly.
    seed : int
        Of the rows and of the learners.

    Raises
    ------
    InputError
        With one sentence that says which law is broken.

    Examples
    --------
    >>> from altopt.checks import check_encoder
    >>> from altopt.encoders import LinearEncoder
    >>> check_encoder(LinearEncoder())
    """
    require(isinstance(encoder, Encoder), encoder, "it is not a subclass of altopt.encoders.Encoder")
    rows = separable_rows(n_inputs, seed)
    before = snapshot(encoder)
    with threads_for(0, with_torch=encoder.uses_torch):
        check_capabilities(encoder, rows)
        learner = check_learning(encoder, rows, n_epochs, seed)
        check_rows_are_independent(encoder, learner, rows)
        check_sparse_rows(encoder, rows, n_epochs, seed)
        check_weights(encoder, rows, n_epochs, seed)
        check_soft_targets(encoder, rows, n_epochs, seed)
        check_seed(encoder, learner, rows, n_epochs, seed)
        check_state(encoder, rows, n_epochs, seed)
        check_missing(encoder, rows, n_epochs, seed)
    require(
        snapshot(encoder) == before,
        encoder,
        "training changes the settings; keep what is learned in the Learner",
    )


def separable_rows(n_inputs: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    classes = np.arange(2 * N_ROWS) % N_CLASSES
    X = rng.normal(size=(2 * N_ROWS, n_inputs)) + 3.0 * np.eye(N_CLASSES, n_inputs)[classes]
    targets = 0.85 * np.eye(N_CLASSES)[classes] + 0.05
    train, test = slice(None, N_ROWS), slice(N_ROWS, None)
    weights = rng.random(N_ROWS) + 0.5
    X = X.astype(np.float32)
    return Rows(X[train], targets[train], weights, X[test], classes[test])


def trained(
    encoder: Encoder, X: Any, targets: Array, weights: Array, n_epochs: int, seed: int, n_rounds: int = 2
) -> Learner:
    learner = encoder.begin(X.shape[1], targets.shape[1], seed)
    for _ in range(n_rounds):
        learner.train(X, targets, weights, n_epochs)
    return learner


def check_capabilities(encoder: Encoder, rows: Rows) -> None:
    fitted = encoder.fitted_to(rows.X)
    require(isinstance(fitted, Encoder), encoder, "fitted_to does not return an Encoder")


def check_distributions(encoder: Encoder, P: Any, n_rows: int, n_classes: int, when: str) -> None:
    shaped = isinstance(P, np.ndarray) and P.shape == (n_rows, n_classes)
    require(
        shaped, encoder, f"predict is not an array of one row per row of X and one column per class ({when})"
    )
    proper = np.isfinite(P).all() and (P >= 0).all() and np.allclose(P.sum(axis=1), 1.0, atol=1e-5)
    require(proper, encoder, f"predictions are not distributions: finite, from 0 on, with sum 1 ({when})")


def check_learning(encoder: Encoder, rows: Rows, n_epochs: int, seed: int) -> Learner:
    X, targets, weights, X_test, y_test = rows
    untrained = encoder.begin(X.shape[1], N_CLASSES, seed)
    require(
        isinstance(untrained, Learner), encoder, "begin does not return a subclass of altopt.encoders.Learner"
    )
    check_distributions(encoder, untrained.predict(X_test), len(X_test), N_CLASSES, "before training")
    given = [array.copy() for array in rows]
    learner = trained(encoder, X, targets, weights, n_epochs, seed)
    P = learner.predict(X_test)
    check_distributions(encoder, P, len(X_test), N_CLASSES, "after training")
    untouched = all(np.array_equal(array, copy) for array, copy in zip(rows, given))
    require(untouched, encoder, "train or predict writes to the arrays it is given")
    require_accuracy(encoder, P, y_test, "it does not learn")
    wider = np.column_stack([targets, np.zeros(len(X))])
    P = trained(encoder, X, wider, weights, n_epochs, seed).predict(X_test)
    check_distributions(encoder, P, len(X_test), N_CLASSES + 1, "one class without rows")
    require_accuracy(encoder, P, y_test, "a class without rows keeps it from learning")
    return learner


def require_accuracy(encoder: Encoder, P: Array, y: Array, complaint: str) -> None:
    accuracy = float(np.mean(P.argmax(axis=1) == y))
    limits = (
        f"accuracy on held-out rows is {accuracy:.2f}, chance is {1 / N_CLASSES:.2f}, asked is {ACCURACY}"
    )
    require(accuracy >= ACCURACY, encoder, f"{complaint}: {limits}")


def check_rows_are_independent(encoder: Encoder, learner: Learner, rows: Rows) -> None:
    X = rows.X_test
    alone = np.allclose(learner.predict(X[5:12]), learner.predict(X)[5:12], atol=1e-4)
    require(alone, encoder, "a row's prediction depends on which rows are predicted with it")


def check_sparse_rows(encoder: Encoder, rows: Rows, n_epochs: int, seed: int) -> None:
    learner = trained(encoder, sp.csr_array(rows.X), rows.targets, rows.weights, n_epochs, seed)
    P = learner.predict(sp.csr_array(rows.X_test))
    check_distributions(encoder, P, len(rows.y_test), N_CLASSES, "sparse rows")
    require_accuracy(encoder, P, rows.y_test, "it does not learn from sparse rows")


def check_weights(encoder: Encoder, rows: Rows, n_epochs: int, seed: int) -> None:
    """Each row is given twice, with another class the second time: the heavier one wins, whichever it is."""
    X, targets = (
        np.concatenate([rows.X] * 2),
        np.concatenate([rows.targets, np.roll(rows.targets, 1, axis=1)]),
    )
    for shift in (0, 1):
        light, heavy = np.full(len(rows.X), 0.05), np.ones(len(rows.X))
        weights = np.concatenate([light, heavy] if shift else [heavy, light])
        P = trained(encoder, X, targets, weights, n_epochs, seed).predict(rows.X_test)
        require_accuracy(encoder, P, (rows.y_test + shift) % N_CLASSES, "it does not heed sample weights")


def check_soft_targets(encoder: Encoder, rows: Rows, n_epochs: int, seed: int) -> None:
    targets = np.tile(SOFT, (len(rows.X), 1))
    P = trained(encoder, rows.X, targets, np.ones(len(rows.X)), n_epochs, seed).predict(rows.X_test)
    mean = P.mean(axis=0)
    ordered = mean[0] > mean[1] + 0.01 and mean[1] > mean[2] + 0.01
    told = ", ".join(f"{value:.2f}" for value in mean)
    require(ordered, encoder, f"it does not heed soft targets: of 0.6, 0.3, 0.1 on every row it makes {told}")


def check_seed(encoder: Encoder, learner: Learner, rows: Rows, n_epochs: int, seed: int) -> None:
    state = np.random.get_state()  # noqa: NPY002 - the global generator must not matter
    try:
        np.random.seed(12345)  # noqa: NPY002
        again = trained(encoder, rows.X, rows.targets, rows.weights, n_epochs, seed)
    finally:
        np.random.set_state(state)  # noqa: NPY002
    same = np.array_equal(learner.predict(rows.X_test), again.predict(rows.X_test))
    require(same, encoder, "the same seed gives other predictions")


def check_state(encoder: Encoder, rows: Rows, n_epochs: int, seed: int) -> None:
    X, targets, weights, X_test, _ = rows
    learner = trained(encoder, X, targets, weights, n_epochs, seed, n_rounds=1)
    state = learner.state()
    named = all(isinstance(name, str) and isinstance(value, np.ndarray) for name, value in state.items())
    require(named, encoder, "state is not a dictionary of named numpy arrays")
    stored = {name: value.copy() for name, value in state.items()}
    restored = encoder.begin(X.shape[1], N_CLASSES, seed)
    restored.restore({name: value.copy() for name, value in stored.items()})
    same = np.array_equal(learner.predict(X_test), restored.predict(X_test))
    require(same, encoder, "a restored learner predicts something else")
    for continued in (learner, restored):
        continued.train(X, targets, weights, n_epochs)
    same = np.array_equal(learner.predict(X_test), restored.predict(X_test))
    require(same, encoder, "a restored learner does not continue training with the same bits")
    kept = all(np.array_equal(state[name], value) for name, value in stored.items())
    require(kept, encoder, "a state is changed by later training; state must copy")


def check_missing(encoder: Encoder, rows: Rows, n_epochs: int, seed: int) -> None:
    if not encoder.takes_missing:
        return
    X = rows.X.copy()
    X[::7, -1] = np.nan
    P = trained(encoder, X, rows.targets, rows.weights, n_epochs, seed).predict(X)
    check_distributions(encoder, P, len(X), N_CLASSES, "it takes_missing, and X contains NaN")


def snapshot(value: Any, depth: int = 4) -> Any:
    """The contents of an object, to be compared with those of a later time."""
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if depth and isinstance(value, Mapping):
        return {repr(key): snapshot(item, depth - 1) for key, item in value.items()}
    if depth and isinstance(value, list | tuple):
        return [snapshot(item, depth - 1) for item in value]
    if depth and hasattr(value, "__dict__") and not isinstance(value, type):
        return type(value).__name__, snapshot(vars(value), depth - 1)
    return repr(value)
