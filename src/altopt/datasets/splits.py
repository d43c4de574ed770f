"""Training, validation and test nodes: seeded random splits, and published ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.datasets.dataset import Dataset
from altopt.errors import InputError


@dataclass(frozen=True)
class Split:
    """Training, validation and test nodes; the three are disjoint.

    Attributes
    ----------
    train, validation, test : ndarray of int
        Node positions in ascending order.
    how : str
        The rule that made the split, in words.
    seed : int or None
        The seed of a random split, the number of a published one.

    Examples
    --------
    >>> per_class([0, 0, 1, 1], n_train=1, n_validation=0, n_test=2, seed=0).train.tolist()
    [1, 3]
    """

    train: Array
    validation: Array
    test: Array
    how: str = ""
    seed: int | None = None


def per_class(y: Any, n_train: int, n_validation: int = 500, n_test: int = 1000, *, seed: int) -> Split:
    """`n_train` random nodes of each class to train on, then validation and test nodes from all others.

    >>> split = per_class([0, 0, 0, 1, 1, 1], n_train=1, n_validation=1, n_test=3, seed=0)
    >>> len(split.train), len(split.validation), len(split.test)
    (2, 1, 3)
    """
    y = np.asarray(y)
    rng = np.random.default_rng(seed)
    chosen = []
    for label, nodes in nodes_by_class(y):
        if len(nodes) < n_train:
            raise InputError(
                f"y has {len(nodes):,} nodes of class {label!r} but n_train={n_train} of each class are "
                "wanted. Lower n_train or leave that class out."
            )
        chosen.append(rng.choice(nodes, n_train, replace=False))
    train, rest = chosen_and_rest(y, chosen, rng)
    if len(rest) < n_validation + n_test:
        raise InputError(
            f"n_validation={n_validation} and n_test={n_test} need {n_validation + n_test:,} nodes, but "
            f"{len(rest):,} are left after training. Lower one of them."
        )
    validation, test = rest[:n_validation], rest[n_validation : n_validation + n_test]
    how = f"{n_train} of each class, {n_validation} validation, {n_test} test"
    return Split(train, np.sort(validation), np.sort(test), how, seed)


def per_class_rest(y: Any, n_train: int = 20, n_validation: int = 30, *, seed: int) -> Split:
    """`n_train` and `n_validation` random nodes of each class for training and validation, all others for testing.

    >>> split = per_class_rest([0, 0, 0, 1, 1, 1], n_train=1, n_validation=1, seed=0)
    >>> len(split.train), len(split.validation), len(split.test)
    (2, 2, 2)
    """
    y = np.asarray(y)
    rng = np.random.default_rng(seed)
    train, validation = [], []
    for label, nodes in nodes_by_class(y):
        if len(nodes) <= n_train + n_validation:
            raise InputError(
                f"y has {len(nodes):,} nodes of class {label!r} but n_train={n_train} and "
                f"n_validation={n_validation} of each class are wanted, and some to test. Lower one of them."
            )
        drawn = rng.permutation(nodes)
        train.append(drawn[:n_train])
        validation.append(drawn[n_train : n_train + n_validation])
    shown, rest = chosen_and_rest(y, train, rng)
    choosing = np.sort(np.concatenate(validation))
    test = np.setdiff1d(rest, choosing, assume_unique=True)
    how = f"{n_train} training and {n_validation} validation nodes of each class, the rest test"
    return Split(shown, choosing, test, how, seed)


def fraction(y: Any, share: float, *, seed: int) -> Split:
    """`share` of each class to train on (at least one node of each), the rest halved in validation and test.

    >>> split = fraction([0, 0, 0, 0, 1, 1, 1, 1], share=0.5, seed=0)
    >>> len(split.train), len(split.validation), len(split.test)
    (4, 2, 2)
    """
    if not 0.0 < share < 1.0:
        raise InputError(f"share must lie between 0 and 1, but is {share}. 0.3 trains on 30 % of each class.")
    y = np.asarray(y)
    rng = np.random.default_rng(seed)
    chosen = [
        rng.choice(nodes, max(1, round(share * len(nodes))), replace=False) for _, nodes in nodes_by_class(y)
    ]
    train, rest = chosen_and_rest(y, chosen, rng)
    if len(rest) < 2:
        raise InputError(f"share={share} leaves {len(rest)} nodes to judge by. Lower it.")
    half = len(rest) // 2
    how = f"{100 * share:g} % of each class, the rest half validation, half test"
    return Split(train, np.sort(rest[:half]), np.sort(rest[half:]), how, seed)


def given(dataset: Dataset, number: int = 0) -> Split:
    """The split of that number which came with the data set: one for OGB and the inductive graphs, ten of geom-gcn."""
    n_splits = 0 if dataset.splits is None else len(dataset.splits["train"])
    if dataset.splits is None or not 0 <= number < n_splits:
        raise InputError(
            f"{dataset.name} comes with {n_splits} splits, so there is no number {number}. "
            "Draw one with per_class, per_class_rest or fraction."
            if not n_splits
            else f"{dataset.name} comes with {n_splits} splits, 0 to {n_splits - 1}, but number {number} is wanted."
        )
    train, validation, test = (
        np.flatnonzero(dataset.splits[part][number]) for part in ("train", "validation", "test")
    )
    return Split(train, validation, test, f"number {number} of {n_splits} that come with the data", number)


def training_part(dataset: Dataset, split: Split) -> Dataset:
    """What the inductive protocol shows to a fit: the training nodes alone, with the edges among them.

    Row k is node `split.train[k]` of the whole; no feature, label or edge of any other node is left in it.
    """
    return dataset.only(split.train)


def hide(y: Any, keep: Any) -> Array:
    """y as a fit may see it: the labels of the nodes in `keep`, unknown (-1, for text None) everywhere else.

    >>> hide([2, 0, 1], keep=[0])
    array([ 2, -1, -1])
    >>> hide(["a", "b"], keep=[1])
    array([None, 'b'], dtype=object)
    """
    y = np.asarray(y)
    text = y.dtype.kind not in "iuf"
    hidden = np.full(len(y), None if text else -1, dtype=object if text else y.dtype)
    hidden[keep] = y[keep]
    return hidden


def chosen_and_rest(y: Array, chosen: list[Array], rng: np.random.Generator) -> tuple[Array, Array]:
    """Those drawn, in order, and all others that have a label, in random order."""
    train = np.sort(np.concatenate(chosen))
    return train, rng.permutation(np.setdiff1d(np.flatnonzero(known(y)), train, assume_unique=True))


def known(y: Array) -> Array:
    """False where a label is -1, None or NaN already."""
    if y.dtype.kind == "f":
        return np.asarray(~np.isnan(y) & (y != -1))
    if y.dtype.kind == "O":
        return np.array([value is not None and value == value and value != -1 for value in y], dtype=bool)
    return np.asarray(y != -1) if y.dtype.kind in "iu" else np.ones(len(y), dtype=bool)


def nodes_by_class(y: Array) -> list[tuple[Any, Array]]:
    """Each class, in order, with its nodes."""
    nodes = np.flatnonzero(known(y))
    if not len(nodes):
        raise InputError("y holds no label to split: every entry is -1, None or NaN.")
    classes, codes = np.unique(y[nodes], return_inverse=True)
    return [(label, nodes[codes == code]) for code, label in enumerate(classes.tolist())]
