"""Splits: disjoint, of the stated sizes, exact per class, and the same again for the same seed."""

import numpy as np
import pytest

from altopt import datasets
from altopt.datasets import Dataset
from altopt.datasets.splits import Split, fraction, given, hide, per_class, per_class_rest, training_part
from altopt.errors import InputError
from altopt.graph import Graph

y = np.repeat([0, 1, 2], [200, 300, 500])


def parts(split: Split) -> list[np.ndarray]:
    return [split.train, split.validation, split.test]


def all_splits() -> list[Split]:
    return [per_class(y, 20, 100, 300, seed=3), fraction(y, 0.3, seed=3), per_class_rest(y, seed=3)]


@pytest.mark.parametrize("split", all_splits(), ids=["per_class", "fraction", "per_class_rest"])
def test_no_node_is_in_two_parts(split):
    nodes = np.concatenate(parts(split))
    assert len(np.unique(nodes)) == len(nodes)
    assert split.seed == 3
    assert split.how


def test_per_class_takes_exactly_n_of_each_class():
    split = per_class(y, 20, 100, 300, seed=0)
    assert np.bincount(y[split.train]).tolist() == [20, 20, 20]
    assert [len(part) for part in parts(split)] == [60, 100, 300]


def test_fraction_takes_its_share_of_each_class_and_halves_the_rest():
    split = fraction(y, 0.3, seed=0)
    assert np.bincount(y[split.train]).tolist() == [60, 90, 150]
    assert [len(part) for part in parts(split)] == [300, 350, 350]


def test_per_class_rest_takes_both_of_each_class_and_tests_on_all_others():
    split = per_class_rest(y, 20, 30, seed=0)
    assert np.bincount(y[split.train]).tolist() == [20, 20, 20]
    assert np.bincount(y[split.validation]).tolist() == [30, 30, 30]
    assert sorted(np.concatenate(parts(split))) == list(range(1000))


def ten_nodes() -> Dataset:
    """A ring with two splits."""
    masks = {
        part: np.stack([np.arange(10) % 3 == k, np.arange(10) % 3 == (k + 1) % 3])
        for k, part in enumerate(("train", "validation", "test"))
    }
    ring = Graph(np.stack([np.arange(10), (np.arange(10) + 3) % 10]))
    return Dataset("ring", np.eye(10), np.arange(10) % 2, ring, masks, "")


def test_given_splits_are_the_masks_by_number():
    split = given(ten_nodes(), 1)
    assert [part.tolist() for part in parts(split)] == [[1, 4, 7], [2, 5, 8], [0, 3, 6, 9]]
    assert split.seed == 1


def test_the_training_part_sees_training_nodes_only():
    data = ten_nodes()
    split = given(data, 0)
    part = training_part(data, split)
    assert split.train.tolist() == [0, 3, 6, 9]
    assert part.y.tolist() == data.y[split.train].tolist()
    assert part.graph.n_nodes == 4
    # 0-3, 3-6, 6-9 of the ring; 9-2 and 7-0 lead out
    assert part.graph.adjacency.toarray().tolist() == [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    np.testing.assert_array_equal(part.X, np.eye(10)[split.train])


def test_a_rare_class_still_gets_one_training_node():
    split = fraction(["rare"] + ["common"] * 99, 0.1, seed=0)
    assert 0 in split.train


@pytest.mark.parametrize(
    "make", [lambda seed: per_class(y, 5, seed=seed, n_test=200), lambda seed: fraction(y, 0.1, seed=seed)]
)
def test_the_seed_decides(make):
    for again, first, other in zip(parts(make(7)), parts(make(7)), parts(make(8))):
        assert again.tolist() == first.tolist()
        assert first.tolist() != other.tolist()


def test_unknown_labels_are_never_drawn():
    partly = np.where(np.arange(1000) % 2 == 0, y, -1)
    for split in (per_class(partly, 5, 100, 300, seed=0), fraction(partly, 0.5, seed=0)):
        assert (partly[np.concatenate(parts(split))] >= 0).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: per_class(y, 201, seed=0), "y has 200 nodes of class 0 but n_train=201"),
        (lambda: per_class(y, 5, n_test=900, seed=0), "985 are left after training"),
        (lambda: per_class([-1, -1], 1, seed=0), "y holds no label to split"),
        (lambda: fraction(y, 1.5, seed=0), "share must lie between 0 and 1, but is 1.5"),
        (
            lambda: per_class_rest(y, 100, 100, seed=0),
            "200 nodes of class 0 but n_train=100 and n_validation=100",
        ),
        (lambda: given(ten_nodes(), 2), "2 splits, 0 to 1, but number 2 is wanted"),
        (lambda: given(datasets.load("digits")), "digits comes with 0 splits.*per_class"),
        (lambda: fraction([0, 1], 0.9, seed=0), "leaves 0 nodes to judge by"),
    ],
)
def test_what_cannot_be_split_is_refused_in_words(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_hide_keeps_only_what_it_is_told():
    assert hide(np.array([4, 5, 6]), np.array([2])).tolist() == [-1, -1, 6]
    assert hide(np.array([4.0, 5.0]), np.array([True, False])).tolist() == [4.0, -1.0]
    assert hide(np.array(["x", "y"]), np.array([0])).tolist() == ["x", None]
